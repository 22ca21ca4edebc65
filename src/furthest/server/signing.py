"""Signing in: people show a token once, and the browser keeps it in a cookie."""

from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from furthest.server.rendering import render
from furthest.server.security import COOKIE, WRONG_TOKEN, client_of, too_many

router = APIRouter(include_in_schema=False)

# Seconds until somebody has to sign in again.
MONTH = 30 * 86_400


@router.get("/login")
def show(request: Request) -> HTMLResponse:
    """Where a token is asked for."""
    return render(request, "login.html", wrong=False)


@router.post("/login")
def sign_in(request: Request, token: Annotated[str, Form(max_length=1_000)] = "") -> Response:
    """Remember a token that is one of ours."""
    state = request.app.state
    if state.tokens.needed and state.tokens.right_of(token.strip()) is None:
        wait = state.rates.wait(client_of(request.scope), WRONG_TOKEN)
        if wait > 0:
            return too_many(wait)
        return render(request, "login.html", status=401, wrong=True)
    response = _to_the_beginning(request)
    if state.tokens.needed:
        response.set_cookie(
            COOKIE,
            token.strip(),
            MONTH,
            path=request.scope["root_path"] or "/",
            secure=request.url.scheme == "https",
            httponly=True,
            samesite="strict",
        )
    return response


@router.post("/logout")
def sign_out(request: Request) -> Response:
    """Forget the token."""
    response = _to_the_beginning(request)
    response.delete_cookie(COOKIE, path=request.scope["root_path"] or "/")
    return response


def _to_the_beginning(request: Request) -> Response:
    return RedirectResponse(f"{request.scope['root_path']}/", 303)
