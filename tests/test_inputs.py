"""What people, files and shells may hand in: one sentence on standard error, never a traceback."""

import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from furthest.cli import main
from furthest.numerals import number

TWO = 'eps = 0.5\noptions = ["A", "B"]\n'
FILES = {
    "two.toml": TWO,
    "digits.toml": f"eps = 0.5\narms = [[{'9' * 400}, 0], [0, 1]]\n",
    "sigma.toml": f"{TWO}sigma = {'9' * 400}\n",
    "huge.toml": f"{TWO}bounds = [-1e308, 1e308]\n",
    "thin.toml": f"{TWO}bounds = [0, 5e-324]\n",
    "deep.toml": f"eps = 0.5\narms = {'[' * 3000}1{']' * 3000}\n",
    "named.toml": f'{TWO}arm_names = ["a", "b"]\n',
    "crossed.toml": f'{TWO}interactions = [["A", "B"]]\n',
    "three.toml": "eps = 0.5\ninteractions = 3\n[factors]\na = [1, 2]\nb = [1, 2]\n",
    "flat.toml": "eps = 0.5\ninteractions = [3]\n[factors]\na = [1, 2]\nb = [1, 2]\n",
    "many.toml": "eps = 0.5\n[factors]\n"
    + "".join(f"f{i} = {list(range(12))}\n" for i in range(8)),
    "wide.csv": f'name,x,y\n"{"a" * 200_000}",1,2\nb,2,3\n',
    "mu.toml": f"{TWO}mu = [{'9' * 400}, 0]\n",
    "far.toml": "eps = 0.5\narms = [[1, 0], [0, 1]]\nanswers = [[-1e308, 1], [0, 1]]\n",
    "endless.toml": f"eps = 0.5\noptions = {[str(i) for i in range(10_001)]}\n",
    "dollar.toml": 'eps = 0.5\noptions = ["$\\\\frac$", "名 $x^$"]\nmu = [1, 0]\n',
    "deep.json": f'{{"log": {"[" * 100_000}{"]" * 100_000}}}',
    "claim.json": '{"name": "s", "log": [], "certificate": "trust me"}',
    "exact.toml": "eps = 0\noptions = ['A', 'B']\n",
    "nothing.toml": "eps = nan\noptions = ['A', 'B']\n",
    "unknown.toml": f"{TWO}sigma = 'unknown'\n",
}
ARRAYS = {
    "notion.npz": {"arms": np.eye(2), "notion": np.array([["a", "b"], ["c", "d"]])},
    "complex.npz": {"arms": np.eye(2) * 1j},
    "times.npz": {"arms": np.eye(2), "mu": np.array(["2020", "2021"], "datetime64[Y]")},
    "flat.npz": {"options": np.array("A")},
}
LINES = {
    "study run s --exec '": "No closing quotation",
    "study add s ² 1": "unknown arm",
    "study add s A 1_0": "must be a number",
    "study add s A ١٢": "must be a number",
    "study ask s --worker \udcff": "a worker must be a text",
    "study create t two.toml --lease inf": "lease",
    "study create t two.toml --delta 1e-320": "beyond double precision",
    "study create t two.toml --sigma 1e-170": "another unit",
    "study create t two.toml --sigma 1e160": "another unit",
    "compare hard --runs 1 --plot x.xyz": "must end in .png",
    "complexity random:d=1,arms=2 --plot x.png": "two dimensions",
    "complexity hard:d=9999999999": "do not fit into memory",
    "complexity random:d=100000,arms=100000": "do not fit into memory",
    "plan hard --budget 9 --max-rounds 5": "leave out --max-rounds",
    "plan hard --jobs 2 --dask tcp://127.0.0.1:1": "take one of them",
    "complexity digits.toml --mu 1,0": "rows of numbers",
    "complexity sigma.toml --mu 1,0": "too many digits",
    "complexity huge.toml --mu 1,0": "another unit",
    "complexity thin.toml --mu 1,0": "another unit",
    "complexity deep.toml --mu 1,0": "not valid TOML",
    "complexity named.toml --mu 1,0": "have names already",
    "complexity crossed.toml --mu 1,0": "interactions are of factors",
    "complexity three.toml --mu 1,0": "must be a list of groups",
    "complexity flat.toml --mu 1,0": "two or more factors",
    "complexity many.toml --mu 1,0": "429,981,696 combinations",
    "complexity wide.csv --mu 1,0": "not a table",
    "complexity mu.toml": "μ must be a list of numbers",
    "complexity two.toml --mu 1e308,1e308": "another unit",
    "complexity far.toml --mu 1,0": "far.toml: answer 'answer 0' is more than 1e+100 times",
    "complexity endless.toml": "10,001 options do not fit into memory",
    "complexity nothing.toml --mu 1,0": "nothing.toml: ε must be finite",
    "study create t nothing.toml": "nothing.toml: ε must be finite",
    "complexity notion.npz": "notion.npz: unknown notion",
    "complexity complex.npz": "rows of numbers",
    "complexity times.npz": "μ must be a list of numbers",
    "complexity flat.npz": "options must be a list of names",
    "complexity stray.npz": "'mu' is not a NumPy array",
    "complexity two.toml --mu 1,0 --delta 1e400": "δ must be between 0 and 1",
    "complexity two.toml --mu 1,0 --delta 0": "δ must be between 0 and 1",
    "complexity hard:r=inf": "r must be a number below",
    "complexity random:r=1e300": "r must be a number below",
    "demo --runs 1 --out x.csv": "must end in .png",
    f"simulate hard --runs {10**30}": "less than or equal to 1000000000",
    f"simulate hard --max-rounds {10**30}": "less than or equal to 1000000000000000",
    "study verify deep.json": "deep.json: not JSON",
    "study verify claim.json": "claim.json: its certificate is none",
    "study list --storage postgresql://\udcff/x": "is not a text",
    "study list --storage sqlite:////": "needs a file",
    "complexity exact.toml --mu 0,0 --plot x.png": "there is no picture of this",
    "complexity exact.toml --mu 1e-170,0 --plot x.png": "there is no picture of this",
    "complexity two.toml --mu 1e90,0 --plot x.png": "there is no picture of this",
    "study new-key .": "is no name for a file",
    "study new-key ": "is no name for a file",
    "complexity unknown.toml --mu 1,0 --noise 5e-324": "neither below 1e-100",
}
# These go well, whatever the names in them.
NAMES = {
    "study export s --out \udcff.csv": r"wrote \udcff.csv",
    "study export s --out [/b]\x1b.csv": r"wrote [/b]\x1b.csv",
    "study new-key [b]\x1b": r"wrote [b]\x1b, to be kept secret, and [b]\x1b.pub",
    "complexity hard --plot [/b].png": "Figure: [/b].png",
    "complexity two.toml --mu 0,0 --plot x.png": "Figure: x.png",
    "complexity dollar.toml --plot x\x1b.png": r"Figure: x\x1b.png",
    "compare dollar.toml --sampling uniform --runs 1 --plot $x$\udcff.png": r"$x$\udcff.png",
}


@pytest.fixture
def say(tmp_path, monkeypatch, capfd):
    """Run a command line in a folder with all these files; its code and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FURTHEST_STORAGE", "sqlite:///f.db")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    for name, arrays in ARRAYS.items():
        np.savez(tmp_path / name, eps=0.5, **arrays)
    np.savez(tmp_path / "stray.npz", eps=0.5, arms=np.eye(2))
    with zipfile.ZipFile(tmp_path / "stray.npz", "a") as archive:
        archive.writestr("mu.npy", b"no array")

    def call(line, part="err"):
        monkeypatch.setattr(sys, "argv", ["furthest", *line.split(" ")])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, getattr(capfd.readouterr(), part)

    return call


@pytest.mark.parametrize("line", LINES)
def test_it_is_refused_in_one_sentence(line, say):
    if line.startswith("study") and " s " in line:
        say("study create s two.toml --delta 0.1")
    code, said = say(line)
    assert code == 2, said
    assert LINES[line] in said
    assert said.startswith("furthest: ")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("line", NAMES)
def test_names_of_files_and_options_are_shown_as_they_are(line, say):
    say("study create s two.toml --delta 0.1")
    code, said = say(line, "out")
    assert not code
    assert NAMES[line] in said
    assert all(character.isprintable() for character in said.replace("\n", ""))


def test_numbers_are_those_that_people_write():
    for text in ("1", "-2.5", "1e-3", " 7 ", "+.5", "inf"):
        assert number(text) == float(text)
    for text in ("1_0", "١٢", "²", "", "x", "0x10"):
        with pytest.raises(ValueError, match=r"number|convert"):
            number(text)
    assert np.isnan(number("nan"))


def test_too_little_memory_is_one_sentence(say, monkeypatch):
    def find_instance(*_, **__):
        raise MemoryError

    monkeypatch.setattr("furthest.files.find_instance", find_instance)
    assert say("complexity hard") == (1, "furthest: this needs more memory than there is\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device is always full here")
@pytest.mark.parametrize("words", [["--version"], ["rules", "--json"]])
def test_a_full_disk_is_one_sentence(words):
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "furthest", *words]
        process = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert process.returncode == 1
    assert process.stderr.startswith("furthest: ")
    assert "No space left" in process.stderr
    assert len(process.stderr.splitlines()) == 1


def test_the_folder_of_a_result_is_made_before_anything_is_simulated(say, tmp_path):
    code, _ = say("simulate two.toml --mu 1,0 --runs 1 --out new/deep/x.csv")
    assert not code
    assert (tmp_path / "new/deep/x.csv").exists()
    (tmp_path / "file").write_text("")
    code, said = say("simulate two.toml --mu 1,0 --runs 1000000000 --out file/x.csv")
    assert code == 1
    assert "file" in said
