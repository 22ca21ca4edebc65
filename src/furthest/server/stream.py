"""What changes, as it does: server-sent events, one look at a log for all who wait for it."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from furthest.errors import FurthestError, UnknownStudyError
from furthest.server.api import ERRORS
from furthest.server.hosting import Hosting
from furthest.study import documents
from furthest.study.study import Study

# Seconds between two looks at a log, and at all of them.
PAUSE, PAUSE_OF_ALL = 0.5, 2.0

# After so many seconds of silence a line is sent that nobody reads: proxies close silent ones.
SILENCE = 15.0

router = APIRouter(prefix="/api/v1", responses=ERRORS)

# What is seen at a look: what is sent if it is not what was seen before.
Seen = dict[str, Any]


class Topic:
    """Something that is looked at as long as anybody listens."""

    def __init__(self, look: Callable[[], Seen], pause: float) -> None:
        self._look = look
        self._pause = pause
        self._seen: Seen | None = None
        self._error: FurthestError | None = None
        self._has_ended = False
        self._news = asyncio.Event()  # another one after each change
        self._task: asyncio.Task[None] | None = None
        self.listeners = 0

    async def listen(self, known: Seen | None) -> AsyncGenerator[Seen | None]:
        """What is new, whenever it is, until the end; None after a while of silence."""
        self.listeners += 1
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        try:
            while not self._has_ended:
                try:
                    known = await asyncio.wait_for(self._other_than(known), SILENCE)
                except TimeoutError:
                    yield None
                else:
                    yield known
        except _EndedError:
            pass
        finally:
            self.listeners -= 1
            if not self.listeners and self._task is not None:
                self._task.cancel()
                self._task = self._seen = self._error = None

    def end(self) -> None:
        """Let all listeners go."""
        self._has_ended = True
        self._tell()

    def _tell(self) -> None:
        """Wake all up who listen."""
        self._news.set()
        self._news = asyncio.Event()

    async def _other_than(self, known: Seen | None) -> Seen:
        while True:
            if self._has_ended:
                raise _EndedError
            if self._error:
                raise self._error
            if self._seen is not None and self._seen != known:
                return self._seen
            await self._news.wait()

    async def _watch(self) -> None:
        while True:
            try:
                seen, error = await run_in_threadpool(self._look), None
            except FurthestError as failure:
                seen, error = None, failure
            if (seen, error) != (self._seen, self._error):
                self._seen, self._error = seen, error
                self._tell()
            await asyncio.sleep(self._pause)


class _EndedError(Exception):
    """The service is asked to end."""


class Topics:
    """Of one process, by name."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self._topics: dict[str | None, Topic] = {}
        self._loop = asyncio.get_running_loop()
        self._have_ended = False

    def stop(self) -> None:
        """End all streams; may be called by whoever handles a signal."""
        self._loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        self._have_ended = True
        for topic in self._topics.values():
            topic.end()

    def of(self, name: str | None) -> Topic:
        """A study's, or that of all studies."""
        for idle in [key for key, topic in self._topics.items() if not topic.listeners]:
            del self._topics[idle]
        if name not in self._topics:
            self._topics[name] = self._begun(name)
        if self._have_ended:
            self._topics[name].end()
        return self._topics[name]

    def _begun(self, name: str | None) -> Topic:
        hosting = self._hosting
        if name is None:
            return Topic(lambda: {row["name"]: row for row in hosting.rows()}, PAUSE_OF_ALL)
        return Topic(lambda: hosting.on(name, glance), PAUSE)


def glance(study: Study) -> Seen:
    """What of a study is sent when it changes."""
    row = documents.row(study)
    return {"seq": study.end.seq} | {key: row[key] for key in ("state", "measurements", "pending")}


EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "itemSchema": {
                    "type": "object",
                    "properties": {
                        "event": {"enum": ["change", "gone", "trouble"]},
                        "data": {"type": "string", "contentMediaType": "application/json"},
                    },
                },
            }
        }
    }
}


@router.get("/events", response_class=StreamingResponse, responses=EVENTS)
async def all_changes(request: Request) -> StreamingResponse:
    """An event `change` with the names of studies that have, that are new, or that are gone."""
    return _stream(request.app.state.topics, None, None, _names)


@router.get("/studies/{name}/events", response_class=StreamingResponse, responses=EVENTS)
async def changes(
    request: Request, name: str, after: Annotated[int | None, Query(ge=0)] = None
) -> StreamingResponse:
    """An event `change` when the log has more than `after` events, and whenever it grows.

    Its data are the number of the last event, and state, measurements and pending trials. `gone`
    says that there is no such study any more.
    """
    name = unquote(name)
    seen = await run_in_threadpool(request.app.state.hosting.on, name, glance)
    known = seen if after is not None and seen["seq"] <= after else None
    return _stream(request.app.state.topics, name, known, _all)


def _stream(
    topics: Topics, name: str | None, known: Seen | None, told: Callable[[Seen, Seen], Seen]
) -> StreamingResponse:
    return StreamingResponse(
        _events(topics, name, known, told),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


def _all(_before: Seen, now: Seen) -> Seen:
    return now


def _names(before: Seen, now: Seen) -> Seen:
    """Of which studies the lines are others than they were."""
    names = sorted(before.keys() | now.keys())
    return {"studies": [name for name in names if before.get(name) != now.get(name)]}


async def _events(
    topics: Topics, name: str | None, known: Seen | None, told: Callable[[Seen, Seen], Seen]
) -> AsyncGenerator[str]:
    yield "retry: 2000\n\n"
    # Nothing may be awaited once the listener is gone: the stream's task is cancelled again then.
    news = topics.of(name).listen(known)
    try:
        async for seen in news:
            if seen is None:
                yield ": \n\n"
            else:
                yield _event("change", told(known or {}, seen))
                known = seen
    except UnknownStudyError:
        yield _event("gone", {})
    except FurthestError as error:
        yield _event("trouble", {"detail": str(error)})
    finally:
        await news.aclose()


def _event(kind: str, data: Seen) -> str:
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n"
