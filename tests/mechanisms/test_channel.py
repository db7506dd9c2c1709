"""Channels for a mean: the suite of all numeric mechanisms, their formulas, their integers."""

from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from planner import best_channel, best_ordered_channel
from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.channel import MeanChannelMechanism
from planner.mechanisms.channel_grid import as_drawn, integers_of
from planner.planning.channels.populations import AssumedAnswers, five_populations
from planner.policy.policy import PrivacyPolicy
from planner.survey.numeric_domain import NumericDomain
from tests.mechanisms.test_bisample import MissingSuite, mean_square_is

RANGE = NumericDomain(10, 30)


@cache
def solved(epsilon, domain=RANGE, points=3):
    return best_channel(epsilon, five_populations(domain), points=points, tolerance=1e-4)


class TestMeanChannel(MissingSuite):
    law_rounding = Decimal(2) ** -50  # an answer between two points mixes their laws

    def build(self, epsilon, domain):
        if type(epsilon) not in (int, float) or not isinstance(domain, NumericDomain):
            return MeanChannelMechanism(epsilon, domain, np.ones((3, 2)), np.ones((2, 2)))
        points = 2 if domain.yes_no else 3
        plain = NumericDomain(domain.lower, domain.upper)
        return MeanChannelMechanism.of(solved(epsilon, plain, points), domain.yes_no)

    def test_mean_of_those_who_answered(self):
        """As for BiSample-MD, with the reports of equal answers drawn together."""
        mechanism, rng = self.mechanism(), np.random.default_rng(21)
        values = self.values(rng)
        counts = rng.multinomial(14, mechanism.output_law(values), size=(5000, values.size))
        histograms = counts.sum(axis=1)
        people = 14 * values.size
        runs = np.array([mechanism.estimate(Aggregate(people, h)).mean.value for h in histograms])
        variance = mechanism.variance(np.tile(values, 14)).mean
        assert abs(runs.mean() - np.nanmean(values)) < 0.1 * np.sqrt(variance)
        errors = (runs - np.nanmean(values))[:, None]
        assert mean_square_is(errors, variance)
        assert not mean_square_is(errors, variance * 1.15)
        assert not mean_square_is(errors, variance / 1.15)


def test_law_is_linear_between_grid_points():
    mechanism = MeanChannelMechanism.of(solved(1.0, points=5))
    law = mechanism.output_law([10.0, 15.0, 16.25, 20.0, np.nan])
    np.testing.assert_allclose(law[2], 0.75 * law[1] + 0.25 * law[3], rtol=1e-9)
    np.testing.assert_array_equal(law[[0, 1, 3, 4]] * DENOMINATOR, mechanism.integers[[0, 1, 2, 5]])


def test_predicted_error_is_the_variance_of_its_people():
    """The channel's own error per person, for people with the shares of a scenario."""
    channel = as_drawn(solved(1.5, points=5))
    mechanism, scenario = MeanChannelMechanism.of(channel), channel.scenarios[3]
    people = np.repeat([*np.linspace(10, 30, 5), np.nan], (1e4 * scenario.population).astype(int))
    answered = people[~np.isnan(people)]
    drawn = mechanism.variance(people).mean + answered.var() / answered.size
    assert drawn * people.size == pytest.approx(channel.errors[3], rel=2e-3)


def test_rounding_costs_nothing_and_keeps_the_budget_at_all_sizes():
    for epsilon in (2e-4, 0.3, 5.0, 20.0):
        channel = solved(epsilon, points=5)
        drawn = as_drawn(channel)
        assert as_drawn(drawn) is drawn
        assert drawn.max_violation == 0
        assert integers_of(drawn).sum(axis=1).tolist() == [DENOMINATOR] * 6
        assert drawn.worst_error == pytest.approx(channel.worst_error, rel=1e-3)
        assert drawn.certificate.relative_gap >= drawn.worst_error / channel.worst_error - 1


def test_budgets_that_differ_are_rounded_pair_by_pair():
    """No answer at half a nat, numbers at two: by the file's own integers, in rational numbers."""
    budgets = [2.0, 2.0, 2.0, 0.5]
    drawn = as_drawn(best_channel(budgets, points=3, tolerance=1e-4))
    rows = integers_of(drawn).astype(object)
    for i in range(4):
        for j in range(4):
            limit = Decimal(min(budgets[i], budgets[j])).exp()
            assert all(
                Decimal(int(a)) <= limit * int(b) for a, b in zip(rows[i], rows[j], strict=True)
            )
    assert np.log(float(max(rows[0] / rows[1]))) > 0.5  # numbers use what they have


def test_fewer_than_two_reports_are_refused():
    mechanism = MeanChannelMechanism.of(solved(1.0))
    counts = np.zeros(mechanism.outputs, dtype=np.int64)
    counts[0] = 1
    with pytest.raises(InputError, match="at least two people"):
        mechanism.estimate(Aggregate(1, counts))


def test_channels_for_other_numbers_are_refused():
    with pytest.raises(InputError, match="points is 5 but must be 2"):
        MeanChannelMechanism.of(solved(1.0, points=5), yes_no=True)
    ordered = best_ordered_channel(PrivacyPolicy([1.0] * 3, [1] * 3))
    with pytest.raises(InputError, match="not for a mean"):
        MeanChannelMechanism.of(ordered)


def test_intervals_cover_where_few_answer():
    """Two in a hundred answer at budget 1: 95 % intervals of 200 and of 20,000 people.

    400 runs each; 361 hits or fewer have probability below 1e-6 at a coverage of 95 %. Intervals
    by the first-order error alone miss that at 20,000 people.
    """
    assumed = AssumedAnswers(22.0, 3.0, 0.98, RANGE)
    mechanism = MeanChannelMechanism.of(best_channel(1.0, [assumed], points=3, tolerance=1e-4))
    rng = np.random.default_rng(8)
    law = mechanism.output_law([22.0, np.nan])
    chances = 0.02 * law[0] + 0.98 * law[1]
    hits = {}
    for users in (200, 20_000):
        counts = rng.multinomial(users, chances, size=400)
        found = [mechanism.estimate(Aggregate(users, row)).mean for row in counts]
        hits[users] = sum(one.lower <= 22 <= one.upper for one in found)
        plain = [one for one in found if one.value is not None]
        first = sum(abs(one.value - 22) <= 1.96 * one.standard_error for one in plain)
    assert min(hits.values()) > 361
    assert first < 361
