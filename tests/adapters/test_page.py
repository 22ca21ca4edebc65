"""The blocks of docs/adapters.md run, with the real packages."""

import gc
from pathlib import Path

import pytest

from test_docs import ELSEWHERE, run_python

for package in ("optuna", "sklearn", "inspect_ai"):
    reason = f"{package} is not installed: pip install --group adapters"
    pytest.importorskip(package, reason=reason)

# As in test_inspect_ai.py: they use what their own dependencies deprecate, and leave streams open.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FURTHEST_STORAGE", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    (page,) = ELSEWHERE
    run_python(page, "8000")
    printed = capsys.readouterr().out
    assert "line" in printed
    assert "long prompt" in printed
    assert printed.count("with probability at least") == 3
    gc.collect()  # here, not in the middle of another test
