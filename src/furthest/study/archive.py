"""Exported studies: the results as a table, and a log in a file, to verify it anywhere."""

import csv
import io
import json
from pathlib import Path
from typing import Any

from furthest.errors import FileError, VerificationError
from furthest.study.events import Event
from furthest.study.records import Status
from furthest.study.study import Study


def to_csv(study: Study) -> str:
    """The results as a table."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(["id", "arm", "name", "value", "at", "asked"])
    table.writerows(study.history())
    return out.getvalue()


def verify_file(path: Path) -> Status:
    """Verify an exported study from its log alone, and the certificate in the file with it."""
    from furthest.study.certificate import verify

    data = read_json(path)
    try:
        name, claimed = data["name"], data["certificate"]
        events = [Event(*row) for row in data["log"]]
    except (KeyError, TypeError):
        raise FileError(f"{path}: not an exported study") from None
    found = verify(name, events, claimed)
    if claimed is None and found.certificate is not None:
        raise VerificationError(f"{path}: the log leads to a certificate, which the file lacks")
    return found


def read_json(path: Path) -> dict[str, Any]:
    """The one JSON object of a file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise FileError(f"{path}: not JSON: {error}") from None
    if not isinstance(data, dict):
        raise FileError(f"{path}: not a JSON object")
    return data
