"""A short run of each fuzz target; what longer ones have found is in `test_inputs`."""

import json
from pathlib import Path

import pytest

FUZZ = Path(__file__).parent.parent / "benchmarks" / "fuzz.py"
FAULTS = ("traceback", "hang", "signal", "forgery", "bad_cases")


@pytest.fixture
def fuzz(python):
    """Run so many cases of a target; the summary, and what was said of bad ones."""

    def run(target, count, *options):
        words = (target, "--count", str(count), "--jobs", "1", "--quick", "--keep", "bad")
        process = python(FUZZ, *words, *options)
        return json.loads(process.stdout), process

    return run


@pytest.mark.parametrize(("target", "count"), [("commands", 100), ("files", 60)])
def test_whatever_is_handed_in_there_is_a_sentence(fuzz, target, count):
    found, process = fuzz(target, count)
    assert found["cases"] == count
    assert {fault: found[fault] for fault in FAULTS} == dict.fromkeys(FAULTS, 0), process.stderr
    assert process.returncode == 0
    # Many get through, and many do not: both are tested.
    assert found["exit_codes"]["0"] >= count // 10
    assert found["exit_codes"]["2"] >= count // 10


def test_nothing_that_was_changed_is_verified(fuzz):
    found, process = fuzz("databases", 40)
    assert {fault: found[fault] for fault in FAULTS} == dict.fromkeys(FAULTS, 0), process.stderr
    # What is whole is verified, and most of what is not is refused.
    assert found["exit_codes"]["0"] >= 10
    assert found["exit_codes"]["1"] >= 40


def test_a_bad_case_is_found_kept_and_made_again(fuzz, tmp_path, monkeypatch):
    """With a program that is broken on purpose."""
    (tmp_path / "sitecustomize.py").write_text(
        "import furthest.cli\n"
        "def fail(message, code): raise RuntimeError('broken on purpose')\n"
        "furthest.cli._fail = fail\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    found, process = fuzz("commands", 8)
    assert process.returncode == 1
    assert found["traceback"] == found["bad_cases"] > 0
    first = next(line for line in process.stderr.splitlines() if "broken on purpose" in line)
    number = first.split("--only ")[1].split(":")[0]
    kept = json.loads((tmp_path / "bad" / f"commands-0-{number}" / "case.json").read_text())
    again, _ = fuzz("commands", 1, "--only", number)
    assert again["traceback"] == 1
    renewed = json.loads((tmp_path / "bad" / f"commands-0-{number}" / "case.json").read_text())
    assert renewed["lines"] == kept["lines"]
