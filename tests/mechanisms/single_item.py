"""The suite for mechanisms in which each user has one item."""

import numpy as np

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
            [mechanism.estimate(mechanism.draw_aggregate(truth, rng)).values for _ in range(20_000)]
        )
        variance = mechanism.variance(truth)
        assert mean_is(runs, truth)
        assert mean_square_is(runs - truth, variance)
        assert not mean_square_is(runs - truth, variance * 1.05)
