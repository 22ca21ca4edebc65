"""How long the page of a large study takes to open in Chromium.

    python benchmarks/page.py [--results 100000] [--answers 2000] [--times 3]

A study of d = 10 features with so many results is made, and served by a process that has not seen
it before. Prints the seconds until the page is there, until every piece of it is, and until the
first of the course of its evidence is drawn: when it is opened first, and again. Then somebody
adds 20 results per second: the longest task that kept the page from reacting, in milliseconds.
"""

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Page, sync_playwright

# In place of this folder: it has a `study` of its own.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests")

import furthest as ft  # noqa: E402
from services import served, wait_until_ready  # noqa: E402

PATIENCE = 300_000.0  # milliseconds
LONG_TASKS = """() => {
  window.tasks = [0];
  new PerformanceObserver((list) => list.getEntries().forEach((each) => tasks.push(each.duration)))
    .observe({ type: "longtask" });
}"""


def create(storage: str, answers: int, results: int) -> ft.Study:
    """A study that goes on for long."""
    rng = np.random.default_rng(0)
    options, mu = rng.normal(size=(answers, 10)), 0.05 * rng.normal(size=10)
    problem = ft.Problem(options, eps=0.001)
    study = ft.Study.create("large", problem, 0.01, storage)
    for begin in range(0, results, 5_000):
        arms = rng.integers(0, answers, min(5_000, results - begin))
        values = options[arms] @ mu + rng.normal(size=len(arms))
        study.tell_many(
            [{"arm": int(a), "value": float(v)} for a, v in zip(arms, values, strict=True)]
        )
    study.status()  # and its snapshot
    return study


def opened(page: Page, url: str) -> tuple[float, float, float]:
    """Seconds until it is there, whole, and drawn."""
    begun = time.perf_counter()
    page.goto(url, wait_until="domcontentloaded")
    there = time.perf_counter() - begun
    page.locator("[aria-busy]").first.wait_for(state="detached")
    whole = time.perf_counter() - begun
    page.locator("#evidence-chart").wait_for()
    return there, whole, time.perf_counter() - begun


def longest_task(page: Page, study: ft.Study) -> float:
    """While results come in."""
    page.evaluate(LONG_TASKS)
    for arm in range(200):
        study.add(arm, 0.0)
        page.wait_for_timeout(50)
    return float(page.evaluate("Math.max(...tasks)"))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, value in (("results", 100_000), ("answers", 2_000), ("times", 3)):
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen: Any = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        storage = f"sqlite:///{folder}/large.db"
        study = create(storage, chosen.answers, chosen.results)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for _ in range(chosen.times):
            with served("--storage", storage) as (service, _process):
                wait_until_ready(service)
                for when in ("first", "again"):
                    page = browser.new_page()
                    page.set_default_timeout(PATIENCE)
                    there, whole, drawn = opened(page, f"{service.url}/studies/large")
                    print(f"{when}: there {there:.2f} s, whole {whole:.2f} s, drawn {drawn:.2f} s")
                print(f"longest task {longest_task(page, study):.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
