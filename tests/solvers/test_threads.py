"""A solve uses one thread of linear algebra, and puts back what the process had."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest
import scipy.linalg  # noqa: F401 - loads SciPy's library beside NumPy's
from threadpoolctl import threadpool_info, threadpool_limits

from planner import Objective, PrivacyPolicy, Scenario, baseline, best_design, solve
from planner.policy.rules import MinRule
from planner.solvers.channel_search import solve_channel
from planner.solvers.design_search import history_bound
from planner.solvers.threads import one_thread
from tests.refusals import refused

POLICY = PrivacyPolicy([1.0, 1.2], [1, 1])
PEOPLE = [Scenario(person, np.eye(1)) for person in np.eye(2)]


with_two_threads = pytest.mark.usefixtures("two_threads")


def threads():
    """Of each library of linear algebra in this process that can have several."""
    numbers = []
    for library in threadpool_info():
        several = library.get("threading_layer") != "disabled"
        if library["user_api"] == "blas" and several:
            numbers.append(library["num_threads"])
    return numbers


@pytest.fixture
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        assert set(threads()) == {2}
        yield
        assert set(threads()) == {2}


@with_two_threads
@pytest.mark.parametrize(
    "solved",
    [
        lambda: solve(POLICY),
        lambda: solve(POLICY, method="slsqp"),
        lambda: baseline(POLICY, "oue"),
        lambda: best_design(POLICY),
        lambda: history_bound(POLICY, Objective(), np.ones(2)),
        lambda: solve_channel(POLICY, [[0, 1]], PEOPLE),
    ],
)
def test_every_solve_runs_with_one_thread(solved, monkeypatch):
    seen = []

    def watched(method):
        def look_and_go_on(*arguments, **options):
            seen.append(set(threads()))
            return method(*arguments, **options)

        return look_and_go_on

    for name in ("room", "windows"):  # one of them is asked by whatever solves
        monkeypatch.setattr(MinRule, name, watched(getattr(MinRule, name)))
    solved()
    assert seen
    assert all(numbers == {1} for numbers in seen)


@with_two_threads
def test_a_solve_that_fails_puts_them_back():
    with refused("model"):
        solve(POLICY, "opt3")


@with_two_threads
@pytest.mark.parametrize("first_to_end", ["the first", "the second"])
def test_of_two_solves_at_once_none_leaves_one_thread_behind(first_to_end):
    began = Event()
    may_end = Event()

    def second_solve():
        with one_thread:
            assert set(threads()) == {1}
            began.set()
            may_end.wait()

    with ThreadPoolExecutor() as pool:
        with one_thread:
            second = pool.submit(second_solve)
            began.wait()
            if first_to_end == "the second":
                may_end.set()
                second.result()
                assert set(threads()) == {1}
        may_end.set()
        second.result()
