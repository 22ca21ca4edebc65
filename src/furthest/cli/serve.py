"""furthest serve: an HTTP API and pages for the studies of a storage."""

import os
import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from furthest.cli.study import DEFAULT, Storage
from furthest.display import without_password
from furthest.errors import FurthestError, InputError, MissingExtraError

# Seconds that requests under way have when the service is asked to end.
GRACE = 30


def command(
    storage: Storage = DEFAULT,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port.", min=0, max=65_535)] = 8000,
    token_file: Annotated[
        Path | None,
        typer.Option(
            help="Tokens, one in a line, after `read` or `write`: without one of them nobody may "
            "do anything. Needed where others can reach the address.",
            envvar="FURTHEST_TOKEN_FILE",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="A name under which the service is reached, as `lab.example.org`."),
    ] = None,
    prefix: Annotated[
        str, typer.Option(help="The path under which a proxy shows it, as `/furthest`.")
    ] = "",
    workers: Annotated[
        int, typer.Option(help="Processes; more than one need PostgreSQL.", min=1, max=256)
    ] = 1,
    rate: Annotated[
        float, typer.Option(help="Requests per second that one client may make.", min=0.1)
    ] = 500.0,
    tls_cert: Annotated[
        Path | None, typer.Option(help="Speak TLS, with the certificate chain in this file …")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="… and its private key.")] = None,
) -> None:
    """Serve the studies of a storage: an API under /api/v1, the dashboard at /.

    Ctrl-C or SIGTERM ends it when all that is under way is answered.
    """
    try:
        import uvicorn
        from uvicorn.supervisors import Multiprocess

        from furthest.server import app, operations
    except ImportError as error:
        raise MissingExtraError(error.name or "fastapi", "serve") from None
    from furthest.server.options import Options
    from furthest.study.messages import LONGEST
    from furthest.study.storage import open_storage

    if (tls_cert is None) != (tls_key is None):
        raise InputError("--tls-cert and --tls-key go together")
    options = Options(
        storage=storage,
        host=host,
        token_file=None if token_file is None else str(token_file.absolute()),
        prefix=prefix,
        names=tuple(each.lower() for each in name or ()),
        rate=rate,
        workers=workers,
        tls=tls_cert is not None,
    )
    _ = options.tokens, open_storage(storage)  # what is bad shows now
    operations.log_to_standard_error()
    with _listening(host, port) as listener, ExitStack() as stack:
        shown = f"[{host}]" if ":" in host else host
        scheme = "https" if options.tls else "http"
        place = f"{scheme}://{shown}:{listener.getsockname()[1]}{options.prefix}/"
        print(f"{place}  {without_password(storage)}", flush=True)
        if workers > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="furthest-figures-"))
            os.environ.setdefault(operations.SHARED_FIGURES, folder)
            options.to_environment()
        config = uvicorn.Config(
            app.create_app(options) if workers == 1 else "furthest.server.app:from_environment",
            factory=workers > 1,
            workers=workers,
            log_config=None,
            access_log=False,
            server_header=False,
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
            timeout_graceful_shutdown=GRACE,
            ws="websockets-sansio",
            ws_max_size=LONGEST,
        )
        if workers == 1:
            uvicorn.Server(config).run([listener])
        else:
            Multiprocess(config, sockets=[listener]).run()


def _listening(host: str, port: int) -> socket.socket:
    """The socket, before anything is said or started."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise FurthestError(f"{host}:{port}: {error.strerror or error}") from None
