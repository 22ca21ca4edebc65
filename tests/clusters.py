"""A private Dask cluster: a scheduler and workers, each a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LOCAL = ("--host", "127.0.0.1", "--no-dashboard")

Process = subprocess.Popen[str]


class Cluster:
    """A scheduler, to which workers can be added; all end with the block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[Process] = []

    def __enter__(self) -> Self:
        scheduler = self._start("scheduler", *LOCAL, "--port", "0")
        assert scheduler.stderr is not None
        while "Scheduler at:" not in (line := scheduler.stderr.readline()):
            assert line, "the scheduler has not begun"
        self.address = line.split()[-1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()

    def worker(self, threads: int = 1) -> Process:
        """A further worker."""
        return self._start(
            *("worker", self.address, "--no-nanny", "--nthreads", threads, *LOCAL),
            *("--local-directory", self.folder),
        )

    def _start(self, *words: Any) -> Process:
        # Warnings of Dask's own command line are no concern of ours.
        process = subprocess.Popen(
            [sys.executable, "-m", "dask", *map(str, words)],
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
            env=os.environ | {"PYTHONWARNINGS": "ignore"},
        )
        self.processes.append(process)
        return process
