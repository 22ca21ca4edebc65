"""The API of studies, below /api/v1: what `Study` does, for workers in any language.

Handlers are plain functions, which the server runs in threads: a study locks itself. What they
depend on is found by coroutines, as nothing is worth a thread of its own there. Errors become
responses in one place, `problems`.
"""

from collections.abc import Callable
from threading import Semaphore
from typing import Annotated, Any, TypeVar
from urllib.parse import quote, unquote

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response

from furthest import files
from furthest.errors import InputError, StudyError, UnknownStudyError
from furthest.server import requests as r
from furthest.server.hosting import Hosting
from furthest.server.problems import MEDIA_TYPE
from furthest.server.sizes import check_size
from furthest.strategy import Strategy, is_place
from furthest.study import archive, documents
from furthest.study.certificate import verify
from furthest.study.study import Study

T = TypeVar("T")

# Simulated futures take a second of a core: one at a time.
FUTURES = Semaphore(1)

ERRORS: dict[int | str, dict[str, Any]] = {
    status: {
        "description": words,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, words in {
        400: "That is no JSON.",
        401: "A token is needed.",
        403: "This token may only read, or the request comes from another site's page.",
        404: "There is no such study, trial or arm.",
        409: "Not in the state in which the study is.",
        413: "Too large.",
        422: "That makes no sense; which way, says `detail`.",
        429: "Too many requests.",
        503: "The storage did not do it: try again.",
    }.items()
}

router = APIRouter(prefix="/api/v1", responses=ERRORS)


async def hosting(request: Request) -> Hosting:
    """The studies."""
    found: Hosting = request.app.state.hosting
    return found


class Named:
    """The study that the path names."""

    def __init__(self, hosting: Hosting, name: str) -> None:
        self._hosting = hosting
        self._name = name

    def do(self, work: Callable[[Study], T]) -> T:
        """Do something with it."""
        return self._hosting.on(self._name, work)


async def named(name: str, studies: Annotated[Hosting, Depends(hosting)]) -> Named:
    """Names come as they stand in the path, where a / is %2F."""
    return Named(studies, unquote(name))


Studies = Annotated[Hosting, Depends(hosting)]
Chosen = Annotated[Named, Depends(named)]


@router.get("/studies", response_model=r.Studies)
def list_studies(studies: Studies) -> Response:
    """All studies, without computing anything."""
    return JSONResponse({"studies": studies.rows()})


@router.post("/studies", status_code=201, response_model=r.Shown)
def create(body: r.Create, studies: Studies, request: Request) -> Response:
    """Begin a study. What is asked can never be changed."""
    check_size(body.problem)
    study = studies.keep(
        Study.create(
            body.name,
            files.problem_of(body.problem),
            body.delta,
            studies.storage,
            strategy=_strategy(body.strategy),
            seed=body.seed,
            lease=body.lease,
            order=body.order,
            budget=body.budget,
            exist_ok=body.exist_ok,
        )
    )
    place = f"{request.scope.get('root_path', '')}{router.prefix}/studies/{quote(body.name, '')}"
    return JSONResponse(documents.shown(study, foresight=False), 201, {"location": place})


@router.get("/studies/{name}", response_model=r.Shown)
def show(study: Chosen) -> Response:
    """Where a study stands, with its certificate or conclusion once it has ended."""
    return JSONResponse(study.do(lambda own: documents.shown(own, foresight=False)))


@router.delete("/studies/{name}", status_code=204)
def delete(study: Chosen) -> None:
    """Remove a study and all its results for ever."""
    study.do(Study.delete)


@router.post("/studies/{name}/ask", response_model=r.Trials)
def ask(study: Chosen, body: r.Ask) -> Response:
    """What to measure next. 409 once there is nothing more to ask: `type` says why."""
    wanted: dict[str, Any] = {"n": body.n} if body.batch is None else {"batch": body.batch}
    if body.n is None and body.batch is None:
        wanted = {"n": 1}
    elif body.n is not None and body.batch is not None:
        wanted = {"n": body.n, "batch": body.batch}
    trials = study.do(lambda own: own.ask(**wanted, worker=body.worker))
    return JSONResponse({"trials": documents.asked(trials)})


@router.post("/studies/{name}/tell", response_model=r.Told)
def tell(study: Chosen, body: r.Tell) -> Response:
    """The result of a trial. Once this returns it is safe; it may be told again."""
    study.do(lambda own: own.tell(**body.fields()))
    return JSONResponse({"ids": [body.trial]})


@router.post("/studies/{name}/add", response_model=r.Told)
def add(study: Chosen, body: r.Add) -> Response:
    """A measurement that was never asked for. The certificate will say so."""
    return JSONResponse({"ids": [study.do(lambda own: own.add(**body.fields()))]})


@router.post("/studies/{name}/results", response_model=r.Told)
def tell_many(study: Chosen, body: r.Results) -> Response:
    """Many results at once: all of them are written, or none."""
    results = [each.fields() for each in body.results]
    return JSONResponse({"ids": study.do(lambda own: own.tell_many(results))})


@router.post("/studies/{name}/fail", response_model=r.Told)
def fail(study: Chosen, body: r.Fail) -> Response:
    """There will be no result for a trial."""
    study.do(lambda own: own.fail(body.trial, body.reason))
    return JSONResponse({"ids": [body.trial]})


@router.post("/studies/{name}/extend", response_model=r.Shown)
def extend(study: Chosen, body: r.Extend) -> Response:
    """Allow more measurements."""
    study.do(lambda own: own.extend(body.budget))
    return show(study)


@router.get("/studies/{name}/history", response_model=r.History)
def history(
    study: Chosen,
    after: Annotated[int, Query(ge=0, le=r.LARGEST)] = 0,
    most: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
) -> Response:
    """Results in the order told."""
    found = study.do(lambda own: own.history(after, most + 1))
    part = [each._asdict() for each in found[:most]]
    return JSONResponse({"measurements": part, "next": after + most if found[most:] else None})


@router.get(
    "/studies/{name}/history.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def history_table(study: Chosen) -> Response:
    """All results as a table."""
    return Response(study.do(archive.to_csv), media_type="text/csv")


@router.get("/studies/{name}/certificate", response_model=r.Certificate)
def certificate(study: Chosen) -> Response:
    """The proof. 404 while the study has no answer."""
    return _document(study.do(Study.certificate), "certificate: the study has no answer")


@router.get("/studies/{name}/conclusion", response_model=r.Conclusion)
def conclusion(study: Chosen) -> Response:
    """What is proven where the budget is spent without an answer. 404 otherwise."""
    return _document(study.do(Study.conclusion), "conclusion: its budget is not spent")


def _document(found: Any, missing: str) -> Response:
    if found is None:
        raise UnknownStudyError(f"there is no {missing}")
    return JSONResponse(found.to_dict())


@router.get("/studies/{name}/verify", response_model=r.Verified)
def verification(study: Chosen) -> Response:
    """Every decision made again from the log alone, and the certificate with it."""
    found = study.do(lambda own: verify(own.name, own.events()))
    return JSONResponse(documents.verified(found))


@router.get("/studies/{name}/foresight", response_model=r.Foresight)
def foresight(
    study: Chosen,
    draws: Annotated[int, Query(ge=1, le=1_000)] = 100,
    seed: Annotated[int, Query(ge=0, le=r.LARGEST)] = 0,
) -> Response:
    """How many more measurements are to be expected, by simulated futures."""
    with FUTURES:
        found = study.do(lambda own: own.foresight(draws, seed))
    return JSONResponse({"foresight": found.to_dict() if found else None})


@router.get("/studies/{name}/export", response_model=dict[str, Any])
def export(study: Chosen) -> Response:
    """Everything, with the log, to verify it anywhere."""
    return JSONResponse(study.do(documents.exported))


def _strategy(words: dict[str, Any]) -> Strategy | None:
    """What decides; rules of a user's own are not imported because a request names them."""
    for part in ("sampling", "stopping"):
        if is_place(words.get(part)):
            raise StudyError(
                f"{words[part]!r}: studies with rules of your own are created by the command line "
                "or in Python"
            )
    try:
        return Strategy(**words) if words else None
    except TypeError as error:
        raise InputError(f"the strategy: {error}") from None
