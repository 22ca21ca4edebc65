"""Who may read, and who may write: tokens in a file, one in a line.

    # the lab's workers
    write 3q8xV0c2…
    # the screen in the hall
    read  Yw71kQb9…

A line that is nothing but a token may write. Only digests are kept.
"""

import hashlib
import hmac
from dataclasses import dataclass
from pathlib import Path

from furthest.errors import FileError

READ, WRITE = "read", "write"

# Shorter ones could be guessed.
SHORTEST = 16


@dataclass(frozen=True)
class Tokens:
    """Digests of the tokens that may read, and of those that may write as well."""

    readers: tuple[bytes, ...] = ()
    writers: tuple[bytes, ...] = ()

    @classmethod
    def read(cls, path: Path) -> "Tokens":
        """From a file."""
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            raise FileError(f"the tokens in {path}: {error}") from None
        found: dict[str, list[bytes]] = {READ: [], WRITE: []}
        for number, line in enumerate(lines, 1):
            words = line.split()
            if not words or words[0].startswith("#"):
                continue
            right, token = words if len(words) == 2 else (WRITE, words[0])
            if len(words) > 2 or right not in found or len(token) < SHORTEST:
                raise FileError(
                    f"{path}, line {number}: a line is a token of at least {SHORTEST} characters, "
                    f"or {READ} or {WRITE} and a token"
                )
            found[right].append(_digest(token))
        if not any(found.values()):
            raise FileError(f"{path}: there is no token in it")
        return cls(tuple(found[READ]), tuple(found[WRITE]))

    @property
    def needed(self) -> bool:
        """Whether anybody has to show one."""
        return bool(self.readers or self.writers)

    def right_of(self, token: str) -> str | None:
        """What its holder may do; None if it is none of these.

        It takes as long whatever the token is.
        """
        digest = _digest(token)
        writes = [hmac.compare_digest(digest, known) for known in self.writers]
        reads = [hmac.compare_digest(digest, known) for known in self.readers]
        return WRITE if any(writes) else READ if any(reads) else None


# Everybody may do everything.
NONE = Tokens()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode(errors="surrogateescape")).digest()
