"""furthest study: a live study from the shell.

`tell`, `fail`, `add` and `list` only read and write the log, and load no compiler.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest.cli import options as o
from furthest.display import count, figure, one_line, without_password
from furthest.errors import InputError

if TYPE_CHECKING:
    from rich.table import Table

    from furthest.study.records import Conclusion, Foresight, Status
    from furthest.study.study import Study

Name = Annotated[str, typer.Argument(help="The study's name.", show_default=False)]
Storage = Annotated[
    str,
    typer.Option(
        help="Where studies are kept: sqlite:///FILE, postgresql://…, or http://… of a server; its "
        "token is the variable FURTHEST_TOKEN of the environment.",
        envvar="FURTHEST_STORAGE",
    ),
]
TrialId = Annotated[str, typer.Argument(help="The trial's id, as `ask` printed it.", metavar="ID")]
RESULT = "The result: 0.73; of yes/no outcomes 37/1000; of several mean=0.41,n=20,sd=0.3."
DEFAULT = "sqlite:///furthest.db"

# Of `verify`, where the log is as it should be, but the answer is not proven as it stands.
EXIT_CODES = {"proven if": 3, "not proven": 4}

# How a certificate's worth, and the tones of verdicts, look in a terminal.
STYLES = {"proven": "green", "proven if": "yellow", "not proven": "red"}
TONES = {"good": "green", "warning": "yellow", "bad": "red", "soft": "dim", "": ""}

# Negative numbers are values, not options.
NUMBERS = {"ignore_unknown_options": True}

app = typer.Typer(
    help="Live studies: ask what to measure next, tell the result, stop with a certificate.",
    no_args_is_help=True,
)


@app.command()
def create(
    name: Name,
    instance: o.Instance,
    eps: o.Eps = None,
    delta: Annotated[float, typer.Option(help="δ: allowed probability of a wrong answer.")] = 0.01,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    sampling: o.Sampling = o.DEFAULT_RULE,
    candidate: o.Candidate = "instantaneous-furthest",
    stopping: o.StoppingRule = None,
    threshold: o.ThresholdName = None,
    schedule: o.ScheduleName = "every",
    tracking: o.Tracking = "C",
    option: o.RuleOptions = None,
    stopping_option: o.StoppingOptions = None,
    seed: o.Seed = 0,
    lease: Annotated[
        float, typer.Option(help="Seconds after which an ask is no longer waited for.")
    ] = 86_400.0,
    order: Annotated[
        str, typer.Option(help="In which order results count: as `asked`, or as `told`.")
    ] = "asked",
    budget: Annotated[
        int | None,
        typer.Option(help="End, inconclusive if need be, after so many measurements.", min=1),
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Begin a study of a problem file or instance. What is asked can never be changed."""
    from furthest.study.study import Study

    found = o.find_instance(instance, eps, notion, sigma, None)
    words = (sampling, candidate, stopping, threshold, schedule, tracking)
    strategy = o.find_strategy(words, option, stopping_option)
    with o.compilation(strategy):
        study = Study.create(
            name,
            found.problem,
            delta,
            storage,
            strategy=strategy,
            seed=seed,
            lease=lease,
            order=order,
            budget=budget,
        )
    if json:
        place = without_password(storage)
        _print({"name": name, "storage": place, "initial": list(study.problem.initial)})
    else:
        design = len(study.problem.initial)
        print(f"created {name}; the first {design} measurements are a fixed design")


@app.command()
def ask(
    name: Name,
    n: Annotated[int, typer.Option("-n", help="How many trials to measure in parallel.")] = 1,
    batch: Annotated[
        int | None,
        typer.Option(help="How many measurements to share out among the arms, instead."),
    ] = None,
    worker: Annotated[str | None, typer.Option(help="Who will measure them.")] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """What to measure next: id, arm and name per line. Fails once the study has stopped.

    So it does when its budget is spent, or all of it is out; near its end fewer lines are printed.
    Of a batch each line also has how often to measure the arm.
    """
    study = _load(name, storage)
    with _compilation(study):
        if batch is None:
            trials = study.ask(n, worker=worker)
        else:
            trials = study.ask(batch=batch, worker=worker)
    if json:
        from furthest.study import documents

        _print(documents.asked(trials))
    else:
        for trial in trials:
            often = () if batch is None else (trial.size,)
            print(trial.id, trial.arm, one_line(trial.name), *often, sep="\t")


@app.command(context_settings=NUMBERS)
def tell(
    name: Name,
    trial: Annotated[
        str | None, typer.Argument(help="The trial's id, as `ask` printed it.", metavar="ID")
    ] = None,
    result: Annotated[str | None, typer.Argument(help=RESULT)] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--csv",
            help="Tell all results of this file, or none: an id and a result per line; or with a "
            "header, columns id (or arm, for what nobody asked for), value, successes, mean, n, "
            "sd, sem.",
        ),
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """The result of a trial, or many from a file. Once this returns, they are safe.

    The same result again changes nothing, so a file may be told again after an error.
    """
    from furthest.study import sheets

    if (table is None) == (trial is None or result is None):
        raise InputError("give an id and a result, or --csv with a file of them")
    if table is not None:
        told = _load(name, storage).tell_many(sheets.rows(table))
        _say({"told": len(told)}, f"told {len(told)} results", json)
        return
    fields = sheets.result(result or "")
    _load(name, storage).tell(trial or "", **fields)
    _say({"id": trial, **fields}, f"{trial}: {_in_words(fields)}", json)


def _in_words(fields: dict[str, Any]) -> str:
    if "value" in fields:
        return repr(fields["value"])
    return ", ".join(f"{name} = {number!r}" for name, number in fields.items())


@app.command()
def fail(
    name: Name,
    trial: TrialId,
    reason: Annotated[str, typer.Option(help="Why there is no result.")] = "",
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """There will be no result for a trial."""
    _load(name, storage).fail(trial, reason)
    _say({"id": trial, "reason": reason}, f"{trial}: failed", json)


@app.command(context_settings=NUMBERS)
def add(
    name: Name,
    arm: Annotated[str, typer.Argument(help="The arm's name or number.")],
    result: Annotated[str, typer.Argument(help=RESULT)],
    id: Annotated[  # noqa: A002
        str | None, typer.Option(help="An id of yours: the same one again is added once.")
    ] = None,
    measured_at: Annotated[
        float | None, typer.Option(help="When it was measured, in seconds since 1970.")
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """A measurement that was never asked for. The certificate will say so."""
    from furthest.study import sheets

    fields = sheets.result(result)
    trial = _load(name, storage).add(arm, id=id, measured_at=measured_at, **fields)
    _say({"id": trial, "arm": arm, **fields}, f"{trial}: {_in_words(fields)}", json)


@app.command()
def show(
    name: Name,
    foresight: Annotated[
        bool,
        typer.Option(
            "--foresight/--no-foresight", help="Predict how many more measurements are needed."
        ),
    ] = True,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Where a study stands; its certificate, or conclusion, once it has ended."""
    study = _load(name, storage)
    if json:
        from furthest.study import documents

        with _compilation(study, foresight=foresight):
            data = documents.shown(study, foresight=foresight)
        _print(data)
        return
    with _compilation(study, foresight=foresight):
        status = study.status()
        foresight &= status.certificate is None
        future = study.foresight() if foresight else None
    _show(study, status, future, foresight)


@app.command()
def extend(
    name: Name,
    budget: Annotated[
        int, typer.Option(help="How many measurements in all, those made included.", min=1)
    ],
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Allow more measurements. The guarantee is as if that had been so from the beginning."""
    study = _load(name, storage)
    study.extend(budget)
    _say({"name": name, "budget": budget}, f"{name}: a budget of {budget:,} measurements", json)


@app.command("list")
def list_studies(storage: Storage = DEFAULT, json: o.Json = False) -> None:
    """All studies of a storage."""
    from furthest.study import documents
    from furthest.study.storage import open_storage

    data = documents.listed(open_storage(storage))
    if json:
        _print(data)
        return
    from rich.console import Console
    from rich.table import Column, Table

    state = Column("state", no_wrap=True)
    table = Table("study", state, "answer", "ε", "δ", "arms", "measured", "pending")
    for row in data["studies"]:
        if row["error"]:
            table.add_row(o.plain(row["name"]), f"[red]{row['state']}")
            continue
        table.add_row(
            o.plain(row["name"]),
            row["state"],
            o.plain(row["answer_name"] or ""),
            f"{row['eps']:g} {row['notion']}",
            f"{row['delta']:g}",
            *(str(row[key]) for key in ("arms", "measurements", "pending")),
        )
    Console().print(table)
    for row in data["studies"]:
        if row["error"]:
            print(f"{one_line(row['name'])}: {one_line(row['error'])}", file=sys.stderr)


@app.command()
def export(
    name: Name,
    out: Annotated[
        Path | None,
        typer.Option(help="Write to this file: .json (all), .csv (results), .html (to print)."),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(help="Sign the certificate with the private Ed25519 key in this file."),
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Everything about a study: its log, results and certificate. Prints the results as CSV."""
    from furthest.study import archive
    from furthest.writing import write_text

    if out is not None and out.suffix not in (".json", ".csv", ".html"):
        raise InputError(f"--out must end in .json, .csv or .html, not {out.name!r}")
    kind = "json" if json and out is None else out.suffix[1:] if out else "csv"
    if sign is not None and kind != "json":
        raise InputError("--sign goes with JSON alone: give --json, or --out FILE.json")
    o.make_folder(out)
    study = _load(name, storage)
    text = archive.to_csv(study) if kind == "csv" else _archived(study, kind, sign)
    if out is None:
        print(text, end="")
    else:
        write_text(out, text)
        _say({"file": str(out)}, f"wrote {one_line(str(out))}", json)


def _archived(study: "Study", kind: str, sign: Path | None) -> str:
    with _compilation(study):
        if kind == "html":
            from furthest.study.page import page

            return page(study)
        from furthest.study import archive, documents

        document = documents.exported(study)
        return _encode(archive.signed(document, sign) if sign else document) + "\n"


@app.command("new-key")
def new_key(
    file: Annotated[
        Path, typer.Argument(help="Where to write the private key; FILE.pub gets the public one.")
    ],
    json: o.Json = False,
) -> None:
    """Make a key to sign certificates with: `export --sign FILE`, `verify --key FILE.pub`."""
    from furthest.study import signature

    public = signature.new_key(file)
    private, given = one_line(str(file)), one_line(str(public))
    _say(
        {"private": str(file), "public": str(public)},
        f"wrote {private}, to be kept secret, and {given}, to be given to whoever verifies",
        json,
    )


@app.command()
def verify(
    name: Annotated[
        str,
        typer.Argument(help="A study, or the .json file of an exported one.", show_default=False),
    ],
    certificate: Annotated[
        Path | None, typer.Option(help="Also compare with the certificate in this JSON file.")
    ] = None,
    facts: Annotated[
        bool,
        typer.Option(
            "--facts", help="Compare its facts, not its words: for one of an older furthest."
        ),
    ] = False,
    key: Annotated[
        Path | None,
        typer.Option(help="The certificate must be signed with the key of this public key file."),
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Make every decision again from the log alone, and the certificate with it.

    Exit code 0 if the answer, or what an inconclusive study says instead, is proven, or the study
    still running; 3 if it is proven under a condition that is in doubt; 4 if it is not proven; 1 if
    the log, certificate or conclusion is wrong.
    """
    from furthest.study import archive, documents

    exported = name.endswith(".json")
    if exported and certificate is not None:
        raise InputError("an exported study has its certificate in it: leave out the other")
    document = Path(name) if exported else certificate
    if document is None and key is not None:
        raise InputError("--key goes with --certificate FILE, or with an exported study")
    signer = None if document is None else archive.signer(document, key)
    with o.compilation("what the study needs"):
        from furthest.study.certificate import verify as check

        if exported:
            found = archive.verify_file(Path(name), words=not facts)
        else:
            claimed = archive.claimed_certificate(certificate) if certificate else None
            found = check(name, _load(name, storage).events(), claimed, words=not facts)
    proof = found.certificate
    text = found.guarantee if proof else f"{found.measurements} results, not stopped yet"
    if found.conclusion:
        text = f"inconclusive: {found.guarantee}"
    _say(documents.verified(found, signer), f"verified: {one_line(text)}", json)
    if not json:
        for line in _tamper_evidence(found, signer, asked=key is not None):
            print(line)
        for warning in found.warnings:
            print(f"warning: {one_line(warning)}", file=sys.stderr)
    if found.standing in EXIT_CODES:
        raise typer.Exit(EXIT_CODES[found.standing])


def _tamper_evidence(found: "Status", signer: str | None, *, asked: bool) -> Iterator[str]:
    """Who vouches for the certificate, and since when a change of the log shows."""
    if signer is not None:
        yield f"signed by {signer}" + ("" if asked else ": whose key that is, --key can tell")
    if found.chained_from is None:
        yield "not sealed: the log is an older one, in which a change would not show by itself"
    elif found.chained_from > 1:
        yield f"sealed from event {found.chained_from} on: no change since then"


@app.command("as-options")
def as_options(
    name: Name,
    new: Annotated[str, typer.Argument(help="The new study's name.", show_default=False)],
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Go on without the features: a new study of plain options with all results of this one."""
    old = _load(name, storage)
    with _compilation(old):
        study = old.as_options(new)
    results = len(study.history())
    _say({"name": new, "measurements": results}, f"created {new} with {results} results", json)


@app.command()
def delete(
    name: Name,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Remove a study and all its results for ever."""
    study = _load(name, storage)
    if not yes:
        if not sys.stdin.isatty():
            raise InputError(f"deleting {name!r} cannot be undone: say so with --yes")
        typer.confirm(
            f"Delete {name} and its {len(study.history())} results?", abort=True, err=True
        )
    study.delete()
    _say({"deleted": name}, f"deleted {name}", json)


@app.command()
def run(
    name: Name,
    command: Annotated[
        str,
        typer.Option(
            "--exec",
            help="Prints its result as last line, as `tell` takes it. Gets the arm's number as "
            "last argument, or where {arm}, {name}, {id} or {n} stand; FURTHEST_ARM_NAME and the "
            "like are in its environment.",
            metavar="CMD",
            show_default=False,
        ),
    ],
    jobs: Annotated[int, typer.Option(help="Measurements at a time.", min=1)] = 1,
    retries: Annotated[int, typer.Option(help="Try again so often if CMD fails.", min=0)] = 0,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds after which CMD is stopped.", min=0.001)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Stop after so many trials of this call.", min=1)
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            help="Share out so many measurements at a time: CMD makes {n} of an arm at once.",
            min=1,
        ),
    ] = None,
    storage: Storage = DEFAULT,
    json: o.Json = False,
) -> None:
    """Drive a measurement command until the study stops, or its budget is spent: exit code 0."""
    from furthest.study.runner import Runner

    study = _load(name, storage)
    patience = None if timeout == float("inf") else timeout
    runner = Runner(study, command, jobs, retries, patience, batch=batch)
    with _compilation(study), _progress(study) as report:
        runner.run(limit, report)
        status = study.status()
    if json:
        _print(status.to_dict())
    else:
        _show(study, status, None, False)


def _load(name: str, storage: str) -> "Study":
    from furthest.study.study import Study

    return Study.load(name, storage)


def _compilation(study: "Study", *, foresight: bool = False) -> AbstractContextManager[None]:
    return o.compilation(study.strategy, *(("foresight",) if foresight else ()))


def _encode(data: Any) -> str:
    import json

    return json.dumps(data, allow_nan=False)


def _print(data: Any) -> None:
    print(_encode(data))


def _say(data: Any, text: str, json: bool) -> None:
    print(_encode(data) if json else text)


@contextmanager
def _progress(study: "Study") -> Iterator[Any]:
    """Statistic against threshold, on standard error where that is a terminal."""
    import time

    from furthest.bars import bar

    with bar(study.name, 1.0, counted=False) as drawn:
        due = 0.0

        def report() -> None:
            nonlocal due
            began = time.monotonic()
            if not drawn.is_drawn or began < due:
                return
            status = study.status()
            drawn.update(done=status.share, text=progress_of(status))
            # A display never takes more than a fifth of the time.
            due = time.monotonic() + max(0.2, 4 * (time.monotonic() - began))

        yield report


def progress_of(status: "Status") -> str:
    """How far the study is, in words."""
    if status.statistic is None or status.threshold is None:
        return f"initial design; {status.counts}"
    reached = f"evidence {status.statistic:.2f} of {status.threshold:.2f}"
    return f"{o.plain(status.answer_name or '')}: {reached}; {status.counts}"


def _show(study: "Study", status: "Status", future: "Foresight | None", asked: bool) -> None:
    from rich.console import Console

    console = Console()
    problem = study.problem
    console.print(
        f"[bold]{o.plain(study.name)}[/bold]  {problem.notion} ε = {problem.eps:g}, "
        f"δ = {study.delta:g}, {problem.noise_words}, {len(problem.arms)} arms, "
        f"{len(problem.answers)} answers{o.priced(problem)}",
        highlight=False,
    )
    if status.standing is not None:
        style = STYLES[status.standing]
        if status.conclusion is None:
            end = f"stopped: the answer is [bold]{o.plain(status.answer_name or '')}[/bold]"
        else:
            end = f"inconclusive: {_remaining(study, status.conclusion)}"
        console.print(f"{end}, [{style}]{status.standing}[/{style}]", highlight=False)
        console.print(f"[{style}]{o.plain(status.guarantee)}[/{style}]", highlight=False)
        console.print(status.counts, highlight=False)
        if future is not None:
            console.print(_foresight_text(future), highlight=False)
    else:
        full = round(30 * (_done(future) if future else status.share))
        bar = f"[cyan]{'━' * full}[/cyan][dim]{'─' * (30 - full)}[/dim]"
        console.print(f"running  {bar}  {progress_of(status)}", highlight=False)
        if asked:
            console.print(_foresight_text(future), highlight=False)
        if status.waiting and status.pending:
            console.print(o.plain(_waiting_text(study, status.waiting)), highlight=False)
        console.print(f"[dim]when it stops: {o.plain(status.promise)}[/dim]", highlight=False)
    if status.verdicts:
        console.print(_answers(status))
    console.print(_arms(study, status))
    warnings = [*status.warnings, *([future.warning] if future and future.warning else [])]
    o.print_warnings(console, (f"warning: {text}" for text in warnings))


def _remaining(study: "Study", ending: "Conclusion") -> str:
    """Which answers may still be the one that was asked for."""
    names = [study.problem.answer_names[z] for z in ending.remaining]
    shown = ", ".join(o.plain(name) for name in names[:20])
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return f"the budget of {ending.budget:,} is spent, {shown}{more} remain"


def _waiting_text(study: "Study", waiting: int) -> str:
    """Which trial results wait for, and what to do if it never comes."""
    import time

    first = study.pending()[0]
    minutes = (time.time() - first.at) / 60
    return (
        f"{count(waiting, 'result')} cannot count before trial {first.id} ({first.name}), asked "
        f"{minutes:.0f} minutes ago by {first.worker}: tell it, or fail it if it was lost"
    )


def _done(future: "Foresight") -> float:
    """Which part of the measurements is done, if the rest are as foreseen."""
    return future.measurements / max(1.0, future.measurements + future.median)


def _answers(status: "Status") -> "Table":
    from rich.table import Table

    from furthest.study.records import best_first, verdict_words

    table = Table("answer", "estimate", "within ε of the best")
    for row in best_first(status.verdicts, 20):
        words, tone = verdict_words(row.verdict, status.standing)
        table.add_row(o.plain(row.name), f"{row.estimate:.4g}", words, style=TONES[tone])
    if len(status.verdicts) > 20:
        table.add_row(f"and {len(status.verdicts) - 20} more", "", "")
    return table


def _arms(study: "Study", status: "Status") -> "Table":
    from rich.table import Table

    costs = study.problem.costs
    table = Table("arm", "measurements", *(["cost"] if costs else []))
    order = sorted(range(len(status.pulls)), key=lambda arm: -status.pulls[arm])
    for arm in order[:20]:
        paid = [figure(status.pulls[arm] * costs[arm])] if costs else []
        table.add_row(o.plain(study.problem.arm_names[arm]), str(status.pulls[arm]), *paid)
    if len(order) > 20:
        table.add_row(f"and {len(order) - 20} more", str(sum(status.pulls[a] for a in order[20:])))
    return table


def _foresight_text(future: "Foresight | None") -> str:
    if future is None:
        return "foresight: not yet, there is nothing to go by"
    more = " or more" if future.high >= future.horizon else ""
    limit = "" if future.limit is None else f"; limit T_ε ln(1/δ) = {future.limit:.0f} in all"
    text = (
        f"foresight: about {future.median:.0f} more measurements "
        f"({future.low:.0f} … {future.high:.0f}{more}, {future.draws} simulated futures){limit}"
    )
    if future.left is None or future.within_budget is None:
        return text
    return (
        f"{text}; {100 * future.within_budget:.0f} % of the futures end within the "
        f"{future.left:,} that the budget still allows"
    )
