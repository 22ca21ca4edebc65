"""Evidence of many contrasts at once, and the tests made of it, against one contrast at a time."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator

from furthest.kernels import beside, contrasts
from furthest.kernels.contrasts import Case, Price, Roll, TopWrong
from furthest.kernels.evidence import Evidence, no_evidence, take_in
from furthest.kernels.ranked import Rank
from furthest.kernels.topwrong import case, met, observe
from furthest.problem import Notion, Problem
from furthest.stopping import ranked, top_wrong
from furthest.stopping.nomination import Nominee
from furthest.stopping.top_wrong import score
from furthest.task import Task
from oracles.near_null import NOTIONS
from oracles.topwrong import Array

DELTA = 0.1
SEEDS = range(8)
TESTS = {
    "ranked": ranked.start,
    "ranked, σ unknown": ranked.start_student,
    "top-wrong": top_wrong.start,
    "top-wrong, σ unknown": top_wrong.start_student,
}


class Scene(NamedTuple):
    """A question after some measurements."""

    task: Task
    evidence: Evidence
    state: TopWrong

    def case(self, tilt: float, slack: float) -> Case:
        asked = case(self.task, self.evidence, tilt, slack)
        contrasts.update_offset(self.state, self.evidence.estimate)
        contrasts.update_ellipsoids(self.state, asked, self.evidence.matrix, 0)
        return asked


def crowd(rng: Generator, d: int) -> Array:
    """Answers around the best one, some of them equal, multiples, or nearly equal."""
    answers = 0.6 * rng.normal(size=(9, d))
    answers[0] = np.eye(d)[0] * (0.5 + np.abs(answers[:, 0]).max())
    answers[1:3] = answers[0] + 0.3 * rng.normal(size=(2, d))
    answers[3], answers[4] = answers[1], 0.9 * answers[0]
    answers[5] = answers[2] + 1e-9 * rng.normal(size=d)
    answers[6] = 0.9 * answers[0] + 1e-6 * rng.normal(size=d)
    return answers


def scene(seed: int, notion: Notion, name: str, most: int = 400) -> Scene:
    """On even seeds σ is small, so that few answers are near."""
    rng = np.random.default_rng([seed, 7])
    d = 2 + seed % 4
    answers = crowd(rng, d)
    sigma = None if "unknown" in name else (0.3, 1.0)[seed % 2]
    task = Problem(answers, None, 0.1, notion, sigma=sigma).task
    evidence, state = no_evidence(task), TESTS[name](task, [DELTA])
    mu = task.arms[0] / (task.arms[0] @ task.arms[0]) * (1.5 if seed % 3 else 0.0) / (sigma or 1.0)
    pulls = [*task.initial.tolist(), *rng.integers(len(task.arms), size=rng.integers(5, most))]
    for arm in pulls:
        reward = float(task.arms[arm] @ mu + rng.normal())
        take_in(task, evidence, int(arm), reward)
        observe(state, task, evidence, int(arm), reward)
    return Scene(task, evidence, state)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", ["ranked", "top-wrong, σ unknown"])
def test_evidence_beside_a_pair_is_that_of_the_contrast(notion: Notion, name: str) -> None:
    beyond, finite, far = [], 0, 0
    for seed in SEEDS:
        here = scene(seed, notion, name)
        answers, state = range(len(here.task.answers)), here.state
        for tilt, slack in ((0.0, 0.0), (0.05, 0.02)):
            asked = here.case(tilt, slack)
            for z in answers:
                beside.look_at(state, asked, z)
                near = state.rolls[Roll.NEAR][: beside.list_near(state, asked, z)].tolist()
                for x in set(answers) - {z}:
                    alone = contrasts.strength(state, asked, z, x, z, tilt, slack)
                    assert beside.strength_of_pair(state, asked, z, x) == alone
                    far += alone == math.inf
                    beside.hold_pair(state, asked, z, x)
                    for j in set(answers) - {z, x}:
                        beside.bring(state, asked, z, j)
                        out = contrasts.beyond_ellipsoid(state, asked, z, x, j)
                        assert beside.is_beyond(state, asked, z, x, j) == out
                        assert out or j in near
                        beyond.append(out)
                        found = (
                            beside.strength_alone(state, asked, x, j),
                            beside.strength_beside(state, asked, z, x, j),
                        )
                        expected = (
                            contrasts.strength(state, asked, j, x, j, 0.0, 0.0),
                            contrasts.strength(state, asked, z, x, j, tilt, slack),
                        )
                        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)
                        finite += np.isfinite(found).sum()
    assert 0.02 < np.mean(beyond) < 0.9
    assert finite > 1000
    assert far > 50


def test_distances_to_one_answer_are_those_of_each() -> None:
    rng = np.random.default_rng(0)
    answers, root = rng.normal(size=(7, 3)), rng.normal(size=(3, 3))
    inverse = root @ root.T
    norms, spreads = np.zeros(7), np.zeros(7)
    beside.measure(answers.T.copy(), (answers @ inverse).T.copy(), 2, 0.8, norms, spreads)
    y = answers[2] - 0.8 * answers
    assert norms == pytest.approx(np.einsum("xi,ij,xj->x", y, inverse, y))
    assert spreads == pytest.approx(((y @ inverse) ** 2).sum(axis=1))


# ------------------------------------------------------------------------------ whole decisions


def plainly(here: Scene, z: int, name: str) -> bool:
    """The decision with every contrast on its own and every set that there is."""
    state, asked = here.state, here.case(0.0, 0.0)
    answers, required = range(len(here.task.answers)), here.state.required[:, 0]

    def strength(z: int, x: int, other: int) -> float:
        return float(contrasts.strength(state, asked, z, x, other, 0.0, 0.0))

    for x in set(answers) - {z}:
        own = strength(z, x, z)
        if own < required[Price.FIRST]:
            return False
        near = [
            j
            for j in set(answers) - {x, z}
            if not contrasts.beyond_ellipsoid(state, asked, z, x, j)
        ]
        alone = np.array([strength(j, x, j) for j in near])
        both = np.array([strength(z, x, j) for j in near])
        if own == math.inf or not near:
            continue
        if "top-wrong" in name:
            total = np.exp(own - required[Price.FALLBACK])
            total += np.exp(alone - required[Price.FIRST]) + np.exp(both - required[Price.SUMMED])
        else:
            kept = np.maximum(alone, both) < math.inf
            total = sums_of_sets(state, own - required[Price.LEVEL], alone[kept], both[kept])
        if total.min(initial=math.inf) < 1:
            return False
    return True


def sums_of_sets(state: TopWrong, own: float, alone: Array, both: Array) -> Array:
    """Of every top one and every number of answers that may outrank z."""
    beside_z = np.exp(both - state.required[Price.LEVEL, 0])
    first = np.exp(alone - state.required[Price.FIRST, 0])
    totals = [
        first[top]
        + state.ranks[Rank.FALLBACK, k] * np.exp(own)
        + state.ranks[Rank.SUMMED, k]
        * (beside_z[top] + np.sort(np.delete(beside_z, top))[:k].sum())
        for top in range(len(both))
        for k in range(len(both))
    ]
    return np.array(totals)


def lowered(here: Scene, by: float) -> Scene:
    """The same, at another level."""
    slopes = np.ones_like(here.state.required)
    slopes[Price.RADIUS] = 2.0
    state = here.state._replace(required=here.state.required - by * slopes)
    return here._replace(state=state)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", TESTS)
def test_decisions_are_those_of_every_contrast_on_its_own(notion: Notion, name: str) -> None:
    accepted = []
    for seed in SEEDS:
        here = scene(seed, notion, name)
        for by in (0.0, 2.0, 4.0, 5.0, 6.0, 8.0):
            asked = lowered(here, by)
            for z in np.argsort(-here.evidence.values)[:3].tolist():
                decision = met(asked.state, here.task, here.evidence, z, 0)
                assert decision == plainly(asked, z, name)
                accepted.append(decision)
    assert 10 < sum(accepted) < len(accepted) - 10


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("name", TESTS)
def test_the_score_is_where_complete_tests_begin_to_fail(notion: Notion, name: str) -> None:
    """By a bisection of them all, with nothing remembered from one to the next."""
    scores = []
    for seed in SEEDS:
        here = scene(seed, notion, name)
        z, needed = int(here.evidence.values.argmax()), math.log(1 / DELTA)
        asked = (here.state, here.task, here.evidence, Nominee(z, 0.0, 0), None)
        found = score(*asked).statistic

        def accepts(level: float, here: Scene = here, z: int = z, needed: float = needed) -> bool:
            moved = lowered(here, needed - level).state
            moved.obstacles[:] = -1
            return bool(met(moved, here.task, here.evidence, z, 0))

        below, above = found - 1.0, found + 1.0
        if not accepts(below):  # the ellipsoids would be empty
            assert not accepts(found + 1e-9)
            continue
        for _ in range(55):
            middle = 0.5 * (below + above)
            below, above = (middle, above) if accepts(middle) else (below, middle)
        assert found == pytest.approx(below, rel=1e-12, abs=1e-12)
        scores.append(found)
    assert len(scores) >= 4


def test_what_an_ellipsoid_misses_needs_no_further_look() -> None:
    """Of distances alone, and never of those within rounding."""
    ellipsoids = np.array([[1.0], [0.0], [4.0]])  # κ = 1, R² = 4
    assert beside.is_missed(ellipsoids, 2.0 * (1 + 1e-6), 0.5, 0.5)
    assert not beside.is_missed(ellipsoids, 2.0 * (1 + 1e-12), 0.5, 0.5)
    assert not beside.is_missed(ellipsoids, -9.0, 0.5, 0.5)
    assert not beside.is_missed(ellipsoids, 1.0, 0.0, 0.0)
