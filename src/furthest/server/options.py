"""How a service is set up. Needs none of the packages that run it."""

import ipaddress
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from furthest.errors import InputError
from furthest.server.tokens import NONE, Tokens

# In this variable of the environment the processes of one service find their options.
VARIABLE = "FURTHEST_SERVE"

# Names under which a browser reaches its own machine.
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Options:
    """What is served, and to whom.

    Attributes:
        storage: Where the studies are: a URL, as for `Study.load`.
        host: The address that is listened at.
        token_file: Where the tokens are; without it everybody who can reach the service may write.
        prefix: The path under which a proxy shows the service, such as `/furthest`.
        names: Names under which the service may be asked for, beside those of this machine.
        rate: Requests per second that one client may make for long; ten times as many at once.
        most_bytes: The largest body of a request.
        workers: How many processes there are.
        tls: Whether the service itself speaks TLS.
    """

    storage: str
    host: str = "127.0.0.1"
    token_file: str | None = None
    prefix: str = ""
    names: tuple[str, ...] = ()
    rate: float = 500.0
    most_bytes: int = 64 * 2**20
    workers: int = 1
    tls: bool = False

    def __post_init__(self) -> None:
        if self.prefix and not self.prefix.startswith("/"):
            raise InputError(f"the prefix must begin with /, not {self.prefix!r}")
        object.__setattr__(self, "prefix", self.prefix.rstrip("/"))
        if not is_loopback(self.host) and self.token_file is None:
            raise InputError(
                f"whoever can reach {self.host} could read and write all studies: give a "
                "--token-file, or serve on 127.0.0.1 alone"
            )
        if self.storage.startswith(("http:", "https:")):
            raise InputError(f"{self.storage} is a service: it cannot be the storage of another")
        if self.workers > 1 and self.storage.startswith("sqlite:"):
            raise InputError(
                "one process serves an SQLite file; for --workers take a PostgreSQL server"
            )

    @property
    def tokens(self) -> Tokens:
        """Read anew by each process."""
        return NONE if self.token_file is None else Tokens.read(Path(self.token_file))

    def to_environment(self) -> None:
        """Leave them to the processes that this one starts."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def from_environment(cls) -> "Options":
        """As the process that started this one has left them."""
        data = json.loads(os.environ[VARIABLE])
        return cls(**data | {"names": tuple(data["names"])})


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine's own users can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
