"""What the API answers is what its own document says, asked by Schemathesis."""

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")
pytest.importorskip("schemathesis", reason="Schemathesis is not installed")

from fuzzed import filled, fuzz, unverified
from services import serving

# Of each operation. benchmarks/fuzz_service.py asks more than ten thousand times.
EXAMPLES = 15


def test_every_answer_is_as_documented(tmp_path, caplog):
    with serving(f"sqlite:///{tmp_path}/studies.db", rate=1e6) as service:
        found = fuzz(service, filled(service, pending=10), EXAMPLES, 0, "fuzzing")
        assert found.failures == {}
        assert unverified(service) == {}
    assert [each.message for each in caplog.records if each.levelname == "ERROR"] == []
    assert sum(found.answers.values()) > 200
    # They came to the point.
    reached = {label for label, status in found.answers if status in (200, 201, 204)}
    verbs = ("ask", "tell", "add", "results", "fail", "verify", "export", "history", "foresight")
    assert {f"/{verb}" for verb in verbs} <= {f"/{label.rpartition('/')[2]}" for label in reached}
