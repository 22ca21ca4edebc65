"""furthest plan: what a study will cost, before anything is measured."""

import math
from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest.cli import options as o
from furthest.errors import InputError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from furthest.instances import Instance
    from furthest.results import Results
    from furthest.strategy import Strategy

Cap = Annotated[
    int | None,
    typer.Option(
        help="Give up a run after this many measurements.",
        min=1,
        max=o.MOST_ROUNDS,
        show_default="1000000; 100000 under a prior",
    ),
]

# Under a prior, a study for which answers hardly differ is cut off here.
CUT_OFF = 100_000

Spread = Annotated[
    float | None,
    typer.Option(
        help="Prior: each entry of μ may be off by this standard deviation; around 0 without --mu."
    ),
]


Budgets = Annotated[
    list[int] | None,
    typer.Option(
        help="Foresee instead the ε that is proven after so many measurements; repeatable.", min=1
    ),
]


def command(
    instance: o.Instance,
    eps: o.Eps = None,
    delta: o.Delta = None,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    noise: o.Noise = None,
    mu: o.Mu = None,
    spread: Spread = None,
    sampling: o.Sampling = o.DEFAULT_RULE,
    candidate: o.Candidate = "instantaneous-furthest",
    stopping: o.StoppingRule = None,
    threshold: o.ThresholdName = None,
    schedule: o.ScheduleName = "every",
    tracking: o.Tracking = "C",
    option: o.RuleOptions = None,
    stopping_option: o.StoppingOptions = None,
    runs: o.Runs = 1000,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    dask: o.Dask = None,
    max_rounds: Cap = None,
    budget: Budgets = None,
    json: o.Json = False,
) -> None:
    """Foresee the number of measurements for a guessed μ or a prior, beside any strategy's limit.

    With --spread every run draws another μ, and the limit is the median over the draws. With
    --budget: how near to the best the answer is for certain when that is spent.
    """
    if budget and max_rounds is not None:
        raise InputError(
            "with --budget the studies run no longer than that: leave out --max-rounds"
        )
    found = o.find_instance(instance, eps, notion, sigma, mu)
    words = (sampling, candidate, stopping, threshold, schedule, tracking)
    strategy = o.find_strategy(words, option, stopping_option)
    deltas = delta or [0.1, 0.01]
    if budget:
        with o.cluster(dask, jobs) as executor:
            how = (spread, noise, runs, seed, jobs, executor)
            _buy(found, strategy, deltas, budget, how, json=json)
        return
    with (
        o.cluster(dask, jobs) as executor,
        o.compilation(strategy, "the exact solver"),
        o.progress_bar(strategy.name, runs) as progress,
    ):
        import numpy as np

        from furthest.characteristic import complexity
        from furthest.planning import draw_parameters, plan
        from furthest.simulation import MAX_ROUNDS, simulate

        data: dict[str, Any] = {"instance": found.name}
        if spread is None:
            expected = noise if found.problem.sigma is None else None
            price = complexity(found.problem, found.truth, noise=expected)
            data["complexity"] = price.to_dict()
            middle = price.T
            results = simulate(
                found.problem,
                found.truth,
                strategy,
                deltas,
                runs,
                seed,
                jobs,
                executor=executor,
                noise=noise,
                max_rounds=max_rounds or MAX_ROUNDS,
                progress=progress,
                quiet=True,
            )
        else:
            drawn = draw_parameters(found.problem, found.mu, spread, runs, seed)
            results, prices = plan(
                found.problem,
                drawn,
                strategy,
                deltas,
                seed,
                jobs,
                executor=executor,
                max_rounds=max_rounds or CUT_OFF,
                noise=noise,
                progress=progress,
            )
            quartiles = [float(q) for q in np.quantile(prices, (0.25, 0.5, 0.75))]
            data["prior"] = {"spread": spread, "T": quartiles}
            middle = quartiles[1]
    if json:
        import json as encoder

        data |= results.to_dict()
        for row in data["results"]:
            row["limit"] = middle * math.log(1 / row["delta"])
        print(encoder.dumps(data))
    else:
        _show(found, middle, results, spread, noise)


def _buy(
    found: "Instance",
    strategy: "Strategy",
    deltas: list[float],
    budgets: list[int],
    how: tuple[float | None, float | None, int, int, int, "Executor | None"],
    *,
    json: bool,
) -> None:
    """What these budgets buy."""
    spread, noise, runs, seed, jobs, executor = how
    if found.problem.sigma is None and noise is None:
        raise InputError("σ is unknown: say which noise to expect, with --noise")
    with (
        o.compilation(strategy),
        o.progress_bar(strategy.name, runs * len(deltas)) as progress,
    ):
        from furthest.budgeting import expected_eps
        from furthest.planning import draw_parameters

        guess = found.truth if spread is None else None
        if guess is None:
            guess = draw_parameters(found.problem, found.mu, spread or 0.0, runs, seed)
        rows = [
            row
            for delta in deltas
            for row in expected_eps(
                *(found.problem, guess, budgets, delta, strategy, runs, seed, jobs),
                executor=executor,
                noise=noise,
                progress=progress,
            )
        ]
    if json:
        import json as encoder

        budgeted = [row.to_dict() for row in rows]
        print(encoder.dumps({"instance": found.name, "prior": spread, "budgets": budgeted}))
        return
    from rich.console import Console

    console = Console()
    o.print_problem(console, found)
    o.print_noise(console, found.problem, noise)
    promise = strategy.guarantee_for(found.problem)
    console.print(f"{strategy.name}, {o.stopping_name(strategy)}: {promise.words}")
    table = o.table("δ", "budget", "proven ε", "5 % … 95 %", "answer within the budget")
    for row in rows:
        table.add_row(
            f"{row.delta:g}",
            f"{row.budget:,}",
            _size(row.median),
            f"{_size(row.low)} … {_size(row.high)}",
            f"{100 * row.stopped:.0f} %",
        )
    console.print(table)
    guessed = "μ is as guessed" if spread is None else f"μ is within about {spread:g} of the guess"
    console.print(f"[dim]if {guessed}: {len(rows) and rows[0].runs} studies[/dim]")


def _size(eps: float) -> str:
    return "none" if math.isinf(eps) else f"{eps:.3g}"


def _cost_head(priced: bool) -> list[str]:
    return ["cost ± s.e."] if priced else []


def _middle_costs(results: "Results") -> list[float]:
    """The median of what runs cost at each δ; 0 where nobody said what a measurement costs."""
    import numpy as np

    if results.costs is None or not results.runs:
        return [0.0] * len(results.summary())
    return [float(each) for each in np.median(np.atleast_2d(results.costs), axis=1)]


def _show(
    instance: "Instance",
    price: float,
    results: "Results",
    spread: float | None,
    noise: float | None,
) -> None:
    from rich.console import Console

    console = Console()
    o.print_problem(console, instance)
    o.print_noise(console, instance.problem, noise)
    strategy = results.strategy
    promise = strategy.guarantee_for(instance.problem)
    console.print(f"{strategy.name}, {o.stopping_name(strategy)}: {promise.words}")
    priced = instance.problem.costs is not None
    limit = "limit T_ε ln(1/δ)" + (" of the cost" if priced else "")
    table = o.table("δ", "expect", "median", "5 % … 95 %", *_cost_head(priced), limit, "× limit")
    for row, paid in zip(results.summary(), _middle_costs(results), strict=True):
        floor = price * math.log(1 / row.delta)
        typical = row.mean if spread is None else row.median
        if row.cost is not None:
            typical = row.cost if spread is None else paid
        table.add_row(
            f"{row.delta:g}",
            f"{row.mean:.0f} ± {row.sem:.1f}",
            f"{row.median:.0f}",
            f"{row.q05:.0f} … {row.q95:.0f}",
            *o.cost_cell(row),
            f"{floor:.0f}",
            f"{typical / floor:.2f}" if floor > 0 else "–",
        )
    console.print(table)
    guess = "μ is as guessed" if spread is None else f"μ is within about {spread:g} of the guess"
    console.print(f"[dim]if {guess}: {results.runs} studies, {results.seconds:.2f} s[/dim]")
    o.print_warnings(console, [results.unstopped_words])
