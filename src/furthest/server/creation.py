"""A study from the browser: the form, what it means, what it will cost, and its beginning."""

import time

from fastapi import APIRouter, Request, Response

from furthest.errors import FurthestError, InputError, StudyExistsError
from furthest.server import words
from furthest.server.api import FUTURES
from furthest.server.drafts import FIELDS, MOST_CHARACTERS, MOST_ROWS, Draft
from furthest.server.plans import planned
from furthest.server.rendering import link, render
from furthest.server.routes import Form, PageRoute, Studies, Writer
from furthest.strategy import Strategy
from furthest.study.study import Study

router = APIRouter(
    prefix="/new", route_class=PageRoute, include_in_schema=False, dependencies=[Writer]
)

# Names of options that are repeated to whoever gave them.
SHOWN = 5

# Seconds after which no other study is simulated.
PATIENCE = 4.0


@router.get("")
def empty(request: Request) -> Response:
    """The form."""
    return render(request, "new.html", characters=MOST_CHARACTERS, rows=MOST_ROWS)


@router.post("/check")
def check(request: Request, form: Form, studies: Studies) -> Response:
    """What the form means so far."""
    return _shown(request, _draft(form, studies))


@router.post("/plan")
def plan(request: Request, form: Form) -> Response:
    """What it will cost, as far as can be known."""
    draft = Draft.of(form)
    begun = time.monotonic()
    try:
        with FUTURES:
            found = planned(draft, lambda: time.monotonic() - begun > PATIENCE)
    except InputError as error:
        return render(request, "plan.html", plan=None, words=str(error), draft=draft)
    return render(request, "plan.html", plan=found, words="", draft=draft)


@router.post("")
def begin(request: Request, form: Form, studies: Studies) -> Response:
    """Start the study."""
    draft = _draft(form, studies)
    if draft.is_ready and draft.problem is not None:
        name = draft.text("name")
        try:
            study = Study.create(
                name, draft.problem, draft.delta, studies.storage, budget=draft.budget
            )
        except StudyExistsError as error:
            draft.errors["name"] = str(error)
        except FurthestError as error:
            draft.errors["table"] = str(error)
        else:
            studies.keep(study)
            place = f"{request.scope.get('root_path', '')}{link(name)}"
            return Response(status_code=204, headers={"HX-Redirect": place})
    return _shown(request, draft)


def _draft(form: dict[str, str], studies: Studies) -> Draft:
    draft = Draft.of(form)
    if draft.text("name") in studies.storage.studies():
        draft.errors["name"] = f"there is a study {draft.text('name')!r} already"
    return draft


def _shown(request: Request, draft: Draft) -> Response:
    """What it means, and what is wrong with each field."""
    problem = draft.problem if draft.is_asked else None
    strategy = Strategy()
    try:
        if problem is not None:
            strategy.check_question(problem)
    except InputError as error:
        draft.errors["noise"] = str(error)
        problem = None
    header = draft.table.heading if draft.table else ""
    return render(
        request,
        "check.html",
        draft=draft,
        fields=FIELDS,
        roles=draft.roles(),
        names=draft.names()[:SHOWN],
        header=header,
        columns_changed=header != draft.form.get("header", ""),
        problem=problem,
        question=words.question(problem, draft.delta) if problem else None,
        assumptions=words.assumptions(problem, strategy) if problem else [],
        cost_words=words.cost_words(problem.costs) if problem else "",
    )
