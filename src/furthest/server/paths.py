"""Paths as they were sent: a study's name may hold a /, a proxy may take the prefix off."""

from starlette.types import ASGIApp, Receive, Scope, Send


class Paths:
    """Routes see what was sent, still quoted, below the prefix."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Put it into the scope as routes and links need it."""
        if scope["type"] != "lifespan":
            path = scope["raw_path"].partition(b"?")[0].decode("ascii", "replace")
            if not f"{path}/".startswith(f"{self._prefix}/"):
                path = self._prefix + path
            scope = {**scope, "path": path, "root_path": self._prefix}
        await self._app(scope, receive, send)
