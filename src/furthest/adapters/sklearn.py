"""Choose among scikit-learn estimators, or pipelines, by cross-validation that knows when to stop.

>>> from sklearn.datasets import load_iris
>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.tree import DecisionTreeClassifier
>>> from furthest.adapters.sklearn import choose
>>> candidates = {"line": LogisticRegression(max_iter=1000), "tree": DecisionTreeClassifier()}
>>> choice = choose(candidates, *load_iris(return_X_y=True), eps=0.05)
>>> choice.name, choice.certificate.guarantee

Each measurement fits a clone of one estimator on a fresh random split of the data, and scores it on
the rest. Estimators that are clearly worse get few splits.

What is guaranteed: with probability 1 − δ the chosen estimator's *mean score over all random splits
of this data set*, with training sets of this size, is within ε of the best estimator's. Given the
data, splits are drawn anew for every measurement, so scores are independent and identically
distributed for each estimator, which is all that the proof needs beside their `bounds`.

What is not: anything about the population that the data came from. Splits of one data set overlap,
and are no independent draws from it; with a few hundred rows the best by all their splits need not
be the best on new data. Nor about the estimator fitted on all rows, as it is handed over.

A search for parameters within an estimator (`GridSearchCV`) is part of the estimator, and fine. Two
things void the guarantee: transformers that were fitted before on all rows, and estimators that
remember something from one fit to the next.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, cross_val_score

from furthest.adapters.loop import certified
from furthest.problem import Problem
from furthest.study.records import Certificate, Trial
from furthest.study.study import Study

# Characters of the digest in a study's name.
DIGITS = 12


class Choice(NamedTuple):
    """What `choose` has found.

    Attributes:
        name: The name of the chosen estimator.
        estimator: A clone of it, fitted on all rows.
        certificate: The proof.
        study: The study that measured the scores.
    """

    name: str
    estimator: Any
    certificate: Certificate
    study: Study


def choose(
    estimators: Mapping[str, Any],
    X: Any,  # noqa: N803
    y: Any = None,
    *,
    scoring: Any = None,
    eps: float = 0.01,
    delta: float = 0.05,
    test_size: float = 0.25,
    name: str = "estimators",
    storage: str | None = None,
    budget: int | None = None,
    **noise: Any,
) -> Choice:
    """Score on random splits until one estimator is proven to be within ε of the best.

    Interrupted, it goes on where it was when it is called again with the same data and arguments.

    Args:
        estimators: What to choose from, by name.
        X: The rows.
        y: What is to be predicted. Splits are stratified by it where all estimators are
            classifiers.
        scoring: As scikit-learn takes it; larger is better.
        eps: How much worse than the best mean score the answer's may be.
        delta: The allowed probability of a wrong answer.
        test_size: The share of rows that each split keeps for the score.
        name: How the study's name begins. A digest of data and arguments follows, so that scores
            of other data are never mixed in.
        storage: Where the study is kept, as for `furthest.Study.create`.
        budget: How many splits may be scored at most.
        noise: The `bounds` of the scores, by default (0, 1); or `sigma`, as for `furthest.Problem`,
            if they have none, as R² and negated losses.

    Raises:
        InconclusiveError: The budget is spent; the study's `conclusion()` says what is proven.
        ChangeError: The same data were asked with another ε, δ or noise: give another name.
        ValueRefusedError: A score is out of bounds, or no number.
    """
    question = (dict(estimators), X, y, scoring, test_size)
    study = Study.create(
        f"{name}-{joblib.hash(question)[:DIGITS]}",
        Problem.options(list(estimators), eps=eps, **(noise or {"bounds": (0.0, 1.0)})),
        delta,
        storage,
        budget=budget,
        exist_ok=True,
    )
    classifiers = y is not None and all(map(is_classifier, estimators.values()))
    kind = StratifiedShuffleSplit if classifiers else ShuffleSplit

    def score(trial: Trial) -> float:
        fresh = int(np.random.default_rng().integers(2**32))  # not repeated when it goes on
        split = kind(1, test_size=test_size, random_state=fresh)
        estimator = estimators[trial.name]
        [value] = cross_val_score(estimator, X, y, scoring=scoring, cv=split, error_score="raise")
        return float(value)

    proof = certified(study, score)
    best = clone(estimators[proof.answer_name]).fit(X, y)
    return Choice(proof.answer_name, best, proof, study)
