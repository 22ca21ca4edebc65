"""Which page sells? Daily counts in a CSV file, until there is a certificate to print.

Six variants of a page, a thousand visitors a day, of whom 3 to 6 in a hundred buy. Every morning
the study says how many visitors each variant is to get; every evening the shop writes what came of
it into a file, and the study takes the file in. The shop is made up here, the rest is as it would
be: the study sees nothing but the files.

    python examples/conversion.py [FOLDER]

The folder gets the files, the database and certificate.html. Started again it goes on where it was.
"""

import csv
import math
import random
import sys
from pathlib import Path
from statistics import NormalDist

import furthest as ft
from furthest.study.page import page
from furthest.study.sheets import rows

VISITORS = 1000
EPS = 0.01  # a variant that sells one per cent of the visitors less than the best will do
DELTA = 0.05

# What nobody knows: of a hundred visitors so many buy.
BUYERS = {
    "as it is": 4.2,
    "large picture": 4.8,
    "short text": 6.0,
    "green button": 5.4,
    "two columns": 3.0,
    "video": 3.6,
}


def evening(trials: list[ft.Trial], file: Path, seed: int) -> None:
    """What the shop writes: a line for each variant that was shown."""
    shop = random.Random(seed)  # noqa: S311
    with file.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["id", "successes", "n"])
        for trial in trials:
            bought = sum(100 * shop.random() < BUYERS[trial.name] for _ in range(trial.size))
            table.writerow([trial.id, bought, trial.size])


def fixed_horizon(eps: float) -> int:
    """Visitors of a classical test with the same ε and δ that is looked at once, at the end."""
    z = NormalDist().inv_cdf(1 - DELTA / (len(BUYERS) - 1))
    rate = max(BUYERS.values()) / 100
    return math.ceil(len(BUYERS) * 2 * rate * (1 - rate) * (z / eps) ** 2)


def main(folder: Path, eps: float = EPS) -> ft.Study:
    """Day after day, until the study stops."""
    folder.mkdir(parents=True, exist_ok=True)
    problem = ft.Problem.options(list(BUYERS), eps=eps, noise="bernoulli")
    storage = f"sqlite:///{folder / 'conversion.db'}"
    study = ft.Study.create("conversion", problem, DELTA, storage, exist_ok=True)
    while study.status().state == "running":
        day = 1 + len(list(folder.glob("day-*.csv")))
        file = folder / f"day-{day:02}.csv"
        evening(study.ask(batch=VISITORS), file, day)
        study.tell_many(rows(file))
        status = study.status()
        print(
            f"day {day}: {status.answer_name}, evidence {status.statistic or 0:.2f} of "
            f"{status.threshold or 0:.2f} after {status.measurements:,} visitors"
        )
    proof = study.certificate()
    assert proof is not None
    (folder / "certificate.html").write_text(page(study), encoding="utf-8")
    print(f"\n{proof.answer_name}: {proof.guarantee}\n")
    for row, visitors in zip(proof.verdicts, proof.pulls, strict=True):
        print(f"  {row.name:14} {visitors:6,} visitors  {100 * row.estimate:.2f} %  {row.verdict}")
    print(f"\n{proof.measurements:,} visitors; with a fixed horizon {fixed_horizon(eps):,}")
    print(f"the page to print: {folder / 'certificate.html'}")
    return study


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "conversion"))
