"""Build a wheel that carries the machine code of all kernels: `make wheel`.

    python scripts/wheel.py [RULE …] [--out dist] [--only LEVEL]

The kernels of every sampling rule (or of some) with every stopping test are compiled for each level
of processors of this architecture (`kernels/shipped.py`), for this Python and this Numba. The wheel
is tagged for Python and platform; where Numba is another one, or the processor less able, its
kernels are compiled as usual.
"""

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from furthest.kernels import shipped

ROOT = Path(__file__).resolve().parent.parent


def compile_for(level: str, rules: list[str], source: Path, cache: Path) -> None:
    """The machine code of one level, into the package at `source`."""
    environment = os.environ | {
        "PYTHONPATH": str(source),
        "NUMBA_CACHE_DIR": str(cache),
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": "",
        shipped.BUILDING: level,
    }
    jobs = str(os.cpu_count() or 1)
    command = [sys.executable, "-m", "furthest", "compile", "--jobs", jobs, *(rules or ["--all"])]
    subprocess.run(command, env=environment, check=True)


def tagged(wheel: Path, out: Path) -> Path:
    """The wheel of pure Python as one of this Python and platform."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    where = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    tags = ["--python-tag", python, "--abi-tag", python, "--platform-tag", where, "--remove"]
    done = subprocess.run(
        [sys.executable, "-m", "wheel", "tags", *tags, str(wheel)],
        check=True,
        capture_output=True,
        text=True,
    )
    out.mkdir(parents=True, exist_ok=True)
    name = done.stdout.strip().splitlines()[-1]
    return Path(shutil.move(wheel.parent / name, out / name))


def main() -> None:
    """Compile, build, tag."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", choices=list(shipped.levels()))
    arguments = parser.parse_args()
    if find_spec("wheel") is None:  # before minutes are spent
        raise SystemExit("the package `wheel` is missing: `make wheel` installs it")
    with TemporaryDirectory() as folder:
        project = Path(folder, "project")
        nothing = shutil.ignore_patterns(".*", "__pycache__", "out", "dist", "build")
        shutil.copytree(ROOT, project, ignore=nothing)
        for level in [arguments.only] if arguments.only else shipped.levels():
            print(f"machine code for {level} ...", flush=True)
            compile_for(level, arguments.rules, project / "src", Path(folder, level))
        subprocess.run(
            [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", str(project)],
            cwd=folder,
            check=True,
        )
        [wheel] = Path(folder).glob("*.whl")
        made = tagged(wheel, arguments.out)
    print(f"{made} ({made.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
