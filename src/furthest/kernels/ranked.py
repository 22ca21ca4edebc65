"""The decision of the test `ranked`: `top-wrong` with masses by rank.

A wrong answer that is not the top one is outranked by others. `top-wrong` spends the same on each
of them; `ranked` spends by rank, which costs less where there are many. State, statistics and
evidence are those of kernels/topwrong.py; statement and proof: docs/theory/ranked.md.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.kernels.beside import (
    bring,
    hold_pair,
    is_beyond,
    list_near,
    look_at,
    strength_alone,
    strength_beside,
)
from furthest.kernels.contrasts import (
    Case,
    Obstacle,
    Price,
    Residual,
    Roll,
    TopWrong,
    beyond_ellipsoid,
    recall_ellipsoids,
    strength,
    update_offset,
    update_radii,
    update_volumes,
)
from furthest.kernels.jit import Apart, kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, sort_together
from furthest.kernels.topwrong import (
    COMPLETELY,
    QUICKLY,
    REMEMBERED,
    TOP_WRONG,
    Budget,
    expect_obstacle,
    weak_pair,
)

# Where in a row of `obstacles` the answers begin; Obstacle.OTHER is how many there are, 0 where the
# pair alone has failed. So many of a set are remembered; a larger one is looked for anew.
FIRST, ROOM = len(Obstacle), 8
# The largest logarithm of a term that is added up; beyond it every sum is enough.
LARGEST = 300.0


class Rank(IntEnum):
    """Rows of TopWrong.ranks: masses of the wrong answer that k others outrank, k = 1 … n."""

    FALLBACK = 0  # f_k, of its own evidence
    SUMMED = 1  # m_k, of its evidence beside each of the k


class RankMasses(NamedTuple):
    """How δ is spent by rank: Σ f_k = `fallback`, Σ k·m_k = `summed`, each a power of the rank k.

    Any positive masses with a sum below 1 keep the theorem. That they fall with the rank, for which
    no exponent may be below 0, the decision makes use of.
    """

    ellipsoid: float = 0.05  # π₀
    summed: float = 0.28  # S
    fallback: float = 0.10  # Φ
    summed_power: float = 2.2
    fallback_power: float = 0.8

    def budget(self, bystanders: int) -> Budget:
        """Without bystanders nothing is spent on them."""
        if bystanders < 1:
            first = -math.log(1.0 - self.ellipsoid)
            return Budget(self.ellipsoid, first, math.inf, math.inf, np.zeros((len(Rank), 0)))
        first = -math.log(1.0 - self.ellipsoid - self.summed - self.fallback)
        rank = np.arange(1.0, bystanders + 1)
        fallback, summed = rank**-self.fallback_power, rank**-self.summed_power
        ranks = np.array(
            [
                self.fallback * fallback / fallback.sum(),
                self.summed * summed / (rank * summed).sum(),
            ]
        )
        enough = -math.log(ranks[Rank.FALLBACK].min())  # with its own evidence alone, at any rank
        return Budget(self.ellipsoid, first, math.inf, enough, ranks, min(ROOM, bystanders))


@kernel
def _accepts(
    state: TopWrong,
    case: Case,
    estimate: Vector,
    matrix: Matrix,
    z: int,
    level: int,
    against: int,
) -> bool:
    """First what failed last, with the ellipsoids from then, then everything.

    Its set is one of many: with its answers in place of the weakest ones the sum is no smaller.
    """
    if against == REMEMBERED:
        update_radii(state, case.rounds, level, state.residual[Residual.LARGEST])
        return not _still_fails(state, case, z, level)
    if against <= COMPLETELY:
        update_offset(state, estimate)
        if against == QUICKLY:
            expect_obstacle(state, case, z, 0)
            recall_ellipsoids(state, case, level)
            if _still_fails(state, case, z, level):
                return False
        update_volumes(state, case, matrix)
        look_at(state, case, z)
    update_radii(state, case.rounds, level, state.residual[Residual.LARGEST])
    first = max(against, 0)
    last = first + 1 if against >= 0 else case.answers.shape[0]
    failed = weak_pair(state, case, z, level, first, last)
    if failed >= 0:
        state.obstacles[z, Obstacle.BEST], state.obstacles[z, Obstacle.OTHER] = failed, 0
        return False
    count = -1
    for x in range(first, last):
        enough = state.strengths[x] >= state.required[Price.FALLBACK, level]
        if x == z or enough:
            continue
        if count < 0:
            count = list_near(state, case, z)
        if not _outranks(state, case, z, x, level, count):
            return False
    return True


@kernel
def _still_fails(state: TopWrong, case: Case, z: int, level: int) -> bool:
    """Whether the set that failed last, the one in question first, fails again."""
    obstacle, required = state.obstacles[z], state.required
    x, size = obstacle[Obstacle.BEST], obstacle[Obstacle.OTHER]
    against = strength(state, case, z, x, z, case.tilt, case.slack)
    if against < required[Price.FIRST, level]:
        return True
    if size == 0 or size > obstacle.shape[0] - FIRST:
        return False
    level_cost, first_cost = required[Price.LEVEL, level], required[Price.FIRST, level]
    total = state.ranks[Rank.FALLBACK, size - 1] * math.exp(min(against - level_cost, LARGEST))
    for i in range(size):
        other = obstacle[FIRST + i]
        if total >= 1.0 or beyond_ellipsoid(state, case, z, x, other):
            return False
        alone = strength(state, case, other, x, other, 0.0, 0.0)
        if alone == math.inf:
            return False
        if i == 0:
            total += math.exp(min(alone - first_cost, LARGEST))
        both = strength(state, case, z, x, other, case.tilt, case.slack)
        total += state.ranks[Rank.SUMMED, size - 1] * math.exp(min(both - level_cost, LARGEST))
        if both == math.inf:
            return False
    return total < 1.0


@kernel
def _outranks(state: TopWrong, case: Case, z: int, x: int, level: int, nearby: int) -> bool:
    """Whether no answers that may outrank z, with x as the best one, leave room for a wrong z.

    For every one of them as the top wrong answer, and every number k of them, the evidence against
    the top one, against z, and against z beside the k together: three kinds of terms of one
    supermartingale. Beside the top one itself at least the k − 1 weakest count. More than those
    `nearby` they cannot be: where evidence against z is enough for so many, nobody is looked at.
    """
    required, ranks = state.required, state.ranks
    own = math.exp(state.strengths[x] - required[Price.LEVEL, level])
    most = min(nearby, ranks.shape[1])
    if most == 0 or ranks[Rank.FALLBACK, most - 1] * own >= 1.0:
        return True
    hold_pair(state, case, z, x)
    if _all_are_right(state, case, z, x, level, nearby, 1.0 - ranks[Rank.FALLBACK, most - 1] * own):
        return True
    alone, beside = state.shares[0], state.shares[1]
    rivals, following = state.rolls[Roll.RIVALS], state.rolls[Roll.FOLLOWING]
    near, count = state.rolls[Roll.NEAR], 0
    for place in range(nearby):
        other = near[place]
        if other == x:
            continue
        bring(state, case, z, other)
        if is_beyond(state, case, z, x, other):
            continue
        against = strength_alone(state, case, x, other)
        both = strength_beside(state, case, z, x, other)
        if max(against, both) == math.inf:
            continue
        rivals[count] = other
        alone[count] = math.exp(min(against - required[Price.FIRST, level], 0.0))
        beside[count] = math.exp(min(both - required[Price.LEVEL, level], LARGEST))
        count += 1
    sort_together(beside, alone, rivals, count)
    link(alone, following, count)
    size, top = weak_set(ranks, own, alone, beside, following, count)
    if size > 0:
        _remember(state.obstacles[z], rivals, x, size, top)
    return size == 0


@kernel
def _all_are_right(
    state: TopWrong, case: Case, z: int, x: int, level: int, nearby: int, enough: float
) -> bool:
    """Whether each of those nearby has enough evidence that it is right, with x as the best.

    Then nobody can be the top wrong one, and what else there is need not be looked at.
    """
    least = state.required[Price.FIRST, level] + math.log(enough)
    for place in range(nearby):
        other = state.rolls[Roll.NEAR, place]
        if other == x:
            continue
        bring(state, case, z, other)
        if strength_alone(state, case, x, other) < least and not is_beyond(
            state, case, z, x, other
        ):
            return False
    return True


@kernel
def weak_set(
    ranks: Matrix, own: float, alone: Vector, beside: Vector, following: Counts, count: int
) -> tuple[int, int]:
    """(k, top) of a set that is not enough, the others being the k − 1 weakest; (0, 0) if all are.

    The weakest come first. Among the first k − 1 the top one with least alone decides, and after
    them only those that `following` links.
    """
    weakest, least = 0.0, count  # of the first k − 1: their sum, and the one with least alone
    for k in range(1, count + 1):
        enough = 1.0 - ranks[Rank.FALLBACK, k - 1] * own
        mass = ranks[Rank.SUMMED, k - 1]
        if mass * (weakest + beside[k - 1]) < enough:
            if least < count and alone[least] + mass * (weakest + beside[k - 1]) < enough:
                return k, least
            top = k - 1
            while top < count:
                if alone[top] + mass * (weakest + beside[top]) < enough:
                    return k, top
                top = following[top]
        weakest += beside[k - 1]
        if least == count or alone[k - 1] < alone[least]:
            least = k - 1
    return 0, 0


@kernel
def link(alone: Vector, following: Counts, count: int) -> None:
    """From each to the next one with less alone: in between none can be the weakest top one."""
    for i in range(count - 1, -1, -1):
        after = i + 1
        while after < count and alone[after] >= alone[i]:
            after = following[after]
        following[i] = after


@kernel
def _remember(obstacle: Counts, rivals: Counts, x: int, size: int, top: int) -> None:
    """x, how many outrank z, the top one of them and the weakest others."""
    obstacle[Obstacle.BEST], obstacle[Obstacle.OTHER] = x, size
    if size > obstacle.shape[0] - FIRST:
        return
    obstacle[FIRST] = rivals[top]
    place = FIRST + 1
    for i in range(size):
        if i != top and place < FIRST + size:
            obstacle[place] = rivals[i]
            place += 1


RANKED = Apart(_accepts, twin=TOP_WRONG)
