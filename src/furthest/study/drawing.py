"""Pictures of studies: documents of `furthest.study.picture` as SVG, to stand in a page.

Neither scripts nor style attributes: colours come from classes, so that a strict policy on contents
allows everything, and light, dark and paper each have their own. What a picture shows by a colour
it shows by a form or a word as well.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from furthest.display import figure
from furthest.study.records import ACCEPTED, POSSIBLE, RULED_OUT
from furthest.tables import INTERCEPT

Document = dict[str, Any]

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1d2330; --soft: #5b6476; --line: #d9dde5;
  --field: #eef0f4; --band: #dcefe3; --good: #1b7f4b; --accent: #2b5fb3; --doubt: #8f5710;
  --bad: #b3302b; }
@media screen and (prefers-color-scheme: dark) { :root { --paper: #14181f; --ink: #e6e9f0;
  --soft: #a3adbd; --line: #343c4a; --field: #232a35; --band: #1d3a2b; --good: #5fcb8f;
  --accent: #8ab4f8; --doubt: #e8b15f; --bad: #f28b82; } }
.scroll { overflow-x: auto; }
svg.picture { display: block; width: 100%; min-width: 32rem; max-width: 50rem; height: auto;
  font-size: 13px;
  font-variant-numeric: tabular-nums; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
svg.gauge { min-width: 0; max-width: none; }
.picture text { fill: var(--ink); }
.picture .quiet, .picture .out text { fill: var(--soft); }
.picture .strong { font-weight: 650; }
.picture .axis, .picture .arrow { stroke: var(--line); }
.picture .zero { stroke: var(--soft); }
.picture .band { fill: var(--band); }
.picture .field { fill: var(--field); }
.picture .reach { stroke-width: 2; fill: none; }
.picture .accepted { stroke: var(--good); fill: var(--good); }
.picture .possible { stroke: var(--accent); fill: var(--paper); }
.picture .out .reach, .picture .out .mark { stroke: var(--soft); fill: none; }
.picture .out .reach { stroke-width: 1; }
.picture .reach.accepted, .picture .reach.possible { fill: none; }
.picture .mark { stroke-width: 2; }
.picture .set { fill: var(--accent); fill-opacity: .15; stroke: var(--accent); }
.picture .point { fill: var(--accent); }
.picture .other { stroke: var(--bad); stroke-width: 2; fill: none; }
.picture .bar { fill: var(--accent); }
.picture .best { stroke: var(--ink); stroke-width: 2; fill: none; }
.picture .need { fill: var(--ink); }
.picture .level { fill: var(--good); }
.picture .level.open { fill: var(--accent); }
.picture .level.if { fill: var(--doubt); }
.picture .level.not { fill: var(--bad); }
"""

WIDTH = 720
ROW = 22
HEAD = 8
FOOT = 44  # for the axis and the legend

# Of the width: names on the left, at most, and figures on the right.
NAMES, FIGURES = 0.4, 0.25

# About the width of a character.
CHARACTER = 7.2
BOLD = 0.88  # and so much of that where they may be bold
GAP = 12

# So many letters that all names have in common are not worth three dots.
FEW = 4

# How verdicts look, and in which class.
CLASSES = {ACCEPTED: "accepted", POSSIBLE: "possible", RULED_OUT: "out"}

# More answers than this have no arrows and names in the plane.
MOST_ARROWS = 24


class Scale(NamedTuple):
    """From values to places."""

    low: float
    high: float
    first: float
    last: float

    def __call__(self, value: float) -> float:
        """The place of a value, of one outside at the end."""
        inside = min(max(value, self.low), self.high)
        share = (inside - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within, about so many."""
        raw = (self.high - self.low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(step * power for step in (1, 2, 5, 10) if step * power >= raw * 0.999)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [number * step for number in range(first, last + 1)]


def scale_of(values: Iterable[float | None], first: float, last: float) -> Scale:
    """One that holds all these values, with a little room."""
    known = [value for value in values if value is not None] or [0.0]
    low, high = min(known), max(known)
    room = 0.04 * (high - low) or abs(high) * 0.05 or 1.0
    return Scale(low - room, high + room, first, last)


def tag(name: str, *inside: str, **attributes: str | float | None) -> str:
    """An element; `class_` is its class, and what is None is left out."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _text(x: float, y: float, words: str, class_: str | None = None, anchor: str = "start") -> str:
    return tag("text", escape(words), x=x, y=y, class_=class_, text_anchor=anchor)


def _line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def picture(title: str, words: str, width: float, height: float, *parts: str) -> str:
    """The whole of it, with what a screen reader says."""
    return tag(
        "svg",
        tag("title", escape(title)),
        tag("desc", escape(words)),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        class_="picture",
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
    )


def labels(rows: Sequence[Document], room: float) -> list[str]:
    """Their names; of those that are too long less of what all have in common, or of the middle."""
    names, most = [each["name"] for each in rows], max(5, round(room / CHARACTER * BOLD))
    if len(names) > 1 and max(map(len, names)) > most:
        before = _common(names)
        after = _common([name[:before:-1] for name in names])
        context = max(0, most - 2 - max(len(name) - before - after for name in names))
        before -= min(before, context // 2)
        after -= min(after, context - context // 2)
        names = [_between(name, before, len(name) - after) for name in names]
    return [short(name, most) for name in names]


def _common(names: Sequence[str]) -> int:
    """How many letters all of them begin with."""
    first, last = min(names), max(names)
    pairs = enumerate(zip(first, last, strict=False))
    return next((place for place, (one, other) in pairs if one != other), len(first))


def _between(name: str, first: int, last: int) -> str:
    """What is there, with dots for the rest where there is much of it."""
    first = first if first > FEW else 0
    last = last if len(name) - last > FEW else len(name)
    return f"{'…' if first else ''}{name[first:last]}{'…' if last < len(name) else ''}"


def short(name: str, most: int) -> str:
    """A name, without its middle if it has more letters: many differ at their ends alone."""
    if len(name) <= most:
        return name
    tail = (most - 1) // 2
    return f"{name[: most - 1 - tail]}…{name[-tail:]}"


def ends(each: Document) -> str:
    """`0.41 (0.31 … 0.52)`, with no more digits than the interval leaves room for."""
    low, high = each["low"], each["high"]
    if low is None or high is None:
        return figure(each["estimate"]).replace("-", "−")
    places = 4
    if high > low:
        places = min(max(0, 1 - math.floor(math.log10(high - low))), 12)
    numbers = (f"{value:,.{places}f}" for value in (each["estimate"], low, high))
    return "{} ({} … {})".format(*numbers).replace("-", "−")


def _number(value: float) -> str:
    return f"{value:.6g}".replace("-", "−")


def intervals(document: Document, width: float = WIDTH) -> str:
    """Each answer's estimate and interval, the ε-band, the candidate, who is out."""
    rows = document["answers"]
    if not rows:
        return ""
    cut = {"name": "", "estimate": document["cut"], "low": None, "high": None}
    scale = _row_scale([*rows, cut], width)
    bottom = HEAD + ROW * len(rows)
    left, right = scale(document["cut"]), scale(document["best"])
    band = tag("rect", x=left, y=HEAD, width=right - left, height=bottom - HEAD, class_="band")
    drawn = [_interval(each, place, scale, width) for place, each in enumerate(_named(rows, scale))]
    leads = "the answer" if document["stopped"] else "the candidate"
    return picture(
        "Estimates and intervals of the answers",
        f"{len(rows)} of {document['total']} answers, the best estimate first. "
        + " ".join(f"{each['name']}: {ends(each)}, {each['verdict']}." for each in rows[:3]),
        width,
        bottom + FOOT,
        band,
        *_axis(scale, bottom),
        *drawn,
        _legend(leads, bottom + FOOT - 6, width),
    )


def _row_scale(rows: Sequence[Document], width: float) -> Scale:
    values = (each[key] for each in rows for key in ("estimate", "low", "high"))
    return scale_of(values, _room(rows, width), (1 - FIGURES) * width)


def _named(rows: Sequence[Document], scale: Scale) -> list[Document]:
    """The rows with a label each."""
    words = labels(rows, scale.first - GAP)
    return [each | {"label": label} for each, label in zip(rows, words, strict=True)]


def _room(rows: Sequence[Document], width: float) -> float:
    """Where names end."""
    longest = max(len(each["name"]) for each in rows)
    return min(NAMES * width, longest * CHARACTER / BOLD + GAP)


def _axis(scale: Scale, y: float) -> list[str]:
    parts = [_line(scale.first, y, scale.last, y, "axis")]
    for tick in scale.ticks():
        parts.append(_line(scale(tick), HEAD, scale(tick), y + 4, "axis"))
        parts.append(_text(scale(tick), y + 17, _number(tick), "quiet", "middle"))
    return parts


def _legend(leads: str, y: float, width: float) -> str:
    marks = f"◆ {leads} · ● accepted · ○ possible · × ruled out"
    words = f"{marks} · shaded: within ε of the best estimate"
    # On a narrow picture a little narrower, instead of cut off.
    narrow = width < CHARACTER * len(words)
    return tag(
        "text",
        words,
        x=width,
        y=y,
        class_="quiet",
        text_anchor="end",
        textLength=width if narrow else None,
        lengthAdjust="spacingAndGlyphs" if narrow else None,
    )


def _interval(each: Document, place: int, scale: Scale, width: float) -> str:
    """One row: name, interval with the estimate on it, figures."""
    y, kind = HEAD + ROW * (place + 0.5), CLASSES[each["verdict"]]
    strong = "strong" if each["candidate"] else None
    return tag(
        "g",
        tag("title", escape(f"{each['name']}: {ends(each)}, {each['verdict']}")),
        _text(0, y + 4, each["label"], strong),
        _reach(each, y, scale, kind),
        _mark(scale(each["estimate"]), y, kind, candidate=each["candidate"]),
        _text(width, y + 4, ends(each), strong, "end"),
        class_=kind if kind == "out" else None,
    )


def _reach(each: Document, y: float, scale: Scale, kind: str) -> str:
    """The interval; an end that is not known has no stop."""
    if each["low"] is None and each["high"] is None:
        return ""
    parts = []
    for end, edge in ((each["low"], scale.first), (each["high"], scale.last)):
        x = edge if end is None else scale(end)
        parts.append(_line(scale(each["estimate"]), y, x, y, f"reach {kind}"))
        if end is not None:
            parts.append(_line(x, y - 4, x, y + 4, f"reach {kind}"))
    return "".join(parts)


def _mark(x: float, y: float, kind: str, *, candidate: bool = False) -> str:
    """Diamond, disc, circle or cross."""
    if candidate:
        d = f"M{x:.2f} {y - 7:.2f}l7 7l-7 7l-7-7z"
        return tag("path", d=d, class_=f"mark {kind}")
    if kind == "out":
        return tag("path", d=f"M{x - 4:.2f} {y - 4:.2f}l8 8m0-8l-8 8", class_="mark")
    return tag("circle", cx=x, cy=y, r=4.5, class_=f"mark {kind}")


def effects(document: Document, width: float = WIDTH) -> str:
    """What each feature adds, with its interval, against nothing at all."""
    known = [each for each in document["effects"] if each["estimate"] is not None]
    rows = [each | {"name": each["feature"]} for each in known]
    shown = [each for each in rows if each["feature"] != INTERCEPT]
    if not shown:
        return ""
    nothing = {"name": rows[0]["name"], "estimate": 0.0, "low": None, "high": None}
    scale = _row_scale([*shown, nothing], width)
    bottom = HEAD + ROW * len(rows)
    return picture(
        "Estimated effects",
        " ".join(f"{each['feature']}: {ends(each)}." for each in rows[:5]),
        width,
        bottom + FOOT,
        *_axis(scale, bottom),
        _line(scale(0.0), HEAD, scale(0.0), bottom, "zero"),
        *(_effect(each, place, scale, width) for place, each in enumerate(_named(rows, scale))),
        _text(width, bottom + FOOT - 6, "○ 0 is possible · ● it is not", "quiet", "end"),
    )


def _effect(each: Document, place: int, scale: Scale, width: float) -> str:
    """One row; of the base value, which is on another scale, only the figures."""
    y, low, high = HEAD + ROW * (place + 0.5), each["low"], each["high"]
    clear = low is not None and high is not None and not low <= 0 <= high
    kind = "accepted" if clear else "possible"
    drawn = "" if each["feature"] == INTERCEPT else _reach(each, y, scale, kind)
    if each["feature"] != INTERCEPT:
        drawn += _mark(scale(each["estimate"]), y, kind)
    return tag(
        "g",
        tag("title", escape(f"{each['feature']}: {ends(each)}")),
        _text(0, y + 4, each["label"]),
        drawn,
        _text(width, y + 4, ends(each), None, "end"),
    )


def arms(document: Document, optimum: Document | None = None, width: float = WIDTH) -> str:
    """Where was measured, and where it would be best to measure if μ were as estimated."""
    rows, weights = document["arms"], (optimum or {}).get("weights")
    if not rows:
        return ""
    most = max(
        [each["share"] for each in rows] + [weights[each["arm"]] for each in rows if weights]
    )
    scale = Scale(0.0, most or 1.0, _room(rows, width), (1 - FIGURES) * width)
    bottom = HEAD + ROW * len(rows)
    words = "│ the best share, if μ were as estimated" if weights else ""
    return picture(
        "Measurements of each arm",
        f"{document['measurements']} measurements of {document['total']} arms. "
        + " ".join(f"{each['name']}: {each['pulls']}." for each in rows[:3]),
        width,
        bottom + (ROW if weights else HEAD),
        *(
            _arm(each, place, scale, width, weights)
            for place, each in enumerate(_named(rows, scale))
        ),
        _text(width, bottom + ROW - 6, words, "quiet", "end") if weights else "",
    )


def _arm(
    each: Document, place: int, scale: Scale, width: float, weights: Sequence[float] | None
) -> str:
    y = HEAD + ROW * place
    figures = f"{each['pulls']:,} ({100 * each['share']:.1f} %)"
    parts = [
        tag("title", escape(f"{each['name']}: {figures}")),
        _text(0, y + 15, each["label"]),
        tag(
            "rect",
            x=scale.first,
            y=y + 4,
            width=scale(each["share"]) - scale.first,
            height=ROW - 8.0,
            class_="bar",
        ),
        _text(width, y + 15, figures, None, "end"),
    ]
    if weights:
        x = scale(weights[each["arm"]])
        parts.append(_line(x, y + 1, x, y + ROW - 1, "best"))
    return tag("g", *parts)


def plane(document: Document, width: float = WIDTH) -> str:
    """On the left the parameters that are possible, on the right the answers."""
    if document["estimate"] is None:
        return ""
    half, height = 0.5 * width, 0.5 * width + 42
    other = document["alternative"]
    return picture(
        "The confidence set and the answers in the plane",
        f"Estimate {_pair(document['estimate'])}. "
        + (
            f"The nearest parameter at which {other['name']} is better by too much is "
            f"{_pair(other['point'])}."
            if other
            else ""
        ),
        width,
        height,
        _parameters(document, half, height),
        _vectors(document, half, height),
    )


def _pair(point: Sequence[float]) -> str:
    return f"({figure(point[0])}, {figure(point[1])})"


def _frame(
    points: Sequence[Sequence[float]], left: float, right: float, height: float
) -> tuple[Scale, Scale]:
    """Places of both coordinates."""
    return (
        scale_of([point[0] for point in points], left, right),
        scale_of([point[1] for point in points], height - 40, 54),
    )


def _axes(x: Scale, y: Scale, names: Sequence[str], title: str) -> list[str]:
    parts = [
        _text(x.first, 14, title, "strong"),
        _line(x.first, y.first, x.last, y.first, "axis"),
        _line(x.first, y.first, x.first, y.last, "axis"),
        _text(x.last, y.first + 32, short(names[0], 34), "quiet", "end"),
        _text(x.first, y.last - 24, short(names[1], 34), "quiet"),
    ]
    across = [_text(x(at), y.first + 16, _number(at), "quiet", "middle") for at in x.ticks(4)]
    up = [_text(x.first - 5, y(at) + 4, _number(at), "quiet", "end") for at in y.ticks(4)]
    return [*parts, *across, *up]


def _parameters(document: Document, half: float, height: float) -> str:
    """Confidence set, estimate, and the nearest parameter that says otherwise."""
    outline, other = document["outline"] or [], document["alternative"]
    points = [*outline, document["estimate"], *([other["point"]] if other else [])]
    x, y = _frame(points, 48, half - 16, height)
    parts = _axes(x, y, document["features"], "The parameter μ")
    if outline:
        corners = " ".join(f"{x(one):.2f},{y(two):.2f}" for one, two in outline)
        parts.append(tag("polygon", points=corners, class_="set"))
    one, two = (scale(value) for scale, value in zip((x, y), document["estimate"], strict=True))
    parts.append(tag("circle", cx=one, cy=two, r=4, class_="point"))
    parts.append(_text(one + 8, two - 6, "estimate"))
    if other:
        far, off = (scale(value) for scale, value in zip((x, y), other["point"], strict=True))
        parts.append(
            tag("path", d=f"M{far - 5:.2f} {off - 5:.2f}l10 10m0-10l-10 10", class_="other")
        )
        parts.append(_text(far + 8, off + 16, short(f"here {other['name']} wins", 22)))
    return tag("g", *parts)


def _vectors(document: Document, half: float, height: float) -> str:
    """The answers, as vectors where they are few."""
    rows = document["answers"]
    x, y = _frame([*(each["point"] for each in rows), (0.0, 0.0)], half + 48, 2 * half - 40, height)
    parts = _axes(x, y, document["features"], "The answers")
    for each in reversed(rows):
        one, two = x(each["point"][0]), y(each["point"][1])
        kind = CLASSES[each["verdict"]]
        named = len(rows) <= MOST_ARROWS or each["candidate"]
        parts.append(
            tag(
                "g",
                tag("title", escape(f"{each['name']}: {each['verdict']}")),
                _line(x(0.0), y(0.0), one, two, "arrow") if named else "",
                _mark(one, two, kind, candidate=each["candidate"]),
                _text(one - 8, two - 9, short(each["name"], 14), None, "end") if named else "",
                class_=kind if kind == "out" else None,
            )
        )
    return tag("g", *parts)


def gauge(statistic: float, threshold: float, tone: str = "open", width: float = WIDTH) -> str:
    """How far the evidence is, and where it has to be; the tone is open, empty, `if` or `not`."""
    scale = Scale(0.0, 1.08 * max(statistic, threshold) or 1.0, 0.0, width)
    part, needed = scale(statistic), scale(threshold)
    return picture(
        "Evidence",
        f"{statistic:.3f} of {threshold:.3f}",
        width,
        22,
        tag("rect", x=0, y=4, width=width, height=14, class_="field"),
        tag("rect", x=0, y=4, width=part, height=14, class_=f"level {tone}".strip()),
        tag("rect", x=needed - 1, y=0, width=2, height=22, class_="need"),
    ).replace('class="picture"', 'class="picture gauge"', 1)
