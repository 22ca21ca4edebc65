"""Which compressor packs a page of text best, when processor time has a price?

A live study that measures something real: a random 16 KiB page of Python's own library is
compressed, and the clock is read. The score of a setting is the share of bytes saved, less a price
per millisecond, cut to [0, 1]: so σ = 1/2 is proven (Hoeffding's lemma), whatever the clock does.

    python examples/compression.py [STORAGE]

Stop it at any time, also by kill -9, and start it again: it goes on where it was. Start it several
times at once, and they share the work.
"""

import bz2
import lzma
import random
import sys
import sysconfig
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

import furthest as ft

PAGE = 16 * 1024
PRICE = 0.05  # share of the page that one millisecond is worth

SETTINGS: dict[str, Callable[[bytes], bytes]] = {
    "zlib 1": lambda page: zlib.compress(page, 1),
    "zlib 6": lambda page: zlib.compress(page, 6),
    "zlib 9": lambda page: zlib.compress(page, 9),
    "bz2 9": lambda page: bz2.compress(page, 9),
    "lzma 0": lambda page: lzma.compress(page, preset=0),
    "lzma 6": lambda page: lzma.compress(page, preset=6),
}


def pages() -> list[Path]:
    """Files of the standard library that hold at least one page."""
    library = Path(sysconfig.get_path("stdlib"))
    return [path for path in sorted(library.glob("*.py")) if path.stat().st_size >= PAGE]


def measure(compress: Callable[[bytes], bytes], files: list[Path]) -> float:
    """The score of one setting on one random page."""
    text = random.choice(files).read_bytes()  # noqa: S311
    start = random.randrange(len(text) - PAGE + 1)  # noqa: S311
    page = text[start : start + PAGE]
    began = time.perf_counter()
    packed = compress(page)
    milliseconds = 1e3 * (time.perf_counter() - began)
    return min(1.0, max(0.0, 1 - len(packed) / PAGE - PRICE * milliseconds))


def main(storage: str, eps: float = 0.15) -> ft.Study:
    """Measure until the study stops."""
    options = np.eye(len(SETTINGS))  # without features: one unit vector each
    problem = ft.Problem(options, eps=eps, bounds=(0.0, 1.0), arm_names=list(SETTINGS))
    study = ft.Study.create("compression", problem, 0.05, storage, exist_ok=True)
    files = pages()
    while study.status().state == "running":
        for trial in study.ask(20):
            study.tell(trial, measure(SETTINGS[trial.name], files))
        status = study.status()
        print(
            f"\r{status.measurements} pages: {status.answer_name}, evidence "
            f"{status.statistic or 0:.2f} of {status.threshold or 0:.2f} ",
            end="",
            file=sys.stderr,
        )
    print(file=sys.stderr)
    proof = study.certificate()
    assert proof is not None
    print(f"{proof.answer_name}: {proof.guarantee}")
    for row in proof.verdicts:
        print(f"  {row.name:8} {row.estimate:.3f}  {row.verdict}")
    return study


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "sqlite:///compression.db")
