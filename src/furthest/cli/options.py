"""Options that several commands share."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest.display import one_line
from furthest.errors import InputError
from furthest.numerals import number
from furthest.sampling import DEFAULT
from furthest.watching import is_watched

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.console import Console
    from rich.table import Table

    from furthest.problem import Problem
    from furthest.results import Summary
    from furthest.strategy import Strategy


Instance = Annotated[
    str,
    typer.Argument(
        help="hard, random:d=6,seed=3, circle:seed=1, soare:omega=0.1, or a problem file (.toml, "
        ".csv, .npz).",
        metavar="INSTANCE",
        show_default=False,
    ),
]
Eps = Annotated[
    float | None,
    typer.Option(help="ε: how much worse than the best an answer may be.", show_default="0.05"),
]
NotionName = Annotated[
    str | None,
    typer.Option(
        help="What ε is: a difference (additive) or a share of the best value (multiplicative).",
        show_default="the instance's own",
    ),
]
Sigma = Annotated[
    str | None,
    typer.Option(
        help="σ: standard deviation of the noise, one for each arm (`0.1,0.1,2`), or `unknown`.",
        show_default="1",
    ),
]
FIGURES = (".png", ".svg", ".pdf", ".jpg", ".webp")

Noise = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of the noise to expect, where σ is unknown or may be too large.",
        show_default="σ",
    ),
]
Mu = Annotated[
    str | None,
    typer.Option(
        help="μ: the truth to go by, one weight for each feature; of plain options their values.",
        metavar="X,Y,…",
    ),
]
Delta = Annotated[
    list[float] | None,
    typer.Option(
        help="Allowed probability of a wrong answer; may be given several times.", metavar="δ"
    ),
]
Sampling = Annotated[
    str, typer.Option(help="Sampling rule: what decides where to measure; see `furthest rules`.")
]
DEFAULT_RULE = DEFAULT
Candidate = Annotated[
    str, typer.Option(help="Which answer to prove: instantaneous-furthest, furthest or greedy.")
]
StoppingRule = Annotated[
    str | None,
    typer.Option(
        "--stopping",
        help="Stopping rule: what decides that the evidence suffices.",
        show_default="ranked, or glr if a threshold is named",
    ),
]
ThresholdName = Annotated[
    str | None,
    typer.Option(
        "--threshold",
        help="How much evidence the stopping rule glr asks for.",
        show_default="mixture, of glr",
    ),
]
ScheduleName = Annotated[
    str,
    typer.Option(
        "--schedule",
        help="How often to look: every, sticky:GRID or lazy:GRID[,start=…,ratio=…].",
    ),
]
Tracking = Annotated[
    str, typer.Option(help="How measurements follow the wanted proportions: C or D.")
]
RuleOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", help="Option of the sampling rule, as name=value.", metavar="NAME=VALUE"
    ),
]
StoppingOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--stopping-option",
        help="Option of the stopping rule, as name=value.",
        metavar="NAME=VALUE",
    ),
]
# More runs no memory holds, and more measurements no run can last for.
MOST_RUNS = 10**9
MOST_ROUNDS = 10**15

Runs = Annotated[int, typer.Option(help="How many studies to simulate.", min=1, max=MOST_RUNS)]
Seed = Annotated[int, typer.Option(help="Seed; each run has its own stream.", min=0)]
Jobs = Annotated[int, typer.Option(help="Worker processes; results do not depend on it.", min=1)]
Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        help="Workers of a Dask cluster, by the address of its scheduler (tcp://host:8786).",
        metavar="ADDRESS",
        show_default=False,
    ),
]
MaxRounds = Annotated[
    int,
    typer.Option(help="Give up a run after this many measurements.", min=1, max=MOST_ROUNDS),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def find_instance(
    text: str, eps: float | None, notion: str | None, sigma: str | None, mu: str | None
) -> Any:
    """The instance that the command line means."""
    from furthest import files

    parameter = None if mu is None else _numbers(mu, "--mu")
    return files.find_instance(
        text,
        eps=eps,
        notion=notion,  # type: ignore[arg-type]  # Problem checks it
        sigma=_numbers(sigma, "--sigma") if sigma and "," in sigma else sigma,
        mu=parameter,
    )


def find_strategy(
    words: tuple[Any, Any, Any, Any, Any, Any],
    option: list[str] | None = None,
    stopping_option: list[str] | None = None,
) -> "Strategy":
    """The strategy of the words from --sampling to --tracking, with its options."""
    from furthest.strategy import Strategy

    return Strategy(*words, rule_options(option), rule_options(stopping_option))


def rule_options(pairs: list[str] | None) -> dict[str, Any]:
    """`weights=0.3,0.7` → {"weights": [0.3, 0.7]}; true/false and numbers become such."""
    options: dict[str, Any] = {}
    for pair in pairs or []:
        name, equals, text = pair.partition("=")
        if not equals:
            raise InputError(f"an option must be name=value, not {pair!r}")
        options[name] = _value(text)
    return options


def stopping_name(strategy: "Strategy") -> str:
    """`top-wrong`, `glr mixture`."""
    parts = strategy.describe()
    return " ".join(parts[key] for key in ("stopping", "threshold") if parts[key])


def _value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    parts = text.split(",")
    try:
        numbers = [number(part) for part in parts]
    except ValueError:
        return text
    return numbers if len(numbers) > 1 else numbers[0]


def _numbers(text: str, where: str) -> list[float]:
    return [_number(part, where) for part in text.split(",")]


def _number(text: str, where: str) -> float:
    try:
        return number(text)
    except ValueError:
        raise InputError(f"{where}: {text!r} is not a number") from None


def compilation(
    what: "str | Strategy", *more: str, said: bool = True
) -> AbstractContextManager[None]:
    """Announce on standard error if anything has to be compiled in this block."""
    from furthest.compiling import announced, words

    first = what if isinstance(what, str) else words(what)
    return announced(" and ".join((first, *more)), said=said)


@contextmanager
def cluster(address: str | None, jobs: int) -> Iterator["Executor | None"]:
    """The workers that --dask names; none without it."""
    if address is None:
        yield None
        return
    if jobs > 1:
        raise InputError("--jobs are processes here, --dask a cluster: take one of them")
    from furthest.workers import cluster

    with cluster(address) as executor:
        yield executor


@contextmanager
def progress_bar(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error where somebody watches."""
    if not is_watched():
        yield lambda _: None
        return
    from furthest.bars import bar

    with bar(what, total) as drawn:
        yield drawn.advance


def print_problem(console: "Console", instance: Any) -> None:
    """One line: which instance, how many arms, what is asked."""
    problem = instance.problem
    console.print(
        f"[bold]{plain(instance.name)}[/bold]  {problem.notion} ε = {problem.eps:g}, "
        f"{problem.noise_words}, {len(problem.arms)} arms, {len(problem.answers)} answers"
        f"{priced(problem)}"
    )


def priced(problem: "Problem") -> str:
    """`, costs 1 … 20 by arm`, where the problem has costs."""
    return f", {problem.cost_words}" if problem.cost_words else ""


def cost_cell(row: "Summary") -> list[str]:
    """What runs cost on average, as a cell of a table; none where nobody said so."""
    return [] if row.cost is None else [f"{row.cost:.0f} ± {row.cost_sem or 0.0:.1f}"]


def check_plot(path: Path | None) -> None:
    """Whether a figure can be drawn there, before anything is computed for it."""
    if path is not None and path.suffix.lower() not in FIGURES:
        raise InputError(f"a figure must end in {', '.join(FIGURES)}, not {path.name!r}")
    make_folder(path)


def make_folder(path: Path | None) -> None:
    """The folder of a file to be, before anything is computed for it."""
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)


def plain(text: str) -> str:
    """A text of the user's for Rich: no markup, and nothing that controls a terminal."""
    from rich.markup import escape

    return escape(one_line(text))


def print_noise(console: "Console", problem: "Problem", noise: float | None) -> None:
    """Which noise is simulated, where it is not σ."""
    if problem.sigma is None:
        assumed = "noise 1 assumed: say with --noise what to expect" if noise is None else ""
        console.print(assumed or f"noise {noise:g} assumed, of which no rule is told")
    elif noise is not None and noise != problem.sigma:
        console.print(f"noise {noise:g} simulated; the rules are told σ = {problem.sigma_words}")


def print_warnings(console: "Console", warnings: Iterable[str | None]) -> None:
    """What must not be missed, in yellow."""
    for text in warnings:
        if text:
            console.print(f"[yellow]{plain(text)}[/yellow]")


def table(name: str, *headings: str, right: bool = False) -> "Table":
    """A table whose first column is never cut, and whose others break where they must."""
    from rich.table import Table

    found = Table()
    found.add_column(name, no_wrap=True)
    for heading in headings:
        found.add_column(heading, overflow="fold", justify="right" if right else "left")
    return found
