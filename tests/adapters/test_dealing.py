"""Trials dealt out to coroutines: as the study asks, first come first served, nobody left waiting.

The other side is asyncio alone, so this runs without any of the tools.
"""

import asyncio

import numpy as np
import pytest

import furthest as ft
from furthest.adapters.dealing import Dealer, when_done

MEANS = (0.9, 0.4, 0.1)


@pytest.fixture
def study(tmp_path):
    problem = ft.Problem.options(["A", "B", "C"], eps=0.2, sigma=0.2)
    return ft.Study.create("dealt", problem, 0.05, f"sqlite:///{tmp_path}/dealt.db")


async def crowd(dealer, arm, people, at_once, work):
    """So many come for an arm, a few at a time, as samples of a task do."""
    dealer.begin(arm, people)
    when_done(lambda: dealer.end(arm))
    gate = asyncio.Semaphore(at_once)

    async def one(number):
        async with gate:
            if (trial := await dealer.wait(arm)) is not None:
                await work(trial, number)

    async with asyncio.TaskGroup() as group:  # where one fails the others are cancelled
        for number in range(people):
            group.create_task(one(number))


def run(dealer, work, people=200, at_once=4, arms=3):
    async def everybody():
        tasks = [
            asyncio.create_task(crowd(dealer, arm, people, at_once, work)) for arm in range(arms)
        ]
        return await asyncio.gather(*tasks, return_exceptions=True)

    found = asyncio.run(everybody())
    dealer.close()
    return found


def test_what_is_asked_is_dealt_until_the_study_stops(study):
    dealer, rng, served = Dealer(study), np.random.default_rng(1), {0: [], 1: [], 2: []}

    async def work(trial, number):
        served[trial.arm].append(number)
        for _ in range(rng.integers(5)):
            await asyncio.sleep(0)
        dealer.tell(trial, rng.normal(MEANS[trial.arm], 0.2))

    run(dealer, work)
    assert study.certificate().answer_name == "A"
    assert "the answer is 'A'" in dealer.over
    results = study.history()
    assert {arm: len(who) for arm, who in served.items()} == {
        arm: sum(each.arm == arm for each in results) for arm in served
    }
    assert all(who == sorted(who) for who in served.values())  # who came first was first
    assert not study.pending()


def test_nothing_is_dealt_before_all_have_begun(study):
    dealer = Dealer(study)

    async def two_of_three():
        dealer.begin(0, 1)
        dealer.begin(1, 1)
        waiting = asyncio.create_task(dealer.wait(0))
        for _ in range(20):
            await asyncio.sleep(0)
        assert not waiting.done()
        assert not study.pending()
        dealer.begin(2, 1)
        assert (await waiting).arm == 0

    asyncio.run(two_of_three())


def test_an_arm_with_nobody_left_ends_it_for_all(study):
    dealer = Dealer(study)

    async def work(trial, number):
        dealer.tell(trial, 0.5)  # no two of them differ: it would go on for long

    run(dealer, work, people=3)
    assert "nothing is left to measure" in dealer.over
    assert study.certificate() is None
    assert not study.pending()
    assert {each.reason for each in study.failures()} <= {"nobody left to measure it"}


def test_an_arm_whose_task_dies_ends_it_for_all(study):
    """Those who wait for it are cancelled, and the others do not wait for ever."""
    dealer, rng = Dealer(study), np.random.default_rng(2)

    async def work(trial, number):
        if trial.arm == 0 and number == 2:
            dealer.fail(trial, "broken")
            raise OSError("broken")
        dealer.tell(trial, rng.normal(0.5, 0.2))

    found = run(dealer, work)
    assert isinstance(found[0], ExceptionGroup)
    assert found[1:] == [None, None]
    assert "nothing is left to measure 'A'" in dealer.over
    assert not study.pending()
