"""Command lines: mostly right, with one or two parts that are not."""

import json
import random
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import typer
from benchmarks.fuzzing import pools
from benchmarks.fuzzing.prepared import prepare
from benchmarks.fuzzing.runner import Case, Line

from furthest.cli import app

# What compiled code there is for: sampling rule, stopping rule, threshold. More would be compiled
# along the way.
STRATEGIES = [
    *(("lebai", None, None), ("uniform", None, None), ("lebai", None, "paper")),
    *(("uniform", None, "paper"), ("lebai", "glr", "mixture"), ("lebai", "glr", "theory")),
    *(("lebai", "top-wrong", None), ("lingape", "gap", None), ("fixed", None, None)),
    *(("lingame", None, None), ("xy-adaptive", "elimination", None), ("eps-tas", None, None)),
]
QUICK = STRATEGIES[:2]

# Options without which a line would compute for minutes.
SMALL = {"runs": ("1", "2", "3"), "max_rounds": ("1", "20", "300"), "limit": ("1", "2")}

# Commands by how often they are called: a service does not end. New ones as often as most.
WEIGHTS = {
    "serve": 0.0,
    "demo": 0.1,
    "reproduce": 0.5,
    "rules": 0.2,
    "study show": 2.0,
    "study list": 0.5,
}

# The instances, each with its dimension.
INSTANCES = {
    "hard": 2,
    "hard:d=3": 3,
    "random:d=2,arms=4,seed=3": 2,
    "circle:seed=1": 2,
    "two.toml": 2,
    "table.csv": 3,
    "hard.npz": 2,
    "unknown.toml": 3,
    "markup.toml": 3,
    "bounds.toml": 2,
    "factors.toml": 6,
    "answers.toml": 2,
    "wide.toml": 4,
    "exact.toml": 2,
    "given.csv": 2,
    "dollar.toml": 3,
}
VALID: dict[str, tuple[str, ...]] = {
    "eps": ("0.1", "0.5", "0.3"),
    "delta": ("0.1", "0.01", "0.2"),
    "notion": ("additive", "multiplicative"),
    "sigma": ("1", "0.5", "unknown"),
    "noise": ("1", "0.5"),
    "candidate": ("instantaneous-furthest", "greedy"),
    "schedule": ("every", "sticky:constant", "lazy:geometric,start=5,ratio=0.5", "lazy:bernoulli"),
    "tracking": ("C", "D"),
    "option": ("weights=0.5,0.5", "weights=0.2,0.3,0.5"),
    "stopping_option": ("mass=1", "scale=1"),
    "seed": ("0", "1", "7"),
    "jobs": ("1", "1", "1", "2"),
    "gap": ("1e-8", "0.1"),
    "spread": ("0.5", "1"),
    "out": ("x.csv", "x.json", "x.png", "deep/er/x.csv", "x.html", "x.parquet"),
    "plot": ("x.png", "x.svg"),
    "entries": ("table-1", "figure-1", "all", "proven", "asymptotics"),
    "storage": ("sqlite:///studies.db",),
    "n": ("1", "2", "5"),
    "worker": ("anna", "lab:2"),
    "value": ("0.5", "-1.25", "1"),
    "table": ("results.csv",),
    "reason": ("spilled",),
    "id": ("mine", "before"),
    "measured_at": ("1700000000",),
    "certificate": ("certificate.json", "archive.json", "signed.json"),
    "sign": ("lab",),
    "key": ("lab.pub", "lab.pub", "lab"),
    "new": ("fresh", "other"),
    "command": ("echo 1", "echo {arm}", "true"),
    "retries": ("0", "1"),
    "timeout": ("5", "0.5"),
    "lease": ("60", "1e6"),
    "order": ("asked", "told"),
}
NASTY: dict[str, list[str]] = {
    "instance": pools.INSTANCES + pools.PATHS,
    "storage": pools.STORAGES,
    "command": pools.COMMANDS,
    "entries": pools.TEXTS,
    "option": [f"{k}={v}" for k in ("weights", "a", "") for v in pools.NUMBERS] + pools.TEXTS,
    "stopping_option": [f"{k}={v}" for k in ("mass", "scale", "") for v in pools.NUMBERS],
    "mu": [*(f"{number},0" for number in pools.NUMBERS), ",", "1", "1,0,0,0,0"],
    "sampling": ["all", "lebai,lebai", ",", "os:path", "os.path:join", "a:b", ":", *pools.TEXTS],
    "stopping": ["os:path", "os.path:join", "a:b", ":", "elimination", "gap", *pools.TEXTS],
    "schedule": [
        *(f"lazy:geometric,start={n},ratio={n}" for n in pools.NUMBERS),
        *(f"sticky:bernoulli,p={n}" for n in pools.NUMBERS),
        *(
            "lazy",
            "sticky:",
            "every:",
            "lazy:,",
            "lazy:constant,start",
            "lazy:constant,start=1,start=2",
        ),
        *pools.TEXTS,
    ],
}
# How often an optional part is there, and a part is spoiled, where not as often as all others.
THERE = {"notion": 0.08, "sigma": 0.08, "option": 0.05, "stopping_option": 0.08, "yes": 0.8}
THERE |= {"table": 0.1, "draw": 1.0, "jobs": 0.08, "plot": 0.15}
SPOILED = {"name": 0.3, "instance": 0.6, "trial": 0.5}

# Where a large number means a lot of work and nothing else.
COUNTS = {"runs", "max_rounds", "n", "jobs", "timeout"}
FEW = [
    number
    for number in pools.NUMBERS
    if not number.isascii() or not number.isdecimal() or len(number) < 2 or len(number) > 18
]
# And where it is taken at its word, however large.
ENDLESS = {"limit", "retries"}
SMALL_NUMBERS = [number for number in FEW if len(number) < 9]
FEW += [number for number in pools.INTEGERS if len(number) < 2 or len(number) > 18] * 3


class Commands:
    """Any command with any options."""

    def __init__(self, template: Path, *, quick: bool = False) -> None:
        self._template = template
        self._strategies = QUICK if quick else STRATEGIES
        prepare(template)
        self._studies: dict[str, Any] = json.loads((template / "studies.json").read_text())

    def make(self, rng: random.Random, folder: Path) -> Case:
        """One line, in a copy of all files."""
        shutil.copytree(self._template, folder, dirs_exist_ok=True, symlinks=True)
        commands = all_commands()
        weights = [WEIGHTS.get(" ".join(path), 1.0) for path in commands]
        path = rng.choices(list(commands), weights)[0]
        bad = rng.choices((0, 1, 2, 3), (2, 5, 2.5, 0.5))[0]
        words = [*path, *self._arguments(commands[path], rng, bad)]
        for _ in range(rng.choices((0, 1, 2), (9, 0.8, 0.2))[0]):
            words = _broken(words, rng)
        if "reproduce" in words:
            words.append("--draw")
        environment = {"FURTHEST_STORAGE": "sqlite:///studies.db"}
        if rng.random() < 0.03:
            environment["COLUMNS"] = rng.choice(("1", "0", "7", "-3", "x", "99999"))
        full = rng.random() < 0.02
        return Case([Line(words, environment, full=full, raw="export" in words)])

    def _arguments(self, command: Any, rng: random.Random, bad: int) -> list[str]:
        context = self._context(command, rng)
        chosen = [each for each in command.params if _is_there(each, context, rng)]
        spoiled = {self._spoiled(chosen, rng) for _ in range(bad)}
        words: list[str] = []
        for parameter in chosen:
            value = self._value(parameter, context, rng, parameter.name in spoiled)
            if parameter.param_type_name == "argument":
                words.append(value)
            elif parameter.is_flag:
                words.append(rng.choice([*parameter.opts, *parameter.secondary_opts]))
            else:
                name = rng.choice(parameter.opts)
                words += [f"{name}={value}"] if rng.random() < 0.2 else [name, value]
        return words

    def _context(self, command: Any, rng: random.Random) -> dict[str, str]:
        """Values that go together: a study with its trials and arms, an instance with its μ."""
        words = ("sampling", "stopping", "threshold")
        strategy = zip(words, rng.choice(self._strategies), strict=True)
        context = {key: word for key, word in strategy if word}
        name = rng.choice(list(self._studies))
        study = self._studies[name]
        context |= {key: rng.choice(study[key]) for key in ("trial", "arm") if study[key]}
        if command.name == "create":
            name = rng.choice(("fresh", "neu", name))
        elif command.name == "verify" and rng.random() < 0.3:
            name = rng.choice(("archive.json", "running.json", "signed.json"))
        instance = rng.choice(list(INSTANCES))
        mu = [str(rng.choice((0, 1, 0.5, -0.25))) for _ in range(INSTANCES[instance])]
        weights = ",".join(["0.5"] * INSTANCES[instance])
        context |= {"name": name, "instance": instance, "mu": ",".join(["1", *mu[1:]])}
        return context | {"option": f"weights={weights}"}

    @staticmethod
    def _spoiled(chosen: list[Any], rng: random.Random) -> str | None:
        names: list[str | None] = [None, *(parameter.name for parameter in chosen)]
        weights = [0.4, *(SPOILED.get(parameter.name, 1.0) for parameter in chosen)]
        return rng.choices(names, weights)[0]

    @staticmethod
    def _value(parameter: Any, context: dict[str, str], rng: random.Random, spoiled: bool) -> str:
        name = parameter.name
        if spoiled:
            return rng.choice(_nasty(name, _kind(parameter)))
        if name in context:
            return context[name]
        return rng.choice((VALID | SMALL).get(name, ("1", "a", "0.5")))


def _is_there(parameter: Any, context: dict[str, str], rng: random.Random) -> bool:
    """Whether a command line has a part."""
    name = parameter.name
    if parameter.param_type_name == "argument" or parameter.required or name in SMALL:
        return True
    if name in ("sampling", "stopping", "threshold"):
        return name in context
    if name == "option" and context["sampling"] == "fixed":
        return True
    # Files that do not say their μ need one.
    usual = 0.8 if name == "mu" and context["instance"] in ("table.csv", "hard:d=3") else 0.2
    return rng.random() < THERE.get(name, usual)


def _kind(parameter: Any) -> str:
    """The type of a parameter; Typer's own click says it elsewhere than the one before."""
    own = getattr(parameter, "type", None) or parameter.type_descriptor.annotation
    return str(own).lower()


def _nasty(name: str, kind: str) -> list[str]:
    """What may stand for a parameter and should not."""
    if name in COUNTS:
        return FEW
    if name in ENDLESS:
        return SMALL_NUMBERS
    if name in NASTY:
        return NASTY[name]
    if "int" in kind:
        return pools.INTEGERS
    if "float" in kind or name == "value":
        return pools.NUMBERS
    return pools.PATHS if "path" in kind else pools.TEXTS


def _broken(words: list[str], rng: random.Random) -> list[str]:
    """A word too few, too many, twice, or elsewhere."""
    words = list(words)
    place = rng.randrange(len(words))
    match rng.randrange(5):
        case 0:
            del words[place]
        case 1:
            words.insert(place, words[place])
        case 2:
            words.insert(place, rng.choice(pools.TEXTS + pools.NUMBERS))
        case 3:
            words.insert(
                place, rng.choice(("--json", "--help", "--nonsense", "-n", "--", "--runs=2"))
            )
        case _:
            other = rng.randrange(len(words))
            words[place], words[other] = words[other], words[place]
    return words


@cache
def all_commands() -> dict[tuple[str, ...], Any]:
    """Every command of the program by its words, as the program itself knows them."""

    def below(command: Any, path: tuple[str, ...]) -> dict[tuple[str, ...], Any]:
        own = getattr(command, "commands", None)
        if own is None:
            return {path: command}
        found: dict[tuple[str, ...], Any] = {}
        for name, child in own.items():
            found |= below(child, (*path, name))
        return found

    return below(typer.main.get_command(app), ())
