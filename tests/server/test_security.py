"""Who may do what, over real connections."""

import contextlib
import http.client
import itertools
import json
import logging
import threading
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from furthest.errors import FileError, InputError
from furthest.server.options import Options
from furthest.server.security import HEADERS, Rates
from furthest.server.tokens import READ, WRITE, Tokens
from services import Service, serving

WRITER, READER = "w" * 20, "r" * 20
PROBLEM = {"options": ["A", "B"], "eps": 0.1, "sigma": 1.0}
STUDY = {"name": "a", "problem": PROBLEM}

_names = (f"study {number}" for number in itertools.count())


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """A service with tokens, behind a proxy that shows it under /lab."""
    folder = tmp_path_factory.mktemp("guarded")
    tokens = folder / "tokens"
    tokens.write_text(f"# the lab\n{WRITER}\nread {READER}\n")
    storage = f"sqlite:///{folder}/studies.db"
    with serving(storage, token_file=str(tokens), prefix="/lab", rate=1e6) as found:
        yield found


def with_token(service, token):
    return Service(service.url, token)


def new():
    return STUDY | {"name": next(_names)}


def test_without_a_token_nothing_is_shown(guarded):
    for method, path in [
        ("GET", "/api/v1/studies"),
        ("POST", "/api/v1/studies"),
        ("GET", "/api/v1/studies/a/events"),
        ("GET", "/metrics"),
        ("GET", "/openapi.json"),
        ("GET", "/nowhere"),
    ]:
        answer = guarded.call(method, path, {} if method == "POST" else None)
        assert (answer.status, answer.kind) == (401, "token")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "Authorization: Bearer" in answer.data["detail"]


def test_health_needs_no_token(guarded):
    assert guarded.get("/healthz").status == 200
    assert guarded.get("/readyz").status in (200, 503)


@pytest.mark.parametrize(
    "given",
    [
        "Bearer " + "x" * 20,
        f"Bearer {WRITER}x",
        f"Bearer {WRITER[:-1]}",
        f"Basic {WRITER}",
        WRITER,
        "Bearer",
        "",
    ],
)
def test_another_token_is_none(guarded, given):
    assert guarded.get("/api/v1/studies", authorization=given).kind == "token"


def test_a_reader_reads_and_a_writer_writes(guarded):
    writer, reader, body = with_token(guarded, WRITER), with_token(guarded, READER), new()
    assert reader.post("/api/v1/studies", body).kind == "read-only"
    assert writer.post("/api/v1/studies", body).status == 201
    path = guarded.study(body["name"])
    assert reader.get(path).data["name"] == body["name"]
    assert reader.post(f"{path}/ask").kind == "read-only"
    assert reader.call("DELETE", path).kind == "read-only"
    assert writer.post(f"{path}/ask").status == 200


def test_people_sign_in_once(guarded):
    page = guarded.get("/", accept="text/html")
    assert (page.status, page.headers["location"]) == (303, "/lab/login")
    assert guarded.get("/login").status == 200
    form = {"content_type": "application/x-www-form-urlencoded"}
    assert guarded.call("POST", "/login", b"token=wrong-wrong-wrong", **form).status == 401
    done = guarded.call("POST", "/login", f"token={READER}".encode(), **form)
    cookie = done.headers["set-cookie"]
    assert (done.status, done.headers["location"]) == (303, "/lab/")
    for part in ("HttpOnly", "SameSite=strict", "Path=/lab"):
        assert part in cookie
    shown = cookie.partition(";")[0]
    assert guarded.get("/api/v1/studies", cookie=shown).status == 200
    assert guarded.post("/api/v1/studies", new(), cookie=shown).kind == "read-only"
    out = guarded.post("/logout", cookie=shown)
    assert (out.status, out.headers["location"]) == (303, "/lab/")
    assert 'furthest_token=""' in out.headers["set-cookie"]


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
    ],
)
def test_a_page_of_another_site_changes_nothing(service, headers):
    assert service.post("/api/v1/studies", new(), **headers).kind == "foreign"


def test_own_pages_and_programs_may(service):
    origin = service.url
    assert service.post("/api/v1/studies", new(), origin=origin).status == 201
    assert service.post("/api/v1/studies", new(), sec_fetch_site="same-origin").status == 201
    assert service.post("/api/v1/studies", new()).status == 201


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""])
def test_no_other_name_leads_here(service, host):
    """A page cannot reach the service by making its own name mean this machine."""
    assert service.get("/api/v1/studies", host=host).kind == "host"


def test_names_of_this_machine_do(service):
    port = urlsplit(service.url).port
    for host in (f"localhost:{port}", "127.0.0.1", f"[::1]:{port}", "LOCALHOST"):
        assert service.get("/api/v1/studies", host=host).status == 200


def test_every_answer_tells_the_browser_what_not_to_do(service):
    for path in ("/healthz", "/api/v1/studies", "/api/v1/studies/none", "/login"):
        headers = service.get(path).headers
        assert {name: headers[name] for name in HEADERS} == HEADERS
        assert headers["cache-control"] == "no-store"
    assert service.get("/static/furthest.css").headers["cache-control"] == "no-cache"
    scripts = service.get("/static/vendor/htmx-2.0.11/htmx.min.js")
    assert "immutable" in scripts.headers["cache-control"]
    refused = service.get("/api/v1/studies", host="evil.example").headers
    assert refused["content-security-policy"] == HEADERS["content-security-policy"]
    assert "unsafe" not in HEADERS["content-security-policy"]


def test_bodies_have_a_limit_whether_they_say_their_size_or_not(tmp_path):
    with serving(f"sqlite:///{tmp_path}/a.db", most_bytes=10_000) as small:
        large = new() | {"problem": {"options": ["x" * 20_000, "y"], "eps": 0.1}}
        assert small.post("/api/v1/studies", large).kind == "too-large"
        place = urlsplit(small.url)
        connection = http.client.HTTPConnection(place.hostname, place.port)
        parts = iter([b"[" + b" " * 8_000] * 3)
        connection.request("POST", "/api/v1/studies", parts, encode_chunked=True)
        with contextlib.suppress(http.client.HTTPException, OSError):  # it hangs up
            assert connection.getresponse().status >= 400
        connection.close()
        assert small.get("/api/v1/studies").data == {"studies": []}


def test_a_client_that_asks_too_much_has_to_wait(tmp_path):
    with serving(f"sqlite:///{tmp_path}/a.db", rate=1.0) as slow:
        answers = [slow.get("/healthz") for _ in range(15)]
        assert [each.status for each in answers[:10]] == [200] * 10
        refused = answers[-1]
        assert (refused.status, refused.kind) == (429, "too-many")
        assert int(refused.headers["retry-after"]) >= 1


def test_a_bucket_fills_again():
    rates = Rates(2.0)
    waits = [rates.wait("a", 1.0, 100.0) for _ in range(21)]
    assert waits == [0.0] * 20 + [0.5]
    assert rates.wait("b", 1.0, 100.0) == 0.0
    assert rates.wait("a", 1.0, 100.5) == 0.0
    assert rates.wait("a", 1.0, 100.5) == 0.5


def test_guessing_tokens_is_slow(tmp_path):
    tokens = tmp_path / "tokens"
    tokens.write_text(WRITER)
    storage = f"sqlite:///{tmp_path}/a.db"
    with serving(storage, token_file=str(tokens), rate=10.0) as found:
        kinds = [with_token(found, f"{'g' * 20}{n}").get("/metrics").kind for n in range(4)]
        assert kinds == ["token", "token", "too-many", "too-many"]


def test_logs_and_figures_have_no_secrets(guarded, caplog):
    with caplog.at_level(logging.INFO, "furthest.server"):
        writer = with_token(guarded, WRITER)
        writer.get(f"/api/v1/studies?token={WRITER}")
        form = {"content_type": "application/x-www-form-urlencoded"}
        guarded.call("POST", "/login", f"token={WRITER}".encode(), **form)
        while "/lab/login" not in caplog.text:  # a line is written when all is answered
            threading.Event().wait(0.01)
    paths = [json.loads(record.message).get("path") for record in caplog.records]
    assert paths == ["/lab/api/v1/studies", "/lab/login"]
    assert WRITER not in caplog.text
    assert WRITER not in writer.get("/metrics").data


def test_tokens_of_a_file(tmp_path):
    path = tmp_path / "tokens"
    path.write_text(f"\n# note\nwrite {WRITER}\n  read   {READER}  \n")
    tokens = Tokens.read(path)
    assert tokens.right_of(WRITER) == WRITE
    assert tokens.right_of(READER) == READ
    assert tokens.right_of("") is None
    assert WRITER not in repr(tokens)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no token"),
        ("# only a note", "no token"),
        ("short", "line 1"),
        (f"{WRITER}\nadmin {READER}", "line 2"),
        (f"read {READER} extra", "line 1"),
        (b"\xff\xfe", "tokens"),
    ],
)
def test_a_bad_file_of_tokens_is_refused(tmp_path, text, words):
    path = tmp_path / "tokens"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=words):
        Tokens.read(path)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.1", "example.org"])
def test_others_need_a_token(host):
    with pytest.raises(InputError, match="--token-file"):
        Options("sqlite:///a.db", host=host)
    assert Options("sqlite:///a.db", host=host, token_file="tokens")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.8.0.1"])
def test_this_machine_alone_does_not(host):
    assert Options("sqlite:///a.db", host=host)


def test_options_that_make_no_sense():
    with pytest.raises(InputError, match="PostgreSQL"):
        Options("sqlite:///a.db", workers=2)
    with pytest.raises(InputError, match="begin with /"):
        Options("sqlite:///a.db", prefix="lab")
