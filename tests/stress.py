"""The tests that could see other processes, many times, beside one that compiles all the time.

    python tests/stress.py [ROUNDS]

The other process forgets kernels of the package's own cache and compiles them again, over and over.
Prints a line per round; ends with code 1 if any round failed.
"""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent

# They look at a cache, copy the package, wait for other processes, or are killed.
TOUCHY = (
    "test_cache.py",
    "test_simulation.py::test_an_edit_of_an_own_rule_is_noticed",
    "test_simulation.py::test_an_interruption_keeps_the_finished_runs",
    "test_cli.py::test_json_is_the_only_thing_on_standard_output",
    "paper/test_runner.py::test_it_goes_on_where_it_was_killed",
    "paper/test_runner.py::test_workers_do_not_outlive_a_killed_parent",
    "study/test_study_runner.py",
    "study/test_study.py::test_a_late_result_is_welcome",
    "study/test_storage.py::test_writers_wait_for_each_other",
    "study/test_storm.py::test_a_few_kills",
    "study/test_storm.py::test_a_few_kills_of_runners",
)

COMPILE = """
import numpy as np
from furthest.kernels import evidence
from furthest.problem import Problem

task = Problem(np.eye(2)).task
known = evidence.no_evidence(task)
known.counts[:] = 4, 2
evidence.recompute(task, known)
while True:
    evidence.recompute.recompile()
"""


def main(rounds: int) -> int:
    """How many rounds failed."""
    failed = 0
    with subprocess.Popen([sys.executable, "-c", COMPILE]) as compiler:
        for number in range(1, rounds + 1):
            done = subprocess.run(
                [sys.executable, "-m", "pytest", "-m", "not slow", *TOUCHY],
                cwd=TESTS,
                capture_output=True,
                text=True,
                check=False,
            )
            failed += done.returncode != 0
            print(f"round {number}: {done.stdout.splitlines()[-1]}", flush=True)
            if done.returncode != 0:
                print(done.stdout, done.stderr, flush=True)
            assert compiler.poll() is None, "nobody has been compiling"
        compiler.kill()
    print(f"{rounds - failed} of {rounds} rounds passed")
    return failed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20) > 0)
