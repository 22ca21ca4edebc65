"""What only a storage on another machine can do wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from itertools import chain

import numpy as np
import pytest

import furthest as ft
from furthest.errors import (
    FurthestError,
    InputError,
    StorageError,
    StudyError,
    VerificationError,
)
from furthest.study.certificate import verify
from furthest.study.chain import chained
from furthest.study.events import Event
from furthest.study.storage import open_storage
from served import LOOK, TOKEN, free_port, started
from study.problems import ENDLESS, TWO, TWO_MU, Lab
from study.test_storage import CREATED, SECOND, asks, told

remote = pytest.importorskip("furthest.study.remote", reason="the extra http is not installed")
wire = pytest.importorskip("furthest.server.wire", reason="the extra serve is not installed")
messages = pytest.importorskip("furthest.study.messages")


@pytest.fixture(params=["http", "http_postgres"])
def place(request):
    """A server with either database behind it: the address of an empty place, and the database."""
    url = request.getfixturevalue(f"{request.param}_url")
    service = {"http": "service", "http_postgres": "postgres_service"}[request.param]
    return url, request.getfixturevalue(service).behind(url)


@pytest.fixture
def storage(http_url):
    made = open_storage(http_url)
    yield made
    made.close()


@pytest.fixture
def own_service(tmp_path, token):
    """A server that a test may kill."""
    running = [started(free_port(), tmp_path)]
    yield running
    running[-1].kill()
    assert "Traceback" not in running[-1].errors()


# The same as on this machine


def campaign(url, workers=3):
    """Several workers with handles of their own; what each was asked, and where that led."""
    ft.Study.create("a", TWO, 0.05, url, seed=5).close()
    handles = [ft.Study.load("a", url) for _ in range(workers)]
    lab, asked = Lab(TWO, TWO_MU, seed=1), []
    handles[0].add("B", 0.25, id="mine", measured_at=12.5)
    with suppress(ft.errors.StoppedError):
        for turn in range(1000):
            trials = [(handle, handle.ask(worker=str(turn))) for handle in handles]
            for handle, trial in reversed(trials):
                if turn % 7 == 3 and handle is handles[0]:
                    handle.fail(trial, "spilt")
                else:
                    handle.tell(trial, lab.measure(trial.arm))
            asked += [trial.arm for _, trial in trials]
    found = [plain(handle.status().to_dict()) for handle in handles]
    log = handles[-1].events()
    for handle in handles:
        handle.close()
    return asked, found, log


# What differs between two campaigns on one machine.
OWN = {"created_at", "stopped_at", "ended_at", "log_digest"}


def plain(document):
    """What a status says, but for when."""
    if isinstance(document, dict):
        return {key: plain(value) for key, value in document.items() if key not in OWN}
    if isinstance(document, list | tuple):
        return [plain(each) for each in document]
    return document


def test_a_study_goes_the_same_way_as_on_this_machine(place, sqlite_url):
    url, database = place
    asked, found, log = campaign(url)
    here = campaign(sqlite_url)
    assert len(asked) > 10
    assert (asked, found) == here[:2]
    assert found[0]["state"] == "stopped"
    assert found[0] == found[1] == found[2]
    behind = ft.Study.load("a", database)
    assert behind.events() == log
    proof = behind.certificate()
    assert verify("a", log, proof.to_dict()).certificate == proof
    behind.close()


def test_two_servers_on_one_database(server, tmp_path, token, request):
    schema = request.getfixturevalue("postgres_url").rpartition("%3D")[2]
    servers = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        servers.append(started(free_port(), tmp_path / name, server.url("PLACE")))
    urls = [each.url(schema) for each in servers]
    ft.Study.create("a", ENDLESS, storage=urls[0]).close()
    told_by: list[list[str]] = [[] for _ in range(4)]

    def work(number):
        study = ft.Study.load("a", urls[number % 2])
        for turn in range(15):
            trial = study.ask(worker=str(number))
            study.tell(trial, number + turn / 100)
            told_by[number].append(trial.id)
        study.close()

    together(work, 4)
    logs = []
    for url in urls:
        study = ft.Study.load("a", url)
        logs.append(study.events())
        study.close()
    assert logs[0] == logs[1]
    assert verify("a", logs[0]).measurements == 60
    results = [event.trial for event in logs[0] if event.kind == "told"]
    assert sorted(results) == sorted(chain.from_iterable(told_by))
    for each in servers:
        each.kill()
        assert "Traceback" not in each.errors()


def together(action, count):
    """In threads; an error of any of them is one of the test."""
    errors = []

    def tried(number):
        try:
            action(number)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=tried, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


# Parts


def test_a_long_log_comes_in_parts(storage, service):
    events = [CREATED, *asks(2 * messages.PAGE + 7)]
    key = storage.create("a", *events)
    assert storage.read(key) == events
    assert storage.read(key, most=messages.PAGE + 1) == events[: messages.PAGE + 1]
    after = events[messages.PAGE - 1]
    assert storage.read(key, after.seq, after.chain) == events[messages.PAGE :]
    assert storage.read(key, most=0) == []
    with storage.writing(key) as log:
        assert log.read(0, "") == events
    with pytest.raises(VerificationError, match="replaced by another"):
        storage.read(key, len(events), "another")


def test_so_do_large_events(storage):
    """Each answer ends with the event that makes it long: no part has all of these."""
    long = [
        Event(seq, "failed", 1.0, f"t-{seq}", 0, None, "x" * (messages.PAGE_LENGTH // 3))
        for seq in range(2, 9)
    ]
    key = storage.create("a", CREATED)
    for event in chained(long, CREATED.chain):
        with storage.writing(key) as log:
            log.append([event])
    assert storage.read(key)[1:] == chained(long, CREATED.chain)


def test_what_is_longer_than_one_piece(storage):
    (created,) = chained([CREATED._replace(data='{"σ": "' + "ε" * (remote.PIECE // 3) + '"}')])
    key = storage.create("a", created)
    assert storage.read(key) == [created]


def test_what_is_too_long_for_the_server_is_an_error_and_no_more(storage, http_url):
    key = storage.create("a", CREATED)
    (created,) = chained([CREATED._replace(data="x" * 2**24)])
    with pytest.raises(StorageError, match="takes no message of this size"):
        storage.create("b", created)
    assert storage.studies() == {"a": key}


def test_what_is_too_long_for_any_server_is_not_sent(storage, monkeypatch):
    monkeypatch.setattr(remote, "LONGEST", remote.FRAME + 1000)
    with pytest.raises(StudyError, match="where 1,000 are the most"):
        storage.create("a", CREATED, *asks(100))
    assert storage.studies() == {}


# Who may


@pytest.mark.parametrize("wrong", [None, "wrong"])
def test_who_has_no_token_is_told_what_to_do(http_url, wrong, monkeypatch):
    monkeypatch.delenv("FURTHEST_TOKEN")
    with pytest.raises(StorageError, match=r"token=.*FURTHEST_TOKEN") as found:
        ft.Study.load("a", http_url, token=wrong)
    assert "wrong" not in str(found.value)


def test_a_token_is_given_or_in_the_environment(http_url, monkeypatch):
    ft.Study.create("a", TWO, storage=http_url).close()
    monkeypatch.setenv("FURTHEST_TOKEN", "wrong")
    ft.Study.load("a", http_url, token=TOKEN).close()
    with pytest.raises(StorageError):
        ft.Study.load("a", http_url)
    ft.Study.create("a", TWO, storage=http_url, token=TOKEN, exist_ok=True).close()


def test_a_token_is_refused_where_nobody_asks_for_one(sqlite_url, tmp_path):
    for storage in (sqlite_url, open_storage(sqlite_url)):
        with pytest.raises(InputError, match="token"):
            ft.Study.create("a", TWO, storage=storage, token="secret")
        with pytest.raises(InputError, match="token") as found:
            ft.Study.load("a", storage, token="secret")
        assert "secret" not in str(found.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("odd", ["", "two words", "line\nbreak", "ümlaut", 3])
def test_a_token_that_fits_into_no_header(odd):
    with pytest.raises(InputError, match="letters, digits and signs") as found:
        remote.RemoteStorage("http://127.0.0.1:1", odd)
    assert not odd or str(odd) not in str(found.value)


def test_who_may_look_can_look(http_url):
    study = ft.Study.create("a", TWO, 0.1, storage=http_url)
    for arm in (0, 1) * 30:
        study.add(arm, float(TWO_MU[arm]))
    looked = ft.Study.load("a", http_url, token=LOOK)
    assert looked.status().certificate is not None
    assert study.status().certificate == looked.status().certificate
    key = looked._key
    for refused in (
        lambda: looked.add(0, 0.5),
        lambda: looked.fail("x"),
        lambda: ft.Study.create("b", TWO, storage=http_url, token=LOOK),
        looked.delete,
    ):
        with pytest.raises(StorageError, match="this token may only read"):
            refused()
    assert open_storage(http_url).studies() == {"a": key}
    looked.close()
    study.close()


# Where


@pytest.mark.parametrize(
    "url",
    [
        *("http://", "http:///x", "http://host:port", "http://host:99999", "https://ho st/"),
        *("http://host/ä", "http://[::1", "http://host\n/"),
    ],
)
def test_an_address_that_is_none(url):
    with pytest.raises(StudyError, match="http://HOST:PORT"):
        open_storage(url)


@pytest.mark.parametrize(
    "url",
    [
        *("http://ann:secret@host/", "http://secret@host", "http://host/?token=secret"),
        *("http://host/#secret", "https://ann:secret@host:99999"),
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_shown(url):
    with pytest.raises(StudyError, match="HOST:PORT") as found:
        open_storage(url)
    assert "secret" not in str(found.value)


def test_where_nobody_is(token):
    with pytest.raises(StorageError, match=r"nobody answers.*try again"):
        ft.Study.load("a", f"http://127.0.0.1:{free_port()}")


def test_where_somebody_else_is(service, token):
    with pytest.raises(StorageError, match="no furthest server at this address"):
        ft.Study.load("a", f"http://127.0.0.1:{service.port}/elsewhere/place")


@pytest.mark.parametrize("answer", ["3", "[]", '{"ok": {"events": [[1]]}}', "}", "[" * 10**5])
def test_a_server_that_talks_nonsense(answer):
    from websockets.sync.server import serve

    def talk(connection):
        for _ in connection:
            connection.send(answer)

    with serve(talk, "127.0.0.1", 0) as nonsense:
        thread = threading.Thread(target=nonsense.serve_forever)
        thread.start()
        made = open_storage(f"http://127.0.0.1:{nonsense.socket.getsockname()[1]}")
        with pytest.raises(StorageError, match="makes no sense"):
            made.read(1)
        made.close()
        nonsense.shutdown()
        thread.join()


def test_the_command_line_takes_the_token_from_the_environment(http_url, furthest):
    ft.Study.create("a", TWO, storage=http_url).close()
    listed = furthest("study", "list", "--json", FURTHEST_STORAGE=http_url)
    assert [row["name"] for row in json.loads(listed.stdout)["studies"]] == ["a"]
    refused = furthest("study", "list", "--storage", http_url, FURTHEST_TOKEN="wrong")
    assert refused.returncode == 1
    assert "FURTHEST_TOKEN" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_without_the_extra_the_error_says_what_to_install():
    script = (
        "import sys; sys.modules['websockets'] = None\n"
        "from furthest.study.storage import open_storage\n"
        "open_storage('http://x')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: websockets is not installed: pip install 'furthest[http]'" in (
        done.stderr
    )


# On the way


def hang_up(ends):
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


class Cable:
    """Between a client and a server: it can be cut."""

    def __init__(self, port):
        self._port = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends: list[socket.socket] = []
        self.is_deaf = False  # it is cut when the server answers
        threading.Thread(target=self._accept, daemon=True).start()

    def url(self, place):
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}/full/{place}"

    def _accept(self):
        with suppress(OSError):
            while True:
                near = self._listening.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._port))
                self._ends += [near, far]
                for ends in ((near, far, False), (far, near, True)):
                    threading.Thread(target=self._carry, args=ends, daemon=True).start()

    def _carry(self, one, other, answers):
        with suppress(OSError):
            while data := one.recv(2**16):
                if answers and self.is_deaf:
                    break
                other.sendall(data)
        hang_up([one, other])

    def cut(self):
        ends, self._ends = self._ends, []
        hang_up(ends)

    def close(self):
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut()


@pytest.fixture
def cable(service):
    made = Cable(service.port)
    yield made
    made.close()


@pytest.fixture
def on_cable(cable, http_url):
    made = open_storage(cable.url(http_url.rpartition("/")[2]))
    yield made
    made.close()


def test_a_connection_lost_between_two_calls_is_replaced(on_cable, cable):
    key = on_cable.create("a", CREATED)
    cable.cut()
    assert on_cable.read(key) == [CREATED]
    cable.cut()
    with on_cable.writing(key) as log:
        log.append([SECOND])
    cable.cut()
    assert on_cable.create("b", CREATED) != key
    cable.cut()
    on_cable.delete(key)
    assert list(on_cable.studies()) == ["b"]


def test_a_connection_lost_midway_leaves_no_trace(on_cable, cable):
    key = on_cable.create("a", CREATED)
    lost = pytest.raises(StorageError, match="connection was lost; nothing was written; try again")
    with lost, on_cable.writing(key) as log:
        log.append([SECOND])
        cable.cut()
        log.read(2, SECOND.chain)
    with lost, on_cable.writing(key) as log:
        log.append([SECOND])
        cable.cut()
        with suppress(StorageError):
            log.read(2, SECOND.chain)
    assert on_cable.read(key) == [CREATED]


def test_an_answer_lost_after_the_end_leaves_a_doubt_and_a_retry_dispels_it(on_cable, cable):
    study = ft.Study.create("a", ENDLESS, storage=on_cable)
    trial = study.ask()
    writing = on_cable.writing

    @contextmanager
    def deaf(key):
        with writing(key) as log:
            yield log
            cable.is_deaf = True

    on_cable.writing = deaf
    with pytest.raises(StorageError, match="may or may not be there: look, or try again"):
        study.tell(trial, 0.5)
    cable.is_deaf, on_cable.writing = False, writing
    study.tell(trial, 0.5)
    study.tell(trial, 0.5)
    assert [each.value for each in study.history()] == [0.5]


def test_a_server_that_falls_silent(own_service, monkeypatch):
    monkeypatch.setattr(remote, "GRACE", 0.2)
    (running,) = own_service
    made = remote.RemoteStorage(running.url("a"), TOKEN, 0.1)
    key = made.create("a", CREATED)
    silent = pytest.raises(StorageError, match=r"no answer within 0\.3 seconds; nothing was writ")
    with silent, made.writing(key) as log:
        os.kill(running.process.pid, signal.SIGSTOP)
        log.append([SECOND])
    os.kill(running.process.pid, signal.SIGCONT)
    other = remote.RemoteStorage(running.url("a"), TOKEN)
    with other.writing(key) as log:
        assert log.read(0, "") == [CREATED]
        log.append([SECOND])
    made.close()
    other.close()


def test_a_server_that_is_killed_and_started_again(own_service):
    """Four clients add results, each again until it is acknowledged."""
    (running,) = own_service
    url = running.url("a")
    ft.Study.create("a", ENDLESS, storage=url).close()
    progress, acknowledged, over = threading.Semaphore(0), set(), threading.Event()

    def work(number):
        study = ft.Study.load("a", url)
        for count in range(10**6):
            if over.is_set():
                break
            own = f"{number}-{count}"
            while True:
                try:
                    study.add(count % 3, count / 7, id=own)
                except StorageError:
                    time.sleep(0.005)
                else:
                    break
            acknowledged.add(own)
            progress.release()
        study.close()

    workers = threading.Thread(target=together, args=(work, 4))
    workers.start()
    for _ in range(6):
        for _ in range(12):
            progress.acquire()
        own_service[-1].kill()
        own_service.append(own_service[-1].again())
    over.set()
    workers.join()
    study = ft.Study.load("a", own_service[-1].behind(url))
    events = study.events()
    study.close()
    ids = [event.trial for event in events if event.kind == "added"]
    assert len(ids) == len(set(ids))
    assert acknowledged == set(ids)
    assert len(ids) >= 72
    assert verify("a", events).measurements == len(ids)


# The lock


HOLDER = """
import sys
from furthest.study.storage import open_storage

storage = open_storage(sys.argv[1])
with storage.writing(int(sys.argv[2])) as log:
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_client_that_is_killed_does_not_keep_the_lock(place):
    """It could hold it for an hour."""
    storage = open_storage(place[0])
    key = storage.create("a", CREATED)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, place[0], str(key)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout.readline() == b"held\n"
    impatient = remote.RemoteStorage(place[0], TOKEN, 0.1)
    with pytest.raises(StorageError, match="held the lock"), impatient.writing(key):
        pass
    holder.kill()
    holder.wait()
    holder.stdin.close()
    holder.stdout.close()
    with storage.writing(key) as log:
        log.append([SECOND])
    assert storage.read(key) == [CREATED, SECOND]
    impatient.close()
    storage.close()


def test_who_holds_the_lock_for_too_long_loses_it(service, token, http_url):
    brief = open_storage(http_url.replace("/full/", "/brief/"))
    other = open_storage(http_url)
    key = brief.create("a", CREATED)
    late = pytest.raises(StorageError, match="lock was held for too long; nothing was written")
    with late, brief.writing(key) as log:
        log.append([told(CREATED, 0.1)])
        with other.writing(key) as others:  # once the server has given up the first
            others.append([SECOND])
        log.append([told(SECOND)])
    with late, brief.writing(key) as log:
        with other.writing(key):
            pass
        log.read(0, "")
    assert brief.read(key) == [CREATED, SECOND]
    with brief.writing(key) as log:
        log.append([told(SECOND)])
    assert len(other.read(key)) == 3
    brief.close()
    other.close()


def test_what_was_refused_is_not_written_even_if_the_error_is_caught(storage):
    key = storage.create("a", CREATED)
    lost = pytest.raises(StorageError, match="nothing was written")
    with lost, storage.writing(key) as log:
        log.append([SECOND])
        with suppress(StorageError):
            log.append([told(told(SECOND))])
    assert storage.read(key) == [CREATED]


# What clients should not say


@pytest.fixture
def say(http_url, storage):
    """Send a text as it is, and read the answer."""
    storage.create("a", CREATED)
    with remote.connect(
        http_url.replace("http", "ws", 1) + messages.PATH,
        additional_headers={"Authorization": f"Bearer {TOKEN}"},
    ) as connection:

        def said(message):
            text = message if isinstance(message, str | bytes) else json.dumps(message)
            connection.send(text)
            return json.loads(connection.recv(100))

        yield said


KEY = 2**63
BEGIN = {"do": "begin", "key": 1, "patience": 1.0}
READ = {"do": "read", "key": 1, "after": 0, "head": "", "most": -1}
NONSENSE = [
    *("", "x", "3", "null", "[]", "{", b"\0\xff", "[" * 10**5, "1" * 10**5, '"\\ud800"'),
    *({}, {"do": 3}, {"do": []}, {"do": "drop"}, {"do": "studies", "more": 1}, {"do": "read"}),
    *(READ | odd for odd in ({"key": "1"}, {"key": True}, {"key": 1.0}, {"key": None})),
    *(READ | odd for odd in ({"key": 0}, {"key": KEY}, {"key": -KEY * 10**100}, {"after": -1})),
    *(READ | odd for odd in ({"after": KEY}, {"head": "\0"}, {"head": "\ud800"}, {"head": 3})),
    *(BEGIN | odd for odd in ({"patience": -1.0}, {"patience": float("nan")}, {"key": KEY})),
    *({"do": "append", "events": []}, {"do": "commit"}, {"do": "delete", "key": KEY}),
    *({"do": "create", "name": name, "events": [[*CREATED]]} for name in ("", "\0", "a\n", 3)),
    *({"do": "create", "name": "b", "events": events} for events in ([], [[]], [3], {}, "x")),
    {"do": "create", "name": "b", "events": [[*SECOND]]},
]


def test_nonsense_is_answered_with_an_error(say, storage):
    for message in NONSENSE:
        answer = say(message)
        assert set(answer) == {"error", "message"}, message
        assert issubclass(messages.KNOWN[answer["error"]], FurthestError)
        assert "its log says why" not in answer["message"], message
    assert list(say({"do": "studies"})["ok"]) == ["a"]
    assert list(storage.studies()) == ["a"]


ODD_FIELDS: list[dict[str, object]] = [
    *({"seq": odd} for odd in (0, 1, 3, -1, 2**31, "2", 2.0, True, None)),
    *({"at": odd} for odd in (1, "1.0", None, float("inf"), float("nan"), -0.0, 10**400)),
    *({"arm": odd} for odd in (-1, 2**31, 0.0, "0", True, [])),
    *({"value": odd} for odd in (1, "1", float("nan"), -0.0, [], 10**400, True)),
    *({name: odd} for name in ("kind", "trial", "data", "worker") for odd in ("\0", "\ud800", 3)),
    *({"chain": odd} for odd in ("", "x", CREATED.chain, 3)),
]


def test_events_that_no_study_writes_are_refused(say, storage):
    """Each is chained well, as far as that can be done."""
    key = storage.studies()["a"]
    rows: list[object] = []
    for fields in ODD_FIELDS:
        event = SECOND._replace(**fields)
        if "chain" not in fields:
            with suppress(AttributeError, TypeError, UnicodeEncodeError):
                (event,) = chained([event], CREATED.chain)
        rows.append([*event])
    rows += [[], [*SECOND, ""], [*SECOND][:-1], 3, None]
    for row in rows:
        assert say(BEGIN | {"key": key}) == {"ok": None}
        answer = say({"do": "append", "events": [row]})
        assert "error" in answer, row
        assert "its log says why" not in answer["message"], row
        assert "nothing was written" in say({"do": "commit"})["message"]
        assert storage.read(key) == [CREATED]
    assert say(BEGIN | {"key": key}) == {"ok": None}
    assert say({"do": "append", "events": [[*SECOND]]}) == {"ok": None}
    assert say({"do": "commit"}) == {"ok": None}
    assert storage.read(key) == [CREATED, SECOND]


def test_nonsense_while_a_log_is_locked_releases_it(say, storage):
    key = storage.studies()["a"]
    for message in [*NONSENSE[:12], {"do": "studies"}, BEGIN, READ | {"key": key + 1}]:
        assert say(BEGIN | {"key": key}) == {"ok": None}
        assert "error" in say(message)
        with storage.writing(key) as log:
            assert log.read(0, "") == [CREATED]
    assert say({"do": "rollback"}) == {"ok": None}


def test_who_does_not_wait_for_answers_is_cut_off(http_url, storage):
    key = storage.create("a", CREATED)
    from websockets.exceptions import ConnectionClosed

    with (
        remote.connect(
            http_url.replace("http", "ws", 1) + messages.PATH,
            additional_headers={"Authorization": f"Bearer {TOKEN}"},
        ) as hasty,
        pytest.raises(ConnectionClosed),
    ):
        for _ in range(10**6):
            hasty.send(json.dumps(READ | {"key": key}))
    assert storage.read(key) == [CREATED]


# What follows the rules of a log, and is not so


def test_an_end_that_somebody_made_up_gives_no_certificate(place):
    """Anybody who may write can say that the study has stopped."""
    url, database = place
    study = ft.Study.create("a", TWO, 0.1, storage=url)
    for value in (0.0, 0.01, 0.02, 0.03):
        study.tell(study.ask(), value)
    with study._writing() as new:
        new.append(study._event("stopped", "", 1, data="4", worker="me"))
    for looked in (study, ft.Study.load("a", url), ft.Study.load("a", database)):
        for _ in range(2):
            with pytest.raises(VerificationError, match="results do not lead to that"):
                looked.status()
            with pytest.raises(VerificationError, match="results do not lead to that"):
                looked.certificate()
            with pytest.raises(VerificationError, match="results do not lead to that"):
                looked.ask()
        looked.close()


# Numbers


def test_numbers_travel_exactly(http_url):
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 2**63, 2000, np.int64).view(np.float64)
    values = [float(x) for x in bits if abs(x) < 1e90]
    assert len(values) > 500
    problem = ft.Problem(np.eye(2), eps=1e-6, sigma=1e85)
    study = ft.Study.create("a", problem, storage=http_url)
    study.tell_many([{"arm": 0, "value": value} for value in values])
    again = ft.Study.load("a", http_url)
    assert [each.value for each in again.history()] == values
    again.close()
    study.close()
