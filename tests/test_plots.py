"""Pictures: what can be told apart, and what must not lie upon each other."""

from itertools import combinations

import numpy as np
import pytest

import furthest as ft
from furthest import plots, sampling

Text = pytest.importorskip("matplotlib.text").Text


@pytest.fixture
def drawn(monkeypatch):
    """The figures that would be saved."""
    figures = []
    monkeypatch.setattr(plots, "_save", lambda figure, path: figures.append(figure))
    yield figures
    for figure in figures:
        plots.pyplot().close(figure)


def test_every_rule_has_a_look_of_its_own(drawn, tmp_path):
    names = list(sampling.MODULES)
    assert len(names) >= 13
    plots.stopping_times({name: [1.0, 2.0, 3.0] for name in names}, tmp_path / "x.png", title="")
    boxes = [patch for patch in drawn[0].axes[0].patches if patch.get_facecolor()[3] > 0]
    looks = {(box.get_facecolor(), box.get_hatch()) for box in boxes}
    assert len(looks) == len(boxes) == len(names)


FACTORS = ft.Problem.factorial(
    {"price": ["low", "high"], "colour": ["red", "blue"], "region": ["north", "south", "west"]}
)
PICTURES = {
    "plane": (ft.hard().problem, ft.hard().truth),
    "d = 4": (ft.hard(d=4).problem, ft.hard(d=4).truth),
    "d = 6": (ft.random(d=6, seed=3).problem, ft.random(d=6, seed=3).truth),
    "long names": (FACTORS, np.array([1, 0.3, 0.1, -0.2, 0.05])),
}


@pytest.mark.parametrize("name", PICTURES)
def test_captions_do_not_overlap(drawn, name):
    problem, mu = PICTURES[name]
    plots.explain(problem, mu, ft.complexity(problem, mu), "x.png")
    figure = drawn[0]
    figure.draw_without_rendering()
    texts = [text for axes in figure.axes for text in (axes.xaxis.label, axes._left_title)]
    texts += figure.axes[0].texts
    # Of a label with a line to its point, the text alone.
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in texts]
    for (one, here), (other, there) in combinations(boxes, 2):
        assert not here.overlaps(there), (one, other)
