"""Problem: the question. Everything is validated here, once."""

import itertools
import math
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from furthest import coordinates, display, smoothness
from furthest.codes import Noise
from furthest.errors import (
    DuplicateAnswersError,
    EpsilonError,
    NotFiniteError,
    ParameterError,
    ProblemError,
    ShapeError,
    SigmaError,
    SmoothnessError,
    SpanError,
    TooFewAnswersError,
    nearest_name,
    pick,
)
from furthest.tables import INTERCEPT, coded
from furthest.task import Smoothness, Task, outer_products

Notion = Literal["additive", "multiplicative"]
NoiseWord = Literal["bernoulli", "sub-Gaussian"]
NOTIONS = ("additive", "multiplicative")

# How little the initial arms may vary in some direction, relative to the longest arm, whitened.
# V⁻¹ of such a design has entries of 10¹⁰, of which rank-one updates leave six digits.
LEAST_DESIGN = 1e-5

# In units of the rewards: beyond these, squares leave the range of double precision.
LEAST_SIGMA, LARGEST_SIGMA = 1e-100, 1e100

# So many times as noisy as another, an arm tells nothing beside it.
LARGEST_RATIO = 1e6

# In units of σ, or of the arms: the same for values, and for answers.
LARGEST_VALUE = 1e100

# With bounds so many σ away from 0, sums of rewards lose digits: they say no more than what σ is.
FAR_BOUNDS = 1e6

# More arms than this no table holds.
MOST_COMBINATIONS = 1_000_000

# A square of so many features is a gigabyte.
MOST_OPTIONS = 10_000

# With more arms than this per dimension, the first measurements go to a spanning set of d arms
# instead of once to every arm.
MANY_ARMS = 4

# LAPACK's crossover point: from there on it reflects several columns at once.
PIVOTS_ONE_BY_ONE = 128

# What every arm may have of its own.
PER_ARM = ("sigma", "costs")

# Kinds of NumPy arrays that would become numbers nobody has written: complex ones, times, records.
NO_NUMBERS = "cmMV"


class _Unstated(float):
    """σ = 1 because nobody said anything, so that bounds may say otherwise."""


UNSTATED = _Unstated(1.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """Arms that can be measured, answers that can be given, and how good is good enough.

    >>> import furthest as ft
    >>> ft.Problem([[1, 0], [0, 1], [0.9, 0.3]], eps=0.05, sigma=0.5)
    Problem(3 arms, 3 answers, d = 2, additive ε = 0.05, σ = 0.5)
    >>> ft.Problem.options(["A", "B"], eps=0.01, bounds=(0, 1))  # two texts, clicked or not
    Problem(2 arms, 2 answers, d = 2, additive ε = 0.01, rewards in [0, 1])

    A measurement of arm a returns ⟨μ, a⟩ plus σ-sub-Gaussian noise, for an unknown μ. An answer z
    is ε-best if ⟨μ, z⟩ ≥ max⟨μ, x⟩ − ε (additive) or ⟨μ, z⟩ ≥ (1 − ε) max⟨μ, x⟩ (multiplicative,
    for a positive maximum). The answers are the arms unless given.

    Args:
        arms: One row of features per arm.
        answers: One row per answer; by default the arms.
        eps: How much worse than the best an answer may be: at least 0, below 1 if multiplicative.
        notion: `additive` or `multiplicative`: whether ε is a difference or a share of the best.
        sigma: The noise is σ-sub-Gaussian; a list has one σ for each arm. None if it is unknown:
            then it must be Gaussian, with one σ for all arms.
        bounds: Rewards are within (a, b), yes/no outcomes within (0, 1): then σ = (b − a)/2 is
            derived, by Hoeffding's lemma, and another σ is refused.
        noise: Follows from σ and bounds unless given. `bernoulli`: each result is one of the
            bounds, yes or no, 1 or 0 if there are none. `sub-Gaussian`: of the bounds only σ is
            used, so that every stopping test can be, at many times the price where the outcome is
            rare.
        arm_names: One text per arm, all different.
        answer_names: The same for the answers; by default the arms' names.
        feature_names: The same for the columns; by default x0, x1, ….
        initial: The arms to measure first, whatever is observed; by default each arm once, or a
            spanning set where there are many.
        roughness: A positive semidefinite matrix P, one row per feature. It is known beforehand
            that μᵀPμ is at most …
        radius: … R. The stopping test `smooth` and the sampling rule `spectral-tas` make use of it.
        costs: What one measurement of each arm costs, in any unit. They say where to measure and
            what that costs; when a study stops, and what is proven then, does not depend on them.

    Features may have any units: columns are brought to one scale before it is judged in how many
    directions d the arms vary. `dropped` names the others; features that are collinear up to a
    little more than rounding are refused.

    Raises:
        ProblemError: The question makes no sense; which way, says its subclass (`SpanError`,
            `EpsilonError`, …) and its message.

    Paper: linear bandit.
    """

    arms: NDArray[np.float64]
    answers: NDArray[np.float64]
    eps: float
    notion: Notion
    sigma: float | tuple[float, ...] | None
    arm_names: tuple[str, ...]
    answer_names: tuple[str, ...]
    bounds: tuple[float, float] | None
    noise: NoiseWord | None
    initial: tuple[int, ...]
    feature_names: tuple[str, ...]
    roughness: NDArray[np.float64] | None
    radius: float | None
    costs: tuple[float, ...] | None

    def __init__(
        self,
        arms: ArrayLike,
        answers: ArrayLike | None = None,
        eps: float = 0.05,
        notion: Notion = "additive",
        sigma: float | Sequence[float] | NDArray[np.float64] | None = UNSTATED,
        *,
        bounds: tuple[float, float] | None = None,
        noise: NoiseWord | None = None,
        arm_names: Sequence[str] | None = None,
        answer_names: Sequence[str] | None = None,
        initial: Sequence[int] | None = None,
        feature_names: Sequence[str] | None = None,
        roughness: ArrayLike | None = None,
        radius: float | None = None,
        costs: Sequence[float] | NDArray[np.float64] | None = None,
    ) -> None:
        arm_rows = _vectors(arms, "arms")
        answer_rows = arm_rows if answers is None else _vectors(answers, "answers")
        if arm_rows.shape[1] != answer_rows.shape[1]:
            raise ShapeError(
                f"arms live in dimension {arm_rows.shape[1]}, "
                f"answers in dimension {answer_rows.shape[1]}"
            )
        if len(answer_rows) < 2:
            raise TooFewAnswersError("there must be at least two answers to choose from")
        dimension = arm_rows.shape[1]
        names = _names(arm_names, len(arm_rows), "arm")
        limits = _bounds((0.0, 1.0) if noise == "bernoulli" and bounds is None else bounds)
        fields = {
            "arms": arm_rows,
            "answers": answer_rows,
            "eps": _number(eps, "ε", EpsilonError),
            "notion": notion,
            "bounds": limits,
            "sigma": _sigma(sigma, limits, len(arm_rows)),
            "noise": _noise(noise, limits),
            "arm_names": names,
            "answer_names": names
            if answers is None and answer_names is None
            else _names(answer_names, len(answer_rows), "arm" if answers is None else "answer"),
            "feature_names": default_features(dimension)
            if feature_names is None
            else _names(feature_names, dimension, "feature"),
            "roughness": _roughness(roughness, dimension),
            "radius": None if radius is None else _number(radius, "the radius", SmoothnessError),
            "costs": None if costs is None else _costs(costs, len(arm_rows)),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self._check_question()
        self._check_span()
        self._check_radius()
        object.__setattr__(
            self, "initial", _initial(self._measured @ self._basis, initial, self.arm_names)
        )

    @property
    def in_words(self) -> str:
        """The question in one line: `3 arms, 3 answers, d = 2, additive ε = 0.05, σ = 1`."""
        d, dimension = self._span.rows.shape
        if d < dimension:
            features = f"d = {d} of {dimension} features ({coordinates.listed(self.dropped)})"
        else:
            features = f"d = {d}"
        known = "" if self.radius is None else f", μᵀPμ ≤ {self.radius:g}"
        priced = "" if self.costs is None else f", {self.cost_words}"
        return (
            f"{display.count(len(self.arms), 'arm')}, {display.count(len(self.answers), 'answer')},"
            f" {features}, {self.notion} ε = {self.eps:g}, {self.noise_words}{known}{priced}"
        )

    @property
    def noise_words(self) -> str:
        """What is known of the noise: `σ = 0.5`, `σ unknown`, `rewards 0 or 1`."""
        if self.bounds is None:
            return "σ unknown" if self.sigma is None else f"σ = {self.sigma_words}"
        low, high = self.bounds
        either = self.noise == "bernoulli"
        return f"rewards {low:g} or {high:g}" if either else f"rewards in [{low:g}, {high:g}]"

    @property
    def sigma_words(self) -> str:
        """σ as a text: `0.5`, `0.1 … 2 by arm` or `unknown`."""
        if isinstance(self.sigma, tuple):
            return f"{min(self.sigma):g} … {max(self.sigma):g} by arm"
        return "unknown" if self.sigma is None else f"{self.sigma:g}"

    @property
    def cost_words(self) -> str:
        """What a measurement costs, as a text: `costs 1 … 20 by arm`; empty if nobody said so."""
        if self.costs is None:
            return ""
        low, high = min(self.costs), max(self.costs)
        return f"costs {low:g}" if low == high else f"costs {low:g} … {high:g} by arm"

    def spent(self, pulls: ArrayLike) -> NDArray[np.float64] | None:
        """What so many measurements of each arm cost, along the last axis; None without costs."""
        if self.costs is None:
            return None
        return np.asarray(np.asarray(pulls, float) @ np.array(self.costs))

    def __repr__(self) -> str:
        return f"Problem({self.in_words})"

    def _repr_html_(self) -> str:
        features = self.feature_names
        parts = [_vector_table("arm", self.arm_names, self.arms, features)]
        if not np.array_equal(self.arms, self.answers) or self.arm_names != self.answer_names:
            parts.append(_vector_table("answer", self.answer_names, self.answers, features))
        return display.card("Problem", display.line(self.in_words), *parts)

    @classmethod
    def options(cls, names: Sequence[str], **question: Any) -> "Problem":
        """Plain options that share nothing: one unknown value each.

        >>> import furthest as ft
        >>> ft.Problem.options(["A", "B", "C"], eps=0.1, sigma=0.5)
        Problem(3 arms, 3 answers, d = 3, additive ε = 0.1, σ = 0.5)

        Args:
            names: What the options are called.
            question: eps, notion, sigma, bounds, noise, costs and initial, as for `Problem`.
        """
        if isinstance(names, str) or not isinstance(names, Sequence | np.ndarray):
            raise ShapeError(f"options must be a list of names, not {names!r}")
        if len(names) > MOST_OPTIONS:
            raise ProblemError(
                f"{len(names):,} options do not fit into memory, {MOST_OPTIONS:,} do: describe "
                "them by features that they share"
            )
        return cls(np.eye(len(names)), arm_names=names, **question)

    @classmethod
    def spectral(
        cls,
        graph: ArrayLike | Mapping[Any, float] | Sequence[Sequence[Any]],
        radius: float,
        *,
        names: Sequence[str] | None = None,
        **question: Any,
    ) -> "Problem":
        """Options that are the nodes of a graph on which their values are smooth.

        >>> import furthest as ft
        >>> ft.Problem.spectral([("A", "B"), ("B", "C", 2.0)], radius=0.5, eps=0.1)
        Problem(3 arms, 3 answers, d = 3, additive ε = 0.1, σ = 1, μᵀPμ ≤ 0.5)

        Known beforehand is S_G(μ) = Σ w_ab (μ_a − μ_b)² ≤ R, over the edges a–b with weights w_ab
        (Kocák & Garivier 2020, 2021). P is the graph's Laplacian. Parts of a graph that no edge
        connects may differ by any amount; that the bound says nothing about them is no error.

        Args:
            graph: A symmetric matrix of weights ≥ 0, or edges (a, b) or (a, b, weight), or a table
                {(a, b): weight}. A list of lists of numbers is a matrix, edges between numbers are
                tuples. Nodes are numbered in the order in which they appear.
            radius: R itself, not its root.
            names: Of the nodes; needed where some node has no edge.
            question: eps, notion, sigma, bounds, noise, costs and initial, as for `Problem`.
        """
        if smoothness.is_edges(graph):
            names, weights = smoothness.weights_of(graph, names)
        else:
            weights = _vectors(cast("ArrayLike", graph), "graph")
        laplacian = smoothness.laplacian(weights)
        return cls(
            np.eye(len(weights)), arm_names=names, roughness=laplacian, radius=radius, **question
        )

    @classmethod
    def factorial(
        cls,
        factors: Mapping[str, Sequence[Any]],
        interactions: Sequence[Sequence[str]] = (),
        **question: Any,
    ) -> "Problem":
        """All combinations of the factors' levels, which share one effect per level.

        >>> import furthest as ft
        >>> factors = {"colour": ["red", "blue"], "size": ["S", "M", "L"]}
        >>> ft.Problem.factorial(factors, eps=0.1).feature_names
        ('intercept', 'colour=blue', 'size=M', 'size=L')

        Args:
            factors: The levels of each factor. The first is the reference: its effects are in the
                base value.
            interactions: Groups of factors whose levels have effects together as well.
            question: eps, notion, sigma, bounds, noise, costs and initial, as for `Problem`.
        """
        levels = _levels(factors)
        combinations = math.prod(map(len, levels.values()))
        if combinations > MOST_COMBINATIONS:
            raise ProblemError(
                f"the factors have {combinations:,} combinations, more than {MOST_COMBINATIONS:,}: "
                "leave out levels, or list the arms that can be measured"
            )
        order = list(levels)
        if isinstance(interactions, str) or not isinstance(interactions, Sequence):
            raise ProblemError(f"interactions must be a list of groups, not {interactions!r}")
        groups: list[tuple[str, ...]] = [(name,) for name in order]
        for group in interactions:
            if (
                not isinstance(group, list | tuple)
                or len(set(group)) != len(group)
                or len(group) < 2
            ):
                raise ProblemError(f"an interaction is of two or more factors, not {group!r}")
            for name in group:
                pick(name, levels, "factor", ProblemError)
            groups.append(tuple(group))
        features = [INTERCEPT]
        for group in groups:
            for own in itertools.product(*(levels[name][1:] for name in group)):
                pairs = zip(group, own, strict=True)
                features.append(" & ".join(f"{name}={level}" for name, level in pairs))
        rows, names = [], []
        for choice in itertools.product(*(range(len(own)) for own in levels.values())):
            at = dict(zip(order, choice, strict=True))
            row = [1.0]
            for group in groups:
                here = tuple(at[name] for name in group)
                effects = itertools.product(*(range(1, len(levels[name])) for name in group))
                row += [float(here == effect) for effect in effects]
            rows.append(row)
            names.append(", ".join(f"{name}={levels[name][at[name]]}" for name in order))
        return cls(rows, arm_names=names, feature_names=features, **question)

    @classmethod
    def from_table(
        cls,
        table: Any,
        features: Sequence[str] | None = None,
        name: str | None = None,
        *,
        intercept: bool = True,
        **question: Any,
    ) -> "Problem":
        """One option per row of a data frame (pandas, polars, a dict of columns, …).

        >>> import furthest as ft
        >>> table = {"paint": ["A", "B", "C", "D"], "coats": [1, 2, 1, 2], "base": ["oil"] * 4}
        >>> table["finish"] = ["matt", "matt", "gloss", "gloss"]
        >>> ft.Problem.from_table(table, name="paint").feature_names
        ('intercept', 'coats', 'finish=gloss')

        Numbers are features as they are. Texts and yes/no are categories: one feature for each
        level but the first, which is the reference.

        Args:
            table: What has columns by name.
            features: The columns that describe an option, by default all but `name`.
            name: The column of the options' names.
            intercept: A value that all options share. Without it an option whose features are all
                0 would have the value 0, whatever is measured, and a certificate that rests on that
                is wrong where it is not so. It costs one dimension, and is left out where the
                features add up to a constant anyway.
            question: eps, notion, sigma, bounds, noise, costs and initial, as for `Problem`. σ and
                costs may be the name of a column, which then is no feature.
        """
        columns = [str(column) for column in getattr(table, "columns", table)]
        named = {key: question.get(key) for key in PER_ARM}
        taken = {key: text for key, text in named.items() if isinstance(text, str)}
        taken = {key: column for key, column in taken.items() if column in columns}
        question |= {key: np.asarray(table[column]).tolist() for key, column in taken.items()}
        kept = [column for column in columns if column not in (name, *taken.values())]
        chosen = kept if features is None else features
        for column in (*chosen, *(() if name is None else (name,))):
            pick(column, dict.fromkeys(columns), "column", ProblemError)
        names = None if name is None else np.asarray(table[name]).tolist()
        rows = [f"row {i}" for i in range(len(table[chosen[0]]) if chosen else 0)]
        if names is not None:
            rows = [f"{row} ({own!r})" for row, own in zip(rows, names, strict=False)]
        matrix, feature_names = coded(
            {column: table[column] for column in chosen},
            rows,
            range(len(rows)),
            intercept=intercept,
        )
        return cls(matrix, arm_names=names, feature_names=feature_names, **question)

    def _check_question(self) -> None:
        if not isinstance(self.notion, str) or self.notion not in NOTIONS:
            raise ProblemError(
                f"unknown notion {self.notion!r}; {nearest_name(str(self.notion), NOTIONS)}"
            )
        if self.notion == "additive" and self.eps < 0:
            raise EpsilonError(f"ε must be at least 0 for the additive notion, not {self.eps:g}")
        if self.notion == "multiplicative" and not 0 <= self.eps < 1:
            raise EpsilonError(
                f"ε must be in [0, 1) for the multiplicative notion, not {self.eps:g}"
            )
        if self.eps == 0:
            self._check_distinct()

    def _check_distinct(self) -> None:
        """At ε = 0 equal answers can never be told apart, so no run would stop."""
        scaled = self.answers / (np.abs(self.answers).max(axis=0) + (self.answers == 0).all(axis=0))
        # Along a line that has nothing to do with the answers, equal ones are neighbours.
        line = np.random.default_rng(0).random(scaled.shape[1])
        order = np.argsort(scaled @ line, kind="stable")
        apart = np.abs(np.diff(scaled[order], axis=0)).max(axis=1)
        if apart.min() <= coordinates.ROUNDING:
            pair = order[apart.argmin() : apart.argmin() + 2]
            one, other = (self.answer_names[answer] for answer in sorted(pair))
            raise DuplicateAnswersError(
                f"answers {one!r} and {other!r} are equal: at ε = 0 neither is the best; "
                "drop one, or take ε > 0"
            )

    def _check_span(self) -> None:
        """Differences z − c·x must lie in the arms' span.

        Additive: only differences matter, so the answers may share a component outside the span.
        """
        if not self.arms.any():
            raise SpanError("all arms are zero: they do not span anything that could be measured")
        with np.errstate(over="ignore"):
            times = np.concatenate(
                [
                    (np.abs(self.answers[part]) / self._span.sizes).max(axis=1)
                    for part in coordinates.parts(self.answers)
                ]
            )
        if times.max() > LARGEST_VALUE:
            raise SpanError(
                f"answer {self.answer_names[int(times.argmax())]!r} is more than "
                f"{LARGEST_VALUE:g} times as large as any arm: take another unit"
            )
        shared = self.notion == "additive" or self.eps == 0
        rest, unseen = coordinates.outside(self.answers, self._span, shared=shared)
        if unseen.any():
            worst = self.answer_names[int(np.where(unseen, rest, 0).argmax())]
            raise SpanError(
                f"the arms do not span what must be told apart (see answer {worst!r}): for all "
                f"arms {coordinates.listed(self.dropped)}, for the answers not, so no number of "
                "measurements could decide; add arms for which it does not hold either"
            )

    def _check_radius(self) -> None:
        if (self.roughness is None) != (self.radius is None):
            raise SmoothnessError("a bound μᵀPμ ≤ R has both: roughness=P and radius=R")
        if self.radius is not None and not self.radius > 0:
            raise SmoothnessError(f"the radius must be positive, not {self.radius:g}")

    @cached_property
    def _span(self) -> coordinates.Span:
        span = coordinates.span_of(self.arms, self.answers, self.feature_names)
        return self._span_in_noise(span) if isinstance(self.sigma, tuple) else span

    def _span_in_noise(self, span: coordinates.Span) -> coordinates.Span:
        """The same for arms in units of their own σ, which see the same directions."""
        try:
            found = coordinates.span_of(self._measured, self.answers, self.feature_names)
        except SpanError:
            found = None
        if found is None or len(found.rows) != len(span.rows):
            raise SigmaError(
                f"the arms' σ ({self.sigma_words}) differ so much that some direction is seen by "
                "noisy arms alone, and double precision cannot tell it from rounding: leave out "
                "the noisiest arms, or add a precise one that sees what they do"
            )
        return found

    @cached_property
    def _measured(self) -> NDArray[np.float64]:
        """The arms with the noise of all brought to one unit (docs/theory/arms.md)."""
        return self.arms / self.ratios[:, None] if isinstance(self.sigma, tuple) else self.arms

    @property
    def plain_features(self) -> bool:
        """Whether the features have no names but x0, x1, …."""
        return self.feature_names == default_features(self.arms.shape[1])

    @cached_property
    def dropped(self) -> tuple[str, ...]:
        """What holds for all arms, so that no measurement sees it: `green = intercept − red`."""
        return coordinates.relations(self._span, self.feature_names)

    @cached_property
    def _basis(self) -> NDArray[np.float64]:
        return coordinates.whitening(self._measured, self._span)

    @cached_property
    def task(self) -> Task:
        """The problem as the kernels see it."""
        basis = self._basis
        answers = np.ascontiguousarray(self.answers @ basis)
        answer_columns = np.ascontiguousarray(answers.T)
        arms, arm_columns = answers, answer_columns
        if self._measured is not self.answers:
            arms = np.ascontiguousarray(self._measured @ basis)
            arm_columns = np.ascontiguousarray(arms.T)
        additive = self.notion == "additive"
        return Task(
            arms=arms,
            answers=answers,
            arm_columns=arm_columns,
            answer_columns=answer_columns,
            outer=outer_products(arms),
            c=1.0 if additive else 1.0 - self.eps,
            e=self.eps / self.unit if additive else 0.0,
            initial=np.array(self.initial),
            ridge=np.zeros((arms.shape[1], arms.shape[1])),
            noise=int(self.noise_code),
            low=self.bounds[0] / self.unit if self.bounds else 0.0,
            costs=np.array(self.costs or (), float),
        )

    def forget_task(self) -> None:
        """Let go of `task`: whoever asks for it next makes it again, the same to the last bit."""
        self.__dict__.pop("task", None)

    def task_with(self, ridge: float) -> Task:
        """The same with V = ridge·I + Σ N_a a aᵀ in the user's coordinates, rewards in units of σ.

        The estimate is then that of least Σ (reward − ⟨μ, a⟩)²/σ² + ridge·‖μ/σ‖².
        """
        identity = smoothness.seen(np.eye(self.arms.shape[1]), self._basis, self._span)
        return self.task._replace(ridge=ridge * identity)

    @cached_property
    def smoothness(self) -> Smoothness | None:
        """What is known of μ beforehand, as the kernels see it; None if nothing is."""
        if self.roughness is None or self.radius is None:
            return None
        matrix = smoothness.seen(self.roughness, self._basis, self._span)
        return Smoothness(matrix, self.radius / self.unit**2)

    @cached_property
    def is_plain(self) -> bool:
        """Whether every arm has a value of its own, and every answer is an arm."""
        if len(self._span.rows) < len(self.arms):
            return False
        rows = {row.tobytes() for row in self.arms + 0.0}
        return self.answers is self.arms or all(row.tobytes() in rows for row in self.answers + 0.0)

    @cached_property
    def noise_code(self) -> Noise:
        """What a stopping test has to cope with."""
        if self.sigma is None:
            return Noise.GAUSSIAN
        if self.bounds is None or self.noise == "sub-Gaussian" or self.radius is not None:
            return Noise.SUB_GAUSSIAN
        if max(map(abs, self.bounds)) > FAR_BOUNDS * self.unit:
            return Noise.SUB_GAUSSIAN
        if not self.is_plain:
            arms, low = self.arms @ self._basis, self.bounds[0] / self.unit
            possible = coordinates.inner_point(arms, low) is not None
            return Noise.BOUNDED_LINEAR if possible else Noise.SUB_GAUSSIAN
        return Noise.BERNOULLI if self.noise == "bernoulli" else Noise.BOUNDED

    @cached_property
    def unit(self) -> float:
        """In what the kernels count values: σ, or 1 where σ is unknown.

        Where every arm has its own, a power of two in their middle: so that arms and rewards that
        somebody divides by σ beforehand are the same to the last bit.
        """
        if isinstance(self.sigma, tuple):
            return float(2.0 ** round(float(np.log2(self.sigma).mean())))
        return 1.0 if self.sigma is None else self.sigma

    @cached_property
    def units(self) -> NDArray[np.float64]:
        """In what the kernels count the rewards of each arm: its σ, or 1 where σ is unknown."""
        if isinstance(self.sigma, tuple):
            return np.array(self.sigma)
        return np.full(len(self.arms), self.unit)

    @property
    def ratios(self) -> NDArray[np.float64]:
        """The noise of each arm in the one unit of values; 1 where all have one σ."""
        return self.units / self.unit

    def whiten(self, mu: ArrayLike) -> NDArray[np.float64]:
        """The parameter in the coordinates (and reward units) of `task`."""
        scales = coordinates.scales_of(self._span)
        scaled = np.linalg.pinv(self._basis * scales[:, None]) @ (self._usable(mu) * scales)
        return np.asarray(scaled / self.unit)

    def unwhiten(self, estimate: NDArray[np.float64]) -> NDArray[np.float64]:
        """From the coordinates of `task` back to the user's.

        Of all parameters with these values the one of least norm where columns have one scale.
        """
        return np.asarray(self._basis @ estimate * self.unit)

    def turned(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Answers, or other rows of features, in the coordinates of `task`."""
        return np.ascontiguousarray(rows @ self._basis)

    def tells(self, rows: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Of which rows of features the arms tell the value itself, and not only differences."""
        _, unseen = coordinates.outside(rows, self._span, shared=False)
        return ~unseen

    @cached_property
    def common_direction(self) -> NDArray[np.float64] | None:
        """What to add to the parameter of `task` for 1 unit more in every reward, if anything."""
        return coordinates.constant_direction(self.task.arms, 1.0 / self.ratios)

    @cached_property
    def offset(self) -> float | None:
        """What 1 more in every reward adds to the value of every answer; None if not to all alike.

        Where it adds to all alike, and only differences matter, a constant may be taken away from
        the rewards: nothing else changes.
        """
        constant = self.common_direction
        if self.task.c != 1.0 or constant is None:
            return None
        if self.smoothness is not None and not smoothness.ignores(self.smoothness, constant):
            return None
        shares = self.task.answers @ constant
        alike = np.ptp(shares) <= coordinates.SAME_VALUE * max(1.0, np.abs(shares).max())
        return float(shares.mean()) if alike else None

    def near_best(self, mu: ArrayLike) -> NDArray[np.bool_]:
        """Which answers are ε-best under μ, which must be one that is possible.

        Paper: additive notion, multiplicative notion.
        """
        values = self.answers @ self._possible(mu)
        top = values.max()
        if self.notion == "additive":
            return np.asarray(values >= top - self.eps)
        if top <= 0:
            raise ParameterError(
                f"the best answer has value {top:g} under this μ: the multiplicative notion needs "
                "a positive one; shift the rewards, or use the additive notion"
            )
        return np.asarray(values >= (1 - self.eps) * top)

    def parameter(self, mu: ArrayLike) -> NDArray[np.float64]:
        """μ as an array, checked."""
        try:
            parameter = _floats(mu)
        except (TypeError, ValueError, OverflowError):
            raise ParameterError("μ must be a list of numbers") from None
        dimension = self.arms.shape[1]
        if parameter.shape != (dimension,):
            which = "" if self.plain_features else f" ({', '.join(self.feature_names)})"
            raise ParameterError(
                f"μ must have {dimension} entries, one per feature{which}, "
                f"not shape {parameter.shape}"
            )
        if not np.isfinite(parameter).all():
            raise ParameterError("μ has NaN or infinite entries")
        return parameter

    def _usable(self, mu: ArrayLike) -> NDArray[np.float64]:
        """μ, where double precision can work with the values that it leads to."""
        parameter = self.parameter(mu)
        with np.errstate(over="ignore"):
            parts = np.abs(parameter) * self._span.sizes / self.unit
        if parts.max() > LARGEST_VALUE:
            raise ParameterError(
                f"μ gives {self.feature_names[int(parts.argmax())]!r} a part of the values that is "
                f"more than {LARGEST_VALUE:g} times the noise: take another unit"
            )
        return parameter

    def _possible(self, mu: ArrayLike) -> NDArray[np.float64]:
        """μ, where it is within the bound."""
        parameter = self._usable(mu)
        if not self.allows(parameter):
            found = float(parameter @ cast("Any", self.roughness) @ parameter)
            raise ParameterError(
                f"μᵀPμ is {found:g} for this μ, but at most {self.radius:g} is said to be "
                "possible: take another μ, or a larger radius"
            )
        return parameter

    def allows(self, parameter: NDArray[np.float64]) -> bool:
        """Whether a parameter is within the bound; where there is none, all are."""
        if self.roughness is None or self.radius is None:
            return True
        found = float(parameter @ self.roughness @ parameter)
        return found <= self.radius * (1 + smoothness.ROUNDING)


def _floats(values: ArrayLike) -> NDArray[np.float64]:
    """A new array; an error of Python's own for what holds anything but numbers."""
    if np.asarray(values).dtype.kind in NO_NUMBERS:
        raise TypeError("not numbers")
    return np.array(values, float)


def _vectors(rows: ArrayLike, what: str) -> NDArray[np.float64]:
    """A non-empty matrix of finite numbers that nobody can change any more."""
    try:
        matrix = _floats(rows)
    except (TypeError, ValueError, OverflowError):
        raise ShapeError(f"{what} must be rows of numbers, all of the same length") from None
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ShapeError(f"{what} must be a matrix, one row per vector, not shape {matrix.shape}")
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        raise NotFiniteError(f"{what}[{row}][{column}] is {matrix[row, column]}")
    matrix.setflags(write=False)
    return matrix


def _roughness(matrix: ArrayLike | None, dimension: int) -> NDArray[np.float64] | None:
    return None if matrix is None else smoothness.checked(_vectors(matrix, "roughness"), dimension)


def _number(value: Any, what: str, error: type[ProblemError]) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise error(f"{what} must be a number, not {value!r}") from None
    except OverflowError:
        raise error(f"{what} is a number of too many digits") from None
    if not np.isfinite(number):
        raise error(f"{what} must be finite, not {number}")
    return number


def _bounds(bounds: tuple[float, float] | None) -> tuple[float, float] | None:
    if bounds is None:
        return None
    try:
        below, above = bounds
    except (TypeError, ValueError):
        raise SigmaError(f"bounds must be two numbers, not {bounds!r}") from None
    low, high = (_number(bound, "a bound", SigmaError) for bound in (below, above))
    if not low < high:
        raise SigmaError(f"the bounds must be in ascending order, not ({low:g}, {high:g})")
    return low, high


def _sigma(
    sigma: Any, bounds: tuple[float, float] | None, arms: int
) -> float | tuple[float, ...] | None:
    """σ as given, one for each arm, unknown, or derived from bounds."""
    if isinstance(sigma, list | tuple) or np.ndim(sigma) > 0:
        return _sigmas(sigma, bounds, arms)
    unknown = sigma is None or (isinstance(sigma, str) and sigma == "unknown")
    stated = None if unknown else _positive(sigma, "σ")
    derived = stated if bounds is None else (bounds[1] - bounds[0]) / 2
    if derived is not None and not LEAST_SIGMA <= derived <= LARGEST_SIGMA:
        raise SigmaError(
            f"σ = {derived:g} is beyond what double precision can square: take another unit"
        )
    if bounds is None or derived is None:
        return derived
    if not isinstance(sigma, _Unstated) and stated != derived:
        raise SigmaError(
            f"σ is given as {'unknown' if stated is None else f'{stated:g}'}, but the bounds "
            f"({bounds[0]:g}, {bounds[1]:g}) mean σ = {derived:g}: give one of them"
        )
    return derived


def _sigmas(sigma: Any, bounds: tuple[float, float] | None, arms: int) -> float | tuple[float, ...]:
    """One σ for each arm; a single one where they are all the same."""
    if bounds is not None:
        raise SigmaError(
            f"σ is given for each arm, but the bounds ({bounds[0]:g}, {bounds[1]:g}) mean "
            f"σ = {(bounds[1] - bounds[0]) / 2:g} for all: give one of them"
        )
    found = _per_arm(sigma, arms, "σ", SigmaError)
    if not (min(found) >= LEAST_SIGMA and max(found) <= LARGEST_SIGMA):
        raise SigmaError("an arm's σ is beyond what double precision can square: take another unit")
    if max(found) > LARGEST_RATIO * min(found):
        raise SigmaError(
            f"the noisiest arm has a σ of {max(found):g}, another one of {min(found):g}: beside "
            "that it tells nothing, so leave it out, or state σ in one unit for all arms"
        )
    return found[0] if len(set(found)) == 1 else found


def _positive(value: Any, what: str, error: type[ProblemError] = SigmaError) -> float:
    number = _number(value, what, error)
    if number <= 0:
        raise error(f"{what} must be positive, not {number:g}")
    return number


def _per_arm(values: Any, arms: int, what: str, error: type[ProblemError]) -> tuple[float, ...]:
    """A positive number for each arm."""
    if np.ndim(np.asarray(values, object)) != 1 or len(values) != arms:
        raise error(f"{what} must be one number for each of the {arms} arms, not {values!r}")
    return tuple(
        _positive(value, f"{what} of arm {arm}", error) for arm, value in enumerate(values)
    )


def _costs(costs: Any, arms: int) -> tuple[float, ...]:
    """What each arm costs."""
    if isinstance(costs, str) or np.ndim(np.asarray(costs, object)) != 1:
        raise ProblemError(f"costs must be one number for each of the {arms} arms, not {costs!r}")
    found = _per_arm(costs, arms, "the cost", ProblemError)
    if max(found) > LARGEST_RATIO * min(found):
        raise ProblemError(
            f"one arm costs {max(found):g}, another {min(found):g}: beside that the latter is free"
        )
    return found


def _noise(noise: Any, bounds: tuple[float, float] | None) -> NoiseWord | None:
    if noise is None:
        return None
    word: NoiseWord = pick(noise, {each: each for each in get_args(NoiseWord)}, "noise", SigmaError)
    return word if bounds is not None else None


def check_noise(noise: float) -> float:
    """A standard deviation to expect, or to simulate, where σ may be another or unknown."""
    if not LEAST_SIGMA <= noise <= LARGEST_SIGMA:
        raise ParameterError(
            f"the noise must be positive, and neither below {LEAST_SIGMA:g} nor above "
            f"{LARGEST_SIGMA:g}, not {noise:g}"
        )
    return noise


def spanning_arms(arms: NDArray[np.float64]) -> NDArray[np.int64]:
    """d arms that span: the pivots of a QR decomposition, each the furthest from those before."""
    from scipy.linalg.lapack import dgeqp3

    # As `scipy.linalg.qr` does, but with one copy of the arms instead of three. With few columns
    # LAPACK takes one at a time, and the room for several, as large as the arms, is not needed.
    columns = np.array(arms.T, order="F")
    many = len(columns) > PIVOTS_ONE_BY_ONE
    room = {"lwork": int(dgeqp3(columns[:1], lwork=-1)[3][0])} if many else {}
    _, pivots, *_ = dgeqp3(columns, overwrite_a=True, **room)
    return np.asarray(pivots[: arms.shape[1]] - 1, np.int64)


def _initial(
    arms: NDArray[np.float64], given: Sequence[int] | None, names: Sequence[str]
) -> tuple[int, ...]:
    """Which arms to measure first; `arms` in whitened coordinates."""
    count, d = arms.shape
    if given is None:
        given = range(count) if count <= MANY_ARMS * d else sorted(spanning_arms(arms).tolist())
    try:
        chosen = tuple(operator.index(arm) for arm in given)
    except TypeError:
        raise ProblemError(f"initial must be a list of arm numbers, not {given!r}") from None
    if len(set(chosen)) != len(chosen) or not all(0 <= arm < count for arm in chosen):
        raise ProblemError(f"initial must be different arm numbers below {count}, not {chosen}")
    information, directions = np.linalg.eigh(arms[list(chosen)].T @ arms[list(chosen)])
    if information[0] < LEAST_DESIGN**2 * np.einsum("ij,ij->i", arms, arms).max():
        missing = names[int(np.abs(arms @ directions[:, 0]).argmax())]
        raise SpanError(
            "the initial arms do not span the others, or so barely that rounding would decide: "
            f"no estimate could start from them; begin with more, such as {missing!r}"
        )
    return chosen


def _vector_table(
    what: str, names: Sequence[str], vectors: NDArray[np.float64], features: Sequence[str]
) -> str:
    """One row per vector; of many features the first."""
    left_out = "…" if len(features) > display.COLUMNS else ""
    head = [what, *features[: display.COLUMNS]]
    rows: list[list[display.Cell]] = [
        [name, *vector[: display.COLUMNS].tolist(), *left_out]
        for name, vector in zip(names[: display.ROWS], vectors, strict=False)
    ]
    return display.table([*head, *left_out], rows, len(names))


def _levels(factors: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    """Factors with their levels as texts, checked."""
    if not isinstance(factors, Mapping) or not factors:
        raise ProblemError("factors must be a table of names and levels, with one at least")
    levels = {}
    for name, own in factors.items():
        if isinstance(own, str) or not isinstance(own, Sequence | np.ndarray):
            raise ProblemError(f"the levels of {name!r} must be a list, not {own!r}")
        levels[str(name)] = [str(level) for level in own]
        if not own or len(set(levels[str(name)])) != len(own):
            raise ProblemError(f"the levels of {name!r} must be different, not {list(own)!r}")
    return levels


def default_features(dimension: int) -> tuple[str, ...]:
    """What features are called that have no names: `x0`, `x1`, …."""
    return tuple(f"x{i}" for i in range(dimension))


def _names(names: Sequence[str] | None, count: int, what: str) -> tuple[str, ...]:
    if names is None:
        return tuple(f"{what} {i}" for i in range(count))
    if (
        isinstance(names, str)
        or not isinstance(names, Sequence | np.ndarray)
        or len(names) != count
    ):
        raise ShapeError(f"{count} {what} names are needed, not {names!r}")
    texts = []
    for name in names:
        if not isinstance(name, str | int | float | np.generic):
            raise ProblemError(f"the {what} name {name!r} is not a text")
        texts.append(str(name))
    if len(set(texts)) != count:
        twice = next(name for name in texts if texts.count(name) > 1)
        raise ProblemError(f"the {what} name {twice!r} is used twice")
    return tuple(texts)
