"""The one suite that every mechanism inherits.

Inherit :class:`MechanismSuite` in a class whose name starts with ``Test``, and state the mechanism
by the hooks; what is drawn by report is tested with the laws. Statistical tests use a fixed seed,
raise a false alarm with probability 1e-6 at most, and are shown to reject a near miss.
"""

from functools import cache
from typing import Any

import numpy as np
import pytest

from planner.mechanisms.counting import Aggregate
from tests.mechanisms.decisions import mean_is, mean_square_is
from tests.mechanisms.listed import output_law
from tests.refusals import refused
from tests.surveys import tries


class MechanismSuite:
    """Unbiased, the stated variance, the budget kept and attained, refusal of bad input."""

    budget: float  # that the mechanism was asked to keep, in nats
    users = 40  # people in one repetition; the laws tested are exact for any number
    repeats = tries(1_200, 12_000)
    bias_near_miss = tries(30, 20) / 10  # in the unit of the estimates; must be noticed
    variance_near_miss = tries(122, 105) / 100  # as a factor; likewise

    # -- hooks --------------------------------------------------------------

    def mechanism(self) -> Any:
        """The mechanism under test."""

    def truth(self) -> Any:
        """What ``draw_aggregate`` and ``variance`` take for some people."""

    def draw(self, truth: Any, rng: Any) -> Aggregate:
        """The sums over one collection from these people."""
        return self.mechanism().draw_aggregate(truth, rng)

    def expectation(self) -> np.ndarray:
        """What the estimates of these people must average to."""
        return self.truth()

    def variance(self) -> np.ndarray:
        """The stated variance of the estimates for these people."""
        return self.mechanism().variance(self.truth())

    def numbers(self, estimates: Any) -> np.ndarray:
        """The estimates as a column, in the order of ``expectation`` and ``variance``."""
        return estimates.values

    def law(self) -> np.ndarray:
        """The output law, one row an input."""
        return output_law(self.mechanism())

    def bad_truths(self) -> list[Any]:
        """What ``draw_aggregate`` must refuse."""
        return [
            [1, 2],
            [0] * 5,
            [-1, 2, 0, 0, 0],
            [0.5] * 5,
            [np.nan] * 5,
            [[1, 0, 0, 2, 0]],
            None,
        ]

    # -- tests --------------------------------------------------------------

    @classmethod
    @cache
    def totals(cls) -> list[Aggregate]:
        """The sums over ``repeats`` independent collections."""
        case = cls()
        truth = cls().truth()
        rng = np.random.default_rng(9)
        return [case.draw(truth, rng) for _ in range(case.repeats)]

    @classmethod
    @cache
    def drawn(cls) -> np.ndarray:
        """The estimates of each of them (rows)."""
        case = cls()
        estimate = cls().mechanism().estimate
        return np.array([case.numbers(estimate(total)) for total in cls.totals()])

    def check(self, estimates: np.ndarray) -> None:
        """Their mean and their variance are as stated."""
        expected = self.expectation()
        variance = self.variance()
        assert mean_is(estimates, expected)
        assert not mean_is(estimates, expected + self.bias_near_miss)
        errors = estimates - expected
        assert mean_square_is(errors, variance)
        assert not mean_square_is(errors, variance * self.variance_near_miss)
        assert not mean_square_is(errors, variance / self.variance_near_miss)

    def test_counts_are_drawn_unbiased_and_with_the_stated_variance(self) -> None:
        self.check(self.drawn())

    def test_one_generator_repeats_by_its_seed_alone(self) -> None:
        truth = self.truth()
        assert getattr(self.mechanism(), "name", "") == ""  # it is of no question
        rng = np.random.default_rng(3)
        first = self.draw(truth, rng)
        rng = np.random.default_rng(3)
        again = self.draw(truth, rng)
        np.testing.assert_array_equal(first.counts, again.counts)

    def test_the_budget_is_kept_and_spent(self) -> None:
        law = self.law()
        np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)
        realised = float(np.max(np.log(law.max(axis=0)) - np.log(law.min(axis=0))))
        # Rounding inward costs next to nothing.
        assert self.budget - 1e-6 <= realised <= self.budget * (1 + 1e-12)

    def test_what_is_no_truth_is_refused_before_anything_is_drawn(self) -> None:
        mechanism = self.mechanism()
        rng = np.random.default_rng(10)
        before = rng.bit_generator.state
        for bad in self.bad_truths():
            with refused(
                "items of the sets",
                "members",
                "set of user 0",
                "sets",
                "starts",
                "true_counts",
            ):
                self.draw(bad, rng)
            with refused(
                "items of the sets",
                "members",
                "set of user 0",
                "sets",
                "starts",
                "true_counts",
            ):
                mechanism.variance(bad)
        for bad in (None, 7, np.random):
            with refused("rng"):
                self.draw(self.truth(), bad)
        assert rng.bit_generator.state == before

    def test_no_users_have_no_estimate(self) -> None:
        rng = np.random.default_rng(1)
        shape = self.draw(self.truth(), rng).counts.shape
        with refused("counts", "users"):
            self.mechanism().estimate(Aggregate(0, np.zeros(shape, dtype=int)))
        with refused("counts"):
            self.mechanism().estimate(Aggregate(7, np.zeros((1, 1, 1), dtype=int)))


class SingleItemSuite(MechanismSuite):
    """One item of five per user."""

    items = 5
    budget = float(np.log(4))

    def truth(self):
        return np.array([70, 20, 5, 4, 1])

    @pytest.mark.parametrize("n", [1, 1000])
    def test_standard_errors_are_of_the_estimated_counts(self, n):
        """Estimated counts outside 0 to n count as 0 and n; of the five, two are."""
        mechanism = self.mechanism()
        a, b = mechanism.shape.chances
        counts = np.array([n, 0, *np.round(n * (a + b) / 2).astype(int)[:3]])
        if mechanism.shape.name == "sides":
            types = [n]
        else:
            types = []
        counted = Aggregate(n, np.array([*types, *counts]))
        estimates = mechanism.estimate(counted)
        have = np.clip((counts - n * b) / (a - b), 0, n)
        assert have[0] == n
        assert have[1] == 0
        variance = (have * a * (1 - a) + (n - have) * b * (1 - b)) / (a - b) ** 2
        nobody = n * b * (1 - b) / (a - b) ** 2
        np.testing.assert_allclose(
            estimates.standard_errors, np.sqrt(variance), rtol=1e-9
        )
        np.testing.assert_allclose(
            estimates.null_standard_errors, np.sqrt(nobody), rtol=1e-9
        )
