"""Every registered sampling rule passes the conformance suite that users get for their own."""

from typing import NamedTuple

import numpy as np
import pytest

from furthest import sampling
from furthest.sampling.rule import Rule
from furthest.testing import INSTANCES, check_errors, check_rule, check_stops


@pytest.mark.parametrize("instance", INSTANCES.values(), ids=list(INSTANCES))
@pytest.mark.parametrize("name", sampling.MODULES)
def test_every_rule_on_every_shape(name, instance):
    check_rule(name, instance)


@pytest.mark.parametrize("name", sampling.MODULES)
def test_every_rule_stops_and_errs_rarely(name):
    check_stops(name)
    check_errors(name)


class Bad(NamedTuple):
    weights: np.ndarray


def bad_rule(choose, weights=(0.5, 0.5)):
    return Rule("bad", lambda _: Bad(np.array(weights)), choose, compiled=False)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (bad_rule(lambda *_: 7), "there is no arm 7"),
        (bad_rule(lambda *_: 0, (0.5, np.nan)), "NaN"),
        (bad_rule(lambda *_: 0, (0.5, 0.6)), "sum to"),
        (bad_rule(lambda *_: 0, (1.5, -0.5)), "negative"),
        (bad_rule(lambda *_: int(np.random.default_rng().integers(2))), "two different runs"),
        (bad_rule(lambda _, __, evidence, ___: int(evidence.values[0] > 5)), "unit of the rewards"),
    ],
)
def test_a_bad_rule_is_noticed(rule, words):
    with pytest.raises(AssertionError, match=words):
        check_rule(rule, INSTANCES["K < Z"])


def test_a_rule_that_never_stops_is_noticed():
    with pytest.raises(AssertionError, match="did not stop"):
        check_stops(bad_rule(lambda *_: 0))
