"""What whoever runs the service looks at, and `furthest serve` as a process."""

import json
import os
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from furthest import Problem, Study

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from services import Service, served, serving, wait_until_ready

PROBLEM = {"options": ["A", "B"], "eps": 0.001, "sigma": 1.0}


def test_it_lives_at_once_and_is_ready_when_all_is_compiled(service):
    assert service.get("/healthz").data["status"] == "ok"
    assert wait_until_ready(service).data["status"] == "ready"


def test_a_damaged_study_does_not_keep_the_service_from_being_ready(tmp_path):
    import sqlite3

    storage = f"sqlite:///{tmp_path}/a.db"
    for name in ("good", "bad"):
        Study.create(name, Problem.options(["A", "B"], eps=0.1), storage=storage).close()
    with sqlite3.connect(tmp_path / "a.db") as connection:
        connection.execute("UPDATE furthest_events SET at = at + 1 WHERE study = 2")
    with serving(storage) as service:
        wait_until_ready(service)
        rows = {row["name"]: row for row in service.get("/api/v1/studies").data["studies"]}
        assert rows["good"]["state"] == "running"
        assert rows["bad"]["state"] == "damaged"
        assert "digest" in rows["bad"]["error"]
        broken = service.get(service.study("bad"))
        assert (broken.status, broken.kind) == (500, "verification")


def test_figures_count_requests_by_route(service):
    service.post("/api/v1/studies", {"name": "counted", "problem": PROBLEM})
    for _ in range(3):
        service.post(f"{service.study('counted')}/ask")
    line = next(
        line
        for line in service.get("/metrics").data.splitlines()
        if line.startswith("furthest_requests_total") and "/ask" in line and '"200"' in line
    )
    assert 'route="/api/v1/studies/{name}/ask"' in line
    assert float(line.split()[-1]) >= 3


def test_figures_tell_what_the_studies_come_to(tmp_path):
    with serving(f"sqlite:///{tmp_path}/a.db") as service:
        for name in ("a", "b"):
            service.post("/api/v1/studies", {"name": name, "problem": PROBLEM})
            service.post(f"{service.study(name)}/ask", {"n": 3})
            service.post(f"{service.study(name)}/add", {"arm": 0, "value": 0.5})
        lines = service.get("/metrics").data.splitlines()
        assert 'furthest_studies{state="running"} 2.0' in lines
        assert "furthest_measurements 2.0" in lines
        assert "furthest_pending_trials 6.0" in lines


def test_the_process_serves_and_ends_when_it_is_asked_to(tmp_path):
    """A stream that is open, and a request that is under way, do not keep it."""
    with served(cwd=tmp_path) as (service, process):
        assert service.post("/api/v1/studies", {"name": "a", "problem": PROBLEM}).status == 201
        place = service.url.removeprefix("http://").split(":")
        with socket.create_connection((place[0], int(place[1]))) as stream:
            stream.sendall(b"GET /api/v1/studies/a/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            while b"event: change" not in stream.recv(65_536):
                pass
            process.send_signal(signal.SIGTERM)
            assert process.wait() in (0, -signal.SIGTERM)
    assert (tmp_path / "furthest.db").exists()


def test_what_was_acknowledged_survives_kill_9(tmp_path):
    """Four clients tell; the process is killed in the middle, and started again."""
    told: set[str] = set()

    def tell(service, number):
        try:
            for count in range(10**6):
                own = f"{number}-{count}"
                body = {"arm": count % 2, "value": 0.0, "id": own}
                if service.post(f"{service.study('a')}/add", body).status == 200:
                    told.add(own)
        except OSError:
            pass  # the service is gone

    with served(cwd=tmp_path) as (service, process):
        service.post("/api/v1/studies", {"name": "a", "problem": PROBLEM})
        threads = [threading.Thread(target=tell, args=(service, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        while len(told) < 100:
            threading.Event().wait(0.01)
        process.kill()
        for thread in threads:
            thread.join()
    with served(cwd=tmp_path) as (service, _):
        found = [
            row["id"]
            for row in service.get(f"{service.study('a')}/history?most=10000").data["measurements"]
        ]
        assert len(found) == len(set(found))
        assert told <= set(found)
        assert len(found) <= len(told) + 4  # what was written, but not acknowledged
        own = min(told)
        again = {"arm": int(own.split("-")[1]) % 2, "value": 0.0, "id": own}
        assert service.post(f"{service.study('a')}/add", again).data == {"ids": [own]}
        assert service.get(service.study("a")).data["measurements"] == len(found)


def test_several_processes_on_one_server(postgres_url):
    """Every one gives the same answer, and they count together."""
    with served("--workers", "2", "--storage", postgres_url) as (service, _):
        wait_until_ready(service)
        service.post("/api/v1/studies", {"name": "a", "problem": PROBLEM})
        path = service.study("a")
        for number in range(40):
            body = {"arm": number % 2, "value": 0.1 * number, "id": f"own {number}"}
            assert service.post(f"{path}/add", body).status == 200
        shown = [service.get(path).data for _ in range(20)]
        assert all(each == shown[0] for each in shown)
        assert shown[0]["measurements"] == 40
        figures = service.get("/metrics").data
        assert 'route="/api/v1/studies/{name}/add",status="200"} 40.0' in figures


def test_tls(tmp_path):
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", "key.pem", "-out", "cert.pem", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with served("--tls-cert", "cert.pem", "--tls-key", "key.pem", cwd=tmp_path) as (service, _):
        assert service.url.startswith("https://")
        context = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        assert Service(service.url, context=context).get("/healthz").status == 200


def test_lines_of_the_log_are_json(tmp_path):
    with served(cwd=tmp_path, FURTHEST_LOGS="1") as (service, process):
        service.get("/healthz")
        process.send_signal(signal.SIGTERM)
        assert process.stderr is not None
        lines = [json.loads(line) for line in process.stderr.read().splitlines()]
    request = next(line for line in lines if line["event"] == "request")
    assert request["path"] == "/healthz"
    assert {"at", "level", "client", "method", "status", "ms"} <= request.keys()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--host", "0.0.0.0"], 2, "--token-file"),
        (["--workers", "2"], 2, "PostgreSQL"),
        (["--tls-cert", "cert.pem"], 2, "go together"),
        (["--token-file", "none"], 2, "none"),
        (["--storage", "mysql://x"], 2, "unknown storage"),
        (["--storage", "http://localhost:1"], 2, "the storage of another"),
        (["--prefix", "lab"], 2, "begin with /"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(furthest, arguments, code, words):
    done = furthest("serve", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_port_that_is_taken_is_one_sentence(furthest):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = furthest("serve", "--port", str(taken.getsockname()[1]))
    assert done.returncode == 1
    assert "in use" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_its_packages_it_says_what_to_install(python):
    code = (
        "import sys; sys.modules['fastapi'] = None; sys.argv = ['furthest', 'serve']\n"
        "from furthest.cli import main; main()"
    )
    done = python("-c", code)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'furthest[serve]'" in done.stderr


def test_the_environment_is_left_alone():
    assert "FURTHEST_SERVE" not in os.environ
