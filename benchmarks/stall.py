"""Whether one long request keeps the others waiting: what the longest pause of the service is.

    python benchmarks/stall.py [--times 5]

While `furthest serve` computes a foresight (K = Z = 20, d = 12), the status of a study with 2,000
answers, or its whole log anew, others ask for /healthz and ask and tell on another study, each as
soon as it has its answer. Prints median and longest wait of these in milliseconds, beside what
they are while nothing else is done; and how long the request itself takes.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

# In place of this folder: it has a `study` of its own.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests")

import furthest as ft  # noqa: E402
from services import Service, served, wait_until_ready  # noqa: E402

Waits = dict[str, list[float]]


def spheres(count: int, dimension: int) -> np.ndarray:
    """Random options."""
    arms = np.random.default_rng(0).normal(size=(count, dimension))
    found: np.ndarray = arms / np.linalg.norm(arms, axis=1, keepdims=True)
    return found


def create(storage: str, name: str, arms: np.ndarray, eps: float, results: int) -> None:
    """A study with so many results beside the initial ones."""
    problem = ft.Problem(arms, eps=eps)
    study = ft.Study.create(name, problem, 0.05, storage)
    rng = np.random.default_rng(1)
    mu = rng.normal(size=arms.shape[1])
    mu *= 2 / np.ptp(arms @ mu)
    drawn = [*problem.task.initial.tolist(), *rng.integers(len(arms), size=results).tolist()]
    study.tell_many([{"arm": arm, "value": float(arms[arm] @ mu + rng.normal())} for arm in drawn])
    study.close()


def others(service: Service, waits: Waits, over: threading.Event) -> list[threading.Thread]:
    """Those who are kept waiting, or not."""

    def health() -> None:
        service.get("/healthz")

    def work() -> None:
        path = service.study("other")
        trial = service.post(f"{path}/ask").data["trials"][0]["id"]
        service.post(f"{path}/tell", {"trial": trial, "value": 0.5})

    def repeat(name: str, action: Callable[[], None]) -> None:
        while not over.is_set():
            began = time.perf_counter()
            action()
            waits[name].append(1e3 * (time.perf_counter() - began))

    pairs = {"healthz": health, "ask + tell": work}
    threads = [threading.Thread(target=repeat, args=pair) for pair in pairs.items()]
    for thread in threads:
        thread.start()
    return threads


def measured(service: Service, action: Callable[[], None], times: int) -> tuple[Waits, float]:
    """What others wait while something is done so many times, and how long it takes."""
    waits: Waits = {"healthz": [], "ask + tell": []}
    over = threading.Event()
    threads, began = others(service, waits, over), time.perf_counter()
    for _ in range(times):
        action()
    seconds = (time.perf_counter() - began) / times
    over.set()
    for thread in threads:
        thread.join()
    return waits, seconds


def main() -> None:
    """A line for each kind of request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storage = f"sqlite:///{folder}/stall.db"
        create(storage, "other", spheres(20, 12), 1e-6, 0)
        create(storage, "future", spheres(20, 12), 0.1, 100)
        create(storage, "large", spheres(2_000, 10), 0.1, 5_000)
        with (
            (Path(folder) / "log").open("w") as log,
            served("--storage", storage, "--rate", "100000", errors_to=log) as (service, _),
        ):
            wait_until_ready(service)
            requests: dict[str, Callable[[], object]] = {
                "nothing": lambda: time.sleep(1),
                "foresight": lambda: service.get(f"{service.study('future')}/foresight"),
                "status, Z = 2,000": lambda: service.get(service.study("large")),
                "verify, Z = 2,000": lambda: service.get(f"{service.study('large')}/verify"),
            }
            for action in requests.values():
                action()
            for name, action in requests.items():
                waits, seconds = measured(service, lambda a=action: a(), options.times)  # type: ignore[misc]
                words = ", ".join(
                    f"{who}: median {np.median(found):.0f}, longest {max(found):.0f} ms"
                    f" ({len(found)} times)"
                    for who, found in waits.items()
                )
                print(f"{name:18} {1e3 * seconds:6.0f} ms; {words}", flush=True)


if __name__ == "__main__":
    main()
