"""Studies as plain data, one function per document: what the command line prints as JSON.

Each document is equal to what is read back from its JSON. Keys are relied on by others: they may
become more, but keep their names.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from furthest import __version__
from furthest.errors import UnknownStudyError, VerificationError
from furthest.study.chain import digest
from furthest.study.events import Event, problem_data
from furthest.study.ledger import Ledger
from furthest.study.records import Pending, Status, Trial
from furthest.study.storage import Storage
from furthest.study.study import Study

Document = dict[str, Any]

# What is listed of each study, and the state of one whose log is not what was written.
ROW = (
    *("name", "state", "answer", "answer_name", "eps", "notion", "delta"),
    *("arms", "measurements", "pending", "error", "budget", "created_at", "changed_at"),
)
DAMAGED = "damaged"


def asked(trials: Sequence[Trial]) -> list[Document]:
    """What to measure next: `furthest study ask --json`."""
    return [trial._asdict() for trial in trials]


def shown(study: Study, *, foresight: bool = True) -> Document:
    """Where a study stands: `furthest study show --json`."""
    data = study.status().to_dict()
    data["trials"] = [_trial(each) for each in study.pending()]
    if foresight:
        future = study.foresight()
        data["foresight"] = future.to_dict() if future else None
    return data


def listed(storage: Storage) -> Document:
    """All studies of a storage, without the compiler: `furthest study list --json`."""
    rows = []
    for name in storage.studies():
        with suppress(UnknownStudyError):  # deleted by somebody else in between
            try:
                rows.append(row(Study.load(name, storage)))
            except VerificationError as error:
                rows.append(damaged(name, error))
    return {"studies": rows}


def damaged(name: str, error: VerificationError) -> Document:
    """The line of a study whose log is not what was written: the others are none the worse."""
    return Document.fromkeys(ROW) | {"name": name, "state": DAMAGED, "error": str(error)}


def row(study: Study) -> Document:
    """The line of a study, without the compiler."""
    pending = study.pending()  # this reads what is new
    problem, answer = study.problem, study.outcome
    values = (
        study.name,
        "stopped" if answer is not None else "inconclusive" if study.is_spent else "running",
        answer,
        None if answer is None else problem.answer_names[answer],
        problem.eps,
        problem.notion,
        study.delta,
        len(problem.arms),
        study.measured,
        len(pending),
        None,
        study.budget,
        study.created_at,
        study.end.at,
    )
    return dict(zip(ROW, values, strict=True))


def verified(found: Status, signer: str | None = None) -> Document:
    """What a log led to when all was done again: `furthest study verify --json`."""
    return {
        "verified": True,
        "state": found.state,
        "standing": found.standing,
        "warnings": list(found.warnings),
        "measurements": found.measurements,
        "chained_from": found.chained_from,
        "signed_by": signer,
        "certificate": found.certificate.to_dict() if found.certificate else None,
        "conclusion": found.conclusion.to_dict() if found.conclusion else None,
    }


def exported(study: Study) -> Document:
    """Everything, with the log, to verify it anywhere: `furthest study export --json`."""
    status = study.status()
    events = study.events()
    return archived(study.name, events, Ledger.of(events), status)


def archived(name: str, events: Sequence[Event], ledger: Ledger, status: Status) -> Document:
    """The same from a log and what it leads to."""
    settings = ledger.settings
    return {
        "name": name,
        "version": __version__,
        "problem": problem_data(settings.problem),
        "delta": settings.delta,
        "strategy": settings.strategy.describe(),
        "seed": settings.seed,
        "lease": settings.lease,
        "order": settings.order,
        "budget": ledger.budget,
        "state": status.state,
        "answer": status.answer,
        "measurements": [each._asdict() for each in ledger.history()],
        "failed": [_trial(event) | {"reason": event.data} for event in ledger.failed.values()],
        "open": [_trial(event) for event in ledger.open.values()],
        "certificate": status.certificate.to_dict() if status.certificate else None,
        "conclusion": status.conclusion.to_dict() if status.conclusion else None,
        "log": [list(event) for event in events],
        "log_digest": digest(events),
    }


def _trial(trial: Pending | Event) -> Document:
    own_id = trial.id if isinstance(trial, Pending) else trial.trial
    return {"id": own_id, "arm": trial.arm, "at": trial.at, "worker": trial.worker}
