import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import warnings
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import furthest
from furthest import errors, files, instances, sampling, simulation
from furthest.columns import read_csv
from furthest.problem import Problem
from furthest.sampling.rule import Rule
from furthest.simulation import simulate
from furthest.strategy import Strategy
from oracles import own_rule

HARD = instances.hard()
COLUMNS = ("stopping_times", "answers", "pulls", "stopped", "correct")
PACKAGE = Path(furthest.__file__).parent


def run(strategy=None, delta=0.1, instance=HARD, **options):
    strategy = strategy or Strategy(threshold="paper")
    return simulate(instance.problem, instance.truth, strategy, delta, **options)


def assert_same(one, other, runs=slice(None)):
    for name in COLUMNS:
        left, right = getattr(one, name), getattr(other, name)
        axis = 1 if isinstance(one.delta, tuple) else 0
        index = (slice(None),) * axis + (runs,)
        np.testing.assert_array_equal(left[index], right[index], name)


@pytest.mark.parametrize("schedule", ["every", "sticky:bernoulli"])
def test_results_do_not_depend_on_the_number_of_workers(schedule):
    strategy = Strategy(threshold="paper", schedule=schedule)
    alone = run(strategy, delta=[0.2, 0.01], runs=41, seed=3)
    for jobs in (2, 3):
        assert_same(alone, run(strategy, delta=[0.2, 0.01], runs=41, seed=3, jobs=jobs))


def assert_no_run_remembers(monkeypatch, *arguments, **options):
    """Runs in the memory of one, copied anew for each, and runs with states of their own."""
    together = run(*arguments, **options)
    monkeypatch.setattr(simulation, "_in_memory_of_one", lambda *_: None)
    apart = run(*arguments, **options)
    assert_same(together, apart)
    assert together.steps == apart.steps


ONE_IN_THREE = instances.random(d=3, seed=5)
YES_NO = instances.Instance(
    "", Problem.options(["A", "B", "C"], eps=0.1, noise="bernoulli"), np.array([0.7, 0.5, 0.2])
)
UNKNOWN = instances.Instance("", Problem(HARD.problem.arms, sigma=None), HARD.truth)


@pytest.mark.parametrize(
    ("strategy", "options"),
    [
        (Strategy(), {}),
        (Strategy(), {"instance": ONE_IN_THREE, "max_rounds": 150}),
        (Strategy(), {"instance": YES_NO}),
        (Strategy(), {"instance": UNKNOWN, "delta": [0.5, 0.1]}),
        (Strategy(threshold="paper", schedule="sticky:bernoulli"), {"delta": [0.1, 0.3, 0.01]}),
        (Strategy("lebai", candidate="furthest"), {"instance": ONE_IN_THREE}),
        (Strategy("xy-adaptive", stopping="elimination"), {"max_rounds": 3000}),
        (Strategy("uniform", threshold="paper"), {"delta": 1e-300, "runs": 6}),
    ],
)
def test_no_run_remembers_another(monkeypatch, strategy, options):
    assert_no_run_remembers(monkeypatch, strategy, **({"runs": 20, "seed": 8} | options))


@pytest.mark.slow
@pytest.mark.parametrize("name", sampling.MODULES)
def test_no_rule_remembers_another_run(monkeypatch, name):
    instance = files.find_instance("random:d=3,seed=2", notion="additive", eps=0.2)
    assert_no_run_remembers(
        monkeypatch, Strategy(name, threshold="paper"), 0.1, instance, runs=9, max_rounds=2000
    )


def test_results_do_not_depend_on_how_many_runs_there_are():
    few, many = run(runs=7), run(runs=30)
    assert_same(few, many, slice(0, 7))
    assert few.runs == 7


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_can_begin_at_any_number(jobs):
    whole, rest = run(runs=30), run(runs=23, first=7, jobs=jobs)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(whole, name)[7:], getattr(rest, name), name)
    assert rest.columns()["run"].tolist() == list(range(7, 30))
    with pytest.raises(errors.InputError, match="first must be at least 0"):
        run(runs=3, first=-1)


def test_results_do_not_depend_on_chunks(monkeypatch):
    jobs = []
    warm_up = simulation.warm_up

    def noted(job):
        jobs.append(job)
        warm_up(job)

    monkeypatch.setattr(simulation, "warm_up", noted)
    whole = run(runs=12)
    for cuts in ([0, 12], [0, 1, 5, 12], range(13)):
        chunks = [
            simulation._simulate_chunk(jobs[0], first, last) for first, last in pairwise(cuts)
        ]
        times = np.concatenate([chunk.times[:, 0] for chunk in chunks])
        np.testing.assert_array_equal(times, whole.stopping_times)
        numbers = np.concatenate([chunk.numbers for chunk in chunks])
        assert numbers.tolist() == list(range(12))


def test_every_run_has_a_stream_of_its_own():
    times = run(runs=200).stopping_times
    assert len(np.unique(times)) > 50
    assert abs(np.corrcoef(times[:-1], times[1:])[0, 1]) < 0.35
    other = run(runs=200, seed=1).stopping_times
    assert (times != other).mean() > 0.9
    assert abs(np.corrcoef(times, other)[0, 1]) < 0.35


def test_several_levels_come_in_the_order_given():
    deltas = [0.01, 0.5, 0.1, 0.5]
    results = run(delta=deltas, runs=20)
    assert results.delta == tuple(deltas)
    assert results.stopping_times.shape == (4, 20)
    assert results.pulls.shape == (4, 20, 4)
    for level, delta in enumerate(deltas):
        alone = run(delta=delta, runs=20)
        np.testing.assert_array_equal(results.stopping_times[level], alone.stopping_times)
        np.testing.assert_array_equal(results.pulls[level], alone.pulls)
        assert results.summary()[level].delta == delta
    assert results.steps == results.stopping_times[0].sum()


@pytest.mark.parametrize("deltas", [(0.1, 0.01), np.array([0.1, 0.01])])
def test_any_sequence_of_levels_will_do(deltas):
    results = run(delta=deltas, runs=3)
    assert results.stopping_times.shape == (2, 3)
    assert tuple(results.delta) == (0.1, 0.01)


@pytest.mark.parametrize("delta", [np.float64(0.1), np.float32(0.1)])
def test_a_single_level_has_no_axis(delta):
    assert run(delta=delta, runs=3).stopping_times.shape == (3,)


def test_pulls_sum_to_the_stopping_time():
    results = run(delta=[0.1, 0.01], runs=20)
    np.testing.assert_array_equal(results.pulls.sum(axis=-1), results.stopping_times)
    assert results.pulls.min() >= 1
    near_best = HARD.problem.near_best(HARD.truth)
    np.testing.assert_array_equal(results.correct, near_best[results.answers])


def test_the_cap_reports_unstopped_runs():
    results = run(delta=[0.5, 1e-9], runs=10, max_rounds=200)
    assert (results.stopping_times[1] == 200).all()
    assert not results.stopped[1].any()
    assert results.summary()[1].unstopped == 10
    assert (results.pulls[1].sum(axis=-1) == 200).all()
    early = results.stopped[0]
    assert early.any()
    uncapped = run(delta=0.5, runs=10)
    np.testing.assert_array_equal(results.stopping_times[0][early], uncapped.stopping_times[early])
    assert results.steps == 2000
    # Nothing that was not stopped is an error.
    assert results.summary()[1].errors == 0


def test_the_cap_may_cut_the_initial_design():
    results = run(runs=3, max_rounds=2)
    assert results.pulls.tolist() == [[1, 1, 0, 0]] * 3
    assert not results.stopped.any()


def test_a_run_that_needs_exactly_the_cap_has_stopped():
    expected = run(runs=1)
    time = int(expected.stopping_times[0])
    at_cap = run(runs=1, max_rounds=time)
    assert at_cap.stopped.all()
    assert_same(expected, at_cap)
    assert not run(runs=1, max_rounds=time - 1).stopped.any()


def test_slices_of_compiled_code_change_nothing(monkeypatch):
    whole = run(delta=[0.3, 0.01], runs=5)
    monkeypatch.setattr(simulation, "SLICE", 17)
    assert_same(whole, run(delta=[0.3, 0.01], runs=5))


def starving(state, task, evidence, stopping):
    return 0


def test_a_rule_that_never_stops_says_which_arms_it_starves():
    rule = Rule("starving", own_rule.start, starving, compiled=False)
    with pytest.warns(furthest.UnstoppedWarning) as told:
        run(Strategy(rule, threshold="mixture"), runs=2, max_rounds=300)
    words = str(told[0].message)
    assert words.startswith("2 of 2 runs did not stop within 300 measurements at δ = 0.1; ")
    assert words.endswith("measured only in the initial design: 'e2', 'inside', 'outside'")
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(runs=2)
        run(Strategy(rule, threshold="mixture"), runs=2, max_rounds=300, quiet=True)


SLOW = """
import sys, time
import furthest as ft
from furthest import bars
from furthest.sampling import uniform

bars.PATIENCE = float(sys.argv[1])

def choose(state, task, evidence, stopping):
    time.sleep(0.01)
    return 0

rule = ft.Rule("sluggish", uniform.start, choose, compiled=False)
instance = ft.hard()
ft.simulate(instance.problem, instance.mu, ft.Strategy(rule), runs=2, max_rounds=60)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs a terminal")
@pytest.mark.parametrize(("patience", "drawn"), [("0.1", True), ("1000", False)])
def test_a_bar_shows_on_a_terminal_what_takes_long(patience, drawn, on_a_terminal):
    shown = on_a_terminal("-W", "ignore", "-c", SLOW, patience, columns=80)
    assert ("sluggish" in shown) == drawn
    assert bool(shown) == drawn


def test_nothing_is_drawn_where_there_is_no_terminal(python):
    process = python("-W", "ignore", "-c", SLOW, "0")
    assert process.returncode == 0
    assert not process.stderr


def test_other_noise_than_stated():
    calm = run(runs=20, noise=0.01)
    assert calm.noise == 0.01
    assert run(runs=2).noise == HARD.problem.sigma
    assert np.ptp(calm.stopping_times) < np.ptp(run(runs=20).stopping_times) / 10
    for noise in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(errors.InputError, match="the noise must be positive"):
            run(runs=1, noise=noise)


def test_progress_is_reported():
    for jobs in (1, 2):
        seen = []
        run(runs=30, jobs=jobs, progress=seen.append)
        assert sum(seen) == 30


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runs": 0}, "runs must be at least 1"),
        ({"runs": -3}, "runs must be at least 1"),
        ({"jobs": 0}, "jobs must be at least 1"),
        ({"max_rounds": 0}, "max_rounds must be at least 1"),
        ({"delta": 0}, "δ must be between 0 and 1"),
        ({"delta": 1.0}, "δ must be between 0 and 1"),
        ({"delta": -0.1}, "δ must be between 0 and 1"),
        ({"delta": float("nan")}, "δ must be between 0 and 1"),
        ({"delta": [0.1, 2.0]}, "δ must be between 0 and 1, not 2"),
        ({"delta": []}, "at least one δ"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_arguments(options, words):
    with pytest.raises(errors.InputError, match=words):
        run(**options)


def test_bad_parameters():
    for mu in ([1.0], [1.0, np.inf], "ab", [-1.0, 0.0]):
        with pytest.raises(errors.ParameterError):
            simulate(HARD.problem, mu, runs=1)


@pytest.mark.parametrize(
    ("strategy", "words"),
    [
        (Strategy("fixed", options={"weights": [0.5, 0.5]}), "one weight per arm: 4, not 2"),
        (Strategy("fixed", options={"weights": [0, 0, 0, 0]}), "not all zero"),
        (Strategy("fixed", options={"weights": [1, -1, 1, 1]}), "≥ 0"),
        (Strategy("fixed", options={"weights": [1, np.nan, 1, 1]}), "finite"),
        (Strategy("fixed", options={"weights": "a,b"}), "weight"),
        (Strategy("fixed", options={"weight": [1, 1, 1, 1]}), "did you mean 'weights'"),
        (Strategy("lebai", options={"z_oracle": "gredy"}), "did you mean 'greedy'"),
        (Strategy("lebai", options={"z_oracle": 1.0}), "Z-oracle"),
        (Strategy("lebai", options={"forced": "abc"}), "forced"),
        (Strategy("lebai", options={"forced": 3.0}), "forced"),
        (Strategy("lebai", options={"tracking": "E"}), "tracking"),
        (Strategy("uniform", tracking="D"), "no choice of tracking"),
        (Strategy("uniform", options={"speed": 1}), "option of uniform"),
    ],
)
def test_options_that_a_rule_does_not_have(strategy, words):
    with pytest.raises(errors.StrategyError, match=words):
        run(strategy, runs=1)


def test_rules_that_depend_on_the_level_serve_one_at_a_time():
    plain = own_rule.choose_plainly
    rule = Rule("mine", own_rule.start, plain, depends_on_delta=True, compiled=False)
    with pytest.raises(errors.StrategyError, match="depends on δ"):
        run(Strategy(rule), delta=[0.1, 0.01], runs=1)
    assert run(Strategy(rule, threshold="paper"), delta=[0.1], runs=1).runs == 1


@pytest.fixture
def private_copy(tmp_path):
    """The package with its cache, copied: what an own rule leaves behind harms nobody else."""
    target = tmp_path / "copy" / "furthest"
    # Another process may be compiling: its unfinished files go away under other names.
    unfinished = shutil.ignore_patterns("*.tmp.*", "*.pyc.*")
    shutil.copytree(PACKAGE, target, ignore=unfinished)
    return str(target.parent)


def test_own_rules_in_a_script(python, private_copy):
    process = python(own_rule.__file__, PYTHONPATH=private_copy)
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["plain"] == found["compiled"]
    assert len(found["plain"]["arms"]) == 12
    assert len({arm for arms in found["plain"]["arms"] for arm in arms}) > 2
    assert found["plain"].items() >= found["plain, two workers"].items()
    assert found["plain, two workers"] == found["compiled, two workers"]
    # A rule that borrows the state of another one is still itself, and so is the other one.
    assert found["uniform"] == found["uniform again"]
    assert all(pulls[:5] == [1] * 5 for pulls in found["variation"]["pulls"])
    assert all(pulls[1:] == [1] * 5 for pulls in found["another"]["pulls"])
    assert found["variation"]["times"] != found["uniform"]["times"]


MODULE = """
from typing import NamedTuple
from furthest import Rule
from furthest.kernels.jit import kernel

class Favourite(NamedTuple):
    arm: int

def start(task):
    return Favourite(0)

@kernel
def choose(state, task, evidence, stopping):
    return FAVOURITE

RULE = Rule("favourite", start, choose)
"""
USE = """
import numpy as np
import furthest as ft
from furthest import engine
from furthest.preparation import prepare
from mine import RULE
instance, strategy = ft.hard(), ft.Strategy(RULE, stopping="glr")
results = ft.simulate(instance.problem, instance.mu, strategy, runs=1, max_rounds=50)
# The same step by step, as a live study decides.
task = instance.problem.task
run = prepare(strategy, task, [0.1]).start()
for arm in range(4):
    engine.record(task, run, arm, 0.0)
print(results.pulls.tolist(), engine.decide(task, run, np.random.default_rng(0), True))
"""
NEXT_DOOR = """
import furthest as ft
from furthest import engine
from furthest.preparation import prepare
task = ft.hard().problem.task
run = prepare(ft.Strategy("uniform", stopping="glr"), task, [0.1]).start()
import numpy as np
print(engine.decide(task, run, np.random.default_rng(0), True))
"""


def test_an_edit_of_an_own_rule_is_noticed(python, private_copy, tmp_path):
    environment = {"PYTHONPATH": private_copy, "PYTHONDONTWRITEBYTECODE": "1"}
    (tmp_path / "use.py").write_text(USE)
    for favourite in (1, 2):
        (tmp_path / "mine.py").write_text(MODULE.replace("FAVOURITE", str(favourite)))
        process = python("use.py", **environment)
        expected = [[47 if arm == favourite else 1 for arm in range(4)]]
        assert process.stdout.strip() == f"{expected} {favourite}", process.stderr
    # Where the researcher's module cannot be imported, the package works as before.
    (tmp_path / "mine.py").unlink()
    process = python("-c", NEXT_DOOR, **environment)
    assert process.stdout.strip() == "0", process.stderr


def on_threads(monkeypatch, least, most):
    """How many runs each chunk has, if chunks are to take so long."""
    monkeypatch.setattr(simulation, "LEAST", least)
    monkeypatch.setattr(simulation, "MOST", most)
    seen = []
    with ThreadPoolExecutor(2) as pool:
        there = run(delta=[0.2, 0.01], runs=64, seed=3, executor=pool, progress=seen.append)
        assert pool.submit(pow, 3, 2).result() == 9  # it is not ours to shut down
    assert_same(run(delta=[0.2, 0.01], runs=64, seed=3), there)
    return seen


def test_an_executor_changes_nothing_and_neither_do_chunks(monkeypatch):
    assert on_threads(monkeypatch, 1e-9, 1e9) == [4] * 16
    assert on_threads(monkeypatch, 1e-9, 1e-9) == [1] * 64
    assert on_threads(monkeypatch, 1e9, 1e9) == [64]


def test_long_runs_are_known_by_their_beginning(monkeypatch):
    monkeypatch.setattr(simulation, "TRIAL", 10)
    assert on_threads(monkeypatch, 1e-9, 1e9) == [1] * 64


class Failing(ThreadPoolExecutor):
    """Its workers are lost after two calls."""

    calls = 0

    def submit(self, function, /, *call, **named):
        self.calls += 1
        if self.calls <= 2:
            return super().submit(function, *call, **named)
        lost = Future()
        lost.set_exception(BrokenExecutor("gone"))
        return lost


def test_lost_workers_leave_what_was_finished(monkeypatch):
    monkeypatch.setattr(simulation, "LEAST", 1e-9)
    with Failing(2) as pool, pytest.raises(errors.WorkersError, match="worker process") as lost:
        run(runs=32, executor=pool)
    results = lost.value.results
    assert results.interrupted
    assert set(results.numbers) <= {0, 1, 2, 3}
    whole = run(runs=32)
    np.testing.assert_array_equal(
        results.stopping_times, whole.stopping_times[results.numbers.tolist()]
    )
    with pytest.raises(errors.InputError, match="leave out jobs"):
        run(runs=3, jobs=2, executor=pool)


# Uniform sampling in plain Python that never ends: each process begins so many of the 400 runs,
# says so and waits. The interruption comes before the end, however late it comes.
INTERRUPTED = """
import json, signal, sys, time
# A shell may have started the tests with SIGINT ignored, which children inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
import furthest as ft
from furthest.kernels.evidence import Clock
from furthest.sampling import uniform

done = 0

def say(what):
    # In one piece: several processes write to the same pipe.
    sys.stdout.write(f"{what}\\n")
    sys.stdout.flush()

def progress(runs):
    global done
    done += runs
    say(done)

begun = 0

def choose(state, task, evidence, stopping):
    global begun
    begun += evidence.clock[Clock.ROUNDS] == len(task.initial)
    if begun > 60:
        say("waiting")
        time.sleep(10**6)
    return int(evidence.clock[Clock.ROUNDS] % state.arms)

instance = ft.hard(eps=0.5)
rule = ft.Rule("endless", uniform.start, choose, compiled=False)
results = ft.simulate(
    instance.problem, instance.mu, ft.Strategy(rule), 0.1,
    runs=400, jobs=int(sys.argv[1]), progress=progress,
)
print(json.dumps({
    "interrupted": results.interrupted,
    "runs": results.numbers.tolist(),
    "times": results.stopping_times.tolist(),
    "pulls": results.pulls.tolist(),
    "mean": results.summary()[0].mean,
}))
"""


@pytest.mark.skipif(os.name != "posix", reason="needs real signals")
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_the_finished_runs(jobs):
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        done, waiting = 0, False
        while done < 10 or not waiting:
            line = process.stdout.readline().strip()
            assert line, process.stderr.read()
            done, waiting = (done, True) if line == "waiting" else (int(line), waiting)
        # Ctrl-C on a terminal reaches the workers, too.
        os.killpg(process.pid, signal.SIGINT)
        output, complaints = process.communicate()
    assert process.returncode == 0, complaints
    assert not complaints
    found = json.loads(output.splitlines()[-1])
    assert found["interrupted"]
    assert 10 <= len(found["runs"]) < 400
    assert found["mean"] == pytest.approx(np.mean(found["times"]))
    instance = instances.hard(eps=0.5)
    expected = run(Strategy("uniform"), 0.1, instance, runs=400)
    assert found["times"] == expected.stopping_times[found["runs"]].tolist()
    assert found["pulls"] == expected.pulls[found["runs"]].tolist()
    # With one worker none is missing in between.
    assert jobs > 1 or found["runs"] == list(range(len(found["runs"])))


def test_runs_keep_their_numbers_where_some_between_them_are_missing(monkeypatch, tmp_path):
    """Chunks come in any order; an interruption leaves gaps."""

    def interrupted(function, calls, keep, **_):
        for chunk in (5, 2):
            keep(chunk, function(*calls[chunk]))
        raise KeyboardInterrupt

    whole = run(delta=[0.1, 0.01], runs=40)
    with monkeypatch.context() as patched:
        patched.setattr(simulation, "spread", interrupted)
        some = run(delta=[0.1, 0.01], runs=32, first=7, jobs=2)
    assert some.interrupted
    # Two runs in a chunk: the third from 11 on, the sixth from 17 on.
    numbers = [11, 12, 17, 18]
    assert some.numbers.tolist() == numbers
    assert some.runs == 4
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[:, numbers], name)
    assert some.columns()["run"].tolist() == numbers * 2
    some.to_csv(tmp_path / "some.csv")
    columns, everything = read_csv(tmp_path / "some.csv"), whole.columns()
    kept = np.isin(everything["run"], numbers)
    for name, column in columns.items():
        np.testing.assert_array_equal(column, everything[name][kept], name)


# Numba unpacks a generator with the help of `ctypes.cast`: the signal comes in the middle of that.
BREAKING_IN = """
import ctypes, signal, sys
import numpy as np
import furthest as ft
from furthest.study.events import Settings, single
from furthest.study.fold import Fold

signal.signal(signal.SIGINT, signal.default_int_handler)
cast = ctypes.cast

def broken_into(*arguments):
    signal.raise_signal(signal.SIGINT)
    return cast(*arguments)

def break_in(runs=0):
    ctypes.cast = broken_into

instance, strategy = ft.hard(), ft.Strategy("uniform", stopping="glr")
"""
SIMULATED = """
results = ft.simulate(instance.problem, instance.mu, strategy, 0.5, runs=999, progress=break_in)
some = results.runs
print(results.interrupted, 0 < some < 999, (results.numbers == np.arange(some)).all())
"""
MEASURED = """
fold = Fold(Settings(instance.problem, strategy, 0.1, 0, 60.0, "tag"))
fold.take(single(np.array([0, 1, 2, 3, 0]), np.ones(5)))
break_in()
try:
    fold.take(single(np.array([0]), np.ones(1)))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("doing", "said"), [(SIMULATED, "True True True\n"), (MEASURED, "interrupted\n")]
)
def test_a_signal_waits_while_numba_unpacks_a_generator(python, doing, said):
    process = python("-c", BREAKING_IN + doing)
    assert (process.returncode, process.stdout, process.stderr) == (0, said, "")


def test_memory_does_not_grow_with_the_runs():
    """Kernels hold on to their generators; so there must not be new ones for every run."""

    def generators():
        # By type: another test may have left a weak proxy to nothing, which refuses isinstance.
        return sum(issubclass(type(each), np.random.Generator) for each in gc.get_objects())

    instance = instances.hard()
    arguments = (instance.problem, instance.truth, Strategy(threshold="paper"), 0.5)
    simulate(*arguments, runs=2)
    gc.collect()
    before = generators()
    simulate(*arguments, runs=50)
    gc.collect()
    assert generators() == before > 0
