"""Pictures of studies: every mark is where its number is, and everybody can read it."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from furthest.study import drawing, page
from furthest.study.drawing import labels, scale_of

SVG = "{http://www.w3.org/2000/svg}"


def answers(*rows, **rest):
    keys = ("name", "estimate", "low", "high", "verdict", "candidate")
    document = {"total": len(rows), "best": 1.0, "cut": 0.8, "stopped": True}
    return document | {"answers": [dict(zip(keys, row, strict=True)) for row in rows]} | rest


THREE = answers(
    ("<A> & Ö", 1.0, 0.7, 1.3, "accepted", True),
    ("B", 0.9, 0.2, None, "possible", False),
    ("C", -0.5, -0.6, -0.4, "ruled out", False),
    ("D", 0.4, None, None, "possible", False),
)


def read(svg):
    """The picture as XML; whatever it is, it is one with a name and without styles or scripts."""
    root = ElementTree.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert [child.tag for child in root][:2] == [f"{SVG}title", f"{SVG}desc"]
    assert all(child.text for child in list(root)[:2])
    for element in root.iter():
        assert not {"style", "onload", "onclick", "href"} & set(element.keys())
        assert element.tag != f"{SVG}script"
    return root


def texts(root):
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def test_marks_are_where_the_numbers_are():
    root = read(drawing.intervals(THREE))
    axis = {}
    for element in root.iter(f"{SVG}text"):
        if element.get("text-anchor") == "middle":
            axis[float(element.text.replace("−", "-"))] = float(element.get("x"))
    ticks = sorted(axis)
    slope = (axis[ticks[-1]] - axis[ticks[0]]) / (ticks[-1] - ticks[0])

    def place(value):
        return axis[ticks[0]] + slope * (value - ticks[0])

    groups = root.findall(f"{SVG}g")
    diamond = re.match(r"M([\d.]+) ", groups[0].find(f"{SVG}path").get("d"))[1]
    assert float(diamond) == pytest.approx(place(1.0), abs=0.1)
    lines = groups[0].findall(f"{SVG}line")
    reached = sorted({float(line.get("x2")) for line in lines})
    assert reached == pytest.approx([place(0.7), place(1.3)], abs=0.1)
    circle = groups[1].find(f"{SVG}circle")
    assert float(circle.get("cx")) == pytest.approx(place(0.9), abs=0.1)
    assert len(groups[1].findall(f"{SVG}line")) == 3  # no stop at the end that is not known
    assert groups[2].get("class") == "out"
    assert groups[3].findall(f"{SVG}line") == []
    band = root.find(f"{SVG}rect")
    assert float(band.get("x")) == pytest.approx(place(0.8), abs=0.1)
    assert float(band.get("width")) == pytest.approx(0.2 * slope, abs=0.1)


def test_figures_are_as_long_as_they_mean_something():
    found = texts(read(drawing.intervals(THREE)))
    assert "1.00 (0.70 … 1.30)" in found
    assert "−0.50 (−0.60 … −0.40)" in found
    assert "0.9" in found  # half an interval has no brackets
    assert "<A> & Ö" in found
    each = {"estimate": 12345.6, "low": 12000.0, "high": 13000.0}
    assert drawing.ends(each) == "12,346 (12,000 … 13,000)"
    assert drawing.ends({"estimate": 1.0, "low": 1.0, "high": 1.0}) == "1.0000 (1.0000 … 1.0000)"


def test_nothing_is_drawn_of_nothing():
    assert drawing.intervals(answers()) == ""
    assert drawing.arms({"arms": [], "total": 2, "measurements": 0}) == ""
    assert drawing.effects({"effects": []}) == ""
    assert drawing.plane({"estimate": None}) == ""


def test_one_number_has_a_scale_too():
    for values in ([0.0], [5.0, 5.0], [], [None], [-1e300, 1e300], [1e-12]):
        scale = scale_of(values, 100.0, 200.0)
        places = [scale(value) for value in values if value is not None]
        assert all(100.0 < place < 200.0 for place in places)
        ticks = scale.ticks()
        assert 1 <= len(ticks) <= 8
        assert all(scale.low <= tick <= scale.high for tick in ticks)


def test_long_names_keep_what_tells_them_apart():
    names = [f"a molecule of number {i} with a rather long name" for i in (7, 15, 150)]
    found = labels([{"name": name} for name in names], 160.0)
    assert all(len(label) <= 22 for label in found)
    assert [re.search(r"\d+", label)[0] for label in found] == ["7", "15", "150"]
    assert labels([{"name": "A"}, {"name": "B"}], 160.0) == ["A", "B"]
    alone = labels([{"name": "x" * 500}], 160.0)
    assert len(alone[0]) <= 22
    ends = labels([{"name": f"{'x' * 50}{i}"} for i in range(3)], 160.0)
    assert [label[-1] for label in ends] == ["0", "1", "2"]
    many = answers(*((name, 1.0, 0.0, 2.0, "possible", False) for name in names))
    titles = [element.text for element in read(drawing.intervals(many)).iter(f"{SVG}title")]
    assert sum(names[2] in title for title in titles) == 1  # the whole name is still there


def test_effects_stand_beside_nothing():
    keys = ("feature", "estimate", "low", "high")
    rows = [("intercept", 90.0, 89.0, 91.0), ("oven=wood", 0.5, 0.2, 0.8), ("dough", -0.1, -1, 1)]
    document = {"effects": [dict(zip(keys, row, strict=True)) for row in rows]}
    root = read(drawing.effects(document))
    groups = root.findall(f"{SVG}g")
    assert groups[0].findall(f"{SVG}circle") == []  # the base value is on another scale
    marks = [group.find(f"{SVG}circle").get("class") for group in groups[1:]]
    assert marks == ["mark accepted", "mark possible"]
    zero = next(e for e in root.iter(f"{SVG}line") if e.get("class") == "zero")
    first = float(groups[1].find(f"{SVG}circle").get("cx"))
    second = float(groups[2].find(f"{SVG}circle").get("cx"))
    assert second < float(zero.get("x1")) < first
    unknown = {"effects": [dict.fromkeys(keys, None) | {"feature": "a"}]}
    assert drawing.effects(unknown) == ""


def test_arms_are_beside_their_best_share():
    rows = [
        {"arm": 1, "name": "A", "pulls": 30, "share": 0.75},
        {"arm": 0, "name": "B", "pulls": 10, "share": 0.25},
    ]
    document = {"total": 2, "measurements": 40, "arms": rows}
    bars = list(read(drawing.arms(document)).iter(f"{SVG}rect"))
    widths = [float(bar.get("width")) for bar in bars]
    assert widths[0] == pytest.approx(3 * widths[1], rel=1e-3)
    root = read(drawing.arms(document, {"weights": [0.5, 0.5]}))
    lines = [float(line.get("x1")) for line in root.iter(f"{SVG}line")]
    assert lines[0] == lines[1] == pytest.approx(float(bars[0].get("x")) + widths[0] / 1.5, abs=0.1)
    assert "30 (75.0 %)" in texts(root)


def test_the_plane_has_both_halves():
    turns = np.linspace(0, 2 * np.pi, 72)
    document = {
        "features": ["sweet", "sour"],
        "estimate": [1.0, 0.5],
        "outline": np.column_stack([1 + np.cos(turns), 0.5 + np.sin(turns)]).tolist(),
        "answers": [
            {"name": "A", "point": [1.0, 0.0], "verdict": "accepted", "candidate": True},
            {"name": "B", "point": [0.0, 1.0], "verdict": "ruled out", "candidate": False},
        ],
        "alternative": {"point": [0.5, 0.6], "answer": 1, "name": "B"},
    }
    root = read(drawing.plane(document))
    corners = root.find(f".//{SVG}polygon").get("points").split()
    assert len(corners) == 72
    middle = np.mean([[float(x) for x in corner.split(",")] for corner in corners[:-1]], axis=0)
    point = next(e for e in root.iter(f"{SVG}circle") if e.get("class") == "point")
    assert [float(point.get("cx")), float(point.get("cy"))] == pytest.approx(middle, abs=0.1)
    assert {"sweet", "sour", "A", "B", "estimate", "here B wins"} <= set(texts(root))
    less = document | {"outline": None, "alternative": None}
    assert list(read(drawing.plane(less)).iter(f"{SVG}polygon")) == []


def test_the_gauge_says_how_far():
    _, level, need = read(drawing.gauge(1.5, 3.0, "if")).findall(f"{SVG}rect")
    assert float(level.get("width")) == pytest.approx(0.5 * (float(need.get("x")) + 1), abs=0.1)
    assert level.get("class") == "level if"
    assert read(drawing.gauge(-2.0, 3.0)).findall(f"{SVG}rect")[1].get("width") == "0"
    read(drawing.gauge(0.0, 0.0))
    read(drawing.gauge(-1.0, 0.0))


def luminance(colour):
    """Relative, as WCAG 2 defines it."""
    digits = colour if len(colour) == 6 else "".join(2 * digit for digit in colour)
    parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def test_letters_can_be_read_on_light_and_dark():
    assert page.STYLE.startswith(drawing.STYLE)
    for colours in re.findall(r":root \{(.*?)\}", drawing.STYLE, re.DOTALL):
        shade = dict(re.findall(r"--(\w+): #(\w+);", colours))
        for name in ("ink", "soft", "good", "accent", "doubt", "bad"):
            one, other = sorted((luminance(shade[name]), luminance(shade["paper"])))
            assert (other + 0.05) / (one + 0.05) >= 4.5, name
