from decimal import Decimal

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.bisample import BiSample
from planner.mechanisms.forced_answer import Harmony
from planner.mechanisms.piecewise import (
    CELLS,
    HYBRID_THRESHOLD,
    Hybrid,
    Piecewise,
    hybrid_variance,
    piecewise_variance,
)
from planner.survey.numeric_domain import NumericDomain
from tests.mechanisms.numeric_suite import NumericSuite


class ForcedAnswerSuite(NumericSuite):
    """Estimates are of true and fake answers together."""

    kind = Harmony
    fake_answer = "random"
    fake_mean = 20.0

    def build(self, epsilon, domain):
        return self.kind(epsilon, domain, self.fake_answer)

    def numbers(self, estimates):
        return np.array([estimates.mean.value, estimates.total.value / self.users])

    def expectation(self, values):
        return np.full(2, np.where(np.isnan(values), self.fake_mean, values).mean())

    def variance(self, values):
        variance = self.mechanism().variance(values)
        return np.array([variance.mean, variance.total / self.users**2])

    def test_unknown_fake_answer(self):
        with pytest.raises(InputError, match="fake_answer"):
            self.kind(1.0, self.domain, "bottom")

    def test_reports_are_unbiased_for_every_value(self):
        values = np.linspace(10, 30, 41)
        mechanism = self.mechanism()
        means = mechanism.output_law(values) @ mechanism.output_values
        np.testing.assert_allclose(20 + 10 * means, values, atol=1e-7)

    def test_standard_error_is_that_of_the_reports(self):
        mechanism = self.mechanism()
        lot = np.zeros(mechanism.outputs, dtype=np.int64)
        lot[:2] = 300, 700
        found = mechanism.estimate(Aggregate(1000, lot))
        assert found.users == 1000
        reports = np.repeat(mechanism.output_values[:2], [300, 700])
        floor = self.least_spread(mechanism)
        expected = 10 * np.sqrt(max(reports.var(), floor) / 1000)
        assert found.mean.standard_error == pytest.approx(expected, rel=1e-9)
        alike = mechanism.estimate(Aggregate(1000, 1000 * (np.arange(mechanism.outputs) == 1)))
        assert alike.mean.standard_error == pytest.approx(10 * np.sqrt(floor / 1000), rel=1e-9)

    @staticmethod
    def least_spread(mechanism):
        """The smallest variance that a report can have, whatever the answer."""
        return min(mechanism.variance([value]).mean for value in (10.0, 20.0, 30.0)) / 100

    def test_variance_is_that_of_the_law(self):
        mechanism = self.mechanism()
        for value in (*np.linspace(10, 30, 41), np.nan):
            law = mechanism.output_law([value])[0]
            unit = law @ mechanism.output_values
            spread = law @ np.square(mechanism.output_values) - unit**2
            assert mechanism.variance([value]).mean == pytest.approx(100 * spread, rel=1e-6)

    def test_standard_errors_cover(self):
        """Intervals of 99 % cover about 99 times in 100, and not 99.9 times."""
        mechanism, rng = self.mechanism(), np.random.default_rng(13)
        hits = 0
        for _ in range(2000):
            values = rng.uniform(12, 27, 500)  # people drawn anew: the interval covers that too
            estimates = mechanism.estimate(mechanism.aggregate(mechanism.perturb(values, rng)), 0.9)
            hits += estimates.mean.lower < 19.5 < estimates.mean.upper
        assert abs(hits - 1800) < 4.9 * np.sqrt(2000 * 0.9 * 0.1) + 10


class TestHarmonyRandom(ForcedAnswerSuite):
    pass


class TestHarmonyTop(ForcedAnswerSuite):
    fake_answer = "top"
    fake_mean = 30.0


class TestBiSample(ForcedAnswerSuite):
    kind = BiSample
    users = 300  # its variance is first-order
    bias_near_miss = 0.2

    def test_equation_11(self):
        mechanism = self.mechanism()
        reports = mechanism.perturb(np.linspace(10, 30, 999), np.random.default_rng(1))
        s, b = reports >> 1, reports & 1
        unit = (b[s == 1].mean() - b[s == 0].mean()) / np.tanh(self.budget / 2)
        estimate = mechanism.estimate(mechanism.aggregate(reports)).mean.value
        assert estimate == pytest.approx(20 + 10 * unit, abs=1e-6)

    def test_standard_error_is_that_of_the_reports(self):
        """The reports of either direction are a sample of their own."""
        mechanism = self.mechanism()
        found = mechanism.estimate(Aggregate(1000, np.array([100, 200, 300, 400])))
        spread = (2 / 3) * (1 / 3) / 300 + (4 / 7) * (3 / 7) / 700
        expected = 10 * np.sqrt(spread) / np.tanh(self.budget / 2)
        assert found.users == 1000
        assert found.mean.standard_error == pytest.approx(expected, rel=1e-6)
        theta = np.tanh(self.budget / 2)
        extreme = mechanism.estimate(Aggregate(1000, np.array([500, 0, 0, 500])))
        expected = 10 * np.sqrt((1 - theta**2) / 4 * 2 / 500) / theta  # as far as a share can be
        assert extreme.mean.standard_error == pytest.approx(expected, rel=1e-6)

    def test_one_report_is_not_enough(self):
        mechanism = self.mechanism()
        for report, other in ((3, "negative"), (1, "positive")):
            message = f"^reports by {other} sampling is 0 .* both sampling directions"
            with pytest.raises(InputError, match=message):
                mechanism.estimate(mechanism.aggregate([report]))


class PiecewiseSuite(ForcedAnswerSuite):
    kind = Piecewise
    law_rounding = Decimal("1e-12")

    users = 12


class TestPiecewiseRandom(PiecewiseSuite):
    def test_law_between_cells_is_bounded_too(self):
        """Every value's law has two levels, as the published density does."""
        mechanism = self.mechanism()
        law = mechanism.output_law(np.linspace(10, 30, 777))
        levels = mechanism.output_law([10.0])
        assert law.max() <= levels.max() * (1 + 1e-9)
        assert law.min() >= levels.min() * (1 - 1e-9)

    def test_top_answers_are_answers_at_the_top(self):
        mechanism = Piecewise(self.budget, self.domain, "top")
        law = mechanism.output_law([30.0, np.nan])
        np.testing.assert_array_equal(law[0], law[1])
        top, missing = (
            mechanism.perturb(np.full(1000, value), np.random.default_rng(1))
            for value in (30.0, np.nan)
        )
        np.testing.assert_array_equal(top, missing)

    def test_density_is_the_published_one(self):
        half = np.exp(self.budget / 2)
        C = (half + 1) / (half - 1)
        v = 0.4
        left = (C + 1) / 2 * v - (C - 1) / 2
        density = (half**2 - half) / (2 * half + 2)
        mechanism = self.mechanism()
        cells = mechanism.output_values
        law = mechanism.output_law([20 + 10 * v])[0] / (cells[1] - cells[0])
        np.testing.assert_allclose(cells[[0, -1]], [-C, C], rtol=2e-3)
        inside = law > density / 2
        np.testing.assert_allclose(cells[inside][[0, -1]], [left, left + C - 1], atol=4e-3)
        np.testing.assert_allclose(law[inside][5:-5], density, rtol=2e-3)
        np.testing.assert_allclose(law[~inside], density / np.exp(self.budget), rtol=2e-3)

    @pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0, 6.0])
    @pytest.mark.parametrize("unit", [-1.0, -0.3, 0.0, 0.8])
    def test_variance_is_the_published_one(self, epsilon, unit):
        ours = Piecewise(epsilon).variance([unit]).mean
        assert ours == pytest.approx(float(piecewise_variance(epsilon, unit**2)), rel=2e-3)


class TestHybrid(PiecewiseSuite):
    kind = Hybrid

    @pytest.mark.parametrize("epsilon", [0.3, 0.6, 0.7, 2.0, 6.0])
    def test_variance_is_the_published_one(self, epsilon):
        for unit in (0.0, 0.5, 1.0):
            ours = Hybrid(epsilon).variance([unit]).mean
            assert ours == pytest.approx(hybrid_variance(epsilon, unit**2), rel=2e-3)

    def test_threshold_is_where_piecewise_beats_harmony_at_zero(self):
        gap = [
            float(piecewise_variance(e, 0.0)) - 1 / np.tanh(e / 2) ** 2
            for e in (HYBRID_THRESHOLD - 1e-9, HYBRID_THRESHOLD + 1e-9)
        ]
        assert gap[0] > 0 > gap[1]

    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
    def test_worst_case_is_no_worse_than_either(self, epsilon):
        def worst(kind):
            return max(kind(epsilon).variance([unit]).mean for unit in (0.0, 0.5, 1.0))

        assert worst(Hybrid) <= min(worst(Piecewise), worst(Harmony)) * 1.001

    def test_harmony_alone_below_the_threshold(self):
        few = Hybrid(0.5)
        assert few.output_law([0.2])[0, :CELLS].max() == 0
        assert few.privacy_loss() == pytest.approx(0.5, abs=1e-8)  # of the outputs that occur


@pytest.mark.parametrize("kind", [Piecewise, Hybrid])
def test_a_random_fake_answer_is_uniform(kind):
    """The law of a fake answer is the average law over all answers."""
    mechanism = kind(2.0, NumericDomain(-1, 1), "random")
    steps = 2**13
    values = (np.arange(steps) + 0.5) * (2 / steps) - 1
    parts = np.split(values, 16)  # the law is linear between the places of a fine grid
    average = np.mean([mechanism._answer_law(part).mean(axis=0) for part in parts], axis=0)
    np.testing.assert_allclose(mechanism._random_law(), average, rtol=3e-5)
