"""FWS: one Frank–Wolfe step per round on the smoothed objective of the lower bound.

Wang, Tzeng & Proutière (2021), "Fast Pure Exploration via Frank-Wolfe", algorithm 1 (FWS). With
f_x(w) = n_x²/(2σ²‖z − c·x‖²_{V_w⁻¹}) the optimal proportions maximise F(w) = min_x f_x(w), which is
not smooth. A step therefore looks at all half-spaces x that are nearly the closest,

    z_t = argmax over z in the simplex of min over {x : f_x(w) < F(w) + r_t} of ⟨z − w, ∇f_x(w)⟩,

which is a matrix game, arms against nearly active half-spaces; r_t = t^{−9/10}/K as in the authors'
experiments. Every K·i² rounds, K rounds of uniform exploration.

The paper treats questions with one correct answer. Our ε-version takes the objective of one ε-best
answer, by default the instantaneous furthest one, as LεBAI does.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest import axes
from furthest.codes import Candidate
from furthest.errors import StrategyError, pick
from furthest.kernels.alternatives import SAME, contrast_norms, margin
from furthest.kernels.answers import greedy_answer, instantaneous_furthest
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    cholesky,
    combine,
    copy,
    fill,
    solve_lower_many,
    solve_lower_transposed,
    weighted_information,
)
from furthest.kernels.oracle import NoOracle, Oracle, exact_furthest, oracle_for
from furthest.kernels.tracking import TIE
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task

# Exponent of the smoothing r_t.
SMOOTHING = 0.9
# Entries of the game's tableau, all of order one, below this are zero.
ZERO = 1e-11
# A table of so many payoffs is 200 megabytes.
MOST_PAYOFFS = 25_000_000
# Pivots per row and column after which a game counts as unsolved. Never seen to be reached.
MOST_PIVOTS = 50


class Fws(NamedTuple):
    """Proportions, and the work arrays of a step."""

    z_oracle: int
    oracle: Oracle | NoOracle
    cumulative: Vector  # (K,) W = t·w, the sum of all steps
    step: Vector  # (K,) z_t
    packed: Vector  # (d(d+1)/2,) scratch
    factor: Matrix  # (d, d) Cholesky factor of V_W
    columns: Matrix  # (d, Z) L⁻¹ · answers
    direction: Vector  # (d,) V_W⁻¹ y
    distances: Vector  # (Z,) 2t·f_x, infinite where x cannot be confused with the answer
    game: Matrix  # (Z + 1, K + 1) payoffs, then the simplex tableau
    labels: Counts  # (Z + K) variables of its rows and columns


def start(task: Task, *, z_oracle: str = "instantaneous-furthest") -> Fws:
    """The state before the first round."""
    arms, d = task.arms.shape
    answers = task.answers.shape[0]
    code = pick(z_oracle, axes.CANDIDATES, "Z-oracle").code
    if answers * arms > MOST_PAYOFFS:
        raise StrategyError(
            f"fws has a table of arms × answers, which for {arms:,} × {answers:,} would be too "
            "large: take another sampling rule, such as softmin or lebai"
        )
    return Fws(
        z_oracle=int(code),
        oracle=oracle_for(task) if code == Candidate.FURTHEST else NoOracle(),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        step=np.zeros(arms),
        packed=np.zeros(task.outer.shape[1]),
        factor=np.zeros((d, d)),
        columns=np.zeros((d, answers)),
        direction=np.zeros(d),
        distances=np.zeros(answers),
        game=np.zeros((answers + 1, arms + 1)),
        labels=np.zeros(answers + arms, np.int64),
    )


@kernel
def choose(rule: Fws, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """Uniform exploration or a Frank–Wolfe step; then the arm of largest W_a/N_a.

    Paper: FWS.
    """
    step, cumulative = rule.step, rule.cumulative
    arms = step.shape[0]
    this_round = evidence.clock[Clock.ROUNDS] + 1
    if _is_square(this_round // arms) or not _frank_wolfe(rule, task, evidence, this_round):
        fill(step, 1.0 / arms)
    for a in range(arms):
        cumulative[a] += step[a]
    return _most_behind_in_proportion(evidence.counts, cumulative)


@kernel
def _is_square(number: int) -> bool:
    root = int(math.sqrt(number) + 0.5)
    return root * root == number


@kernel
def _most_behind_in_proportion(counts: Counts, target: Vector) -> int:
    """argmax over arms of target_a/N_a, without dividing by zero."""
    best = 0
    for a in range(1, counts.shape[0]):
        if target[a] * counts[best] > target[best] * counts[a] * (1.0 + TIE):
            best = a
    return best


@kernel
def _frank_wolfe(rule: Fws, task: Task, evidence: Evidence, this_round: int) -> bool:
    """Leave z_t in rule.step. False where there is no objective, as when no answer is ε-best."""
    if rule.z_oracle == Candidate.INSTANTANEOUS:
        answer, _ = instantaneous_furthest(task, evidence)
    elif rule.z_oracle == Candidate.FURTHEST:
        answer = exact_furthest(rule.oracle, task, evidence.values)
    else:
        answer = greedy_answer(evidence.values)

    rounds, arms = this_round - 1, rule.step.shape[0]
    lowest = _distances(rule, task, evidence, answer)
    if not 0.0 < lowest < math.inf:
        return False
    limit = lowest + 2.0 * rounds * this_round**-SMOOTHING / arms
    rows, highest = 0, 0.0
    for x in range(rule.distances.shape[0]):
        if rule.distances[x] < limit:
            _gradient(rule, task, evidence, answer, x, rule.game[rows])
            rule.game[rows, arms] = rule.distances[x] / rounds
            highest = max(highest, rule.game[rows, arms])
            rows += 1
    _normalise(rule.game, rows, arms, highest)
    return _equilibrium(rule.game, rows, arms, rule.labels, rule.step)


@kernel
def _distances(rule: Fws, task: Task, evidence: Evidence, answer: int) -> float:
    """Squared distance of every half-space in the metric V_W/σ², and the least of them.

    0 while σ cannot be estimated, or V_W is singular: no objective.
    """
    weighted_information(task.arms, task.outer, rule.cumulative, rule.packed, rule.factor)
    if not cholesky(rule.factor):
        return 0.0
    copy(task.answer_columns, rule.columns)
    solve_lower_many(rule.factor, rule.columns)
    norms = evidence.norms
    floor = SAME * contrast_norms(rule.columns, rule.columns, answer, task.c, norms)
    lowest = math.inf
    for x in range(norms.shape[0]):
        rule.distances[x] = math.inf
        if x == answer or not norms[x] > floor:
            continue
        n = max(margin(task, evidence.values, answer, x), 0.0) * evidence.precision[0]
        rule.distances[x] = n * n / norms[x]
        lowest = min(lowest, rule.distances[x])
    return lowest


@kernel
def _gradient(rule: Fws, task: Task, evidence: Evidence, answer: int, x: int, out: Vector) -> None:
    """out_a = 2 ∂f_x/∂w_a = ⟨μ − λ, a⟩²/σ², λ the closest point of the half-space x in V_W."""
    direction = rule.direction
    for i in range(direction.shape[0]):
        direction[i] = rule.columns[i, answer] - task.c * rule.columns[i, x]
    solve_lower_transposed(rule.factor, direction)
    scale = margin(task, evidence.values, answer, x) / evidence.norms[x] * evidence.precision[0]
    arms = task.arm_columns.shape[1]
    combine(direction, task.arm_columns, out[:arms])
    for a in range(arms):
        out[a] = (scale * out[a]) ** 2


@kernel
def _normalise(game: Matrix, rows: int, arms: int, highest: float) -> None:
    """From gradients, and 2f_x = ⟨w, gradient⟩ in the last column, to payoffs ≥ 0.

    The payoff of arm a is gradient_a − 2f_x; a constant more in every entry changes no strategy.
    At z = w all rows now pay exactly 1, so the value of the game is at least 1.
    """
    for j in range(rows):
        for a in range(arms):
            game[j, a] = (game[j, a] - game[j, arms]) / highest + 1.0


@kernel
def _equilibrium(tableau: Matrix, m: int, k: int, labels: Counts, out: Vector) -> bool:
    """out = argmax over z in the simplex of min_j Σ_a z_a A_ja, for payoffs A ≥ 0 of m × k.

    The simplex method on max Σ_j p_j subject to Σ_j p_j A_ja ≤ 1, p ≥ 0, whose dual variables are
    the z_a up to scale (von Neumann's reduction). Exact up to rounding; Bland's rule, so it ends.
    Memory row j of the tableau holds a variable outside the basis, memory column a one inside:
    labels below m are the p_j, the others the slacks of the arms. False after too many pivots.
    """
    for j in range(m):
        tableau[j, k] = -1.0
        labels[j] = j
    for a in range(k):
        tableau[m, a] = 1.0
        labels[m + a] = m + a
    tableau[m, k] = 0.0
    for _ in range(MOST_PIVOTS * (m + k)):
        row = _entering(tableau, m, k, labels)
        if row < 0:
            _dual_solution(tableau, m, k, labels, out)
            return True
        column = _leaving(tableau, m, k, labels, row)
        if column < 0:
            return False
        _pivot(tableau, m, k, row, column)
        labels[row], labels[m + column] = labels[m + column], labels[row]
    return False


@kernel
def _entering(tableau: Matrix, m: int, k: int, labels: Counts) -> int:
    """The row of least label whose variable improves the objective; −1 at the optimum."""
    best = -1
    for j in range(m):
        if tableau[j, k] < -ZERO and (best < 0 or labels[j] < labels[best]):
            best = j
    return best


@kernel
def _leaving(tableau: Matrix, m: int, k: int, labels: Counts, row: int) -> int:
    """The column that limits the step most; of equals the one of least label."""
    least = math.inf
    for a in range(k):
        if tableau[row, a] > ZERO:
            least = min(least, tableau[m, a] / tableau[row, a])
    best = -1
    for a in range(k):
        if tableau[row, a] > ZERO:
            ratio = tableau[m, a] / tableau[row, a]
            if ratio <= least + ZERO and (best < 0 or labels[m + a] < labels[m + best]):
                best = a
    return best


@kernel
def _pivot(tableau: Matrix, m: int, k: int, row: int, column: int) -> None:
    """Exchange the variables of `row` and `column`."""
    inverse = 1.0 / tableau[row, column]
    for j in range(m + 1):
        if j != row:
            scale = tableau[j, column] * inverse
            for a in range(k + 1):
                tableau[j, a] -= scale * tableau[row, a]
            tableau[j, column] = scale
    for a in range(k + 1):
        tableau[row, a] *= -inverse
    tableau[row, column] = inverse


@kernel
def _dual_solution(tableau: Matrix, m: int, k: int, labels: Counts, out: Vector) -> None:
    """z from the reduced costs of the slacks."""
    total = 0.0
    for a in range(k):
        out[a] = 0.0
    for j in range(m):
        if labels[j] >= m:
            out[labels[j] - m] = max(tableau[j, k], 0.0)
            total += out[labels[j] - m]
    for a in range(k):
        out[a] /= total


RULE = Rule(
    name="fws",
    start=start,
    choose=choose,
    source="Wang, Tzeng & Proutière (2021), algorithm 1 (FWS), with the furthest answer for ε",
    optimality=("asymptotically optimal for best arms (ε = 0); the ε-version is ours and unproven"),
)
