"""The suite for mechanisms in which each user has one item."""

import numpy as np
import pytest

from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from tests.mechanisms.decisions import mean_is, mean_square_is
from tests.mechanisms.suite import FiniteLawSuite

BAD_ITEMS = [
    [],
    [[0, 1]],
    [0, 5],
    [-1, 0],
    [0.0, np.nan],
    [0.5],
    [1.0, 2.0],
    [True, False],
    ["1"],
    [[0], [1, 2]],
    None,
]


class SingleItemSuite(FiniteLawSuite):
    """One item of five per user: what the frequency mechanisms share."""

    items = 5
    budget = float(np.log(4))

    def values(self, rng):
        return rng.integers(self.items, size=self.users) * rng.integers(2, size=self.users)

    def expectation(self, values):
        return np.bincount(values, minlength=self.items)

    def variance(self, values):
        return self.mechanism().variance(self.expectation(values))

    def epsilon(self):
        return self.budget

    def law_inputs(self):
        return list(range(self.items))

    def bad_values(self):
        return BAD_ITEMS

    def test_counts_can_be_drawn_without_reports(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(9)
        truth = np.array([70, 20, 5, 4, 1])
        runs = np.array(
            [
                mechanism.estimate(mechanism.draw_aggregate(truth, rng)).values
                for _ in range(self.repeats)
            ]
        )
        variance = mechanism.variance(truth)
        assert mean_is(runs, truth)
        assert mean_square_is(runs - truth, variance)
        assert not mean_square_is(runs - truth, variance * self.variance_near_miss)

    @pytest.mark.parametrize("n", [1, 1000])
    def test_standard_errors_are_of_the_estimated_counts(self, n):
        """Estimated counts outside 0 to n count as 0 and n; of the five, two are."""
        mechanism = self.mechanism()
        a, b = mechanism.a, mechanism.b
        counts = np.array([n, 0, *np.round(n * (a + b) / 2).astype(int)[:3]])
        found = mechanism.estimate(Aggregate(n, counts))
        have = np.clip((counts - n * b) / (a - b), 0, n)
        assert have[0] == n
        assert have[1] == 0
        variance = (have * a * (1 - a) + (n - have) * b * (1 - b)) / (a - b) ** 2
        nobody = n * b * (1 - b) / (a - b) ** 2
        np.testing.assert_allclose(found.standard_errors, np.sqrt(variance), rtol=1e-9)
        np.testing.assert_allclose(found.null_standard_errors, np.sqrt(nobody), rtol=1e-9)

    def test_bad_counts_are_refused(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(10)
        before = rng.bit_generator.state
        good = [1, 0, 0, 2, 0]
        for bad in ([1, 2], [0] * 5, [-1, 2, 0, 0, 0], [0.5] * 5, [np.nan] * 5, [good], None):
            with pytest.raises(InputError, match=r"^true_counts"):
                mechanism.variance(bad)
            with pytest.raises(InputError, match="true_counts"):
                mechanism.draw_aggregate(bad, rng)
        with pytest.raises(InputError, match="rng"):
            mechanism.draw_aggregate(good, 3)
        assert rng.bit_generator.state == before

    def test_bad_aggregates_are_refused(self):
        with pytest.raises(InputError, match="users is 0"):
            self.mechanism().estimate(Aggregate(0, np.zeros(5, dtype=int)))
        with pytest.raises(InputError, match="counts"):
            self.mechanism().estimate(Aggregate(7, np.zeros(4, dtype=int)))
        with pytest.raises(InputError, match="number of users, 7"):
            Aggregate(7, np.full(5, 8))

    def test_bad_budgets_and_domains_are_refused(self):
        kind = type(self.mechanism())
        make = {"rappor": kind.rappor, "oue": kind.oue} if hasattr(kind, "oue") else {"": kind}
        for build in make.values():
            for epsilon in (0, -1.0, np.nan, np.inf, 51, True, "1", None):
                with pytest.raises(InputError, match="epsilon"):
                    build(epsilon, 5)
            for items in (1, 0, -3, 2.0, np.nan, True, None, 2**31):
                with pytest.raises(InputError, match="items"):
                    build(1.0, items)
