from dataclasses import replace
from math import log

import numpy as np
import pytest

from planner.mechanisms.counting import Aggregate
from planner.mechanisms.sampling_privacy import SamplingPrivacy, binomial_size_limits
from tests.mechanisms.decisions import mean_is, mean_square_is
from tests.mechanisms.suite import MechanismSuite
from tests.refusals import refused


class TwoRoundSuite(MechanismSuite):
    repeats = 12_000
    variance_near_miss = 1.1
    bias_near_miss = 1.0

    def truth(self):
        return np.array([70, 20, 5, 4])[: self.mechanism().items]

    def bad_truths(self):
        return [[1, 2, 3, 4, 5], [0, 0], [-1, 2], [0.5, 1], [[1, 0]], None]

    def law(self):
        """Round two, for every answer that there may be."""
        mechanism = self.mechanism()
        faces = np.array([mechanism.zero, *mechanism.decoys])
        return faces + mechanism.sampling * np.eye(mechanism.items)

    def test_the_budget_is_kept_and_spent(self):
        super().test_the_budget_is_kept_and_spent()
        law = self.law()
        realised = np.log(law.max(axis=0) / law.min(axis=0))
        np.testing.assert_allclose(self.mechanism().output_losses, realised, rtol=1e-9)

    def test_totals_of_round_one_have_their_law(self):
        mechanism = self.mechanism()
        truth = self.truth()
        first = np.array([total.counts[0] for total in self.totals()])
        chance = np.array([mechanism.zero + mechanism.sampling, *mechanism.decoys])
        assert mean_is(first, truth.sum() * chance)
        assert mean_square_is(
            first - truth.sum() * chance, truth.sum() * chance * (1 - chance)
        )


class TestBinarySamplingPrivacy(TwoRoundSuite):
    budget = log(0.7 / 0.25)  # eq. 25, larger than eq. 21's ln(.75 / .3)

    def mechanism(self):
        return SamplingPrivacy(0.45, 0.3, [0.25])


class TestSamplingPrivacyOfSeveralValues(TwoRoundSuite):
    budget = log(4)  # eq. 29 at pi_v = .1

    def mechanism(self):
        return SamplingPrivacy(0.3, 0.25, [0.1, 0.2, 0.15])


def test_probabilities_round_to_the_private_side():
    mechanism = SamplingPrivacy(1 / 3, 1 / 3, [1 / 3])
    assert mechanism.sampling <= 1 / 3 <= mechanism.decoys[0]
    assert mechanism.zero >= 1 / 3
    assert mechanism.sampling + mechanism.zero + mechanism.decoys[0] == 1
    again = SamplingPrivacy(mechanism.sampling, mechanism.zero, mechanism.decoys)
    assert again == mechanism
    assert mechanism.output_losses.max() <= log(2)


@pytest.mark.parametrize(
    "arguments",
    [
        (0.5, 0.3, [0.2 + 1e-8]),
        (0.0, 0.5, [0.5]),
        (1.0, 0.0, [0.0]),
        (0.5, 0.5, [0.0]),
        (0.5, 0.0, [0.5]),
        (0.5, -0.1, [0.6]),
        (float("nan"), 0.5, [0.5]),
        (0.5, 0.5, []),
        (0.5, 0.25, 0.25),
        (1e-10, 0.5, [0.5 - 1e-10]),
        (0.5, "0.25", [0.25]),
    ],
)
def test_bad_probabilities_are_refused(arguments):
    with refused("decoys", "sampling", "sampling + zero + decoys", "zero"):
        SamplingPrivacy(*arguments)


def test_when_everyone_has_a_value_none_is_refused_and_zero_is_free():
    mechanism = SamplingPrivacy(0.4, 0.0, [0.3, 0.3], everyone_has_value=True)
    rng = np.random.default_rng(1)
    before = rng.bit_generator.state
    with refused("true_counts"):
        mechanism.draw_aggregate([1, 0, 2], rng)
    with refused("true_counts"):
        mechanism.variance([1, 2, 3])
    assert rng.bit_generator.state == before
    assert mechanism.output_losses[0] == 0


@pytest.mark.parametrize(
    "totals",
    [
        [[60, 40], [70, 30]],  # they left the value
        [[60, 40, 0], [50, 50, 0]],
        [60, 40],
    ],
)
def test_totals_that_two_rounds_cannot_have_are_refused(totals):
    with refused("counts", "people who leave a value"):
        SamplingPrivacy(0.5, 0.25, [0.25]).estimate(Aggregate(100, np.array(totals)))


def test_limits_agree_with_a_search_over_all_sizes():
    from scipy.stats import binom

    seen = np.arange(70)
    sizes = np.arange(201)
    lower, upper = binomial_size_limits(seen, 0.3, 200, 0.025)
    for d, low, high in zip(seen, lower, upper, strict=True):
        fits = (binom.sf(d - 1, sizes, 0.3) > 0.025) & (
            binom.cdf(d, sizes, 0.3) > 0.025
        )
        fits &= sizes >= d
        assert sizes[fits].min() == low
        assert sizes[fits].max() == high


@pytest.mark.parametrize("direction", [1, -1])
def test_limits_hold_whoever_reports_in_one_round_alone(direction):
    """Eighty strangers add a value to one round: 60 runs, of which two or more miss with 0.19.

    More than nine do with 1e-6; without the strangers all limits of that value miss.
    """
    mechanism = SamplingPrivacy(0.5, 0.2, [0.1, 0.2])
    truth = np.array([500, 300, 200])
    rng = np.random.default_rng(8)
    strangers = np.zeros((2, 3), dtype=np.int64)
    strangers[int(direction > 0), 2] = 80
    missed = 0
    believed = 0
    for _ in range(60):
        honest = mechanism.draw_aggregate(truth, rng)
        counted = Aggregate(1080, honest.counts + strangers)
        estimates = mechanism.estimate(counted)
        assert estimates.unmatched == 80
        lower, upper = estimates.intervals()
        missed += not lower[2] <= 200 <= upper[2]
        lower, upper = replace(estimates, unmatched=0).intervals()
        believed += lower[2] <= 200 <= upper[2]
    assert missed <= 9
    assert believed == 0


def test_who_leaves_a_value_is_unmatched_and_stops_nothing():
    mechanism = SamplingPrivacy(0.5, 0.2, [0.1, 0.2])
    estimates = mechanism.estimate(
        Aggregate(100, np.array([[60, 20, 20], [50, 35, 15]]))
    )
    assert estimates.unmatched == 5
    assert estimates.values.tolist() == pytest.approx([80, 30, -10])
    assert estimates.standard_errors.tolist() == pytest.approx([30**0.5, 30**0.5, 0])
    lower, upper = estimates.intervals()
    assert lower[2] == 0
    assert upper[2] == pytest.approx(8, abs=8)


def test_intervals_of_the_mechanism():
    mechanism = SamplingPrivacy(0.5, 0.2, [0.1, 0.2])
    rng = np.random.default_rng(3)
    totals = mechanism.draw_aggregate([500, 300, 200], rng)
    estimates = mechanism.estimate(totals)
    lower, upper = estimates.intervals(0.999)
    assert ((lower <= [500, 300, 200]) & (upper >= [500, 300, 200])).all()
    moved = (totals.counts[1] - totals.counts[0])[1:]
    low, high = binomial_size_limits(np.append(moved, moved.sum()), 0.5, 1000, 0.0005)
    assert lower.tolist() == [
        1000 - high[-1],
        *low[:-1],
    ]  # the rest of the people first
    expected = [1000 - low[-1], *high[:-1]]
    assert upper.tolist() == expected
