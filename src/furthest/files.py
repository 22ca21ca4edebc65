"""Problem files in and out: TOML, CSV and NPZ.

TOML and NPZ hold the fields of `Problem` under their own names, and optionally `mu`:

    eps = 0.05
    arms = [[1.0, 0.0], [0.0, 1.0]]
    arm_names = ["A", "B"]

Instead of arms, `options = ["A", "B"]` are plain options, and a table of factors with their levels
(optionally `interactions = [["colour", "size"]]`) stands for all their combinations:

    [factors]
    colour = ["red", "blue"]
    size = ["S", "M", "L"]

A graph, as its edges (optionally with weights) or its matrix of weights, stands for options whose
values are smooth on it, Σ w_ab (μ_a − μ_b)² ≤ radius:

    graph = [["A", "B"], ["B", "C", 2.0]]
    radius = 0.5

CSV has one row per option and one column per feature; a `name` column, a `role` column (arm,
answer or both) and a `sigma` column, the noise of each arm, are optional. As in
`Problem.from_table`, columns of texts are categories and there is an intercept, unless it says
`# intercept = false`. Lines that start with # at its top are TOML: `# eps = 0.05`. What an arm
costs stands there, `# costs = [1, 4]`, or in the column that is named there, `# costs = "price"`;
without such a line a column of prices is a feature like any other.
"""

import csv
import io
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

from furthest.errors import FileError, InputError, ProblemError, nearest_name, pick
from furthest.instances import GENERATORS, Instance
from furthest.numerals import number
from furthest.problem import Notion, Problem, default_features
from furthest.tables import coded
from furthest.writing import write_beside

FIELDS = (
    "arms",
    "answers",
    "eps",
    "notion",
    "sigma",
    "bounds",
    "noise",
    "arm_names",
    "answer_names",
    "feature_names",
    "initial",
    "mu",
    "options",
    "factors",
    "interactions",
    "graph",
    "roughness",
    "radius",
    "costs",
)
SETTINGS = (
    *("eps", "notion", "sigma", "bounds", "noise", "initial", "roughness", "radius", "costs"),
    "mu",
)
OWN_COLUMNS = ("name", "role")
# Own columns of numbers, one for each arm, and the entry that they are.
ARM_COLUMNS = {"sigma": "sigma"}
RESERVED = {*OWN_COLUMNS, *ARM_COLUMNS}
NAMES = ("answers", "arm_names", "answer_names", "feature_names")
ROLES = {"arm": (True, False), "answer": (False, True), "both": (True, True)}

Data = dict[str, Any]


def read_instance(path: Path, given: Data | None = None) -> Instance:
    """A problem file with its μ, if it holds one; `given` settings override the file's."""
    try:
        reader, _ = pick(path.suffix.lower(), FORMATS, "file format", FileError)
        return _instance(path.name, reader(path) | (given or {}))
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a UTF-8 text") from None
    except MemoryError:
        raise FileError(f"{path}: it does not fit into memory") from None
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


def _instance(name: str, data: Data) -> Instance:
    mu = data.pop("mu", None)
    problem = problem_of(data)
    return Instance(name, problem, None if mu is None else problem.parameter(mu))


def problem_of(data: Data) -> Problem:
    """From arms, options, factors or a graph, as a TOML file has them."""
    for key in data:
        if key not in FIELDS or key == "mu":
            raise FileError(f"unknown entry {key!r}; {nearest_name(key, FIELDS)}")
    kinds: dict[str, Callable[..., Problem]] = {
        "arms": Problem,
        "options": Problem.options,
        "factors": Problem.factorial,
        "graph": Problem.spectral,
    }
    held = [kind for kind in kinds if kind in data]
    if len(held) != 1:
        found = f"both {' and '.join(held)}" if held else "no arms, options, factors or graph"
        raise FileError(f"there are {found}")
    if held != ["factors"] and "interactions" in data:
        raise FileError("interactions are of factors")
    own = [key for key in NAMES if key in data]
    if held != ["arms"] and own:
        raise FileError(f"{held[0]} have names already, {own[0]} are for arms")
    if held == ["options"]:
        data["names"] = data.pop("options")
    if held == ["graph"] and ("roughness" in data or "radius" not in data):
        raise FileError("a graph has a radius, and no other roughness than its own")
    return kinds[held[0]](**data)


def read_problem(path: str | Path) -> Problem:
    """The problem of a TOML, CSV or NPZ file.

    >>> import furthest as ft
    >>> _ = Path("glue.toml").write_text('options = ["A", "B"]' + chr(10) + "eps = 0.3")
    >>> ft.read_problem("glue.toml")
    Problem(2 arms, 2 answers, d = 2, additive ε = 0.3, σ = 1)
    """
    return read_instance(Path(path)).problem


def write_problem(problem: Problem, path: str | Path, mu: Any = None) -> None:
    """Write a TOML, CSV or NPZ file from which the same problem is read back.

    >>> import furthest as ft
    >>> ft.write_problem(ft.Problem.options(["A", "B"], eps=0.3), "glue.csv", mu=[1.0, 0.2])
    >>> ft.read_problem("glue.csv").eps
    0.3
    """
    path = Path(path)
    _, writer = pick(path.suffix.lower(), FORMATS, "file format", FileError)
    data: Data = {
        "eps": problem.eps,
        "notion": problem.notion,
        "sigma": "unknown" if problem.sigma is None else problem.sigma,
        "arms": problem.arms,
        "arm_names": problem.arm_names,
        "initial": problem.initial,
    }
    if not problem.plain_features:
        data["feature_names"] = problem.feature_names
    if problem.bounds is not None:
        data["bounds"] = problem.bounds
    if problem.noise is not None:
        data["noise"] = problem.noise
    if problem.answers is not problem.arms:
        data["answers"] = problem.answers
    if problem.answers is not problem.arms or problem.answer_names != problem.arm_names:
        data["answer_names"] = problem.answer_names
    if problem.costs is not None:
        data["costs"] = problem.costs
    if problem.roughness is not None:
        data |= {"roughness": problem.roughness, "radius": problem.radius}
    if mu is not None:
        data["mu"] = np.asarray(mu, float)
    write_beside(path, lambda draft: writer(draft, data))


def _plain(data: Data) -> Data:
    return {key: np.asarray(value).tolist() for key, value in data.items()}


def _read_toml(path: Path) -> Data:
    return parse_toml(path.read_text(encoding="utf-8"))


def parse_toml(text: str) -> Data:
    """The entries of a TOML text, or an error that says what is wrong with it."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FileError(f"not valid TOML: {error}") from None
    except ValueError:  # Python's limit on the digits of whole numbers
        raise FileError("not valid TOML: a number has too many digits") from None


def _write_toml(path: Path, data: Data) -> None:
    path.write_text(tomli_w.dumps(_plain(data)), encoding="utf-8")


def _read_npz(path: Path) -> Data:
    try:
        with path.open("rb") as file:
            return _entries(np.load(file))
    except (InputError, MemoryError, OSError):
        raise
    except Exception as error:  # noqa: BLE001  # zipfile, zlib and NumPy have many for damaged bytes
        raise FileError(f"not a NumPy archive: {error}") from None


def _entries(archive: Any) -> Data:
    """The arrays of an archive; plain data where they are no matrices."""
    if not isinstance(archive, np.lib.npyio.NpzFile):
        raise FileError("not a NumPy archive, but a single array")
    arrays = {key: archive[key] for key in archive.files}
    for key, array in arrays.items():
        if not isinstance(array, np.ndarray):
            raise FileError(f"{key!r} is not a NumPy array")
    return {key: array.tolist() if array.ndim < 2 else array for key, array in arrays.items()}


def _write_npz(path: Path, data: Data) -> None:
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **data)


def _read_csv(path: Path) -> Data:
    text = path.read_text(encoding="utf-8-sig")
    comments = []
    while text.startswith("#"):
        line, _, text = text.partition("\n")
        comments.append(line.lstrip("#").strip())
    data = parse_toml("\n".join(comments))
    rows, header = _read_rows(text)
    names = [row.get("name") or f"row {i}" for i, row in enumerate(rows, 1)]
    roles = [pick(row.get("role") or "both", ROLES, "role", FileError) for row in rows]
    arms, answers = ([i for i, role in enumerate(roles) if role[part]] for part in (0, 1))
    if not arms:
        raise FileError("there are no arms: every row has the role 'answer'")
    intercept = data.pop("intercept", True)
    if not isinstance(intercept, bool):
        raise FileError(f"intercept must be true or false, not {intercept!r}")
    priced = _price_column(data, header)
    kept = [key for key in header if key not in RESERVED and key != priced]
    try:
        vectors, features = coded(
            {key: [_cell(row[key]) for row in rows] for key in kept},
            [f"row {i}" for i in range(1, len(rows) + 1)],
            arms,
            intercept=intercept,
        )
    except ProblemError as error:
        raise FileError(str(error)) from None
    data = {"feature_names": features} | data | {"arms": vectors[arms]}
    data["arm_names"] = [names[i] for i in arms]
    for column, entry in ARM_COLUMNS.items():
        if column in header:
            if entry in data:
                raise FileError(f"{entry} is given at the top and as the column {column!r}")
            data[entry] = [_arm_number(rows[i], i + 1, column) for i in arms]
    if priced is not None:
        data["costs"] = [_arm_number(rows[i], i + 1, priced) for i in arms]
    if arms != answers:
        data |= {"answers": vectors[answers], "answer_names": [names[i] for i in answers]}
    return data


def _price_column(data: Data, header: list[str]) -> str | None:
    """The column of costs, if the top of the file names one."""
    column = data.get("costs")
    if not isinstance(column, str):
        return None
    if column in RESERVED:
        raise FileError(f"the column {column!r} has a meaning of its own: it is no cost")
    return pick(column, {each: each for each in header}, "column", FileError)


def _read_rows(text: str) -> tuple[list[Data], list[str]]:
    """The rows by column, and the columns."""
    table = csv.DictReader(io.StringIO(text, newline=""))
    try:
        rows, header = list(table), list(table.fieldnames or [])
    except csv.Error as error:
        raise FileError(f"not a table: {error}") from None
    if not rows:
        raise FileError("there are no rows")
    for column in header:
        if header.count(column) > 1:
            raise FileError(f"there are two columns {column!r}")
    for line, row in enumerate(rows, 1):
        if None in row:
            raise FileError(f"row {line} has more cells than there are columns")
    return rows, header


def _arm_number(row: Data, line: int, column: str) -> float:
    """What an arm has in a column of its own."""
    try:
        return number(row[column] or "")
    except ValueError:
        raise FileError(
            f"row {line}, column {column!r}: every arm has a number there, not {row[column]!r}"
        ) from None


def _cell(text: str | None) -> float | str:
    """A number, a text, or NaN for nothing."""
    try:
        return number(text or "nan")
    except ValueError:
        return str(text)


def _write_csv(path: Path, data: Data) -> None:
    out = io.StringIO()
    out.write("# intercept = false\n")
    features = data.get("feature_names", default_features(data["arms"].shape[1]))
    own = {key: entry for key, entry in ARM_COLUMNS.items() if np.ndim(data.get(entry, 0)) == 1}
    settings = [*SETTINGS, *(() if "answers" in data else ("answer_names",))]
    settings = [key for key in settings if key not in own.values()]
    if set(features) & RESERVED:
        settings.append("feature_names")
        features = default_features(len(features))
    for key in settings:
        if key in data:
            # In TOML a line break within a name is escaped, so each entry fits on one line.
            entry = tomli_w.dumps(_plain({key: data[key]}))
            out.write("# " + " ".join(entry.split("\n")).rstrip() + "\n")
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*OWN_COLUMNS, *own, *features])
    roles = {"arm": "arm", "answer": "answer"} if "answers" in data else {"both": "arm"}
    for role, key in roles.items():
        vectors = data[f"{key}s"].tolist()
        for i, (name, vector) in enumerate(zip(data[f"{key}_names"], vectors, strict=True)):
            numbers = [data[entry][i] if key == "arm" else "" for entry in own.values()]
            table.writerow([name, role, *numbers, *vector])
    path.write_text(out.getvalue(), encoding="utf-8", newline="")


FORMATS: dict[str, tuple[Callable[[Path], Data], Callable[[Path, Data], None]]] = {
    ".toml": (_read_toml, _write_toml),
    ".csv": (_read_csv, _write_csv),
    ".npz": (_read_npz, _write_npz),
}


def find_instance(
    text: str,
    *,
    eps: float | None = None,
    notion: Notion | None = None,
    sigma: float | Sequence[float] | str | None = None,
    mu: list[float] | None = None,
) -> Instance:
    """The instance that INSTANCE on a command line means: a generator or a problem file."""
    question = {"eps": eps, "notion": notion, "sigma": sigma}
    given = {name: value for name, value in question.items() if value is not None}
    name, _, parameters = text.partition(":")
    if name in GENERATORS:
        instance = _generate(name, parameters, given)
    elif Path(text).is_file():
        instance = read_instance(Path(text), given)
    else:
        raise InputError(
            f"{text!r} is neither a file nor a known instance; {nearest_name(name, GENERATORS)}"
        )
    if mu is not None:
        instance = Instance(instance.name, instance.problem, np.asarray(mu, float))
    return instance


def _generate(name: str, parameters: str, given: Data) -> Instance:
    """`random:d=6,seed=3` → random(d=6, seed=3)."""
    generator = GENERATORS[name]
    kinds = {k: type(v) for k, v in (generator.__kwdefaults__ or {}).items()}
    options: Data = {}
    for part in filter(None, parameters.split(",")):
        key, _, value = part.partition("=")
        kind = pick(key, kinds, f"parameter of {name}", InputError)
        try:
            options[key] = kind(value)
        except ValueError:
            raise InputError(f"{name}: {key} must be a {kind.__name__}, not {value!r}") from None
    return generator(**given, **options)
