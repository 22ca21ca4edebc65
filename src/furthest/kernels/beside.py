"""Evidence of many contrasts at once: those of a pair of answers, and of others beside it.

A complete test looks at y = z − c·x for every x, and for every other answer j at j − c·x and at
(z − c·x) + lean·(z − j). These are y + s·a with a = j − z and s = 1 or −lean, and of such a sum
each form that the evidence depends on is Q(y) + s·⟨h_x, a⟩ + s²·Q(a): O(d²) for each x and for each
j, O(d) for the two together. Where digits cancel the contrast itself is looked at.

Most answers need less. Whom an ellipsoid misses by more than rounding is known from distances to z
alone, O(Zd) for all of them.
"""

import math

from furthest.kernels.contrasts import (
    Case,
    Ellipsoid,
    Form,
    Forms,
    Reach,
    Roll,
    Scratch,
    TopWrong,
    Values,
    Weight,
    beyond_ellipsoid,
    forms_of,
    log_e_value,
    squared_distance,
    strength,
)
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector, combine, fill, matvec

# A sum of forms that is less than this share of its parts has lost more than three digits.
CANCELLED = 1e-3

# Nor may ν² be less than this share of ‖Dy‖²_{G⁻¹}: it is a difference, and its root is wanted.
ALIGNED = 1.0 / 64.0

# What is further than an ellipsoid reaches by this share is so whatever rounding does.
SURELY = 1e-9

# Forms that have a slope; of the linear one nothing is mixed.
MIXED = len(Form) - 1


@kernel
def measure(
    columns: Matrix, duals: Matrix, z: int, c: float, norms: Vector, spreads: Vector
) -> None:
    """‖z − c·x‖²_{V⁻¹} and ‖V⁻¹(z − c·x)‖² for every x."""
    fill(norms, 0.0)
    fill(spreads, 0.0)
    for i in range(columns.shape[0]):
        column, dual = columns[i], duals[i]
        own, image = column[z], dual[z]
        for x in range(norms.shape[0]):
            along = image - c * dual[x]
            norms[x] += (own - c * column[x]) * along
            spreads[x] += along * along


@kernel
def look_at(state: TopWrong, case: Case, z: int) -> None:
    """How far all answers are from z: what no confidence level changes."""
    reaches, known = state.reaches, state.rolls[Roll.KNOWN]
    least = case.c - case.tilt
    own, beside = Reach.PAIR, Reach.STEP
    measure(case.columns, case.projected, z, least, reaches[own], reaches[own + 1])
    measure(case.columns, case.projected, z, 1.0, reaches[beside], reaches[beside + 1])
    for x in range(known.shape[0]):
        known[x] = 0


@kernel
def is_missed(ellipsoids: Matrix, gap: float, norm: float, spread: float) -> bool:
    """Whether an ellipsoid surely misses {λ : ⟨λ, y⟩ + e ≤ 0}."""
    if not (gap > 0.0 and norm > 0.0):
        return False
    square = gap * gap
    for j in range(ellipsoids.shape[1]):
        q = norm + ellipsoids[Ellipsoid.KAPPA, j] * spread
        if square > (1.0 + SURELY) * ellipsoids[Ellipsoid.SQUARED_RADIUS, j] * q:
            return True
    return False


@kernel
def strength_of_pair(state: TopWrong, case: Case, z: int, x: int) -> float:
    """F(z − c·x), after `look_at`."""
    gap = (case.values[z] - (case.c - case.tilt) * case.values[x] + case.e) + case.slack
    norm, spread = state.reaches[Reach.PAIR, x], state.reaches[Reach.PAIR + 1, x]
    if is_missed(state.ellipsoids, gap, norm, spread):
        return math.inf
    return strength(state, case, z, x, z, case.tilt, case.slack)


@kernel
def list_near(state: TopWrong, case: Case, z: int) -> int:
    """Lists the answers that are as good as z for some λ of every ellipsoid; returns how many."""
    near, count = state.rolls[Roll.NEAR], 0
    for other in range(near.shape[0]):
        ahead = case.values[z] - case.values[other]
        norm, spread = state.reaches[Reach.STEP, other], state.reaches[Reach.STEP + 1, other]
        if other != z and not is_missed(state.ellipsoids, ahead, norm, spread):
            near[count] = other
            count += 1
    return count


@kernel
def hold_pair(state: TopWrong, case: Case, z: int, x: int) -> None:
    """Forms and slopes of y = z − c·x; where less is asked of z a second time, as asked of z."""
    _hold(state, case, z, x, 0.0, 0)
    if case.tilt != 0.0:
        _hold(state, case, z, x, case.tilt, 1)


@kernel
def _hold(state: TopWrong, case: Case, z: int, x: int, tilt: float, kind: int) -> None:
    vectors, slopes, inverse, drift = state.vectors, state.slopes, case.inverse, state.drift
    y, dual, dual2 = vectors[Scratch.CONTRAST], vectors[Scratch.DUAL], vectors[Scratch.DUAL2]
    image, image2 = vectors[Scratch.IMAGE], vectors[Scratch.IMAGE2]
    for i in range(y.shape[0]):
        y[i] = case.answers[z, i] - case.c * case.answers[x, i]
        dual[i] = case.projected[i, z] - (case.c - tilt) * case.projected[i, x]
    _keep(forms_of(state, inverse, tilt, case.answers[x]), state.forms[Forms.PAIR + kind])
    matvec(inverse, dual, dual2)
    matvec(inverse, image, image2)
    first = kind * MIXED
    matvec(state.spread, y, slopes[first + Form.VARIANCE])
    combine(dual, drift, slopes[first + Form.CROSS])
    combine(dual2, drift, slopes[first + Form.CROSS2])
    combine(image, drift, slopes[first + Form.SWAY])
    combine(image2, drift, slopes[first + Form.SWAY2])
    for i in range(y.shape[0]):
        slopes[first + Form.NORM, i] = 2.0 * dual[i]
        slopes[first + Form.NORM2, i] = 2.0 * dual2[i]
        slopes[first + Form.CROSS, i] += image[i]
        slopes[first + Form.CROSS2, i] += image2[i]
        slopes[first + Form.SIZE, i] = 2.0 * y[i]
        slopes[first + Form.VARIANCE, i] *= 2.0
        slopes[first + Form.SWAY, i] *= 2.0
        slopes[first + Form.SWAY2, i] *= 2.0


@kernel
def _keep(forms: Values, row: Vector) -> None:
    for k in range(row.shape[0]):
        row[k] = forms[k]


@kernel
def bring(state: TopWrong, case: Case, z: int, other: int) -> None:
    """An answer to stand beside the pair that is held: the forms of a = j − z, and the mixed."""
    if state.rolls[Roll.KNOWN, other] == 0:
        state.rolls[Roll.KNOWN, other] = 1
        step, dual = state.vectors[Scratch.CONTRAST], state.vectors[Scratch.DUAL]
        for i in range(step.shape[0]):
            step[i] = case.answers[other, i] - case.answers[z, i]
            dual[i] = case.projected[i, other] - case.projected[i, z]
        _keep(forms_of(state, case.inverse, 0.0, step), state.steps[other])
    for kind in range(2 if case.tilt != 0.0 else 1):
        _mix(state, case.answers[other], case.answers[z], kind)


@kernel
def _mix(state: TopWrong, other: Vector, own: Vector, kind: int) -> None:
    """⟨h_x, a⟩ of all forms, in one loop over a."""
    out, first = state.forms[Forms.MIXED + kind], kind * MIXED
    norm, norm2 = state.slopes[first + Form.NORM], state.slopes[first + Form.NORM2]
    cross, cross2 = state.slopes[first + Form.CROSS], state.slopes[first + Form.CROSS2]
    sway, sway2 = state.slopes[first + Form.SWAY], state.slopes[first + Form.SWAY2]
    variance, size = state.slopes[first + Form.VARIANCE], state.slopes[first + Form.SIZE]
    n, n2, c, c2, s, s2, v, z = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(other.shape[0]):
        a = other[i] - own[i]
        n += norm[i] * a
        n2 += norm2[i] * a
        c += cross[i] * a
        c2 += cross2[i] * a
        s += sway[i] * a
        s2 += sway2[i] * a
        v += variance[i] * a
        z += size[i] * a
    out[Form.NORM], out[Form.NORM2], out[Form.CROSS], out[Form.CROSS2] = n, n2, c, c2
    out[Form.SWAY], out[Form.SWAY2], out[Form.VARIANCE], out[Form.SIZE] = s, s2, v, z


@kernel
def _sum_up(state: TopWrong, other: int, s: float, kind: int) -> bool:
    """The forms of y + s·a; False where digits have cancelled."""
    found, mixed = state.forms[Forms.FOUND], state.forms[Forms.MIXED + kind]
    pair, step = state.forms[Forms.PAIR + kind], state.steps[other]
    found[Form.BASE] = pair[Form.BASE] + s * step[Form.BASE]
    whole = True
    for k in range(MIXED):
        parts = pair[k] + s * s * step[k]
        found[k] = parts + s * mixed[k]
        if k not in (Form.CROSS, Form.CROSS2) and found[k] < CANCELLED * parts:
            whole = False
    for j in range(state.ellipsoids.shape[1]):
        kappa = state.ellipsoids[Ellipsoid.KAPPA, j]
        q = found[Form.NORM] + kappa * found[Form.NORM2]
        cross = found[Form.CROSS] + kappa * found[Form.CROSS2]
        sway = found[Form.SWAY] + kappa * found[Form.SWAY2]
        if sway - cross * cross / q < ALIGNED * sway:
            whole = False
    return whole


@kernel
def _found(state: TopWrong) -> Values:
    f = state.forms[Forms.FOUND]
    return f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8]


@kernel
def is_beyond(state: TopWrong, case: Case, z: int, x: int, other: int) -> bool:
    """`beyond_ellipsoid` for what is held and brought."""
    gap1 = case.values[other] - case.c * case.values[x] + case.e
    gap2 = case.values[z] - case.values[other]
    if gap1 <= 0.0 and gap2 <= 0.0:
        return False
    pair, mixed, step = state.forms[Forms.PAIR], state.forms[Forms.MIXED], state.steps[other]
    for j in range(state.ellipsoids.shape[1]):
        k = state.ellipsoids[Ellipsoid.KAPPA, j]
        q22 = step[Form.NORM] + k * step[Form.NORM2]
        half = 0.5 * (mixed[Form.NORM] + k * mixed[Form.NORM2])
        parts = pair[Form.NORM] + k * pair[Form.NORM2] + q22
        q11 = parts + 2.0 * half
        if q11 < CANCELLED * parts:
            return beyond_ellipsoid(state, case, z, x, other)
        distance = squared_distance(gap1, gap2, q11, -half - q22, q22)
        if distance > state.ellipsoids[Ellipsoid.SQUARED_RADIUS, j]:
            return True
    return False


@kernel
def strength_alone(state: TopWrong, case: Case, x: int, other: int) -> float:
    """F(j − c·x) for what is held and brought."""
    if not _sum_up(state, other, 1.0, 0):
        return strength(state, case, other, x, other, 0.0, 0.0)
    gap = case.values[other] - case.c * case.values[x] + case.e
    if not gap > 0.0:
        return -math.inf
    return log_e_value(state, case.rounds, gap, _found(state))


@kernel
def strength_beside(state: TopWrong, case: Case, z: int, x: int, other: int) -> float:
    """F((z − c·x) + lean·(z − j)) for what is held and brought."""
    lean, values = state.weighting[Weight.LEAN], case.values
    if not _sum_up(state, other, -lean, 1 if case.tilt != 0.0 else 0):
        return strength(state, case, z, x, other, case.tilt, case.slack)
    gap = (values[z] - (case.c - case.tilt) * values[x] + case.e) + case.slack
    gap += lean * (values[z] - values[other])
    if not gap > 0.0:
        return -math.inf
    return log_e_value(state, case.rounds, gap, _found(state))
