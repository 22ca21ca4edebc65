"""Exported studies: the results as a table, and a log in a file, to verify it anywhere."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from furthest.errors import FileError, StudyError, VerificationError
from furthest.study import documents
from furthest.study.events import Event
from furthest.study.ledger import Ledger
from furthest.study.records import Status
from furthest.study.study import Study

# Where the signature stands in an exported study.
SIGNATURE = "signature"


def to_csv(study: Study) -> str:
    """The results as a table."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["id", "arm", "name", "value", "at", "asked", "size", "sd"])
    table.writerows(study.history())
    return out.getvalue()


def verify_file(path: Path, *, words: bool = True) -> Status:
    """Verify an exported study from its log alone, and all else in the file with it.

    Without `words` only the facts of its certificate: for a file of an older furthest. Its
    signature is checked by `signer`.
    """
    from furthest.study.certificate import compare, slacks, verify

    data = read_json(path)
    data.pop(SIGNATURE, None)
    claimed = _document(data)
    try:
        name, events = data["name"], [Event(*row) for row in data["log"]]
    except (KeyError, TypeError):
        raise FileError(f"{path}: not an exported study") from None
    if claimed is not None and not (isinstance(claimed, dict) and claimed):
        raise FileError(f"{path}: its certificate is none")
    found = verify(name, events, claimed, words=words)
    if words:
        ledger = Ledger.of(events)
        again = json.loads(json.dumps(documents.archived(name, events, ledger, found)))
        compare(data, again, str(path), slacks(ledger))
    return found


def signed(archive: dict[str, Any], private_key: Path) -> dict[str, Any]:
    """An exported study with a signature of its certificate."""
    from furthest.study import signature

    document = _document(archive)
    if document is None:
        raise StudyError(f"the study {archive['name']!r} has not stopped: there is nothing to sign")
    return archive | {SIGNATURE: signature.signed(document, private_key)}


def signer(path: Path, public_key: Path | None) -> str | None:
    """The public key with which the certificate in a file was signed, checked; None if it was not.

    With the file of a public key it must have been signed with that one.
    """
    data = read_json(path)
    if SIGNATURE not in data:
        if public_key is not None:
            raise VerificationError(f"{path}: the certificate is not signed")
        return None
    from furthest.study import signature

    return signature.check(claimed_certificate(path), data[SIGNATURE], public_key)


def claimed_certificate(path: Path) -> dict[str, Any]:
    """The certificate in a file: alone, or within what `show --json` or `export --json` printed.

    Of a study that is inconclusive, its conclusion.
    """
    data = read_json(path)
    found = _document(data) if "certificate" in data else data
    if not isinstance(found, dict) or not found:
        raise FileError(f"{path}: there is no certificate in it")
    return found


def _document(data: dict[str, Any]) -> Any:
    """The certificate, or else the conclusion, if there is one."""
    certificate = data.get("certificate")
    return data.get("conclusion") if certificate is None else certificate


def read_json(path: Path) -> dict[str, Any]:
    """The one JSON object of a file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise FileError(f"{path}: not a JSON object")
    return data
