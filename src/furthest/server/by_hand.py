"""What people do by hand on the page of a study: ask, tell, fail, add, extend.

A form that is refused comes back with the reason as an ordinary page (status 200): what was typed
stays where it is. One that is accepted lets the page look at the study anew.
"""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response

from furthest.display import count
from furthest.errors import FurthestError, InputError, StorageError
from furthest.server.drafts import typed
from furthest.server.rendering import render
from furthest.server.routes import Form, OneStudy, PageRoute, Writer
from furthest.study import sheets
from furthest.study.study import Study

router = APIRouter(
    prefix="/studies/{name}",
    route_class=PageRoute,
    include_in_schema=False,
    dependencies=[Writer],
)

# The event that lets every piece of a page be asked for again.
FRESH = {"HX-Trigger": "fresh"}

# How somebody who works by hand is called in the log.
HAND = "by hand"

COUNTED = ("mean", "n", "sd")


@router.post("/ask")
def ask(study: OneStudy, form: Form, request: Request) -> Response:
    """What to measure next."""

    def work(own: Study) -> str:
        number = _whole(form, "n")
        trials = own.ask(number, worker=form.get("worker", "").strip() or HAND)
        first, *others = [trial.name for trial in trials]
        more = f" and {count(len(others), 'more trial')}" if others else ""
        return f"Measure {first}{more}."

    return _done(study, request, work)


@router.post("/tell")
def tell(study: OneStudy, form: Form, request: Request) -> Response:
    """The result of a trial."""

    def work(own: Study) -> str:
        own.tell(form.get("trial", ""), **_result(form))
        return f"Told: {_said(form)}."

    return _done(study, request, work)


@router.post("/fail")
def fail(study: OneStudy, form: Form, request: Request) -> Response:
    """There will be no result."""

    def work(own: Study) -> str:
        own.fail(form.get("trial", ""), form.get("reason", "").strip())
        return "Reported as failed."

    return _done(study, request, work)


@router.post("/add")
def add(study: OneStudy, form: Form, request: Request) -> Response:
    """A result that nobody asked for."""

    def work(own: Study) -> str:
        arm = form.get("arm", "").strip()
        if not arm:
            raise InputError("say which option was measured")
        own.add(arm, **_result(form))
        return f"Added to {arm}: {_said(form)}."

    return _done(study, request, work)


@router.post("/extend")
def extend(study: OneStudy, form: Form, request: Request) -> Response:
    """Allow more measurements."""

    def work(own: Study) -> str:
        budget = _whole(form, "budget")
        own.extend(budget)
        return f"The budget is {budget:,} measurements now."

    return _done(study, request, work)


def _done(study: OneStudy, request: Request, work: Callable[[Study], str]) -> Response:
    """What was done, or why not, in a sentence."""
    try:
        said = study.do(lambda own, _: work(own))
    except StorageError as error:
        return render(request, "said.html", words=f"{error}. Try again.", is_error=True)
    except FurthestError as error:
        return render(request, "said.html", words=str(error), is_error=True)
    response = render(request, "said.html", words=said, is_error=False)
    response.headers.update(FRESH)
    return response


def _result(form: dict[str, str]) -> dict[str, Any]:
    """One value, or several results at once."""
    filled = {key: form[key].strip() for key in form if form[key].strip()}
    if "value" in filled:
        if filled.keys() & {"successes", *COUNTED}:
            raise InputError("give one value, or several at once, not both")
        return sheets.result(_pointed(filled["value"]))
    if "successes" in filled:
        return sheets.result(f"{filled['successes']}/{filled.get('n', '')}")
    given = {key: filled[key] for key in COUNTED if key in filled}
    if not given:
        raise InputError("there is no result yet: type one")
    return sheets.result(",".join(f"{key}={_pointed(text)}" for key, text in given.items()))


def _pointed(text: str) -> str:
    """With a decimal point, where somebody has typed a comma."""
    try:
        return repr(typed(text)) if "," in text else text
    except InputError:
        return text


def _said(form: dict[str, str]) -> str:
    if form.get("value", "").strip():
        return form["value"].strip()
    if form.get("successes", "").strip():
        return f"{form['successes'].strip()} of {form.get('n', '').strip()}"
    return f"a mean of {form.get('mean', '').strip()} over {form.get('n', '').strip()}"


def _whole(form: dict[str, str], name: str) -> int:
    text = form.get(name, "").strip()
    if not text.isascii() or not text.isdecimal() or len(text) > 16:
        raise InputError(f"a whole number is needed, not {text[:40] or 'nothing'!r}")
    return int(text)
