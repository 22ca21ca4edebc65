"""The compiled engine against a step-by-step run in the interpreter, and against itself."""

import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from furthest import engine, files
from furthest.kernels.evidence import Clock, no_evidence
from furthest.kernels.jit import IS_COMPILED
from furthest.preparation import prepare
from furthest.simulation import simulate
from furthest.stopping.nomination import Progress
from furthest.strategy import Strategy
from furthest.study.events import Settings, single
from furthest.study.fold import Fold
from oracles import trajectories

HARD = {"instance": "hard"}
ADDITIVE = {"instance": "hard", "question": {"notion": "additive"}}
BASIS = {"instance": "hard:arms=basis", "question": {"eps": 0.2}}
RANDOM = {"instance": "random:d=3,arms=6,seed=2", "question": {"eps": 0.2, "notion": "additive"}}
CIRCLE = {"instance": "circle:seed=7", "question": {"eps": 0.1, "sigma": 2.0}}
PROBLEMS: list[dict[str, Any]] = [HARD, ADDITIVE, BASIS, RANDOM, CIRCLE]


def case(problem, rounds=150, deltas=(0.5, 0.1, 1e-3), seed=0, **strategy):
    return problem | {
        "strategy": {"sampling": "lebai", "threshold": "paper"} | strategy,
        "deltas": list(deltas),
        "rounds": rounds,
        "seed": seed,
    }


def cases():
    for seed, problem in enumerate(PROBLEMS):
        yield case(problem, seed=seed)
        yield case(problem, seed=seed, threshold="mixture")
        yield case(problem, seed=seed, sampling="uniform", candidate="greedy")
        arms = len(files.find_instance(problem["instance"]).problem.arms)
        weights = {"weights": [1.0 / (1 + arm) for arm in range(arms)]}
        yield case(problem, seed=seed, sampling="fixed", options=weights, threshold="theory")
    for option in (
        {"forced": False},
        {"capped": False},
        {"z_oracle": "greedy"},
        {"forced": False, "capped": False, "z_oracle": "greedy"},
    ):
        for problem in (HARD, RANDOM):
            yield case(problem, options=option, candidate="greedy")
    for problem in (ADDITIVE, CIRCLE):
        yield case(problem, tracking="D")
        yield case(problem, tracking="D", options={"forced": False})
    for mode in ("sticky", "lazy"):
        for grid in ("constant", "geometric", "decreasing", "bernoulli"):
            yield case(HARD, schedule=f"{mode}:{grid}", threshold="mixture", seed=9)
            yield case(BASIS, schedule=f"{mode}:{grid}", sampling="uniform")
    # Past the round in which everything is recomputed.
    yield case(HARD, rounds=600, deltas=[1e-12])


CASES = list(cases())


@pytest.fixture(scope="module")
def interpreted():
    """All cases without any compilation, in one process."""
    process = subprocess.run(
        [sys.executable, "-m", "oracles.trajectories"],
        input=json.dumps(CASES),
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def name(case):
    strategy = dict(case["strategy"])
    options = strategy.pop("options", {})
    return "-".join([case["instance"], *strategy.values(), *map(str, options.values())])


@pytest.mark.parametrize("index", range(len(CASES)), ids=map(name, CASES))
def test_compiled_and_interpreted_runs_make_the_same_decisions(index, interpreted):
    """Paper: identification strategy."""
    found = trajectories.decisions(CASES[index])
    assert found == interpreted[index]
    assert len(found["arms"]) >= min(CASES[index]["rounds"], found["times"][0])


def test_the_interpreted_process_compiles_nothing(tmp_path):
    script = (
        "import numba, furthest.kernels.evidence as e; "
        "print(numba.config.DISABLE_JIT, type(e.take_in))"
    )
    output = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert output.split() == ["1", "<class", "'function'>"]
    assert not list(Path(tmp_path).rglob("*.nb?"))


@pytest.mark.parametrize("sampling", ["lebai", "uniform"])
@pytest.mark.parametrize("schedule", ["every", "lazy:bernoulli"])
def test_a_run_in_slices_is_the_run_in_one_go(sampling, schedule):
    question = case(HARD, rounds=2000, sampling=sampling, schedule=schedule, seed=3)
    whole, sliced = trajectories.begin(question), trajectories.begin(question)
    assert whole.advance(2000)
    ends = iter([1, 3, 4, 5, 6, 50, 255, 256, 257, 300, 2000])
    while not sliced.advance(next(ends)):
        pass
    for one, other in zip(sliced.run.milestones, whole.run.milestones, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(sliced.run.evidence.counts, whole.run.evidence.counts)
    np.testing.assert_array_equal(sliced.run.evidence.estimate, whole.run.evidence.estimate)
    assert sliced.noise.bit_generator.state == whole.noise.bit_generator.state


def test_one_trajectory_serves_many_levels():
    instance = files.find_instance("hard")
    deltas = [0.3, 0.1, 0.01, 1e-4]
    for threshold in ("paper", "mixture"):
        strategy = Strategy(threshold=threshold)
        options = {"runs": 15, "seed": 2}
        together = simulate(instance.problem, instance.truth, strategy, deltas, **options)
        for level, delta in enumerate(deltas):
            alone = simulate(instance.problem, instance.truth, strategy, delta, **options)
            for column in ("stopping_times", "answers", "pulls", "stopped", "correct"):
                np.testing.assert_array_equal(
                    getattr(together, column)[level], getattr(alone, column), column
                )
        assert (np.diff(together.stopping_times, axis=0) >= 0).all()


def test_options_do_not_multiply_compilations():
    # One loop for a pair of rule and test: thresholds, schedule, candidate, notion and δ are data.
    def signatures(question, deltas=0.1, **parts):
        """What the loop that is really used was compiled for, after such a simulation."""
        instance, strategy = files.find_instance(**question), Strategy("uniform", **parts)
        simulate(instance.problem, instance.truth, strategy, deltas, runs=1)
        loop: Any = prepare(strategy, instance.problem.task, [0.1]).drive
        return loop, len(loop.__wrapped__.signatures)

    one = signatures({"text": "hard"}, threshold="paper")
    assert one[1] == 1
    assert signatures({"text": "hard"}, threshold="theory") == one
    for schedule in ("sticky:constant", "lazy:geometric,ratio=1", "lazy:bernoulli"):
        assert signatures({"text": "hard"}, threshold="paper", schedule=schedule) == one, schedule
    additive = {"text": "hard", "notion": "additive", "sigma": 2}
    assert signatures(additive, threshold="paper") == one
    three = {"text": "random:d=3", "eps": 1, "notion": "additive"}
    assert signatures(three, threshold="paper") == one
    assert signatures({"text": "hard"}, [0.5, 0.1], threshold="paper", candidate="greedy") == one
    # Another test is another loop, and the default has one for known and unknown σ.
    other = signatures({"text": "hard"})
    assert other[0] is not one[0]
    assert other[1] == 1
    assert signatures({"text": "hard", "sigma": "unknown"}) == other


def test_a_live_study_uses_the_loop_of_a_simulation():
    # Otherwise somebody who plans a study and then runs it would compile everything twice.
    problem = files.find_instance("hard").problem
    strategy = Strategy("uniform", threshold="paper")
    simulate(problem, [1, 0], strategy, 0.1, runs=1)
    loop: Any = prepare(strategy, problem.task, [0.1]).drive
    before = len(loop.__wrapped__.signatures)
    fold = Fold(Settings(problem, strategy, 0.1, 0, 60.0, "tag"))
    fold.take(single(np.array([0, 1, 2, 3, 0]), np.ones(5)))
    assert fold.suggest([], 3)
    assert len(loop.__wrapped__.signatures) == before == 1
    assert prepare(strategy, fold.task, [0.1]).drive is loop


def test_the_initial_design_comes_first_and_in_order():
    task = files.find_instance("hard").problem.task
    run = prepare(Strategy("uniform"), task, [0.1]).start()
    rng = np.random.default_rng(0)
    # An arm that was measured out of turn is not asked for again.
    engine.record(task, run, 2, 1.0)
    for arm in (0, 1, 3):
        assert run.evidence.clock[Clock.READY] == 0
        assert engine.decide(task, run, rng, True) == arm
        assert run.stopping.progress[Progress.ANSWER] == -1
        engine.record(task, run, arm, 1.0)
    assert run.evidence.clock[Clock.READY] == 1
    assert engine.decide(task, run, rng, True) == 0
    assert run.stopping.progress[Progress.ANSWER] >= 0


def test_deciding_twice_gives_the_same_decision():
    task = files.find_instance("hard").problem.task
    run = prepare(Strategy("uniform", threshold="paper"), task, [0.1]).start()
    rng = np.random.default_rng(0)
    for t in range(60):
        first = engine.decide(task, run, rng, True)
        assert engine.decide(task, run, rng, True) == first
        engine.record(task, run, first, float(rng.standard_normal()))
        assert run.evidence.counts.sum() == t + 1


def test_what_is_imagined_proves_nothing():
    problem = files.find_instance("hard").problem
    prepared = prepare(Strategy("uniform", threshold="paper"), problem.task, [0.5])
    arms = np.arange(1200) % 4
    source, rng = engine.told(arms, problem.arms[arms, 0]), np.random.default_rng(0)
    imagined, meant = prepared.start(), prepared.start()
    taken = prepared.advance(problem.task, imagined, source, rng, rng, 10**6, False)
    assert taken == 1200
    assert imagined.milestones.times.tolist() == [-1]
    taken = prepared.advance(problem.task, meant, source, rng, rng, 10**6, True)
    assert meant.milestones.times.tolist() == [taken]
    assert taken < 1200


def test_no_evidence_is_fresh_every_time():
    task = files.find_instance("hard").problem.task
    one, other = no_evidence(task), no_evidence(task)
    assert not any(np.shares_memory(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.skipif(not IS_COMPILED, reason="nothing is compiled")
def test_other_threads_go_on_while_a_loop_runs():
    """Else nobody would ever see it half done."""
    found = files.find_instance("hard")
    task, strategy = replace(found.problem, eps=1e-9).task, Strategy("uniform")
    ready = prepare(strategy, task, [0.01])
    run, rounds = ready.start(), 3_000_000
    source, rng = (
        engine.simulated(task.arms @ found.problem.whiten(np.zeros(task.arms.shape[1]))),
        streams(),
    )
    arguments = (task, run, source, *rng, rounds, True)
    ready.advance(*arguments[:5], 10, True)  # loaded or compiled
    thread = threading.Thread(target=ready.advance, args=arguments)
    thread.start()
    seen = False
    while thread.is_alive() and not seen:
        seen = 10 < run.evidence.clock[Clock.ROUNDS] < rounds
    thread.join()
    assert seen
    assert run.evidence.clock[Clock.ROUNDS] == rounds


def streams():
    return np.random.default_rng(0), np.random.default_rng(1)
