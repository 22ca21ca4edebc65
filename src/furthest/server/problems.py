"""Errors as a program reads them: application/problem+json (RFC 9457), with what to do in words."""

from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse

from furthest.errors import (
    BudgetError,
    ChangeError,
    ContradictionError,
    FurthestError,
    InconclusiveError,
    InputError,
    StoppedError,
    StorageError,
    StudyExistsError,
    UnknownStudyError,
    VerificationError,
)

MEDIA_TYPE = "application/problem+json"

# The nearest class counts; whatever is none of these is the service's own fault.
STATUSES: dict[type[FurthestError], tuple[int, str]] = {
    StudyExistsError: (409, "exists"),
    UnknownStudyError: (404, "unknown"),
    ContradictionError: (409, "contradiction"),
    ChangeError: (409, "change"),
    InputError: (422, "input"),
    InconclusiveError: (409, "inconclusive"),
    StoppedError: (409, "stopped"),
    BudgetError: (409, "budget"),
    StorageError: (503, "storage"),
    VerificationError: (500, "verification"),
}

# After so many seconds what failed may be tried again.
RETRY_AFTER = {"storage": "1", "budget": "5"}


def problem(status: int, kind: str, detail: str, **more: Any) -> JSONResponse:
    """An error with its kind, one word for programs, and a sentence for people."""
    body = {
        "type": f"urn:furthest:{kind}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **more,
    }
    headers = {"retry-after": RETRY_AFTER[kind]} if kind in RETRY_AFTER else None
    return JSONResponse(body, status, headers, MEDIA_TYPE)


def of_error(error: FurthestError) -> JSONResponse:
    """What a study said."""
    for known in type(error).__mro__:
        if known in STATUSES:
            return problem(*STATUSES[known], str(error))
    return problem(500, "failed", str(error))
