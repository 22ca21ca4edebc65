"""How things show themselves: one line in a terminal, a small table in a notebook.

The HTML needs nothing from outside. Its colours are the page's own, or readable on light and dark.
"""

import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from html import escape
from typing import NamedTuple
from urllib.parse import unquote

# More rows or columns than this are no longer small.
ROWS = 12
COLUMNS = 8

TONES = {
    "good": "color:#2a9d5c;font-weight:600",
    "warning": "color:#c9781a",
    "bad": "color:#c0392b;font-weight:600",
    "soft": "opacity:.6",
}

# Notebooks have styles of their own for tables: what matters is said again in every cell.
_CELL = (
    "padding:.15em 1.2em .15em 0;border:0;border-bottom:1px solid rgba(128,128,128,.3);"
    "white-space:nowrap"
)
_LEFT = f"{_CELL};text-align:left"
_RIGHT = f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"


class Toned(NamedTuple):
    """A text with a tone: good, warning, bad, soft, or none."""

    text: str
    tone: str


class Bar(NamedTuple):
    """A bar of so much of its full length, 0 … 1."""

    share: float


Cell = str | int | float | None | Toned | Bar


def figure(value: float | None) -> str:
    """A number with about four digits, none after the point where they would be noise."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if 1000 <= abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def at_least(value: float, factor: int = 1) -> str:
    """A number, times a factor, with four digits and rounded up: for what is at most so much."""
    exact = Decimal(value) * factor
    digit = Decimal(1).scaleb(exact.adjusted() - 3) if exact else Decimal(1)
    return f"{float(exact.quantize(digit, ROUND_CEILING)):.4g}"


def one_line(text: str) -> str:
    """Somebody's text with what controls a terminal written out: it begins no line of its own."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


# In a storage's URL: all between the user and the last @, and what is given as an option.
PASSWORD = re.compile(r"(://[^/@:]*:|[?&]\w*password=)((?<=:).*(?=@)|(?<==)[^&]*)")


def without_password(url: str) -> str:
    """A storage's URL as it may be shown."""
    return PASSWORD.sub(r"\1***", url)


def passwords(url: str) -> list[str]:
    """What must not be in any message, as it stands in the URL and as it is meant."""
    found = {found[2] for found in PASSWORD.finditer(url)}
    return sorted(filter(None, found | set(map(unquote, found))), key=len, reverse=True)


def count(number: int, thing: str) -> str:
    """`1 arm`, `4 arms`."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def card(title: str, *parts: str) -> str:
    """What is shown in a notebook: a title and, one below the other, parts of HTML."""
    body = "".join(part for part in parts if part)
    return (
        '<div style="line-height:1.45;max-width:56em;overflow-x:auto">'
        f"<div><strong>{escape(title)}</strong></div>{body}</div>"
    )


def line(text: str, tone: str = "") -> str:
    """One line of text; nothing for an empty one."""
    if not text:
        return ""
    style = f' style="{TONES[tone]}"' if tone else ""
    return f"<div{style}>{escape(text)}</div>"


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], total: int | None = None) -> str:
    """A table; numbers stand on the right. `total` is how many rows there would be in all."""
    shown = rows[:ROWS]
    if not shown:
        return ""
    heads = "".join(
        f'<th style="{_side(cell)};font-weight:600"><span style="{TONES["soft"]}">'
        f"{escape(name)}</span></th>"
        for name, cell in zip(head, shown[0], strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in shown)
    left_out = (len(rows) if total is None else total) - len(shown)
    more = line(f"and {left_out:,} more", "soft") if left_out > 0 else ""
    return (
        '<table style="border-collapse:collapse;border:0;margin:.4em 0">'
        f"<thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}"
    )


def _side(cell: Cell) -> str:
    return _RIGHT if cell is None or isinstance(cell, int | float) else _LEFT


def _cell(cell: Cell) -> str:
    if isinstance(cell, Bar):
        width = 9 * min(1.0, max(0.0, cell.share))
        inner = (
            f'<div style="width:{width:.2f}em;height:.65em;border-radius:2px;background:#5b8def">'
            "</div>"
        )
        return f'<td style="{_LEFT};min-width:9em;vertical-align:middle">{inner}</td>'
    if isinstance(cell, Toned):
        style = f"{_LEFT};{TONES[cell.tone]}" if cell.tone else _LEFT
        return f'<td style="{style}">{escape(cell.text)}</td>'
    text = cell if isinstance(cell, str) else figure(cell)
    return f'<td style="{_side(cell)}">{escape(text)}</td>'
