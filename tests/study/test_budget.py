"""A study with a budget: what is handed out, how it ends, what is proven, how it goes on."""

import json
import math
import sys

import numpy as np
import pytest

import furthest as ft
from furthest.errors import (
    BudgetError,
    ChangeError,
    InconclusiveError,
    InputError,
    StoppedError,
    StudyError,
    VerificationError,
)
from furthest.study import archive, documents, page
from furthest.study.certificate import verify
from furthest.study.events import EXTENDED, SPENT, Event
from furthest.study.ledger import Ledger
from furthest.study.runner import Runner
from study.problems import ENDLESS, TWO, TWO_MU, Lab, rechained, run

FOUR = ft.Problem.options(list("ABCD"), eps=0.05, sigma=1.0)
FOUR_MU = np.array([0.6, 0.5, 0.3, -3.0])
VISITORS = ft.Problem.options(["old", "new"], eps=0.01, bounds=(0, 1), noise="bernoulli")


@pytest.fixture
def spent(sqlite_url):
    """A study that has spent its budget without an answer."""
    study = ft.Study.create("a", FOUR, 0.05, sqlite_url, budget=60)
    run(study, Lab(FOUR, FOUR_MU), workers=7)
    yield study
    study.close()


def test_no_more_is_handed_out_than_is_left(url):
    study = ft.Study.create("a", ENDLESS, 0.1, url, budget=5)
    first = study.ask(3)
    rest = study.ask(10)
    assert len(first) == 3
    assert len(rest) == 2
    with pytest.raises(BudgetError, match=f"5 of its trials are still out.*{first[0].id}"):
        study.ask()
    study.tell(first[0], 1.0)
    with pytest.raises(BudgetError, match="4 of its trials"):
        study.ask()
    study.fail(first[1], "the light went out")
    again = study.ask(10)  # what has failed was no measurement
    assert len(again) == 1
    for trial in (*first[2:], *rest, *again):
        assert study.status().state == "running"
        study.tell(trial, 0.5)
    assert study.status().state == "inconclusive"
    assert study.status().measurements == 5
    with pytest.raises(InconclusiveError, match="budget of 5 measurements of the study 'a'"):
        study.ask()
    assert issubclass(InconclusiveError, StoppedError)
    study.close()


def test_a_batch_is_cut_and_counts_count(sqlite_url):
    study = ft.Study.create("a", VISITORS, 0.05, sqlite_url, budget=1000)
    assert sum(trial.size for trial in study.ask(batch=900)) == 900
    last = study.ask(batch=900)
    assert sum(trial.size for trial in last) == 100
    for trial in study.pending():
        study.tell(trial.id, successes=trial.size // 10, n=trial.size + 5)  # more than was asked
    status = study.status()
    assert status.state == "inconclusive"
    assert status.measurements > 1000
    assert study.conclusion().measurements == status.measurements
    assert 0.01 < study.conclusion().certified_eps < 1
    verify("a", study.events(), study.conclusion().to_dict())


def test_what_is_proven_when_it_is_spent(spent):
    found = spent.conclusion()
    status = spent.status()
    assert status.state == "inconclusive"
    assert status.conclusion == found
    assert status.certificate is spent.certificate() is spent.outcome is None
    assert status.guarantee == found.guarantee
    assert status.standing == found.standing == "proven"
    assert (found.measurements, found.budget, sum(found.pulls)) == (60, 60, 60)
    assert found.certified_eps > FOUR.eps
    assert "D" not in [FOUR.answer_names[z] for z in found.remaining]
    assert [each.verdict for each in found.verdicts][3] == "ruled out"
    # In words a bound is rounded up, never down.
    told = float(found.guarantee.partition("by more than ")[2].partition(";")[0])
    assert found.certified_eps <= told <= found.certified_eps * 1.002
    assert "1 of the 4 answers is not within 0.05 of the best" in found.guarantee
    assert found.conditions
    assert found.log_events == spent.events()[-1].seq - 1
    assert spent.events()[-1].kind == SPENT


def test_every_process_sees_the_same_end(spent, sqlite_url):
    other = ft.Study.load("a", sqlite_url)
    assert other.is_spent
    assert other.conclusion() == spent.conclusion()
    assert verify("a", other.events(), other.conclusion().to_dict()).state == "inconclusive"
    assert repr(other).endswith("60 measured of a budget of 60, 0 open, 0 failed; inconclusive)")
    assert "inconclusive" in other._repr_html_()
    assert "inconclusive" in other.conclusion()._repr_html_()
    assert "inconclusive" in other.status()._repr_html_()
    assert repr(other.status()).startswith("Status('a', inconclusive, leading is")
    assert "proven)" not in repr(other.status())
    other.close()


def test_a_stop_at_the_last_measurement_is_a_stop(sqlite_url):
    free = ft.Study.create("free", TWO, 0.1, sqlite_url)
    run(free, Lab(TWO, TWO_MU))
    needed = free.certificate().measurements
    exact = ft.Study.create("exact", TWO, 0.1, sqlite_url, budget=needed)
    run(exact, Lab(TWO, TWO_MU))
    assert exact.status().state == "stopped"
    assert exact.status().conclusion is None
    assert exact.certificate().pulls == free.certificate().pulls
    with pytest.raises(StoppedError, match="answer is 'A'"):
        exact.ask()
    with pytest.raises(StoppedError, match="has its answer"):
        exact.extend(10_000)
    short = ft.Study.create("short", TWO, 0.1, sqlite_url, budget=needed - 1)
    run(short, Lab(TWO, TWO_MU))
    assert short.status().state == "inconclusive"
    rows = {row["name"]: row for row in documents.listed(free._storage)["studies"]}
    assert [rows[name]["state"] for name in ("free", "exact", "short")] == [
        *("stopped", "stopped", "inconclusive")
    ]
    assert rows["short"]["answer"] is None
    assert rows["short"]["budget"] == needed - 1


def test_a_budget_can_be_raised_and_changes_nothing_else(sqlite_url):
    """Extended again and again, a study ends where one without a budget does."""
    free = ft.Study.create("free", TWO, 0.01, sqlite_url)
    run(free, Lab(TWO, TWO_MU))
    study, lab, ends = ft.Study.create("a", TWO, 0.01, sqlite_url, budget=3), Lab(TWO, TWO_MU), []
    while True:
        run(study, lab)
        if study.status().state == "stopped":
            break
        ends.append(study.conclusion())
        study.extend(study.budget + 3)
        assert study.status().state == "running"
        assert not study.is_spent
        assert study.conclusion() is None
    assert len(ends) > 1
    assert study.certificate().pulls == free.certificate().pulls
    assert study.certificate().statistic == free.certificate().statistic
    log = study.events()
    assert sum(event.kind == EXTENDED for event in log) == len(ends)
    for end in ends:  # each of them can be verified for ever
        verify("a", log, end.to_dict())
        with pytest.raises(VerificationError, match="certified_eps"):
            verify("a", log, end.to_dict() | {"certified_eps": (end.certified_eps or 1) / 2})


def test_what_cannot_be_extended(spent, sqlite_url):
    before = spent.events()
    spent.extend(60)  # the same again
    for budget, error in (
        (59, StudyError),
        (0, InputError),
        (70.5, InputError),
        (None, InputError),
    ):
        with pytest.raises(error):
            spent.extend(budget)
    assert spent.events() == before
    without = ft.Study.create("b", TWO, 0.1, sqlite_url)
    with pytest.raises(StudyError, match="no budget"):
        without.extend(10)
    for wrong in (0, -1, 2.5, True, "many"):
        with pytest.raises(InputError, match="whole number of measurements"):
            ft.Study.create("c", TWO, 0.1, sqlite_url, budget=wrong)


def test_the_budget_is_part_of_the_question(spent, sqlite_url):
    def again(budget):
        return ft.Study.create("a", FOUR, 0.05, sqlite_url, budget=budget, exist_ok=True)

    assert again(60).budget == 60
    for other in (None, 61):
        with pytest.raises(ChangeError, match=r"budget of the study 'a' is 60.*extend"):
            again(other)
    spent.extend(80)
    assert again(80).budget == again(60).budget == 80


def test_late_and_added_results_count_and_may_still_lead_to_an_answer(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, budget=4, lease=1e-6)
    late = study.ask()
    for value in (2.0, 0.0, 2.1, 0.1):
        trial = study.ask()
        study.tell(trial, value if trial.arm == 0 else 0.0)
    assert study.status().state == "inconclusive"
    end = study.conclusion()
    assert "never came" in " ".join(end.warnings)
    assert end.standing == "proven if"
    study.tell(late, 2.0)  # it was not waited for, and is welcome
    assert study.conclusion() == end
    assert study.status().measurements == 5
    while study.status().state == "inconclusive":
        study.add("A", 2.0)
        study.add("B", 0.0)
    assert study.status().state == "stopped"
    assert study.conclusion() is None
    verify("a", study.events(), study.certificate().to_dict())
    verify("a", study.events(), end.to_dict())


def test_added_results_spend_it_too(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url, budget=3)
    for arm in "ABC":
        study.add(arm, 1.0)
    with pytest.raises(InconclusiveError):
        study.ask()
    assert study.conclusion().added == 3
    assert study.conclusion().standing == "proven if"


def test_results_that_wait_are_waited_for(sqlite_url):
    """One that was asked for earlier is out, and no longer pending: nothing ends before it does."""
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url, budget=4, lease=0.2)
    first, *others = study.ask(4)
    for trial in others:
        study.tell(trial, 0.0)
    study.add("A", 0.0)
    while study.pending():
        pass
    assert study.status().state == "running"
    with pytest.raises(BudgetError, match=first.id):
        study.ask()
    study.fail(first)
    assert study.status().state == "inconclusive"
    assert study.conclusion().failed == 1


def test_too_small_for_the_initial_design(sqlite_url):
    study = ft.Study.create("a", FOUR, 0.05, sqlite_url, budget=2)
    run(study, Lab(FOUR, FOUR_MU))
    found = study.conclusion()
    assert found.answer is found.answer_name is found.certified_eps is None
    assert found.remaining == (0, 1, 2, 3)
    assert found.standing == "not proven"
    assert found.guarantee.startswith("nothing is proven")
    assert verify("a", study.events(), found.to_dict()).state == "inconclusive"
    assert "inconclusive" in page.page(study)


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("sigma", [0.5, None])
def test_every_kind_of_question(sqlite_url, notion, sigma):
    problem = ft.Problem.options(["A", "B", "C"], eps=0.01, notion=notion, sigma=sigma)
    study = ft.Study.create("a", problem, 0.05, sqlite_url, budget=120)
    run(study, Lab(problem, [2.0, 1.9, 0.5], sigma=0.5))
    found = study.conclusion()
    assert 0.01 < found.certified_eps < 1
    assert found.notion == notion
    assert ("% of the best value" in found.guarantee) == (notion == "multiplicative")
    verify("a", study.events(), found.to_dict())


def test_heuristics_are_no_proof(sqlite_url):
    strategy = ft.Strategy(stopping="glr", threshold="paper")
    study = ft.Study.create("a", FOUR, 0.05, sqlite_url, strategy=strategy, budget=30)
    run(study, Lab(FOUR, FOUR_MU))
    assert study.conclusion().certified_eps > 0.05
    assert study.conclusion().standing == "not proven"
    assert study.conclusion().guarantee.startswith("not proven: heuristic")


def test_values_that_cannot_be_gaussian_prove_nothing(sqlite_url):
    problem = ft.Problem.options(["A", "B"], eps=0.1, sigma=None)
    study = ft.Study.create("a", problem, 0.05, sqlite_url, budget=40)
    while study.status().state == "running":
        trial = study.ask()
        study.tell(trial, float(trial.arm == 0))  # the same value again and again
    assert study.conclusion().certified_eps is None
    assert study.conclusion().standing == "not proven"


def test_a_log_that_lies_about_its_end(spent):
    log = spent.events()
    *before, last = log
    assert verify("a", log).state == "inconclusive"
    with pytest.raises(VerificationError, match="results counted when the budget was spent"):
        verify("a", rechained([*before, last._replace(data="59")]))
    for wrong in (
        last._replace(data="many"),
        last._replace(arm=9),
        last._replace(value=1.0),
        last._replace(kind=EXTENDED, arm=None, data="50"),
        last._replace(kind=EXTENDED, arm=None, data="9" * 40),
        last._replace(kind=EXTENDED, arm=1, data="70"),
    ):
        with pytest.raises(VerificationError, match="does not follow"):
            verify("a", rechained([*before, wrong]))
    early = rechained([*log[:50], last._replace(seq=51)])
    with pytest.raises(VerificationError, match="does not follow"):
        verify("a", early)
    asked = Event(len(log) + 1, "asked", last.at, "x-1", 0)
    with pytest.raises(VerificationError, match="does not follow"):
        Ledger.of(rechained([*log, asked]))
    Ledger.of(
        rechained(
            [
                *log,
                last._replace(seq=len(log) + 1, kind=EXTENDED, arm=None, data="61"),
                asked._replace(seq=len(log) + 2),
            ]
        )
    )


def test_a_log_that_hides_its_answer(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, budget=200)
    lab = Lab(TWO, TWO_MU)
    for _ in range(200):
        study.add("A", lab.measure(0))
        study.add("B", lab.measure(1))
    log = study.events()[:401]
    counted = "400"
    lie = Event(len(log) + 1, SPENT, log[-1].at, arm=0, data=counted)
    with pytest.raises(VerificationError, match="the study had its answer"):
        verify("a", rechained([*log, lie]))


def test_a_conclusion_that_says_otherwise_is_found_out(spent):
    log, found = spent.events(), spent.conclusion().to_dict()
    for key, value in (
        ("certified_eps", found["certified_eps"] * 0.9),
        ("remaining", [0]),
        ("budget", 61),
        ("answer_name", "D"),
        ("log_digest", "0" * 64),
        ("guarantee", "all is well"),
    ):
        with pytest.raises(VerificationError, match=key):
            verify("a", log, found | {key: value})
    for events in (0, 10_000, "all", 100):
        with pytest.raises(VerificationError):
            verify("a", log, found | {"log_events": events})


def test_an_exported_study_has_it_all(spent, tmp_path):
    file = tmp_path / "a.json"
    document = documents.exported(spent)
    assert document["state"] == "inconclusive"
    assert document["budget"] == 60
    assert document["certificate"] is None
    assert document["conclusion"] == spent.conclusion().to_dict()
    file.write_text(json.dumps(document))
    assert archive.verify_file(file).conclusion == spent.conclusion()
    assert archive.verify_file(file, words=False).state == "inconclusive"
    document["conclusion"]["certified_eps"] /= 2
    file.write_text(json.dumps(document))
    for words in (True, False):
        with pytest.raises(VerificationError, match="certified_eps"):
            archive.verify_file(file, words=words)


def test_it_can_be_signed(spent, tmp_path):
    signature = pytest.importorskip("furthest.study.signature")
    pytest.importorskip("cryptography")
    public = signature.new_key(tmp_path / "key")
    file = tmp_path / "a.json"
    file.write_text(json.dumps(archive.signed(documents.exported(spent), tmp_path / "key")))
    assert archive.signer(file, public)
    assert archive.verify_file(file).state == "inconclusive"


def test_the_page_says_what_is_proven(spent):
    text = page.page(spent)
    assert "furthest · conclusion" in text
    assert "inconclusive" in text
    assert "The budget of 60 measurements is spent." in text
    assert "What the guarantee rests on" in text
    assert "remaining answers" in text


def test_plain_options_inherit_the_budget(sqlite_url):
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.7, 0.7]])
    problem = ft.Problem(arms, eps=0.05)
    study = ft.Study.create("a", problem, 0.05, sqlite_url, budget=10)
    run(study, Lab(problem, [0.5, 0.4]))
    assert study.status().state == "inconclusive"
    study.extend(12)
    heir = study.as_options("b")
    assert heir.budget == heir.settings.budget == 12
    assert heir.status().state == "running"
    assert study.as_options("c", budget=30).budget == 30
    with pytest.raises(StudyError, match="10 are measured already"):
        study.as_options("d", budget=10)


def test_foresight_knows_the_budget(sqlite_url):
    study = ft.Study.create("a", FOUR, 0.05, sqlite_url, budget=40)
    lab = Lab(FOUR, FOUR_MU)
    for trial in study.ask(30):
        study.tell(trial, lab.measure(trial.arm))
    future = study.foresight(draws=40)
    assert future.left == 10
    assert future.within_budget < 0.05
    assert "left of the budget of 40: it will hardly suffice" in future.warning
    assert documents.shown(study)["foresight"]["warning"]
    study.extend(100_000)
    future = study.foresight(draws=40)
    assert future.within_budget > 0.5
    assert future.warning == ""
    free = ft.Study.create("b", FOUR, 0.05, sqlite_url)
    for trial in free.ask(30):
        free.tell(trial, lab.measure(trial.arm))
    future = free.foresight(draws=5)
    assert future.left is future.within_budget is None


def test_the_share_within_the_budget_is_that_of_the_futures(sqlite_url):
    """A budget that leaves what half of the futures need is enough for half of them."""
    study = ft.Study.create("a", TWO, 0.01, sqlite_url, budget=9)
    lab = Lab(TWO, [0.8, 0.0])
    for trial in study.ask(8):
        study.tell(trial, lab.measure(trial.arm))
    median = study.foresight(draws=41, seed=3).median
    study.extend(8 + int(median))
    assert study.foresight(draws=41, seed=3).within_budget == pytest.approx(21 / 41)
    study.extend(10**6)
    assert study.foresight(draws=41, seed=3).within_budget > 0.9


def test_a_runner_ends_with_the_budget(sqlite_url, tmp_path):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url, budget=7)
    command = f"{sys.executable} -c 'print(1.5)'"
    assert Runner(study, command, jobs=3).run(None, lambda: None) == 7
    assert study.status().state == "inconclusive"
    assert Runner(study, command).run(None, lambda: None) == 0
    other = ft.Study.create("b", ENDLESS, 0.1, sqlite_url, budget=2)
    other.ask(2)  # somebody else measures them
    assert Runner(other, command).run(None, lambda: None) == 0
    assert other.status().state == "running"


def test_a_storage_that_cannot_be_written_to_can_be_looked_at(spent, monkeypatch):
    log = spent.events()
    bare = ft.Study("a", spent._key, spent._storage, log[:-1])
    monkeypatch.setattr(bare, "_refresh", lambda: None)
    monkeypatch.setattr(bare, "events", lambda: log[:-1])

    def refused():
        raise ft.StorageError("read-only")

    monkeypatch.setattr(bare, "_write_end", refused)
    assert bare.status().state == "inconclusive"
    assert bare.conclusion() == spent.conclusion()


def test_older_logs_have_no_budget(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    assert "budget" not in json.loads(study.events()[0].data)
    assert study.budget is None
    assert study.status().budget is None


def test_a_budget_buys_less_the_smaller_it_is():
    problem = ft.Problem.options(["A", "B", "C"], eps=0.1)
    mu = [1.0, 0.5, 0.0]
    rows = ft.expected_eps(problem, mu, [2000, 20, 200, 2], 0.05, runs=30)
    assert [row.budget for row in rows] == [2000, 20, 200, 2]
    many, few, some, none = rows
    assert few.median > some.median >= many.median == 0.1
    assert few.low <= few.median <= few.high
    assert many.stopped > 0.9 > few.stopped
    assert none.unproven == 30
    assert none.to_dict()["median"] is None
    assert math.isinf(none.median)
    # The runs are those of a simulation.
    results = ft.simulate(problem, mu, delta=0.05, runs=30, max_rounds=200, quiet=True)
    assert some.stopped == pytest.approx(float(results.stopped.mean()))
    drawn = np.array([[1.0, 0.5, 0.0], [5.0, 0.0, 0.0]])
    assert ft.expected_eps(problem, drawn, 100, 0.05)[0].runs == 2
    for wrong in (0, 2.5, [], [10, True]):
        with pytest.raises(InputError):
            ft.expected_eps(problem, mu, wrong, runs=2)
    with pytest.raises(InputError):
        ft.expected_eps(problem, mu, 10, runs=0)
