"""How pages are made: the templates, and what they can say."""

import time
from typing import Any
from urllib.parse import quote

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined

from furthest import __version__
from furthest.display import at_least, count, figure

MINUTE, DAY = 60, 86_400
UNITS = ((DAY, "d"), (3600, "h"), (MINUTE, "min"))

# Half a year ago is a date.
LONG_AGO = 180 * DAY

TEMPLATES = Environment(
    loader=PackageLoader("furthest.server"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(request: Request, template: str, *, status: int = 200, **context: Any) -> HTMLResponse:
    """A page, or a piece of one."""
    found = TEMPLATES.get_template(template).render(
        root=request.scope["root_path"],
        version=__version__,
        may_write=request.state.may_write,
        signed_in=request.state.signed_in,
        now=time.time(),
        **context,
    )
    return HTMLResponse(found, status)


def link(name: str) -> str:
    """The path of a study, below the prefix: its name may hold any character."""
    return f"/studies/{quote(name, safe='')}"


def moment(seconds: float) -> str:
    """`2026-03-01 14:05 UTC`."""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def machine_moment(seconds: float) -> str:
    """As a `time` element wants it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def ago(seconds: float, now: float) -> str:
    """`12 min ago`."""
    past = max(0.0, now - seconds)
    if past < MINUTE:
        return "just now"
    if past > LONG_AGO:
        return moment(seconds)[:10]
    size, unit = next(each for each in UNITS if past >= each[0])
    return f"{past // size:.0f} {unit} ago"


def percent(share: float) -> str:
    """`5 %`, `0.1 %`."""
    return f"{100 * share:.4g} %"


def full(words: str) -> str:
    """A whole sentence of what somebody or something said; ε stays small."""
    first = words[:1].upper() if words[:1].isascii() else words[:1]
    return f"{first}{words[1:]}" + ("" if words.endswith((".", "!", "?", "…")) else ".")


def shown(value: float | None) -> str:
    """A number with about four digits, and a minus that is as wide as a digit."""
    return figure(value).replace("-", "−")


def whole(number: float) -> str:
    """Of what is counted: `1,234`."""
    return f"{number:,.0f}"


TEMPLATES.filters |= {
    "whole": whole,
    "figure": shown,
    "count": count,
    "link": link,
    "moment": moment,
    "machine_moment": machine_moment,
    "percent": percent,
    "full": full,
    "at_least": at_least,
}
TEMPLATES.globals["ago"] = ago
