"""A choice among real scikit-learn estimators, against the mean over many more splits."""

import pytest

import furthest as ft

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install --group adapters")

from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedShuffleSplit, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from furthest.adapters.sklearn import choose

CANDIDATES = {
    "most frequent": DummyClassifier(),
    "stump": DecisionTreeClassifier(max_depth=1),
    "bayes": make_pipeline(StandardScaler(), GaussianNB()),
}


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/adapters.db"


def test_the_chosen_estimator_is_within_eps_of_the_best(storage):
    X, y = load_iris(return_X_y=True)
    choice = choose(CANDIDATES, X, y, eps=0.1, storage=storage)
    splits = StratifiedShuffleSplit(200, test_size=0.25, random_state=1)
    means = {
        name: cross_val_score(each, X, y, cv=splits).mean() for name, each in CANDIDATES.items()
    }
    assert means[choice.name] >= max(means.values()) - 0.1
    assert choice.certificate.proven
    assert choice.estimator.score(X, y) > 0.9
    assert not hasattr(CANDIDATES["bayes"][-1], "theta_"), "the user's own were fitted"
    # Every measurement is a share of the rows that a split keeps, and splits differ.
    shares = {round(each.value * 38, 9) for each in choice.study.history() if each.name == "bayes"}
    assert all(share == int(share) for share in shares)
    assert len(shares) > 1
    for row in choice.certificate.verdicts:
        pulls = choice.certificate.pulls[row.answer]
        assert abs(row.estimate - means[row.name]) < 0.3 / pulls**0.5


def test_the_same_call_goes_on_and_other_data_begin_anew(storage):
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ft.InconclusiveError):
        choose(CANDIDATES, X, y, eps=0.1, storage=storage, budget=8)
    [name] = list(_names(storage))
    ft.Study.load(name, storage).extend(10_000)
    choice = choose(CANDIDATES, X, y, eps=0.1, storage=storage, budget=10_000)
    assert choice.study.name == name
    before = len(choice.study.history())
    again = choose(CANDIDATES, X, y, eps=0.1, storage=storage, budget=10_000)
    assert len(again.study.history()) == before
    other = choose(CANDIDATES, X[::2], y[::2], eps=0.3, storage=storage)
    assert other.study.name != name
    assert len(_names(storage)) == 2


def _names(storage):
    from furthest.study.storage import open_storage

    return open_storage(storage).studies()


def test_scores_without_bounds(storage):
    X, y = load_diabetes(return_X_y=True)
    candidates = {"mean": DummyRegressor(), "line": LinearRegression()}
    choice = choose(candidates, X, y, eps=0.1, storage=storage, scoring="r2", sigma=0.2)
    assert choice.name == "line"
    with pytest.raises(ft.ValueRefusedError):  # R² may be negative
        choose(candidates, X, y, storage=storage, scoring="r2", name="R²")


def test_an_estimator_that_fails_says_so(storage):
    X, y = load_iris(return_X_y=True)
    broken = CANDIDATES | {"broken": DecisionTreeClassifier(max_depth=-1)}
    with pytest.raises(ValueError, match="max_depth"):
        choose(broken, X, y, storage=storage)
