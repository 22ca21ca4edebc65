"""kill −9 at any moment: nothing acknowledged is lost or doubled, nothing is to be repaired."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import furthest as ft
from furthest.study.certificate import verify
from study.storm import HARMS

STORM = Path(__file__).parent / "storm.py"


def storm(kind, url, folder, kills):
    done = subprocess.run(
        [sys.executable, STORM, kind, url, folder, str(kills), "4"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def check(kind, url, folder, kills):
    found = storm(kind, url, folder, kills)
    assert found["acknowledged"] > kills
    assert found["results"] >= found["acknowledged"]
    assert not any(found[harm] for harm in HARMS), found
    study = ft.Study.load("storm", url)
    again = [verify("storm", study.events()) for _ in range(2)]
    assert again[0] == again[1]
    assert again[0].measurements == found["results"]
    # What the dead were asked is not waited for once its lease is over.
    time.sleep(1.1)
    assert study.pending() == []
    trial = study.ask()
    study.tell(trial.id, 0.5)
    assert study.status().measurements == found["results"] + 1
    study.close()
    return found


def test_a_few_kills(url, tmp_path):
    check("workers", url, tmp_path, 25)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="orphans are sought in /proc")
def test_a_few_kills_of_runners(url, tmp_path):
    """No command outlives its runner, nor any child of a command."""
    assert check("runners", url, tmp_path, 25)["caught"] > 0


@pytest.mark.slow
def test_a_storm_of_kills(url, tmp_path):
    check("workers", url, tmp_path, 250)
