from itertools import product
from math import inf

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled_views import guarantee_views, totals_delta_exact
from tests.planning.sampling.exact_laws import EPSILONS, hockey_stick, totals


@pytest.mark.parametrize("everyone", [False, True])
def test_views_of_several_values_against_convolution(everyone):
    """All totals of both rounds, every pair of neighbours: never above the view's delta."""
    mechanism = SamplingPrivacy(0.25, 0.25, [0.125, 0.375], everyone_has_value=everyone)
    counts = [2, 1]
    view = guarantee_views(mechanism, counts, 3 if everyone else 5).aggregates
    people = [1, 1, 2] + [0] * (0 if everyone else 2)
    answers = (1, 2) if everyone else (0, 1, 2)
    law = totals(mechanism, people)
    neighbours = [
        totals(mechanism, [*people[:i], other, *people[i + 1 :]])
        for i, other in product(range(len(people)), answers)
        if other != people[i]
    ]
    for epsilon in EPSILONS:
        worst = max(hockey_stick(law, other, epsilon) for other in neighbours)
        assert worst <= view.totals_delta(epsilon)
        assert view.difference_delta(epsilon) <= view.totals_delta(epsilon)


def test_three_views_side_by_side():
    views = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [300], 10_000)
    assert views.round_two_epsilon == pytest.approx(np.log(0.7 / 0.25))
    assert views.linkable_epsilon == inf
    assert views.sampled_if_zero == pytest.approx(0.6)
    assert views.aggregates.others_yes == (299,)
    assert views.aggregates.others_no == 9699
    alone, linkable, released = views.sentences()
    assert "1.0297" in alone  # rounded up
    assert "INFINITE" in linkable
    assert "no protection" in linkable
    assert "proven bound" in released


def test_the_exact_sum_is_used_for_small_populations():
    small = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [20], 286).aggregates
    assert small.totals_are_exact
    zero, sampling = small.mechanism.zero, small.mechanism.sampling
    assert small.totals_delta(1.0) == totals_delta_exact(19, 265, zero, sampling, 1)
    sentence = guarantee_views(small.mechanism, [20], 286).sentences()[2]
    assert "both rounds' totals (exact)" in sentence


def test_nobody_else_with_the_value_means_no_protection():
    views = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [1], 10_000)
    assert views.aggregates.difference_epsilon(1e-6) == inf
    assert "INFINITE for the estimates alone" in views.sentences()[2]


def test_curves_for_plots_and_their_inverse():
    view = guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), [300], 10_000).aggregates
    difference, both = view.curve([0.1, 0.2])
    assert (difference <= both).all()
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = view.totals_epsilon(delta)
        assert view.totals_delta(epsilon) <= delta
        assert view.totals_delta(epsilon) == pytest.approx(delta, rel=1e-5)


def test_huge_counts_keep_the_guarantee_of_the_limit():
    mechanism = SamplingPrivacy(0.45, 0.3, [0.25])
    views = [guarantee_views(mechanism, [n], 3 * n).aggregates for n in (10**7 + 1, 10**8)]
    assert views[0] == views[1]


@pytest.mark.parametrize(
    ("counts", "population", "match"),
    [
        ([1, 2], 10, "yes_counts"),
        ([-1], 10, "yes_counts"),
        ([11], 10, "population"),
        ([0], 0, "population"),
    ],
)
def test_bad_counts(counts, population, match):
    with pytest.raises(InputError, match=match):
        guarantee_views(SamplingPrivacy(0.45, 0.3, [0.25]), counts, population)
