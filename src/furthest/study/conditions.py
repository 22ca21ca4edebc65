"""What a guarantee rests on, condition by condition, and what the log says about each.

A theorem is about numbers with certain properties. Whether the numbers of a study have them is
partly the program's business (`holds`), partly nobody's (`assumed`), and sometimes the log itself
speaks against it (`in doubt`, `refuted`). The certificate lists all of them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from furthest.codes import Noise
from furthest.display import count
from furthest.problem import Problem
from furthest.residuals import REFUTED as REFUTING_EVIDENCE
from furthest.residuals import Finding, examine, rounding, sample_of, unseen
from furthest.residuals.evalues import summarise
from furthest.study.events import AS_ASKED, Columns, Event
from furthest.study.fold import Fold
from furthest.study.ledger import Ledger
from furthest.study.records import NOT_PROVEN, PROVEN, PROVEN_IF, Condition
from furthest.study.told import Selection

HOLDS = "holds"
ASSUMED = "assumed"
IN_DOUBT = "in doubt"
REFUTED = "refuted"

# With values so many times as large as their noise, 16 digits leave it fewer than six.
LARGEST_RATIO = 1e10


class Base(NamedTuple):
    """The part of a log that a certificate, or a look at a running study, rests on."""

    ledger: Ledger
    counted: Selection  # results
    last: int  # number of the last event


def base_of(ledger: Ledger, stopped: Fold | None = None) -> Base:
    """All of the log; of a study that has stopped, what led to that."""
    if stopped is None:
        return Base(ledger, ledger.counting(), ledger.seq)
    counting = ledger.counting()
    counted = replace(counting, rows=counting.rows[stopped.taken])
    return Base(ledger, counted, ledger.counted_by(stopped.stopped_at - 1))


def failures(base: Base) -> list[Event]:
    """Trials that were reported as failed."""
    return [event for event in base.ledger.failed.values() if event.seq <= base.last]


def conditions(base: Base, *, trust: bool = True) -> tuple[Condition, ...]:
    """All of them; without `trust` not what the features are trusted with, which takes longest."""
    settings = base.ledger.settings
    problem, noise = settings.problem, settings.strategy.noise_for(settings.problem)
    results = base.counted.columns
    found = {each.condition: each for each in examine(problem, *results)}
    return (
        _linear(problem, found.get("linear"), results, trust=trust),
        *_constant_means(noise),
        *_noise(problem, found, results),
        *_means(noise, results),
        _digits(problem, results),
        *_sign(problem),
        *_bound(base, found.get("bound")),
        Condition(
            "independence",
            "no result depends on the noise of another",
            ASSUMED,
            "only who measures can know",
        ),
        _order(base),
        _failures(base),
        _added(base),
    )


def standing_of(found: Sequence[Condition], *, theorem: bool) -> str:
    """What a certificate under these conditions is worth."""
    standings = {each.standing for each in found}
    if not theorem or REFUTED in standings:
        return NOT_PROVEN
    return PROVEN_IF if IN_DOUBT in standings else PROVEN


def warnings_of(found: Sequence[Condition]) -> tuple[str, ...]:
    """What speaks against the guarantee, in words."""
    return tuple(each.evidence for each in found if each.standing in (IN_DOUBT, REFUTED))


def _judged(name: str, needs: str, finding: Finding | None, otherwise: str) -> Condition:
    """A condition that is tested by the measurements themselves."""
    if finding is None:
        return Condition(name, needs, ASSUMED, otherwise)
    standing = REFUTED if finding.log_e >= REFUTING_EVIDENCE else IN_DOUBT
    return Condition(name, needs, standing, f"{finding.words}; {finding.advice}")


def _linear(
    problem: Problem, finding: Finding | None, results: Columns, *, trust: bool
) -> Condition:
    name, needs = "linear", "values are linear in the features"
    if problem.task.arms.shape[1] == len(problem.arms):
        same = "".join(f"; for all arms {each}" for each in problem.dropped)
        return Condition(name, needs, HOLDS, f"each arm has a value of its own{same}")
    if finding is not None or not len(results.arms):
        return _judged(name, needs, finding, "nothing is measured yet")
    words = ["the measurements do not contradict it"]
    if not trust:
        return Condition(name, needs, ASSUMED, *words)
    blind = unseen(problem, sample_of(problem, *results))
    if math.isfinite(blind.deviation):
        words.append(
            f"one arm might deviate by {blind.deviation:.2g} without showing, and the answers "
            f"differ by {blind.differences:.2g} at most"
        )
    else:
        words.append("some arm decides alone what a feature means, so that it could not show")
    if blind.arms:
        words.append(f"{count(blind.arms, 'arm')} had no result, and go by their features alone")
    words += [f"for all arms {each}" for each in problem.dropped]
    return Condition(name, needs, ASSUMED, "; ".join(words))


def _constant_means(noise: Noise) -> list[Condition]:
    """Of a test that goes by counts, in which a change over time would not show."""
    if noise < Noise.BOUNDED:
        return []
    needs = "the mean of an arm's rewards never changes"
    return [Condition("constant means", needs, ASSUMED, "only who measures can know")]


def _noise(problem: Problem, found: dict[str, Finding], results: Columns) -> list[Condition]:
    fine = "the measurements do not contradict it"
    if problem.bounds is not None:
        low, high = problem.bounds
        either = problem.noise == "bernoulli"
        inside = f"rewards are {'' if either else 'within '}"
        inside += f"{low:g} or {high:g}" if either else f"[{low:g}, {high:g}]"
        if not either and (results.sizes > 1).any():
            behind = "others were refused; of the results behind a mean only who measures can know"
            return [Condition("noise", inside, ASSUMED, behind)]
        return [Condition("noise", inside, HOLDS, "others were refused")]
    if problem.sigma is not None:
        needs = f"the noise is sub-Gaussian with σ = {problem.sigma_words}"
        return [_judged("noise", needs, found.get("noise level"), fine)]
    gaussian = _judged("Gaussian", "the noise is Gaussian", found.get("Gaussian"), fine)
    one = results.sizes == 1
    grid = None
    if gaussian.standing == ASSUMED:
        grid = rounding(problem, results.arms[one], results.values[one])
    if grid is not None:
        gaussian = Condition(
            "Gaussian",
            f"rounding to multiples of {grid:.3g} does not matter",
            IN_DOUBT,
            f"the results look rounded to multiples of {grid:.3g}, which is little against their "
            "spread; but Gaussian noise has no steps",
        )
    equal = "the noise has one and the same σ for all arms"
    return [gaussian, _judged("equal noise", equal, found.get("equal noise"), fine)]


def _means(noise: Noise, results: Columns) -> list[Condition]:
    """Of results that were told as the mean of several."""
    several = int((results.sizes > 1).sum())
    if not several:
        return []
    needs = "each mean is of all results that were measured for it"
    if noise not in (Noise.BOUNDED, Noise.BERNOULLI):  # the test of these goes by counts alone
        needs += ", and how many these were did not depend on what they were"
    found = [Condition("means", needs, ASSUMED, "only who measures can know")]
    if noise == Noise.GAUSSIAN:
        found.append(
            Condition(
                "Gaussian means",
                "the results behind each mean are Gaussian, and their deviation is not rounded",
                IN_DOUBT,
                f"{several:,} of {len(results.sizes):,} results are the mean of several, which "
                "does not show what the noise of one is like: if it is not Gaussian, the "
                "guarantee is void",
            )
        )
    return found


def _digits(problem: Problem, results: Columns) -> Condition:
    """Whether double precision can carry the values and their noise at once."""
    name, needs = "arithmetic", "16 digits are enough for the values and their noise"
    ratio = size_over_noise(problem, results)
    if ratio <= LARGEST_RATIO:
        return Condition(name, needs, HOLDS, "values were refused that would be too large")
    return Condition(
        name,
        needs,
        REFUTED,
        f"the values are up to {ratio:.1g} times as large as their spread; measure in "
        "another unit, or take away what all results have in common",
    )


def size_over_noise(problem: Problem, results: Columns) -> float:
    """How many times as large as their noise the values are that are computed with."""
    values = results.values
    sizes = np.abs(values)
    if problem.offset is not None and len(values):
        # What all share is taken away before anything is computed.
        sizes = np.full(len(values), np.ptp(values))
    if problem.sigma is not None:
        return float((sizes / problem.units[results.arms]).max(initial=0.0))
    scale = summarise(*results).spread
    # If it is 0, nothing tells how large the noise is.
    return float(sizes.max(initial=0.0)) / scale if scale > 0 else 0.0


def _sign(problem: Problem) -> list[Condition]:
    if problem.notion == "additive" or problem.eps == 0:
        return []
    return [
        Condition(
            "sign", "the best value is positive", ASSUMED, "a share of the best means nothing else"
        )
    ]


def _bound(base: Base, finding: Finding | None) -> list[Condition]:
    """Of a test that rests on what is known of the parameter beforehand."""
    settings = base.ledger.settings
    if settings.problem.radius is None or not settings.strategy.test.needs_bound:
        return []
    needs = f"the parameter is within the bound, μᵀPμ ≤ {settings.problem.radius:g}"
    return [_judged("bound", needs, finding, "the measurements do not contradict it")]


def _order(base: Base) -> Condition:
    ledger = base.ledger
    name, needs = "order", "the order in which results count has nothing to do with their values"
    late = base.counted.among(ledger.given_up)
    if late:
        return Condition(
            name,
            needs,
            IN_DOUBT,
            f"{count(late, 'result')} came when no longer waited for, and counted when told: if "
            "what takes long has other values, the guarantee is void",
        )
    if ledger.settings.order == AS_ASKED:
        return Condition(name, needs, HOLDS, "they count as they were asked for, not as they came")
    overtaken = base.counted.among(ledger.overtaken)
    if overtaken:
        return Condition(
            name,
            needs,
            IN_DOUBT,
            f"results count in the order in which they were told, and {overtaken:,} came before "
            "one that was asked earlier: if that depends on the values, the guarantee is void",
        )
    return Condition(name, needs, HOLDS, "they were told in the order in which they were asked for")


def _failures(base: Base) -> Condition:
    name, needs = "failures", "whether a measurement fails has nothing to do with its value"
    given_up = [trial for trial, seq in base.ledger.given_up.items() if seq <= base.last]
    lost = len(given_up) - base.counted.among(given_up)
    failed = len(failures(base))
    if not failed and not lost:
        return Condition(name, needs, HOLDS, "none failed")
    parts = [f"{count(failed, 'measurement')} failed"] if failed else []
    parts += [f"{count(lost, 'result')} never came"] if lost else []
    return Condition(
        name,
        needs,
        IN_DOUBT,
        f"{' and '.join(parts)}: if that depends on the reward, the guarantee is void",
    )


def _added(base: Base) -> Condition:
    name = "added results"
    needs = "added results were not picked by their values, and the question not made from them"
    moments = base.counted.moments_of_added
    if not moments:
        origin = base.ledger.settings.origin
        heirs = f"; it continues the study {origin}" if origin else ""
        return Condition(name, needs, HOLDS, f"all results were asked for{heirs}")
    created = base.ledger.created.at
    old = sum(bool(moment) and float(moment) < created for moment in moments)
    undated = sum(not moment for moment in moments)
    ages = [f"{old:,} older than the study"] if old else []
    ages += [f"{undated:,} of unknown age"] if undated else []
    aside = f" ({', '.join(ages)})" if ages else ""
    were = "was" if len(moments) == 1 else "were"
    return Condition(
        name,
        needs,
        IN_DOUBT,
        f"{len(moments):,} of {len(base.counted):,} results {were} added, not asked for{aside}: "
        "if they were picked by their values, or the options or ε were chosen after looking at "
        "them, the guarantee is void",
    )
