"""Channels of many ordered answers: private, unbiased, near the proven optimum of few."""

import numpy as np
import pytest

from planner import PrivacyPolicy, best_ordered_channel
from planner.mechanisms.rounding import drawn_channel, integers_of
from planner.solvers.ordered_bound import least_error
from planner.solvers.ordered_search import solve_many_answers
from tests.refusals import refused


def searched(policy, directions=None):
    size = policy.size
    return solve_many_answers(
        policy,
        np.tri(size)[:-1],
        tuple(policy.names[:-1]),
        np.eye(size - 1) if directions is None else directions,
    )


@pytest.mark.parametrize(
    ("epsilons", "optimum"),
    [
        ([1.0] * 12, 46.6423),  # within 1 %, the optimum proven over all sets
        ([2.0] * 12, 8.8337),
        ([0.5] * 4 + [2.0] * 8, None),
    ],
)
def test_the_search_ends_near_the_proven_optimum(epsilons, optimum):
    policy = PrivacyPolicy(epsilons, [1] * 12)
    proven = best_ordered_channel(policy, tolerance=1e-4)
    channel = searched(policy)
    if optimum is not None:
        assert proven.worst_error == pytest.approx(optimum, rel=1e-4)
    assert proven.certificate.lower_bound <= channel.worst_error
    assert channel.worst_error < 1.02 * proven.worst_error


def test_weights_and_an_answer_outside_the_order_are_searched_for():
    policy = PrivacyPolicy([1.0] * 10, [1] * 10)
    proven = best_ordered_channel(policy, no_answer=True, tolerance=1e-4)
    channel = searched(policy, proven.scenarios[0].directions)
    assert (
        proven.certificate.lower_bound
        <= channel.worst_error
        < 1.02 * proven.worst_error
    )


@pytest.mark.parametrize(
    ("epsilons", "no_answer", "nearest"),
    [
        ([0.5] * 12, False, 0.99),  # how near the bound comes to the proven optimum
        ([1.0] * 9, False, 0.97),
        ([1.0] * 10, True, 0.9),
        ([2.0] * 12, False, 0.75),
        ([6.0] * 10, False, 0.0),
        ([0.5] * 4 + [2.0] * 8, False, 0.5),
    ],
)
def test_no_bound_is_above_the_proven_optimum(epsilons, no_answer, nearest):
    policy = PrivacyPolicy(epsilons, [1] * len(epsilons))
    proven = best_ordered_channel(policy, no_answer=no_answer, tolerance=1e-4)
    judged = proven.scenarios[0].directions @ proven.wanted
    bound = least_error(policy, judged, reached=0.0)  # that of information alone
    assert nearest * proven.worst_error <= bound <= proven.worst_error


def test_people_with_few_of_the_answers_are_not_easier_to_ask():
    """At budget 4 the bound is that of sixteen answers: 63 shares are 15 of them, 63/15 times."""
    policy = PrivacyPolicy([4.0] * 16, [1] * 16)
    of_sixteen = best_ordered_channel(policy)
    policy = PrivacyPolicy([4.0] * 61, [1] * 61)
    bound = least_error(policy, np.tri(61)[:-1], reached=100.0)
    proven = of_sixteen.certificate.lower_bound
    assert bound == pytest.approx(60 / 15 * proven, rel=0.02)


@pytest.mark.parametrize(("answers", "gap"), [(32, 0.03), (64, 0.06)])
def test_the_search_ends_near_the_bound_of_many_answers(answers, gap):
    policy = PrivacyPolicy([1.0] * answers, [1] * answers)
    channel = best_ordered_channel(policy)
    assert channel.certificate.over == "mechanisms"
    assert 0 < channel.certificate.relative_gap < gap


def test_eighteen_answers_keep_every_pair_as_integers():
    policy = PrivacyPolicy([1.0] * 9 + [2.0] * 9, [1] * 18)
    channel = best_ordered_channel(policy)
    integers = integers_of(drawn_channel(channel)).astype(object)
    assert (integers.sum(axis=1) == 2**32).all()
    for first, row in enumerate(integers):
        for second, other in enumerate(integers):
            # A budget of 1 between any two of which one has it, else of 2: e = 2.71828182845904...
            if min(first, second) < 9:
                limit = 2718281828459045235
            else:
                limit = 7389056098930650227
            assert (row * 10**18 <= other * limit).all()


def test_more_answers_are_told_apart_better_than_randomised_response_does():
    policy = PrivacyPolicy([1.0] * 24, [1] * 24)
    channel = best_ordered_channel(policy)
    response = np.ones((24, 24)) + np.expm1(1.0) * np.eye(24)
    response /= response.sum(axis=1, keepdims=True)
    estimator = channel.wanted @ np.linalg.inv(response).T
    noise = response @ np.square(estimator).sum(axis=0)
    assert channel.worst_error < 0.2 * (noise - channel.wanted.sum(axis=0)).max()
    assert channel.bias < 1e-12


def test_a_matrix_of_pair_budgets_is_refused_beyond_sixteen_answers():
    policy = PrivacyPolicy([1.0] * 17, [1] * 17, np.ones((17, 17)))
    with refused("rule"):
        best_ordered_channel(policy)
