"""A question that is large enough for everything that is only done to large ones, beside NumPy."""

import json
import math
import sqlite3
import tracemalloc
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg

import furthest as ft
from furthest import coordinates, sampling
from furthest.engine import simulated
from furthest.kernels import oracle as oracles
from furthest.kernels import slots
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.contrasts import Roll
from furthest.kernels.evidence import REFRESH
from furthest.kernels.slots import claim
from furthest.preparation import prepare
from furthest.problem import Problem, spanning_arms
from furthest.stopping.nomination import Nominee, Progress
from furthest.stopping.ranked import TESTS
from furthest.strategy import Strategy
from furthest.study import sql
from furthest.study.chain import STEP, link
from furthest.study.events import (
    MOST_NUMBERS,
    UNREADABLE,
    Due,
    Event,
    Settings,
    problem_data,
    single,
)
from furthest.study.fold import Fold
from furthest.task import Smoothness
from oracles.loop import Loop

K, Z, D = 2000, 1900, 12
BYTES = 8


def question(arms: int = K, answers: int = Z, d: int = D, seed: int = 0, **more: Any) -> Problem:
    """On the sphere; every arm is an answer as well, where there are as many."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((arms, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    own = None if answers == arms else rng.standard_normal((answers, d)) / math.sqrt(d)
    return Problem(rows, own, **({"eps": 0.1} | more))


@pytest.fixture(scope="module")
def problem() -> Problem:
    return question()


@pytest.fixture(scope="module")
def loop(problem: Problem) -> Loop:
    return Loop(Strategy(), problem, problem.arms[0], [1e-6], np.random.default_rng(1))


def contrasts(loop: Loop, z: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Margins, ‖y‖² and V⁻¹y against every other answer, from counts and sums alone."""
    task, evidence = loop.task, loop.run.evidence
    inverse = np.linalg.inv((task.arms.T * evidence.counts) @ task.arms)
    estimate = inverse @ (task.arms.T @ evidence.sums)
    y = task.answers[z] - task.c * np.delete(task.answers, z, axis=0)
    return y @ estimate + task.e, np.einsum("xi,ij,xj->x", y, inverse, y), y @ inverse


def furthest(loop: Loop) -> int:
    """The instantaneous furthest answer, by looking at all pairs."""
    values = loop.task.answers @ loop.run.evidence.estimate
    near = np.flatnonzero(values >= values.max() - loop.task.e)
    return int(max(near, key=lambda z: least(*contrasts(loop, int(z))[:2])))


def least(margins: np.ndarray, norms: np.ndarray) -> float:
    return float((np.maximum(margins, 0) ** 2 / norms).min())


def softest(loop: Loop, z: int) -> int:
    """What softmin measures: the nearest answers one by one, the others together."""
    room = loop.run.rule.nearest.shape[0]
    margins, norms, duals = contrasts(loop, z)
    steps = np.maximum(margins, 0) / norms
    evidence = 0.5 * steps * np.maximum(margins, 0)
    order = np.argsort(evidence)
    weights = np.exp(-0.5 * (evidence - evidence.min()))[order]
    assert (weights > 1e-6).sum() > room > 0
    along = np.abs(loop.task.arms @ (steps[:, None] * duals)[order].T)
    widths = np.einsum("ai,ij,aj->a", loop.task.arms, loop.run.evidence.inverse, loop.task.arms)
    bonus = np.sqrt(widths)
    others = np.sqrt(along[:, room:] ** 2 @ weights[room:]) + bonus * np.sqrt(weights[room:].sum())
    gains = (along[:, :room] + bonus[:, None]) ** 2 @ weights[:room] + others**2
    return int((gains / (1 + widths)).argmax())


def test_rounds_are_what_numpy_says(loop: Loop) -> None:
    design = len(loop.task.initial)
    for rounds in (*range(design + 1, design + 6), 40, 80):
        assert not loop.advance(rounds)
        z, _ = instantaneous_furthest(loop.task, loop.run.evidence)
        assert z == furthest(loop)
        assert loop.next_arm == softest(loop, z)


def test_the_state_is_that_of_a_fresh_factorisation(loop: Loop) -> None:
    """Before and after all is computed anew, in blocks of columns."""
    for rounds in (REFRESH - 1, REFRESH, REFRESH + 20):
        loop.advance(rounds)
        task, evidence = loop.task, loop.run.evidence
        inverse = np.linalg.inv((task.arms.T * evidence.counts) @ task.arms)
        estimate = inverse @ (task.arms.T @ evidence.sums)
        for found, expected in (
            (evidence.inverse, inverse),
            (evidence.estimate, estimate),
            (evidence.values, task.answers @ estimate),
            (evidence.projected, inverse @ task.answers.T),
            (evidence.widths, np.einsum("ai,ij,aj->a", task.arms, inverse, task.arms)),
        ):
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_coordinates_from_parts_are_those_from_the_whole(monkeypatch: Any) -> None:
    """White, and the same up to a sign of each axis; also where a feature is redundant."""
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((900, 5)) * [1, 1e-6, 1e6, 1, 1]
    rows = np.column_stack([rows, rows[:, 0] - rows[:, 3]])
    answers = np.vstack([rows[:300] * 3, np.zeros(6)])
    whole = Problem(rows, answers).task
    monkeypatch.setattr(coordinates, "MANY_ROWS", 64)
    assert len(coordinates.parts(rows)) > 10
    parts = Problem(rows, answers)
    assert parts.dropped == Problem(rows[:200]).dropped
    np.testing.assert_allclose(parts.task.arms.T @ parts.task.arms, 900 * np.eye(5), atol=1e-8)
    signs = np.sign(parts.task.arms[0] * whole.arms[0])
    np.testing.assert_allclose(parts.task.answers * signs, whole.answers, rtol=1e-7, atol=1e-9)
    assert parts.initial == tuple(sorted(parts.initial))
    with pytest.raises(ft.errors.SpanError, match="answer 290"):
        answers[290, 5] += 1e-3
        Problem(rows, answers, notion="multiplicative", answer_names=names("answer", 301))


def names(word: str, count: int) -> list[str]:
    return [f"{word} {number}" for number in range(count)]


def leaves(state: Any) -> Iterator[np.ndarray]:
    """All arrays of a state."""
    if isinstance(state, tuple):
        for field in state:
            yield from leaves(field)
    elif isinstance(state, np.ndarray):
        yield state


def size(*states: Any) -> int:
    """Bytes of their arrays, each counted once."""
    return sum({id(leaf): leaf.nbytes for leaf in leaves(states)}.values())


@pytest.mark.parametrize("answers", [6000, 5999])
def test_what_a_study_keeps_is_of_the_size_of_arms_and_answers(answers: int) -> None:
    large = question(6000, answers, 60)
    run = prepare(Strategy(), large.task, [0.01]).start()
    vectors = (6000 + answers) * 60 * BYTES
    most = 4 if answers < 6000 else 3
    numbers = 8 * (6000 + answers) * BYTES
    assert size(large.arms, large.answers, large.task, run) < most * vectors + numbers


@pytest.mark.parametrize("name", sampling.MODULES)
def test_no_rule_has_a_number_for_each_pair(name: str) -> None:
    large = question(6000, 5999, 4)
    needed: dict[str, dict[str, Any]] = {
        "fixed": {"weights": np.ones(6000)},
        "spectral-tas": {"smoothness": Smoothness(np.eye(4), 1.0)},
    }
    rule = Strategy(name).rule
    if name == "fws":
        with pytest.raises(ft.errors.StrategyError, match=r"6,000 × 5,999"):
            rule.start(large.task)
        return
    state = rule.start(large.task, **needed.get(name, {}))
    assert max((leaf.size for leaf in leaves(state)), default=0) <= slots.MOST


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_rows_go_to_those_used_last(monkeypatch: Any, rows: int) -> None:
    monkeypatch.setattr(slots, "MOST", 100 * rows)
    monkeypatch.setattr(slots, "LEAST", 1)
    places, used = slots.slots(9, 100)
    plain: OrderedDict[int, None] = OrderedDict()
    for z in np.random.default_rng(rows).integers(9, size=200).tolist():
        assert claim(places, used, z) == (z not in plain)
        plain[z] = None
        plain.move_to_end(z)
        if len(plain) > rows:
            plain.popitem(last=False)
        held = {answer: int(places[answer]) for answer in range(9) if places[answer] >= 0}
        assert set(held) == set(plain)
        assert len(set(held.values())) == len(held)
        assert all(used[0, row] == answer for answer, row in held.items())


def test_few_answers_have_a_row_each() -> None:
    places, used = slots.slots(5, 100)
    assert not any(claim(places, used, z) for z in (4, 0, 4, 2))
    assert places.tolist() == [0, 1, 2, 3, 4]


def test_an_oracle_that_forgets_finds_the_same(monkeypatch: Any) -> None:
    small = Problem(question(9, 12, 3, seed=4).arms, question(12, 12, 3, seed=5).arms, eps=0.4)
    whole = oracles.oracle_for(small.task)
    monkeypatch.setattr(slots, "MOST", 24)
    monkeypatch.setattr(slots, "LEAST", 1)
    forgetful = oracles.oracle_for(small.task)
    assert forgetful.weights.shape[0] == 2
    rng, answers = np.random.default_rng(6), []
    for _ in range(30):
        values = small.task.answers @ (small.whiten(small.arms[0]) + 0.3 * rng.standard_normal(3))
        found = [
            oracles.furthest_design(each, small.task, values, 1e-6) for each in (whole, forgetful)
        ]
        weights = [
            each.weights[each.places[z]] for each, z in zip((whole, forgetful), found, strict=True)
        ]
        assert found[0] == found[1]
        np.testing.assert_allclose(weights[0], weights[1], atol=2e-3)
        answers.append(found[0])
    assert len(set(answers)) > 2


def settings_of(problem: Problem) -> Settings:
    return Settings(problem, Strategy("uniform"), 0.01, 0, 60.0, "tag")


def test_many_numbers_are_kept_as_bytes(problem: Problem) -> None:
    wide = question(MOST_NUMBERS // 20, 800, 21)
    text = settings_of(wide).encode()
    stored = json.loads(text)["problem"]
    assert stored["arms"]["columns"] == 21
    assert len(stored["arms"]["float64"]) < 11 * wide.arms.size
    assert isinstance(stored["answers"], list)
    again = Settings.decode(text).problem
    np.testing.assert_array_equal(again.arms, wide.arms)
    np.testing.assert_array_equal(again.answers, wide.answers)
    assert settings_of(again).encode() == text
    assert problem_data(again) == problem_data(wide)
    # As logs before version 6 have it.
    data = json.loads(text)
    older = json.dumps(data | {"version": 5, "problem": problem_data(wide)})
    np.testing.assert_array_equal(Settings.decode(older).problem.arms, wide.arms)


@pytest.mark.parametrize("d", [12, 127, 129])
def test_the_arms_to_begin_with_are_the_pivots(d: int) -> None:
    """Of SciPy, which has room for LAPACK to take many columns at once."""
    rows = question(700, 700, d).arms
    pivots = scipy.linalg.qr(rows.T, mode="r", pivoting=True)[1][:d]
    np.testing.assert_array_equal(spanning_arms(rows), pivots)


@pytest.mark.parametrize("rounds", [1, 10])
def test_a_score_is_found_beside_few_answers(rounds: int) -> None:
    """What is far above the level of a young study would have to be looked at beside nearly all."""
    large = question(K, K)
    prepared, rng = prepare(Strategy(), large.task, [0.01]), np.random.default_rng(0)
    run, source = prepared.start(), simulated(large.task.arms @ large.whiten(large.arms[0]))
    prepared.advance(large.task, run, source, rng, rng, len(large.initial) + rounds, True)
    z = int(run.stopping.progress[Progress.ANSWER])
    question_of_z = (run.stopping.test, large.task, run.evidence, Nominee(z, 0.0, 0), run.rule)
    found = TESTS[None].score(*question_of_z)
    assert -math.inf < found.statistic < found.threshold
    assert run.stopping.test.rolls[Roll.KNOWN].sum() < K / 10


@pytest.mark.parametrize("length", [STEP, STEP + 1, 3 * STEP + 5])
def test_long_events_are_chained_as_short_ones(length: int) -> None:
    data = ('é"\\😀\n' * (length // 5 + 1))[:length]
    event = Event(1, "created", 1.5, data=data, worker='w"é')
    fields = [1, "created", 1.5, "", None, None, data, 'w"é']
    expected = sha256(("head" + json.dumps(fields)).encode()).hexdigest()
    assert link("head", event) == expected


def test_a_large_study_is_opened_where_it_was_left(tmp_path: Any) -> None:
    large, url = question(3000, 3000, 24), f"sqlite:///{tmp_path}/large.db"
    study = ft.Study.create("large", large, storage=url)
    assert "task" not in vars(large)  # it would be beside the question as text
    for _ in range(30):
        trial = study.ask()
        study.tell(trial, float(large.arms[trial.arm, 0]))
    asked = study.ask()
    again = ft.Study.load("large", url)
    assert again.pending()[0].id == asked.id
    np.testing.assert_array_equal(again.problem.arms, large.arms)
    assert [later.seq - event.seq for event, later in pairwise(again.events())] == [1] * 61


def test_bytes_stand_where_they_belong() -> None:
    """Arms and answers both as bytes; and names that look like a place for them."""
    problem = question(3000, 3500, 22)
    arms = [*names("arm", 2998), "\0", '"float64": "\0"']
    named = Problem(problem.arms, problem.answers, arm_names=arms)
    again = Settings.decode(settings_of(named).encode()).problem
    np.testing.assert_array_equal(again.arms, named.arms)
    np.testing.assert_array_equal(again.answers, named.answers)
    assert again.arm_names == named.arm_names


def wide(tmp_path: Any) -> tuple[str, str]:
    """The text of a question that is too long for one row, and the database it is in."""
    large, path = question(6000, 6000, 24), f"{tmp_path}/large.db"
    study = ft.Study.create("large", large, storage=f"sqlite:///{path}")
    trial = study.ask()
    study.tell(trial, 1.0)
    return study.events()[0].data, path


def rows(path: str, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(query).fetchall()


def test_a_long_question_is_in_parts(tmp_path: Any) -> None:
    """Which a furthest that knows no parts refuses, and says why."""
    text, path = wide(tmp_path)
    parts = rows(path, "SELECT data FROM furthest_events WHERE seq < 0 ORDER BY seq")
    assert len(parts) > 4
    assert "".join(part for (part,) in parts) == text
    ((note,),) = rows(path, "SELECT data FROM furthest_events WHERE seq = 1")
    with pytest.raises(ft.errors.StorageError, match=r"by a newer furthest \(log version 7"):
        Settings.decode(note)
    study = ft.Study.load("large", f"sqlite:///{path}")
    study.delete()
    assert rows(path, "SELECT * FROM furthest_events") == []


def test_a_long_question_in_one_row_is_read_as_ever(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(sql, "LONG_TEXT", 2**30)
    text, path = wide(tmp_path)
    assert rows(path, "SELECT data FROM furthest_events WHERE seq < 2") == [(text,)]
    assert ft.Study.load("large", f"sqlite:///{path}").history()[0].value == 1.0


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE furthest_events SET data = replace(data, 'AA', 'BA') WHERE seq = -2",
        "UPDATE furthest_events SET data = x'00ff' WHERE seq = -1",
        "DELETE FROM furthest_events WHERE seq = -3",
        "DELETE FROM furthest_events WHERE seq < 0",
        "UPDATE furthest_events SET seq = CASE seq WHEN -2 THEN -90 ELSE seq END",
    ],
)
def test_who_changes_a_part_is_found_out(tmp_path: Any, change: str) -> None:
    _, path = wide(tmp_path)
    rows(path, change)
    with pytest.raises(ft.errors.VerificationError):
        ft.Study.load("large", f"sqlite:///{path}")


def test_a_question_as_text_is_never_there_more_than_twice() -> None:
    settings = settings_of(question(20_000, 20_000, 24))
    settings.encode()  # whatever it imports
    tracemalloc.start()
    try:
        text = settings.encode()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 2.3 * len(text)


def test_what_nobody_can_change_is_not_copied() -> None:
    own = np.random.default_rng(0).standard_normal((30, 3))
    for part in (own, own[:20], own.T.copy().T):
        assert not np.shares_memory(Problem(part).arms, own)
        part.setflags(write=False)
    assert not np.shares_memory(Problem(own[:20]).arms, own)  # somebody may have the whole
    assert Problem(own).arms is own
    text = settings_of(question(3000, 3000, 24)).encode()
    assert Settings.decode(text).problem.arms.flags.owndata


@pytest.mark.parametrize(
    ("stored", "forged"),
    [
        ('"columns": 24', '"columns": 23'),
        ('"columns": 24', '"columns": 0'),
        ('"columns": 24', '"columns": -1'),
        ('"float64": "', '"float64": "A'),
        ('"float64": "', '"float64": "????'),
        ('"float64": "', '"float65": "'),
        ('"answers": null', '"answers": {"columns": 24, "float64": 1}'),
    ],
)
def test_bytes_that_are_no_matrix_are_refused(stored: str, forged: str) -> None:
    text = settings_of(question(3000, 3000, 24)).encode()
    assert stored in text
    with pytest.raises(UNREADABLE):
        Settings.decode(text.replace(stored, forged, 1))


@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize("stopping", ["ranked", "top-wrong"])
def test_what_only_the_test_looks_at_plays_no_part_in_what_is_imagined(
    stopping: str, sigma: float | None
) -> None:
    """With what makes no sense in its place: it is neither read nor changed."""
    small, rng = question(60, 50, 5, sigma=sigma), np.random.default_rng(0)
    fold = Fold(Settings(small, Strategy(stopping=stopping), 0.01, 0, 60.0, "tag"))
    arms = np.concatenate([small.initial, rng.integers(60, size=40)])
    fold.take(single(arms, rng.standard_normal(len(arms))))
    expected = fold.suggest([Due(3), Due(4, 7)], 5)
    kept = [getattr(fold.state.stopping.test, name) for name in fold.test.judged]
    assert sum(array.size for array in kept) > 20 * 50
    for array in kept:
        array[:] = -9 if array.dtype.kind == "i" else math.nan
    assert fold.suggest([Due(3), Due(4, 7)], 5) == expected
    assert all((array == -9).all() or np.isnan(array).all() for array in kept)
