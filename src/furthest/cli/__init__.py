"""The command line. One file per command; each imports its heavy parts when it runs.

Exit codes: 0 done, 1 the job failed, 2 bad input (one sentence on standard error).
"""

import io
import os
import sys
import warnings
from typing import Annotated, Any

import typer

from furthest import __version__
from furthest.cli import (
    compare,
    complexity,
    demo,
    plan,
    reproduce,
    rules,
    serve,
    simulate,
    study,
    sweep,
)
from furthest.cli import compile as beforehand
from furthest.display import one_line
from furthest.errors import FurthestError, InputError

app = typer.Typer(
    name="furthest",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("simulate")(simulate.command)
app.command("compare")(compare.command)
app.command("complexity")(complexity.command)
app.command("plan")(plan.command)
app.command("sweep")(sweep.command)
app.add_typer(study.app, name="study")
app.command("serve")(serve.command)
app.command("reproduce")(reproduce.command)
app.command("rules")(rules.command)
app.command("compile")(beforehand.command)
app.command("demo")(demo.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"furthest {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    """Find an answer within ε of the best from as few noisy measurements as possible.

    An answer is what can be chosen, an arm what can be measured. ε is how much
    worse than the best an answer may be, δ how probable a wrong one may be, σ
    the size of the noise, μ the unknown truth. All words: docs/glossary.md.
    """


# Typer carries its own copy of click from some version on; both have the same family tree.
ClickException: Any = typer.BadParameter.__mro__[2]


# Where NumPy's BLAS looks for how many threads it may have.
THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def main() -> None:
    """The entry point of the program."""
    _keep_to_one_thread()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # The names of files may hold what no encoding can print.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = typer.main.get_command(app)(prog_name="furthest", standalone_mode=False)
    except ClickException as error:
        message = error.format_message()
        # `furthest` alone prints the help and raises an empty error.
        code = _fail(message, 2) if message else 0
    except InputError as error:
        code = _fail(str(error), 2)
    except (FurthestError, OSError) as error:
        code = _fail(str(error), 1)
    except MemoryError:
        code = _fail("this needs more memory than there is", 1)
    except (typer.Abort, KeyboardInterrupt):
        code = _fail("interrupted", 1)
    sys.exit(_written() or code)


def _keep_to_one_thread() -> None:
    """NumPy's BLAS, unless the user says otherwise.

    At its import it would start a thread for every core, which takes a tenth of a second, and
    nothing here is large enough to need them. The variable is set for this process alone:
    `os.environ`, which a study's commands are given, does not have it.
    """
    if not any(name in os.environ for name in THREADS):
        os.putenv(THREADS[0], "1")


def _written() -> int:
    """Whether all that was printed has arrived: a full disk shows now, not when Python ends."""
    if sys.stdout is None:  # closed by the shell
        return 0
    try:
        sys.stdout.flush()
    except OSError as error:
        # What cannot be written would be tried again, and complained about, at the very end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _fail(f"standard output: {error.strerror or error}", 1)
    return 0


def _fail(message: str, code: int) -> int:
    _say(message)
    return code


def _say(message: str) -> None:
    print(f"furthest: {one_line(' '.join(message.split()))}", file=sys.stderr)


_show_python_warning = warnings.showwarning


def _show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **more: Any
) -> None:
    """The package's own warnings are sentences: where in the code they arose helps nobody."""
    if category.__module__.startswith("furthest."):
        _say(str(message))
    else:
        _show_python_warning(message, category, *where, **more)
