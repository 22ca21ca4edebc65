"""The best of the top trials of a real Optuna study, measured again."""

import math

import numpy as np
import pytest

import furthest as ft
from furthest.study.certificate import verify

optuna = pytest.importorskip(
    "optuna", reason="Optuna is not installed: pip install --group adapters"
)

from furthest.adapters.optuna import certify  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)

NOISE = 0.5


class Bowl:
    """(x − 2)² with noise, which counts how often it was called."""

    def __init__(self, sign=1.0, seed=1):
        self.calls = 0
        self.numbers = []
        self._sign = sign
        self._rng = np.random.default_rng(seed)

    def __call__(self, trial):
        self.calls += 1
        self.numbers.append(trial.number)
        x = trial.suggest_float("x", -4.0, 8.0)
        trial.suggest_categorical("unused", ["a", "b"])
        return self._sign * ((x - 2) ** 2 + NOISE * self._rng.normal())


def searched(direction="minimize", sign=1.0):
    search = optuna.create_study(
        direction=direction, sampler=optuna.samplers.RandomSampler(seed=3), study_name="bowl"
    )
    search.optimize(Bowl(sign), n_trials=40)
    return search


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/adapters.db"


@pytest.mark.parametrize(("direction", "sign"), [("minimize", 1.0), ("maximize", -1.0)])
def test_the_chosen_trial_is_within_eps_of_the_best_of_the_top(direction, sign, storage):
    search, objective = searched(direction, sign), Bowl(sign, seed=2)
    chosen = certify(search, objective, k=6, eps=0.4, delta=0.01, sigma=NOISE, storage=storage)
    ordered = sorted(search.trials, key=lambda trial: -sign * trial.value, reverse=True)[:6]
    assert set(chosen.means) == {trial.number for trial in ordered}
    loss = {trial.number: (trial.params["x"] - 2) ** 2 for trial in ordered}
    assert loss[chosen.trial.number] <= min(loss.values()) + 0.4
    assert chosen.certificate.proven
    assert chosen.certificate.answer_name.startswith(f"#{chosen.trial.number}: ")
    # As the user counts: means near the true values, not near their negation.
    best = chosen.trial.number
    pulls = chosen.certificate.pulls[chosen.certificate.answer]
    assert abs(chosen.means[best] - sign * loss[best]) < 5 * NOISE / math.sqrt(pulls)
    # Not one of the values that the search has seen is among the results.
    assert chosen.certificate.added == 0
    assert chosen.certificate.measurements == objective.calls
    seen = {trial.value for trial in search.trials}
    assert not seen & {sign * each.value for each in chosen.study.history()}
    assert len(set(objective.numbers)) == objective.calls
    assert len(search.trials) == 40


def test_it_goes_on_where_it_was(storage):
    search = searched()

    class Fails(Bowl):
        def __call__(self, trial):
            if self.calls == 9:
                raise OSError("the machine is gone")
            return super().__call__(trial)

    with pytest.raises(OSError, match="the machine is gone"):
        certify(search, Fails(), k=4, eps=0.4, sigma=NOISE, storage=storage)
    halted = ft.Study.load("bowl, top 4", storage)
    assert len(halted.history()) == 9
    [failure] = halted.failures()
    assert failure.reason == "OSError: the machine is gone"
    objective = Bowl(seed=5)
    chosen = certify(search, objective, k=4, eps=0.4, sigma=NOISE, storage=storage)
    assert chosen.certificate.measurements == 9 + objective.calls
    events = chosen.study.events()
    assert verify("bowl, top 4", events, chosen.certificate.to_dict()).certificate
    # Finished, it has nothing to do; and a search that went on is another question.
    again = certify(search, Fails(), k=4, eps=0.4, sigma=NOISE, storage=storage)
    assert again.certificate == chosen.certificate
    search.add_trial(
        optuna.trial.create_trial(
            params={"x": 2.0, "unused": "a"},
            distributions=search.trials[0].distributions,
            value=-9.0,
        )
    )
    with pytest.raises(ft.ChangeError):
        certify(search, objective, k=4, eps=0.4, sigma=NOISE, storage=storage)


def test_bounds_and_unknown_noise(storage):
    search, rng = searched(), np.random.default_rng(8)

    def cut(trial):
        x = trial.suggest_float("x", -4.0, 8.0)
        return float(rng.random() < min(1.0, abs(x - 2) / 4))

    chosen = certify(search, cut, k=3, eps=0.3, bounds=(0, 1), storage=storage)
    assert chosen.study.problem.bounds == (-1, 0)
    assert all(0 <= mean <= 1 for mean in chosen.means.values())
    chosen = certify(
        search, Bowl(seed=4), k=3, eps=0.5, sigma=None, storage=storage, name="unknown"
    )
    assert chosen.study.problem.sigma is None
    assert chosen.trial.number in chosen.means


def test_what_makes_no_sense(storage):
    search = searched()
    with pytest.raises(ft.InputError, match="say what the noise is"):
        certify(search, Bowl(), eps=0.1, storage=storage)
    with pytest.raises(ft.InputError, match="two or more are needed"):
        certify(search, Bowl(), k=1, eps=0.1, sigma=1.0, storage=storage)
    with pytest.raises(ft.InconclusiveError):
        certify(search, Bowl(), eps=0.001, sigma=NOISE, budget=12, storage=storage)
    found = ft.Study.load("bowl, top 5", storage).conclusion()
    assert found.measurements == 12


def test_the_same_parameters_count_once(storage):
    search = optuna.create_study(direction="maximize", study_name="twice")
    for x in (1.0, 1.0, 3.0, 2.0):
        search.enqueue_trial({"x": x, "unused": "a"})
    search.optimize(Bowl(sign=-1.0), n_trials=4)
    chosen = certify(search, Bowl(sign=-1.0), k=3, eps=0.5, sigma=NOISE, storage=storage)
    assert sorted(search.trials[number].params["x"] for number in chosen.means) == [1.0, 2.0, 3.0]
    assert chosen.trial.params["x"] == 2.0
