"""What may be known of μ beforehand, μᵀPμ ≤ R: checked, read from a graph, and whitened.

Kocák & Garivier (2020, 2021): the values of the nodes of a weighted graph are smooth,
S_G(μ) = Σ w_ab (μ_a − μ_b)² = μᵀLμ ≤ R, with the graph's Laplacian L.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.coordinates import SAME_VALUE, Span
from furthest.errors import ShapeError, SmoothnessError
from furthest.task import Smoothness

# Relative to the largest: asymmetry, negative eigenvalues and excesses up to this are rounding.
ROUNDING = 1e-9

Matrix = NDArray[np.float64]
Edges = list[tuple[Any, Any, float]]


def checked(matrix: Matrix, dimension: int) -> Matrix:
    """P, made symmetric to the last bit; refused where it is not, or not positive semidefinite."""
    if matrix.shape != (dimension, dimension):
        raise ShapeError(
            f"roughness must have {dimension} rows and columns, one per feature, "
            f"not shape {matrix.shape}"
        )
    size = np.abs(matrix).max()
    if not size > 0:
        raise SmoothnessError("the roughness is zero: it says nothing about μ")
    if np.abs(matrix - matrix.T).max() > ROUNDING * size:
        raise SmoothnessError("the roughness must be symmetric")
    symmetric: Matrix = matrix / 2 + matrix.T / 2
    least = float(np.linalg.eigvalsh(symmetric / size)[0])
    if least < -ROUNDING * dimension:
        raise SmoothnessError(
            f"the roughness must be positive semidefinite, but it has the eigenvalue "
            f"{least * size:.3g}"
        )
    symmetric.setflags(write=False)
    return symmetric


def seen(matrix: Matrix, basis: Matrix, span: Span) -> Matrix:
    """P in whitened coordinates m, where μ = basis·m + ν for some ν that no arm sees.

    Nothing is known of ν: m is possible if some ν makes μᵀPμ ≤ R. The least over ν is a Schur
    complement.
    """
    rank, dimension = span.rows.shape
    inner: Matrix = basis.T @ matrix @ basis
    if rank < dimension:
        hidden = np.linalg.qr(span.rows.T, mode="complete")[0][:, rank:] / span.sizes[:, None]
        hidden /= np.linalg.norm(hidden, axis=0)
        across = hidden.T @ matrix @ basis
        inner -= across.T @ np.linalg.pinv(hidden.T @ matrix @ hidden, hermitian=True) @ across
    return np.ascontiguousarray(inner / 2 + inner.T / 2)


def ignores(known: Smoothness, direction: NDArray[np.float64]) -> bool:
    """Whether the bound says nothing about a direction, as that of a graph about a constant."""
    size = np.abs(known.matrix).max() * np.linalg.norm(direction)
    return bool(np.linalg.norm(known.matrix @ direction) <= SAME_VALUE * size)


def is_edges(graph: Any) -> bool:
    """Whether a graph is given by its edges: a table, or a list with tuples or texts in it."""
    if isinstance(graph, Mapping):
        return True
    if isinstance(graph, np.ndarray) or not isinstance(graph, Sequence) or not len(graph):
        return False
    first = graph[0]
    return isinstance(first, tuple) or (
        isinstance(first, list) and any(isinstance(entry, str) for entry in first)
    )


def weights_of(graph: Any, names: Sequence[Any] | None) -> tuple[list[Any], Matrix]:
    """The nodes and the matrix of weights of a graph that is given by its edges."""
    edges = _edges(graph)
    nodes = list(dict.fromkeys(node for edge in edges for node in edge[:2]))
    if names is not None:
        unknown = [node for node in nodes if node not in names]
        if unknown:
            raise SmoothnessError(
                f"an edge has the node {unknown[0]!r}, which is none of the names"
            )
        nodes = list(names)
    places = {node: place for place, node in enumerate(nodes)}
    weights = np.zeros((len(nodes), len(nodes)))
    for a, b, weight in edges:
        i, j = places[a], places[b]
        if weights[i, j] != 0.0:
            raise SmoothnessError(f"there are two edges between {a!r} and {b!r}")
        weights[i, j] = weights[j, i] = weight
    return nodes, weights


def _edges(graph: Any) -> Edges:
    """(a, b, weight) of every edge; a weight that is not given is 1."""
    rows = [(*pair, own) for pair, own in graph.items()] if isinstance(graph, Mapping) else graph
    found: Edges = []
    for row in rows:
        if not isinstance(row, list | tuple) or len(row) not in (2, 3):
            raise SmoothnessError(f"an edge is (a, b) or (a, b, weight), not {row!r}")
        a, b, weight = (*row, 1.0)[:3]
        try:
            found.append((a, b, float(weight)))
        except (TypeError, ValueError):
            raise SmoothnessError(f"the weight of an edge is a number, not {weight!r}") from None
    return found


def laplacian(weights: Matrix) -> Matrix:
    """L = diag(W1) − W of a matrix of weights, checked."""
    if weights.shape[0] != weights.shape[1]:
        raise ShapeError(f"a graph's weights must be a square matrix, not shape {weights.shape}")
    if not np.isfinite(weights).all() or weights.min(initial=0.0) < 0:
        raise SmoothnessError("a graph's weights must be finite and at least 0")
    if np.abs(weights - weights.T).max(initial=0.0) > ROUNDING * weights.max(initial=0.0):
        raise SmoothnessError("a graph's weights must be symmetric: edges have no direction")
    if weights.diagonal().any():
        loop = int(weights.diagonal().argmax())
        raise SmoothnessError(
            f"node {loop} has an edge to itself, which says nothing: leave it out"
        )
    if not weights.any():
        raise SmoothnessError("the graph has no edges: it says nothing about the values")
    symmetric = weights / 2 + weights.T / 2
    return np.asarray(np.diag(symmetric.sum(axis=1)) - symmetric)
