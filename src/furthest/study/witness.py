"""What a SQLite database has acknowledged, noted in a small file beside it.

SQLite cannot notice when its write-ahead log is cut, damaged or gone: it then goes on from an older
state as if nothing had been written since. So after every commit the database's own name and the
number of its commits are noted here, and before every transaction the database is compared with the
note. It is written after the commit and not synced: it may fall behind, which does no harm, but
never runs ahead. One that cannot be read, or is about another database, says nothing.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

# Of a note, in bytes.
LONGEST = 200


class Note(NamedTuple):
    """A database, and how many commits it has acknowledged."""

    database: str
    commits: int


class Witness:
    """The file; it belongs to whom the database belongs to, with the same permissions."""

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}-witness")
        self._database = database

    def read(self) -> Note | None:
        """What it says, if it can be read and is not half-written."""
        try:
            file = os.open(self.path, os.O_RDONLY)
            try:
                text, _, check = os.read(file, LONGEST).rpartition(b" ")
            finally:
                os.close(file)
            database, commits = text.decode().split(" ")
            return Note(database, int(commits)) if _check(text) == check else None
        except (OSError, ValueError):
            return None

    def write(self, note: Note) -> None:
        """In one system call; a folder or file that cannot be written to does no harm."""
        text = f"{note.database} {note.commits:020d}".encode()
        with suppress(OSError):
            file = self._opened()
            try:
                os.write(file, text + b" " + _check(text))
            finally:
                os.close(file)

    def forget(self) -> None:
        """The database begins anew."""
        with suppress(OSError):
            self.path.unlink()

    def _opened(self) -> int:
        try:
            return os.open(self.path, os.O_WRONLY)
        except FileNotFoundError:
            like = self._database.stat()
            file = os.open(self.path, os.O_WRONLY | os.O_CREAT, like.st_mode & 0o666)
            if hasattr(os, "fchown"):
                with suppress(OSError):
                    os.fchmod(file, like.st_mode & 0o666)  # whatever the umask is
                    os.fchown(file, like.st_uid, like.st_gid)
            return file


def _check(text: bytes) -> bytes:
    return b"%08x\n" % crc32(text)
