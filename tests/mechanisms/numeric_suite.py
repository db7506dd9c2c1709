"""What all numeric mechanisms share, on top of the common suite."""

from decimal import Decimal, localcontext

import numpy as np
import pytest

from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.survey.numeric_domain import NumericDomain
from tests.effort import tries
from tests.mechanisms.suite import FiniteLawSuite

BUDGETS = [2e-4, 0.01, 0.3, 1.0, 2.5, 5.0, 10.0, 23.0, 50.0]


class NumericSuite(FiniteLawSuite):
    """One number from 10 to 30 per user; a sixth of the users do not answer."""

    domain = NumericDomain(10, 30)
    budget = 1.5
    users = 60
    repeats = tries(6_000, 12_000)
    # Two equal columns say less about a variance than many do.
    variance_near_miss = tries(115, 110) / 100
    bias_near_miss = 0.5

    def build(self, epsilon, domain):
        """The mechanism, for any budget and domain."""
        raise NotImplementedError

    def mechanism(self):
        return self.build(self.budget, self.domain)

    def epsilon(self):
        return self.budget

    def values(self, rng):
        values = rng.uniform(12, 27, self.users)
        values[::6] = np.nan
        return values

    def law_inputs(self):
        return [10.0, 20.0, 30.0, np.nan]

    def bad_values(self):
        return [
            [],
            [[15.0]],
            [15.0, 30.001],
            [9.999, np.nan],
            [np.inf],
            [-np.inf],
            [True],
            ["15"],
            [None],
            [15.0, 1j],
            [[15.0], [15.0, 20.0]],
            np.ma.masked_array([15.0, 20.0], mask=[True, False]),
            None,
        ]

    def bad_reports(self):
        outputs = self.mechanism().outputs
        return [[], [[0, 1]], [-1], [outputs], [0.0], [np.nan], [True], ["0"], None]

    @pytest.mark.parametrize("epsilon", BUDGETS)
    def test_budget_is_kept_exactly(self, epsilon):
        """In 60-digit arithmetic, from the law's dyadic numbers."""
        law = self.build(epsilon, self.domain).output_law([10.0, 13.7, 20.0, 30.0, np.nan])
        law = law[:, law.max(axis=0) > 0]
        assert law.min() > 0
        largest, least = law.max(axis=0), law.min(axis=0)
        with localcontext() as context:
            context.prec = 60
            limit = Decimal(epsilon).exp()
            # Sums and quotients of the law's floats err by a few units in the last place.
            limit *= 1 + self.law_rounding
            assert all(
                Decimal(top) <= limit * Decimal(low)
                for top, low in zip(largest.tolist(), least.tolist(), strict=True)
            )

    law_rounding = Decimal(0)  # laws with denominator 2^32 or 2^33 are exact floats

    def near_miss(self, law):
        law = 0.95 * law
        law[np.argmin(law)] += 0.05
        return law

    def test_missing_answers_do_not_leak(self):
        """No report gives away that there is no answer, or that there is one."""
        law = self.mechanism().output_law([10.0, 17.3, 30.0, np.nan])
        answered, missing = law[:3], law[3]
        used = missing > 0
        assert np.array_equal(used, answered.max(axis=0) > 0)
        ratios = np.log(answered[:, used] / missing[used])
        assert np.abs(ratios).max() <= self.budget + 1e-12

    def test_missing_answers_are_randomised_like_others(self):
        reports = self.mechanism().perturb(np.full(10_000, np.nan), np.random.default_rng(11))
        assert len(np.unique(reports)) > 1

    @pytest.mark.parametrize("epsilon", [0, -1, np.nan, np.inf, 50.1, 1e-5, "1", None, True])
    def test_bad_budget(self, epsilon):
        with pytest.raises(InputError, match="epsilon"):
            self.build(epsilon, self.domain)

    def test_bad_domain_object(self):
        with pytest.raises(InputError, match="domain"):
            self.build(1.0, (0, 1))

    def test_foreign_aggregate_is_refused(self):
        from planner.mechanisms.aggregate import Aggregate

        mechanism = self.mechanism()
        for users, counts in ((3, [3]), (9, np.zeros(mechanism.outputs, int)), (0, [])):
            with pytest.raises(InputError, match="must be"):
                mechanism.estimate(Aggregate(users, np.array(counts, dtype=int)))

    @pytest.mark.parametrize("confidence", [0, 1, -0.1, np.nan, 95, "0.95", None])
    def test_bad_confidence(self, confidence):
        mechanism = self.mechanism()
        reports = mechanism.perturb(np.full(1000, 20.0), np.random.default_rng(1))
        with pytest.raises(InputError, match="confidence"):
            mechanism.estimate(mechanism.aggregate(reports), confidence)

    def test_yes_no_question_reports_the_frequency(self):
        mechanism = self.build(2.0, NumericDomain(-1, 1, yes_no=True))
        values = np.repeat([1.0, -1.0], [60_000, 40_000])
        reports = mechanism.perturb(values, np.random.default_rng(12))
        estimates = mechanism.estimate(mechanism.aggregate(reports), 1 - 1e-6)
        assert estimates.users == 100_000
        assert estimates.frequency.lower < 0.6 < estimates.frequency.upper
        assert not estimates.frequency.lower < 0.65 < estimates.frequency.upper
        assert estimates.frequency.value == pytest.approx((1 + estimates.mean.value) / 2)
        with pytest.raises(InputError, match="yes"):
            mechanism.perturb([1.0, 0.5], np.random.default_rng(1))
        law = mechanism.output_law()  # of no, yes and no answer: nobody is in between
        np.testing.assert_array_equal(law, mechanism.output_law([-1.0, 1.0, np.nan]))

    def test_denominator_is_the_grid(self):
        """What is drawn can be deployed: multiples of 2^-33 for laws of two bits at most."""
        law = self.mechanism().output_law()
        if law.shape[1] in (2, 4):
            scaled = law * DENOMINATOR * 2
            assert np.array_equal(scaled, np.rint(scaled))
