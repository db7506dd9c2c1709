"""Best channels for ordered answers: the optimum beside known mechanisms, bounds, weights."""

import itertools

import numpy as np
import pytest

from planner.errors import InputError
from planner.planning.ordered import best_ordered_channel
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Channel
from planner.solvers.channel_search import best_estimator


def plain(epsilon, d):
    return PrivacyPolicy([epsilon] * d, [1] * d)


def of_subsets(channel, epsilon, size):
    """Subset selection of this size, with its best estimator for even weights of the people."""
    d = channel.policy.size
    highs = [np.isin(np.arange(d), one) for one in itertools.combinations(range(d), size)]
    columns = np.where(highs, np.exp(epsilon), 1.0).T
    matrix = columns / columns.sum(axis=1, keepdims=True)
    best = np.inf
    weights = np.ones(d) / d
    for _ in range(300):  # of people, towards whoever has the largest error
        estimator = best_estimator(channel.wanted, channel.scenarios, weights, matrix)
        about = (channel.policy, channel.wanted, channel.wanted_names, matrix, estimator)
        one = Channel(*about, channel.scenarios)
        best = min(best, one.worst_error)
        weights = weights * np.exp(0.2 * (one.errors / one.worst_error - 1))
        weights /= weights.sum()
    return best


@pytest.mark.parametrize(
    ("d", "epsilon", "optimum", "subset", "response"),
    [(5, 1.0, 9.6463, 12.0576, 12.5937), (5, 2.0, 1.7943, 2.0551, 2.0551)],
)
def test_the_optimum_and_its_peers(d, epsilon, optimum, subset, response):
    channel = best_ordered_channel(plain(epsilon, d))
    assert round(channel.worst_error, 4) == optimum
    sizes = [of_subsets(channel, epsilon, size) for size in range(1, d)]
    assert min(sizes) == pytest.approx(subset, rel=1e-3)
    assert sizes[0] == pytest.approx(response, rel=1e-3)


def test_counts_and_scores_and_weights():
    policy = plain(1.0, 5)
    counts = best_ordered_channel(policy, "counts")
    cumulative = best_ordered_channel(policy)
    turned = Channel(
        policy,
        cumulative.wanted,
        cumulative.wanted_names,
        counts.matrix,
        np.cumsum(counts.estimator, axis=0)[:-1],
        cumulative.scenarios,
    )
    assert turned.worst_error > 1.2 * cumulative.worst_error
    mean = best_ordered_channel(policy, [0, 1, 2, 3, 4])
    two_ends, harmony = 16 * np.e / np.expm1(1) ** 2, 4 / np.tanh(0.5) ** 2
    assert two_ends < mean.worst_error < 0.86 * harmony  # whose worst answer is the middle
    unimportant = best_ordered_channel(policy, weights=[1, 0, 1, 0])
    assert unimportant.bias < 1e-9  # and told all the same
    assert unimportant.worst_error < 0.7 * cumulative.worst_error
    first = best_ordered_channel(policy, weights=[1, 0.01, 0.01, 0.01])
    assert first.covariance(np.eye(5)[4])[0, 0] < cumulative.covariance(np.eye(5)[4])[0, 0]


def test_budgets_may_differ():
    strict = PrivacyPolicy([2.0, 2.0, 2.0, 0.5], [1] * 4)
    channel = best_ordered_channel(strict)
    assert channel.max_violation == 0
    low, high = best_ordered_channel(plain(2.0, 4)), best_ordered_channel(plain(0.5, 4))
    assert low.worst_error < channel.worst_error < high.worst_error


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"wanted": "median"}, "wanted"),
        ({"wanted": [1, 2]}, "wanted"),
        ({"wanted": [1, 1, 1]}, "wanted"),
        ({"weights": [1]}, "weights"),
        ({"weights": [0, 0]}, "weights"),
    ],
)
def test_refusals(arguments, match):
    with pytest.raises(InputError, match=match):
        best_ordered_channel(plain(1.0, 3), **arguments)
    with pytest.raises(InputError, match="from 2 to 16"):
        best_ordered_channel(plain(1.0, 129))
