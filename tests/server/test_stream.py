"""Events as they happen, over real connections."""

import json
import socket
import threading
import urllib.request
from queue import Queue
from urllib.parse import urlsplit

import pytest

from furthest import Study

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from services import serving

PROBLEM = {"options": ["A", "B"], "eps": 0.1, "sigma": 1.0}


class Listener:
    """Reads the events of a stream in a thread."""

    def __init__(self, service, path):
        self._response = urllib.request.urlopen(f"{service.url}{path}")
        assert self._response.headers["content-type"].startswith("text/event-stream")
        self.events = Queue()
        self.ended = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        kind = ""
        for line in self._response:
            word, _, rest = line.decode().strip().partition(": ")
            if word == "event":
                kind = rest
            elif word == "data":
                self.events.put((kind, json.loads(rest)))
        self.ended.set()

    def next(self):
        return self.events.get(timeout=600)

    def until(self, measurements):
        while True:
            kind, data = self.next()
            assert kind == "change"
            if data["measurements"] == measurements:
                return data


def create(service, name):
    service.post("/api/v1/studies", {"name": name, "problem": PROBLEM})
    return service.study(name)


def test_changes_by_whomever_are_told_to_all_who_listen(service):
    path = create(service, "watched")
    listeners = [Listener(service, f"{path}/events") for _ in range(3)]
    first = [each.next() for each in listeners]
    assert (
        first == [("change", {"seq": 1, "state": "running", "measurements": 0, "pending": 0})] * 3
    )
    trial = service.post(f"{path}/ask").data["trials"][0]["id"]
    service.post(f"{path}/tell", {"trial": trial, "value": 0.5})
    assert [each.until(1)["seq"] for each in listeners] == [3] * 3
    Study.load("watched", service.storage).add("B", 0.25)  # another process would do the same
    assert [each.until(2)["seq"] for each in listeners] == [4] * 3


def test_who_knows_the_end_of_the_log_is_told_what_comes_later(service):
    path = create(service, "known")
    listener = Listener(service, f"{path}/events?after=1")
    service.post(f"{path}/add", {"arm": "A", "value": 0.5})
    assert listener.next()[1]["seq"] == 2
    behind = Listener(service, f"{path}/events?after=1")
    assert behind.next()[1]["seq"] == 2


def test_a_study_that_goes_is_gone(service):
    path = create(service, "short")
    listener = Listener(service, f"{path}/events")
    assert listener.next()[0] == "change"
    service.call("DELETE", path)
    assert listener.next() == ("gone", {})
    listener.ended.wait()
    assert service.get(f"{path}/events").kind == "unknown"


def test_the_list_tells_which_studies_have_changed(service):
    listener = Listener(service, "/api/v1/events")
    listener.next()
    path = create(service, "fresh")
    while "fresh" not in listener.next()[1]["studies"]:
        pass
    service.post(f"{path}/add", {"arm": "A", "value": 0.5})
    while listener.next()[1]["studies"] != ["fresh"]:
        pass


def test_streams_end_with_the_service(tmp_path):
    with serving(f"sqlite:///{tmp_path}/a.db") as service:
        listener = Listener(service, f"{create(service, 'a')}/events")
        listener.next()
    assert listener.ended.wait(600)


def test_a_listener_that_goes_away_is_no_error(tmp_path, caplog):
    caplog.set_level("INFO")
    with serving(f"sqlite:///{tmp_path}/a.db") as service:
        ways = [f"{create(service, 'left')}/events", "/api/v1/events"]
        place = urlsplit(service.url)
        for way in ways:
            with socket.create_connection((place.hostname, place.port)) as stream:
                stream.sendall(f"GET {way} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
                while b"event: change" not in stream.recv(65_536):
                    pass
        while not all(f'"{way}"' in caplog.text for way in ways):  # each has come to its end
            threading.Event().wait(0.01)
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == []
