"""Draw docs/images/dashboard.png: a study on the dashboard, as a browser shows it.

    python scripts/dashboard.py [--out docs/images/dashboard.png]

Needs Playwright and a Chromium of this machine.
"""

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))

import furthest as ft  # noqa: E402
from services import served, wait_until_ready  # noqa: E402

VALUES = {"matt": 0.62, "satin": 0.7, "gloss": 0.95, "chalk": 0.3, "silk": 0.72}
MEASURED = 100


def measured(storage: str) -> None:
    """A study that is some way to its answer."""
    problem = ft.Problem.options(list(VALUES), eps=0.1, sigma=0.4)
    study = ft.Study.create("paint, second coat", problem, 0.05, storage)
    rng = np.random.default_rng(2)
    while study.measured < MEASURED:
        for trial in study.ask(3, worker="bench 2"):
            study.tell(trial, VALUES[trial.name] + 0.4 * rng.standard_normal())
    study.close()


def main() -> None:
    """Measure, serve, look."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "docs/images/dashboard.png")
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory() as folder:
        measured(f"sqlite:///{folder}/furthest.db")
        with served(cwd=folder) as (service, _), sync_playwright() as driver:
            wait_until_ready(service)
            browser = driver.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1120, "height": 1500})
            page.goto(f"{service.url}/studies/paint%2C%20second%20coat")
            page.locator("#evidence-chart").wait_for()
            page.locator("[aria-busy]").first.wait_for(state="detached")
            page.locator("[data-crossing]").wait_for(state="attached")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=out)
            browser.close()


if __name__ == "__main__":
    main()
