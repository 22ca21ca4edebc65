"""A private PostgreSQL server: in a folder that goes away, on a socket, as an unprivileged user."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

SERVER = ("initdb", "pg_ctl", "postgres")


def binaries() -> Path | None:
    """The folder with a PostgreSQL server, if there is one."""
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    for folder in [*installed, *([Path(on_path).parent] if on_path else [])]:
        if all((folder / name).exists() for name in SERVER):
            return folder
    return None


def somebody_else() -> dict[str, int]:
    """PostgreSQL refuses to run as root: an unprivileged user instead."""
    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            user = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": user.pw_uid, "group": user.pw_gid}
    raise LookupError("there is no unprivileged user to run a PostgreSQL server as")


class Server:
    """A PostgreSQL server of our own, in a folder that goes away."""

    def __init__(self, bin_folder: Path, folder: Path, identity: dict[str, int]) -> None:
        self._bin = bin_folder
        self._folder = folder
        self._identity = identity

    def _run(self, *arguments: str) -> None:
        subprocess.run(
            arguments,
            user=self._identity.get("user"),
            group=self._identity.get("group"),
            extra_groups=[] if self._identity else None,
            cwd=self._folder,
            env={"PATH": os.environ["PATH"], "HOME": str(self._folder), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )

    def initialise(self) -> None:
        options = ["--auth=trust", "--username=furthest", "--encoding=UTF8", "--no-locale"]
        self._run(str(self._bin / "initdb"), "-D", str(self._folder / "data"), *options)

    def control(self, action: str, *options: str) -> None:
        data = ["-D", str(self._folder / "data"), "-w", "-t", "3600"]
        self._run(str(self._bin / "pg_ctl"), action, *data, *options)

    def start(self) -> None:
        settings = f"-c listen_addresses='' -k {self._folder} -c max_connections=60"
        self.control("start", "-o", settings, "-l", str(self._folder / "log"))

    def stop(self) -> None:
        self.control("stop", "-m", "immediate")

    def url(self, schema: str) -> str:
        host, options = quote(str(self._folder), safe=""), quote(f"-csearch_path={schema}")
        return f"postgresql://furthest@/postgres?host={host}&options={options}"


@contextmanager
def private_server(bin_folder: Path) -> Iterator[Server]:
    """A server that runs within the block."""
    identity = somebody_else()
    # Not pytest's own folder: the server's user could not enter it.
    folder = Path(tempfile.mkdtemp(prefix="furthest-postgres-"))
    try:
        if identity:
            os.chown(folder, identity["user"], identity["group"])
        server = Server(bin_folder, folder, identity)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


_places = count()


def new_place(kind: str) -> str:
    """A name that nothing else has."""
    return f"{kind}_{next(_places)}"


def new_schema(server: Server) -> str:
    """An empty one; its name."""
    import psycopg

    schema = new_place("place")
    with psycopg.connect(server.url("public"), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return schema
