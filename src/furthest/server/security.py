"""Who may do what, checked before anything else sees a request.

Every request goes through `Guard`. It lets a request pass if

- its Host is a name of this service, so that no page can reach it by a name of its own;
- it is not one of too many from its client, nor larger than allowed;
- it shows a token, as `Authorization: Bearer …` or in the cookie of somebody who signed in, unless
  the service needs none; to write, one that may write;
- it does not write from a page of somebody else (Origin, Sec-Fetch-Site).

And it gives every response the headers that keep a browser from loading, framing or remembering
what it should not.
"""

import time
from collections import OrderedDict
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from furthest.server.options import LOOPBACK_NAMES, Options
from furthest.server.problems import problem
from furthest.server.tokens import WRITE, Tokens

COOKIE = "furthest_token"

# Needs no token: whether the process lives, how a page looks, and where to sign in and out.
OPEN = ("/healthz", "/readyz", "/login", "/logout")
OPEN_BELOW = "/static/"

SAFE = ("GET", "HEAD", "OPTIONS")

# So many clients are remembered, and so many times its rate one may ask at once.
MOST_CLIENTS = 10_000
BURST = 10.0

# A token that is none counts as so many requests.
WRONG_TOKEN = 50.0

POLICY = (
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; "
    "object-src 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

# What a browser may keep: nothing of a study; how pages look, if it asks whether that is still so;
# and what has its version in its path.
NEVER, ASKING, ALWAYS = "no-store", "no-cache", "max-age=31536000, immutable"
VERSIONED = "/static/vendor/"


class Guard:
    """The one gate, an ASGI application around all others."""

    def __init__(self, app: ASGIApp, options: Options, tokens: Tokens, rates: "Rates") -> None:
        self._app = app
        self._options = options
        self._tokens = tokens
        self._rates = rates
        self._names = {name.lower() for name in (*LOOPBACK_NAMES, options.host, *options.names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let pass, or answer."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refused(scope, headers)
        if refused is None:
            limited = Limited(receive, self._options.most_bytes)
            await self._app(scope, limited, _adding(send, _kept(_path(scope))))
        elif scope["type"] == "websocket":
            await _refuse_socket(refused, scope, receive, send)
        else:
            await refused(scope, receive, _adding(send, NEVER))

    def _refused(self, scope: Scope, headers: Headers) -> Response | None:
        """Why not, if so; else what the request may do is in its state."""
        if not self._is_ours(headers.get("host", "")):
            return problem(
                421,
                "host",
                "the service is not known by this name: say --name NAME when it is started",
            )
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > self._options.most_bytes:
            return problem(
                413, "too-large", f"a request may have {self._options.most_bytes:,} bytes at most"
            )
        if self._is_foreign(scope, headers):
            return problem(403, "foreign", "a page of another site may not change anything here")
        return self._not_allowed(scope, headers)

    def _is_ours(self, host: str) -> bool:
        """A service with tokens that names nothing may be asked by any name."""
        if self._tokens.needed and not self._options.names:
            return True
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        return name.lower() in self._names

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        """Whether it would write, or open a socket, from a page of somebody else."""
        if scope["type"] == "http" and scope["method"] in SAFE:
            return False
        origin = headers.get("origin")
        if origin is None:
            return headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        place = origin.partition("://")[2].lower()
        return place != headers.get("host", "").lower() and place not in self._options.names

    def _not_allowed(self, scope: Scope, headers: Headers) -> Response | None:
        path, token = _path(scope), token_of(headers)
        right = self._tokens.right_of(token) if token else None
        wrong = bool(token) and right is None and self._tokens.needed
        wait = self._rates.wait(client_of(scope), WRONG_TOKEN if wrong else 1.0)
        if wait > 0:
            return too_many(wait)
        state = scope.setdefault("state", {})
        state["may_write"] = right == WRITE or not self._tokens.needed
        state["signed_in"] = right is not None and "authorization" not in headers
        if path in OPEN or path.startswith(OPEN_BELOW):
            return None
        if self._tokens.needed and right is None:
            return _unknown(scope, path)
        if scope["type"] == "http" and scope["method"] not in SAFE and not state["may_write"]:
            return problem(403, "read-only", "this token may only read")
        return None


class Rates:
    """A bucket of requests for each client, which fills again with time."""

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, client: str, price: float, now: float | None = None) -> float:
        """Seconds that the client should wait; 0 if it may go on."""
        now = time.monotonic() if now is None else now
        full = self._rate * BURST
        left, since = self._buckets.pop(client, (full, now))
        left = min(full, left + (now - since) * self._rate)
        if left >= price:
            left -= price
            wait = 0.0
        else:
            wait = (price - left) / self._rate
        self._buckets[client] = (left, now)
        while len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
        return wait


class Limited:
    """What a client sends, up to the largest body, also where it did not say how much."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._left = most

    async def __call__(self) -> Message:
        """The next part; the end of the connection instead of one too many."""
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                return {"type": "http.disconnect"}
        return message


def token_of(headers: Headers) -> str:
    """The token that a request shows, or nothing."""
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip()
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def client_of(scope: Scope) -> str:
    """The address that a request comes from."""
    client: tuple[str, int] | None = scope.get("client")
    return "" if client is None else client[0]


def too_many(wait: float) -> Response:
    """The refusal of a client that asks too much."""
    response = problem(429, "too-many", "too many requests: slow down")
    response.headers["retry-after"] = str(int(wait) + 1)
    return response


def _path(scope: Scope) -> str:
    """Below the prefix."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _unknown(scope: Scope, path: str) -> Response:
    """Sign in, for people; for programs what is missing."""
    wants_page = "text/html" in Headers(scope=scope).get("accept", "")
    if wants_page and scope["type"] == "http" and not path.startswith("/api/"):
        return RedirectResponse(f"{scope.get('root_path', '')}/login", 303)
    response = problem(401, "token", "a token is needed: Authorization: Bearer TOKEN")
    response.headers["www-authenticate"] = "Bearer"
    return response


def _kept(path: str) -> str:
    """For how long."""
    if path.startswith(VERSIONED):
        return ALWAYS
    return ASKING if path.startswith(OPEN_BELOW) else NEVER


def _adding(send: Send, kept: str) -> Send:
    """The headers, unless the response has its own."""

    async def adding(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in (HEADERS | {"cache-control": kept}).items():
                headers.setdefault(name, value)
        await send(message)

    return adding


async def _refuse_socket(refused: Response, scope: Scope, receive: Receive, send: Send) -> None:
    """With the same words as a request, where the server can send them before the handshake."""
    await receive()
    if "websocket.http.response" not in scope.get("extensions", {}):
        await send({"type": "websocket.close", "code": 1008})
        return
    start: dict[str, Any] = {"status": refused.status_code, "headers": refused.raw_headers}
    await send({"type": "websocket.http.response.start", **start})
    await send({"type": "websocket.http.response.body", "body": refused.body})
