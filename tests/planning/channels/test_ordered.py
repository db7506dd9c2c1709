"""Best channels for ordered answers: the optimum beside known mechanisms, bounds, weights."""

import itertools

import numpy as np
import pytest

from planner.designs.channel import Channel
from planner.errors import InputError
from planner.planning.channels.ordered import best_ordered_channel, ordered_bound
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.local import spectral_bound
from planner.solvers.channel.repair import best_estimator


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


@pytest.mark.parametrize("d", [4, 6, 8])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_bound_of_singular_values_is_below_the_optimum(d, epsilon):
    channel = best_ordered_channel(plain(epsilon, d), tolerance=1e-4)
    assert ordered_bound(d, epsilon) <= channel.certificate.lower_bound
    rng = np.random.default_rng(d)
    for _ in range(5):
        people = rng.dirichlet(np.ones(d))
        known = np.sum(channel.wanted**2, axis=0) @ people
        assert spectral_bound(channel.wanted, people, epsilon) - known <= channel.worst_error


def test_the_bound_is_near_at_small_budgets_and_many_answers():
    assert ordered_bound(8, 1.0) > 0.94 * 23.0523
    assert ordered_bound(12, 1.0) > 0.96 * 46.6423


def test_prefix_on_128_values():
    """McKenna et al. reach 1910.87: no mechanism is more than 21 % below."""
    bound = ordered_bound(128, 1.0)
    assert 1520 < bound < 1910.8675697859098


def test_some_of_the_answers_bound_the_error_of_all(monkeypatch):
    """At a budget where singular values prove little: 8 of 12 answers."""
    from planner.planning.channels import ordered
    from planner.solvers.channel import solving

    exact = best_ordered_channel(plain(3.0, 12), tolerance=1e-5)
    for module in (ordered, solving):
        monkeypatch.setattr(module, "MOST_LISTED", 8)
    monkeypatch.setattr(solving, "MOST_ENUMERATED", 8)
    searched = best_ordered_channel(plain(3.0, 12), tolerance=1e-5)
    assert searched.worst_error == pytest.approx(exact.worst_error, rel=0.02)
    bound = searched.certificate.lower_bound
    assert exact.worst_error * 0.6 < bound < exact.worst_error
    assert searched.certificate.relative_gap == pytest.approx(searched.worst_error / bound - 1)


def test_local_search_finds_the_optimum_where_it_can_be_checked(monkeypatch):
    from planner.solvers.channel import solving

    exact = best_ordered_channel(plain(1.0, 7))
    monkeypatch.setattr(solving, "MOST_ENUMERATED", 3)
    listed = best_ordered_channel(plain(1.0, 7), tolerance=1e-5)
    monkeypatch.setattr(solving, "MOST_LISTED", 3)
    searched = best_ordered_channel(plain(1.0, 7), tolerance=1e-5)
    for channel in (listed, searched):
        assert channel.worst_error == pytest.approx(exact.worst_error, rel=2e-3)
        assert channel.certificate.lower_bound <= exact.certificate.lower_bound * (1 + 1e-9)
    assert listed.certificate.relative_gap < 0.01
    assert 0.02 < searched.certificate.relative_gap < 0.1


def test_more_answers_than_all_subsets_are_priced_for_are_near_their_bound():
    channel = best_ordered_channel(plain(3.0, 17))
    assert channel.max_violation == 0
    assert channel.certificate.relative_gap < 0.01
    assert ordered_bound(17, 3.0) < 0.7 * channel.worst_error  # which could not prove it


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
    with pytest.raises(InputError, match="at most 128"):
        best_ordered_channel(plain(1.0, 129))
