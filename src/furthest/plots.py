"""Pictures (extra: plot). One colour per strategy, everywhere."""

import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec

import numpy as np
from numpy.typing import NDArray

from furthest.display import one_line
from furthest.errors import InputError, MissingExtraError
from furthest.writing import write_beside

if TYPE_CHECKING:
    from furthest.characteristic import Complexity
    from furthest.problem import Problem

P = ParamSpec("P")

# Okabe–Ito: told apart by colour-blind readers too.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#F0E442")

# After the last colour they begin again, hatched.
HATCHES = ("", "///", "...", "xxx")

MARKERS = ("o", "s", "^", "D")

# Characters that fit below or above a panel of `explain`, and points between two of its labels.
PANEL_WIDTH = 52
LABEL_HEIGHT, LABEL_WIDTH = 12.0, 70.0

# Sizes that can be drawn; smaller or larger ones, squared, leave the range of numbers on the way.
SMALLEST, LARGEST = 1e-30, 1e30

MEAN = {"marker": "*", "markersize": 12, "markerfacecolor": "black", "markeredgecolor": "white"}


def _as_written(draw: Callable[P, None]) -> Callable[P, None]:
    """A dollar sign in somebody's names begins no formula."""

    @wraps(draw)
    def drawn(*arguments: P.args, **options: P.kwargs) -> None:
        # An SVG is the same, byte by byte, when it is drawn again.
        with pyplot().rc_context({"text.parse_math": False, "svg.hashsalt": "furthest"}):
            draw(*arguments, **options)

    return drawn


@_as_written
def stopping_times(
    times: Mapping[str, Sequence[float]],
    path: Path,
    *,
    title: str,
    limits: Mapping[str, float] | None = None,
    what: str = "measurements",
) -> None:
    """Box plots of stopping times (mean as a star), with limits as dashed lines.

    `what` is their unit: what they cost may be drawn instead.
    """
    plt = pyplot()
    figure, axes = plt.subplots(figsize=(7.5, 1.4 + 0.62 * len(times)), layout="constrained")
    labels = [one_line(label) for label in times]
    values = [np.asarray(own, float) for own in times.values()]
    boxes = axes.boxplot(
        values,
        orientation="horizontal",
        widths=0.55,
        showmeans=True,
        whis=(5, 95),
        showfliers=False,
        patch_artist=True,
        tick_labels=labels,
        meanprops=MEAN,
        medianprops={"color": "black"},
    )
    for number, box in enumerate(boxes["boxes"]):
        colour, hatch = look(number)
        box.set(facecolor=colour, alpha=0.75, hatch=hatch)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel(f"{what} until the answer (box: quartiles, whiskers: 5–95 %, star: mean)")
    axes.set_title(one_line(title), loc="left", fontsize=11)
    for style, (label, value) in zip(("--", ":"), (limits or {}).items(), strict=False):
        text = f"{label} = {value:.0f}"
        axes.axvline(value, color="black", linestyle=style, linewidth=1.2, label=text)
    if limits:
        figure.legend(loc="outside lower center", ncols=len(limits), frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


class Dot(NamedTuple):
    """A number with its error: where it stands, and whose it is."""

    panel: str
    row: str
    series: str
    value: float
    error: float


@_as_written
def dots(points: Sequence[Dot], path: str | Path, *, what: str) -> None:
    """Numbers with their errors: a panel beside the other, rows below one another."""
    plt = pyplot()
    panels = list(dict.fromkeys(point.panel for point in points))
    rows = list(dict.fromkeys(point.row for point in points))
    names = list(dict.fromkeys(point.series for point in points))
    figure, axes = plt.subplots(
        *(1, len(panels)),
        figsize=(2.5 + 3.2 * len(panels), 1.6 + len(rows) * (0.3 + 0.13 * len(names))),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for axis, panel in zip(axes[0], panels, strict=True):
        for number, name in enumerate(names):
            own = [point for point in points if (point.panel, point.series) == (panel, name)]
            places = [rows.index(each.row) + 0.7 * (number + 0.5) / len(names) for each in own]
            colour, _ = look(number)
            marker = MARKERS[number // len(COLOURS) % len(MARKERS)]
            values, errors = [each.value for each in own], [each.error for each in own]
            label = one_line(name)
            axis.errorbar(values, places, xerr=errors, fmt=marker, color=colour, label=label)
        axis.set_title(one_line(panel), loc="left", fontsize=11)
        axis.spines[["top", "right"]].set_visible(False)
        axis.axvline(1.0, color="black", linewidth=1.0)
        axis.set_xlim(left=0)
    axes[0][0].set_yticks([row + 0.35 for row in range(len(rows))], list(map(one_line, rows)))
    axes[0][0].set_ylim(len(rows), -0.3)
    figure.supxlabel(what, fontsize=10)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, frameon=False)
    _save(figure, path)


def look(number: int) -> tuple[str, str]:
    """Colour and hatch of one of many: the first 32 are all different."""
    return COLOURS[number % len(COLOURS)], HATCHES[number // len(COLOURS) % len(HATCHES)]


@_as_written
def explain(
    problem: "Problem", mu: NDArray[np.float64], price: "Complexity", path: str | Path
) -> None:
    """The picture that explains the paper: which answer is easiest to verify, and why.

    Left: the answers by value, with the ε-band and the optimal proportions of the arms. Middle and
    right: the space of parameters around μ, for the furthest and for the greedy answer. Each shaded
    half-plane holds the parameters under which some answer beats it by more than ε; the ellipse is
    the largest around μ, in the metric of its own optimal proportions, that meets none of them.
    In more than two dimensions: the plane through μ that holds both most confusing alternatives.
    """
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(13.5, 4.8), layout="constrained")
    for axis, draw in zip(axes, _panels(problem, mu, price).values(), strict=True):
        draw(axis)
    _save(figure, path)


@_as_written
def explain_apart(
    problem: "Problem", mu: NDArray[np.float64], price: "Complexity", folder: Path
) -> None:
    """The three panels of `explain`, each a file: `answers.svg`, `furthest.svg`, `greedy.svg`."""
    for name, draw in _panels(problem, mu, price).items():
        figure, axes = pyplot().subplots(figsize=(4.8, 4.8), layout="constrained")
        draw(axes)
        _save(figure, folder / f"{name}.svg")


def _panels(
    problem: "Problem", mu: NDArray[np.float64], price: "Complexity"
) -> dict[str, Callable[[Any], None]]:
    """What `explain` shows, by name; both answers in one plane and on one scale."""
    if problem.task.arms.shape[1] < 2:
        raise InputError("the picture needs two dimensions: the arms here vary in one only")
    furthest = _Verification.of(problem, mu, price.furthest, price.weights)
    greedy = _Verification.of(problem, mu, price.greedy, price.greedy_weights)
    _check_drawable(furthest.radius, greedy.radius, np.abs(problem.answers @ mu).max() or 1.0)
    plane = _plane(furthest.confusing, greedy.confusing)
    reach = 1.5 * max(np.abs(case.ellipse(plane)).max() for case in (furthest, greedy))
    unit = " in cost" if price.in_cost else ""
    panels: dict[str, Callable[[Any], None]] = {
        "answers": partial(_draw_answers, problem=problem, mu=mu, price=price)
    }
    for label, case, time, colour in (
        ("furthest", furthest, price.T, COLOURS[0]),
        ("greedy", greedy, price.T_greedy, COLOURS[1]),
    ):
        name = one_line(problem.answer_names[case.answer])
        panels[label] = partial(
            _draw_verification,
            case=case,
            title=f"verifying the {label} answer, {name}: T = {time:.4g}{unit}",
            plane=plane,
            reach=reach,
            colour=colour,
            problem=problem,
        )
    return panels


@dataclass(frozen=True)
class _Verification:
    """What stands between μ and the alternatives of one answer, in whitened coordinates."""

    answer: int
    weights: NDArray[np.float64]  # (K,) w
    metric: NDArray[np.float64]  # (d, d) V_w
    contrasts: NDArray[np.float64]  # (alternatives, d) y
    margins: NDArray[np.float64]  # (alternatives,) n
    against: NDArray[np.int64]  # (alternatives,) x
    radius: float  # distance of the nearest alternative
    confusing: NDArray[np.float64]  # (d,) λ − μ
    nearest: int  # its x

    @staticmethod
    def of(
        problem: "Problem", mu: NDArray[np.float64], answer: int, weights: NDArray[np.float64]
    ) -> "_Verification":
        task = problem.task
        others = np.delete(np.arange(len(task.answers)), answer)
        contrasts = task.answers[answer] - task.c * task.answers[others]
        told = np.linalg.norm(contrasts, axis=1) > 1e-9 * np.abs(task.answers).max()
        contrasts, others = contrasts[told], others[told]
        margins = contrasts @ problem.whiten(mu) + task.e
        # A trace of uniform exploration keeps V_w invertible.
        proportions = (1 - 1e-9) * weights + 1e-9 / len(weights)
        metric = task.arms.T * proportions @ task.arms
        duals = np.linalg.solve(metric, contrasts.T).T
        norms = (contrasts * duals).sum(axis=1)
        closest = int((margins / np.sqrt(norms)).argmin())
        return _Verification(
            answer=answer,
            weights=weights,
            metric=metric,
            contrasts=contrasts,
            margins=margins,
            against=others,
            radius=float(margins[closest] / np.sqrt(norms[closest])),
            confusing=-margins[closest] / norms[closest] * duals[closest],
            nearest=int(others[closest]),
        )

    def ellipse(self, plane: NDArray[np.float64]) -> NDArray[np.float64]:
        """(points, 2) the ball of that radius, where it meets the plane."""
        factor = np.linalg.cholesky(plane @ self.metric @ plane.T)
        angles = np.linspace(0, 2 * np.pi, 400)
        circle = np.vstack([np.cos(angles), np.sin(angles)])
        points: NDArray[np.float64] = self.radius * np.linalg.solve(factor.T, circle).T
        return points


def _plane(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """(2, d) orthonormal basis of a plane that holds both directions."""
    spare = np.eye(len(one))
    vectors = np.vstack([one / np.linalg.norm(one), other / np.linalg.norm(other), spare])
    basis: list[NDArray[np.float64]] = []
    for vector in vectors:
        rest = vector - sum((vector @ b) * b for b in basis)
        if np.linalg.norm(rest) > 1e-3 and len(basis) < 2:
            basis.append(rest / np.linalg.norm(rest))
    return np.array(basis)


def _check_drawable(*sizes: float) -> None:
    for size in sizes:
        if not SMALLEST < size < LARGEST:
            raise InputError(
                f"there is no picture of this: distances or values of {size:g} cannot be drawn"
            )


def _draw_answers(
    axes: Any, problem: "Problem", mu: NDArray[np.float64], price: "Complexity"
) -> None:
    """Answers and arms by their value and by one direction that μ does not see."""
    direction = mu / (np.linalg.norm(mu) or 1.0)
    rest = problem.answers - np.outer(problem.answers @ direction, direction)
    sideways = np.linalg.svd(rest, full_matrices=False)[2][0]
    sideways *= np.sign(rest[np.abs(rest @ sideways).argmax()] @ sideways)
    arms = np.column_stack([problem.arms @ mu, problem.arms @ sideways])
    answers = np.column_stack([problem.answers @ mu, problem.answers @ sideways])
    top = answers[:, 0].max()
    edge = top - problem.eps if problem.notion == "additive" else (1 - problem.eps) * top
    axes.axvspan(edge, top, color=COLOURS[2], alpha=0.18, linewidth=0, label="ε-band")
    for weights, colour, label in (
        (price.weights, COLOURS[0], "proportions, furthest"),
        (price.greedy_weights, COLOURS[1], "proportions, greedy"),
    ):
        axes.scatter(
            *arms.T, s=1600 * weights, facecolors="none", edgecolors=colour, linewidths=1.6
        )
        axes.scatter(
            [], [], s=90, facecolors="none", edgecolors=colour, linewidths=1.6, label=label
        )
    near = problem.near_best(mu)
    axes.scatter(*answers[~near].T, color="0.55", s=18, zorder=3, label="other answers")
    axes.scatter(*answers[near].T, color="black", s=18, zorder=3, label="ε-best answers")
    axes.set_xlabel("value ⟨μ, z⟩")
    axes.set_ylabel("a direction orthogonal to μ")
    axes.set_title("the answers", loc="left", fontsize=11)
    axes.margins(0.16)
    named = sorted({price.furthest, price.greedy, *price.binding})
    _label(axes, {problem.answer_names[z]: answers[z] for z in named})
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def _label(axes: Any, points: Mapping[str, NDArray[np.float64]]) -> None:
    """Names left above their points, each as high as those below it make necessary."""
    axes.figure.draw_without_rendering()  # decides where points are on the paper
    per_inch = 72 / axes.figure.dpi
    places = {name: per_inch * axes.transData.transform(point) for name, point in points.items()}
    taken: list[tuple[float, float]] = []
    for name, (x, y) in sorted(places.items(), key=lambda place: place[1][1]):
        height = y + LABEL_HEIGHT
        for other, level in sorted(taken, key=lambda label: label[1]):
            if abs(other - x) < LABEL_WIDTH and abs(level - height) < LABEL_HEIGHT:
                height = level + LABEL_HEIGHT
        taken.append((x, height))
        axes.annotate(
            one_line(name),
            points[name],
            xytext=(-34, height - y),
            textcoords="offset points",
            fontsize=9,
            arrowprops={"arrowstyle": "-", "color": "0.5", "linewidth": 0.7},
        )


def _fitting(text: str) -> str:
    return textwrap.fill(text, PANEL_WIDTH)


def _draw_verification(
    axes: Any,
    case: _Verification,
    title: str,
    plane: NDArray[np.float64],
    reach: float,
    colour: str,
    problem: "Problem",
) -> None:
    """Half-planes of the alternatives, the ellipse, μ and the most confusing alternative."""
    arms, answers = (
        list(map(one_line, names)) for names in (problem.arm_names, problem.answer_names)
    )
    grid = np.linspace(-reach, reach, 200)
    points = np.stack(np.meshgrid(grid, grid), axis=-1)
    margins = points @ (case.contrasts @ plane.T).T + case.margins
    for margin in np.moveaxis(margins, -1, 0):
        if margin.min() < 0 < margin.max():
            axes.contour(grid, grid, margin, levels=[0], colors="0.6", linewidths=0.8)
    beaten = margins.min(axis=-1)
    if beaten.min() < 0:
        axes.contourf(grid, grid, beaten, levels=[beaten.min(), 0], colors="#dddddd", zorder=0)
    axes.plot(*case.ellipse(plane).T, color=colour, linewidth=2)
    axes.plot(0, 0, "o", color="black")
    axes.annotate("μ", (0, 0), xytext=(6, 5), textcoords="offset points")
    confusing = plane @ case.confusing
    axes.plot(*confusing, "*", color=colour, markersize=14, markeredgecolor="white", zorder=4)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
    most = np.argsort(-case.weights)[:5]
    shares = ", ".join(
        f"{arms[a]}\N{NO-BREAK SPACE}{case.weights[a]:.0%}" for a in most if case.weights[a] > 0.005
    )
    lines = (
        f"optimal proportions: {shares}",
        f"★ most confusing: {answers[case.nearest]} beats it by more than ε",
        "grey: parameters under which it is not ε-best",
    )
    axes.set_xlabel("\n".join(map(_fitting, lines)), fontsize=9)
    axes.set(xticks=[], yticks=[])
    axes.set_title(_fitting(title), loc="left", fontsize=11)


def _save(figure: Any, path: str | Path) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        # A font without a letter of somebody's name shows a box there.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        write_beside(path, lambda draft: figure.savefig(draft, dpi=160, **_dateless(draft)))
    pyplot().close(figure)


def _dateless(path: Path) -> dict[str, Any]:
    return {"metadata": {"Date": None}} if path.suffix == ".svg" else {}


def pyplot() -> Any:
    """matplotlib.pyplot without a screen."""
    try:
        import matplotlib
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
