"""Candidates compared by a real `inspect_ai.eval`, with its mock model and no network."""

import gc

import pytest

from furthest.study.certificate import verify

pytest.importorskip("inspect_ai", reason="Inspect is not installed: pip install --group adapters")

from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, match, mean, scorer

from furthest.adapters.inspect_ai import compare

# Inspect uses what its own dependencies deprecate, and leaves streams open, of which the collector
# speaks.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUESTIONS = [Sample(input=f"question {i}", target="yes", id=i) for i in range(20)]


class Knows:
    """A model that answers the first so many of twenty questions, and counts what it was asked."""

    def __init__(self, known, breaks_at=None):
        self.known = known
        self.asked = []
        self._breaks_at = breaks_at

    def __call__(self, messages, tools, tool_choice, config):
        if len(self.asked) == self._breaks_at:
            raise OSError("the model is gone")
        number = int(messages[-1].text.split()[1])
        self.asked.append(number)
        output = ModelOutput.from_content("mockllm", "yes" if number < self.known else "no")
        output.usage = ModelUsage()  # else Inspect counts tokens, with a table from the network
        return output

    def task(self, **more):
        model = get_model("mockllm/model", custom_outputs=self, memoize=False)
        return Task(dataset=QUESTIONS, scorer=match(), model=model, **more)


@pytest.fixture(autouse=True)
def _collected():
    yield
    gc.collect()  # here, not in the middle of another test


@pytest.fixture
def options(tmp_path):
    return {
        "storage": f"sqlite:///{tmp_path}/adapters.db",
        "log_dir": str(tmp_path / "logs"),
        "display": "none",
        "ctl_server": False,
        "log_level": "critical",
    }


def test_it_stops_as_soon_as_the_answer_is_certified(options):
    models = {"best": Knows(18), "middle": Knows(11), "worst": Knows(4)}
    tasks = {name: model.task() for name, model in models.items()}
    found = compare(tasks, eps=0.1, delta=0.01, most=400, seed=1, noise="bernoulli", **options)
    assert found.name == "best"
    assert found.certificate.proven
    # What was run is what the study has asked for, and little more than what it needed.
    results = found.study.history()
    asked = sum(len(model.asked) for model in models.values())
    assert asked == len(results)
    assert len(models["worst"].asked) < len(models["best"].asked)
    assert asked - found.certificate.measurements < 60  # what was running when it stopped
    for name, model in models.items():
        right = [float(number < model.known) for number in model.asked]
        assert sorted(right) == sorted(each.value for each in results if each.name == name)
        # Draws with replacement, in an order of their own.
        assert len(model.asked) > len(set(model.asked))
        log = found.logs[name]
        assert log.status == "success"
        stopping = log.results.early_stopping
        assert stopping.manager == "furthest"
        assert len(stopping.early_stops) == 400 - len(model.asked)
        assert "the answer is 'best'" in stopping.early_stops[-1].reason
    assert models["best"].asked[:9] != models["middle"].asked[:9]
    assert all(task.early_stopping is None for task in tasks.values())
    assert len(tasks["best"].dataset) == len(QUESTIONS)
    events = found.study.events()
    assert verify("candidates", events, found.certificate.to_dict()).certificate


def test_used_up_draws_leave_it_open_and_it_goes_on(options):
    models = {"best": Knows(18), "worst": Knows(4)}
    tasks = {name: model.task() for name, model in models.items()}
    found = compare(tasks, eps=0.05, most=8, seed=2, max_samples=3, **options)
    assert (found.name, found.certificate) == (None, None)
    assert max(len(model.asked) for model in models.values()) == 8
    first = [list(model.asked) for model in models.values()]
    again = compare(tasks, eps=0.05, most=100, seed=2, **options)
    assert again.name == "best"
    assert len(again.study.history()) == sum(len(model.asked) for model in models.values())
    for old, model in zip(first, models.values(), strict=True):
        assert model.asked[len(old) : 2 * len(old)] != old


def test_a_candidate_whose_task_breaks_ends_it_for_all(options):
    """Nobody waits for ever for samples that will not come."""
    tasks = {"good": Knows(18).task(), "broken": Knows(9, breaks_at=6).task()}
    found = compare(tasks, eps=0.05, most=300, seed=3, **options)
    assert (found.name, found.certificate) == (None, None)
    assert found.logs["broken"].status == "error"
    assert found.logs["good"].status == "success"
    reasons = {failure.reason for failure in found.study.failures()}
    assert "ended without a score" in reasons
    assert not found.study.pending()


def test_a_sample_that_ends_with_an_error_has_failed(options):
    broken = Knows(4, breaks_at=2)
    tasks = {"good": Knows(18).task(), "broken": broken.task()}
    found = compare(tasks, eps=0.2, most=40, seed=4, fail_on_error=False, **options)
    # From its third call on it always fails; the others' results are kept.
    assert sum(each.name == "broken" for each in found.study.history()) == 2
    failures = found.study.failures()
    assert {(each.name, each.reason) for each in failures} == {("broken", "ended without a score")}
    assert not found.study.pending()


def test_scores_that_cannot_count(options):
    @scorer(metrics=[mean()])
    def grades():
        async def score(state, target):
            return Score(value=7)

        return score

    task = Knows(18).task()
    task.scorer = [grades()]
    found = compare({"a": task, "b": Knows(4).task()}, eps=0.1, most=20, name="grades", **options)
    assert found.logs["a"].status == "error"
    assert "outside" in found.logs["a"].error.message
    two = Knows(18).task()
    two.scorer = [match(), match(location="begin")]
    found = compare({"a": two, "b": Knows(4).task()}, eps=0.1, most=20, name="two", **options)
    assert "say which one counts" in found.logs["a"].error.message


def test_conversations_run_one_by_one_and_so_cannot_be_compared(options):
    tasks = {"a": Knows(18).task(), "b": Knows(4).task()}
    shown = options | {"display": "conversation"}
    found = compare(tasks, eps=0.1, most=20, **shown)
    assert "display='conversation'" in found.logs["a"].error.message
