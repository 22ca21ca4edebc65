"""The pictures of docs/idea.md and its table are what scripts/pictures.py makes."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("matplotlib")

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs/idea.md"


@pytest.fixture(scope="module")
def pictures():
    spec = spec_from_file_location("pictures", ROOT / "scripts/pictures.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_they_can_be_drawn_and_are_the_same_again(pictures, tmp_path):
    for folder in ("one", "other"):
        pictures.draw(tmp_path / folder)
    drawn = sorted((tmp_path / "one").iterdir())
    kept = sorted((ROOT / "docs/images/idea").iterdir())
    assert [path.name for path in drawn] == [path.name for path in kept]
    for path in drawn:
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()
        ElementTree.parse(path)
        assert f"images/idea/{path.name}" in PAGE.read_text(encoding="utf-8")


def test_the_prices_on_the_page(pictures, tmp_path):
    """By brute force over proportions, from the definition."""
    answers, page = pictures.PROBLEM.answers, PAGE.read_text(encoding="utf-8")
    share = np.linspace(1e-4, 1 - 1e-4, 20001)
    prices = []
    for z in (0, 1):
        contrasts = answers[z] - np.delete(answers, z, axis=0)
        margins = contrasts @ pictures.MU + pictures.PROBLEM.eps
        lengths = contrasts[:, :1] ** 2 / share + contrasts[:, 1:] ** 2 / (1 - share)
        prices.append(2 / (margins[:, None] ** 2 / lengths).min(axis=0).max())
    assert f"A costs {prices[0]:.1f}, B only {prices[1]:.1f}" in page
    found = pictures.draw(tmp_path)
    assert [found.T_greedy, found.T] == pytest.approx(prices, rel=1e-4)


def test_the_table_on_the_page(pictures, tmp_path):
    """With fewer runs: within five standard errors."""
    page = PAGE.read_text(encoding="utf-8")
    for row in pictures.rows(pictures.draw(tmp_path), 200):
        _, name, *cells, _ = (cell.strip() for cell in row.split("|"))
        (printed,) = re.findall(rf"^\| {re.escape(name)} \| (.*) \|$", page, re.MULTILINE)
        for cell, there in zip(cells, printed.split(" | "), strict=True):
            mean, error = map(float, cell.split(" ± ")) if "±" in cell else (float(cell), 0.0)
            assert abs(float(there.split(" ± ")[0]) - mean) <= 5 * error
