"""Which answers are beaten so clearly that a confidence set says so: without looking at all pairs.

Answer z is beaten by x where −n = c⟨m, x⟩ − ⟨m, z⟩ − e > 0, the more clearly the larger D = n²/‖y‖²
is, y = z − c·x and norms in V⁻¹. Since −⟨m, y⟩ = −n + e is at most ‖m‖_V‖y‖, no D is larger than
‖m‖²_V·(−n/(−n + e))²: answers of little value need not be looked at.
"""

from furthest.kernels.alternatives import SAME
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, dot

# Instead of an answer that beats z: there is none, or one beats it more clearly than it takes.
NOBODY, CLEARLY = -1, -2

# Beyond any rounding.
LARGER = 1.0 + 1e-6


@kernel
def find_defeats(
    answers: Matrix,
    duals: Matrix,
    values: Vector,
    order: Counts,
    c: float,
    e: float,
    size: float,
    least: float,
    enough: float,
    first: int,
    found: Counts,
) -> None:
    """Who beats z most clearly, for as many z from the first on as `found` holds.

    `duals` are V⁻¹ · answers, `order` sorts the answers, the best first, and `size` is ‖m‖²_V. A D
    of `least` or less is as good as none; of more than `enough` there may be larger ones.
    """
    for place in range(found.shape[0]):
        z = first + place
        found[place] = NOBODY
        floor, own = SAME * dot(answers[z], duals[z]), least
        for rank in range(order.shape[0]):
            x = order[rank]
            behind = c * values[x] - values[z] - e
            if not behind > 0.0:
                break
            share = behind / (behind + e)
            if size * share * share * LARGER <= own:
                break
            norm = 0.0
            for i in range(answers.shape[1]):
                norm += (answers[z, i] - c * answers[x, i]) * (duals[z, i] - c * duals[x, i])
            if x == z or not norm > floor:
                continue
            distance = behind * behind / norm
            if distance > enough:
                found[place] = CLEARLY
                break
            if distance > own:
                own, found[place] = distance, x
