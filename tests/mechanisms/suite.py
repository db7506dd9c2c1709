"""The one test suite that every mechanism inherits.

Inherit :class:`MechanismSuite` (any mechanism) or :class:`FiniteLawSuite` (its
reports can be enumerated) in a class whose name starts with ``Test``, and state
the mechanism by the hooks. Statistical tests use a fixed seed, raise a false
alarm with probability 1e-6 at most, and are shown to reject a near miss.
"""

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from planner.errors import InputError
from tests.effort import tries
from tests.mechanisms.decisions import draws_follow, mean_is, mean_square_is


class MechanismSuite:
    """Unbiased, the stated variance, merging, seeds, and refusal of bad input."""

    users = 40  # people in one repetition; the laws tested are exact for any number
    repeats = tries(2_400, 12_000)
    bias_near_miss = 2.0  # in the unit of the estimates; must be noticed
    variance_near_miss = tries(115, 105) / 100  # as a factor; likewise

    # -- hooks --------------------------------------------------------------

    def mechanism(self) -> Any:
        """The mechanism under test."""
        raise NotImplementedError

    def values(self, rng: np.random.Generator) -> Any:
        """True values of ``self.users`` people, valid input of ``perturb``."""
        raise NotImplementedError

    def repeated(self, values: Any, times: int) -> Any:
        """The same people ``times`` times over, as one input of ``perturb``."""
        return np.tile(values, times)

    def expectation(self, values: Any) -> np.ndarray:
        """What the estimates must average to: the truth, unless a bias is documented."""
        raise NotImplementedError

    def variance(self, values: Any) -> np.ndarray:
        """The stated variance of the estimates for these true values."""
        raise NotImplementedError

    def numbers(self, estimates: Any) -> np.ndarray:
        """The estimates as a column, in the order of ``expectation`` and ``variance``."""
        return estimates.values

    def bad_values(self) -> list[Any]:
        """Inputs that ``perturb`` must refuse."""
        raise NotImplementedError

    def bad_reports(self) -> list[Any]:
        """Reports that ``aggregate`` must refuse."""
        raise NotImplementedError

    # -- tests --------------------------------------------------------------

    @classmethod
    @cache
    def runs(cls) -> tuple[Any, np.ndarray]:
        """True values, and the estimates of ``repeats`` independent runs (rows)."""
        case, rng = cls(), np.random.default_rng(20200420)
        mechanism, values = case.mechanism(), case.values(rng)
        reports = mechanism.perturb(case.repeated(values, case.repeats), rng)
        each = reports.reshape(case.repeats, case.users, *reports.shape[1:])
        estimates = (mechanism.estimate(mechanism.aggregate(r)) for r in each)
        return values, np.array([case.numbers(one) for one in estimates])

    def test_unbiased(self) -> None:
        values, estimates = self.runs()
        expected = self.expectation(values)
        assert mean_is(estimates, expected)
        assert not mean_is(estimates, expected + self.bias_near_miss)

    def test_variance_is_as_stated(self) -> None:
        values, estimates = self.runs()
        errors = estimates - self.expectation(values)
        variance = self.variance(values)
        assert mean_square_is(errors, variance)
        assert not mean_square_is(errors, variance * self.variance_near_miss)
        assert not mean_square_is(errors, variance / self.variance_near_miss)

    def test_aggregates_merge(self) -> None:
        mechanism, rng = self.mechanism(), np.random.default_rng(1)
        reports = mechanism.perturb(self.values(rng), rng)
        first, second = mechanism.aggregate(reports[:7]), mechanism.aggregate(reports[7:])
        whole = mechanism.aggregate(reports)
        assert (first + second).users == whole.users == len(reports)
        np.testing.assert_array_equal((first + second).counts, whole.counts)

    def test_same_seed_same_reports(self) -> None:
        mechanism, values = self.mechanism(), self.values(np.random.default_rng(2))
        first, again, other = (
            mechanism.perturb(self.repeated(values, 50), np.random.default_rng(seed))
            for seed in (3, 3, 4)
        )
        np.testing.assert_array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_one_generator_never_repeats_itself(self) -> None:
        mechanism, rng = self.mechanism(), np.random.default_rng(5)
        values = self.repeated(self.values(rng), 50)
        assert not np.array_equal(mechanism.perturb(values, rng), mechanism.perturb(values, rng))

    def test_bad_values_are_refused_before_anything_is_drawn(self) -> None:
        mechanism, rng = self.mechanism(), np.random.default_rng(6)
        before = rng.bit_generator.state
        for bad in self.bad_values():
            with pytest.raises(InputError, match="must be"):
                mechanism.perturb(bad, rng)
        assert rng.bit_generator.state == before

    def test_a_generator_is_demanded(self) -> None:
        for bad in (None, 7, np.random):
            with pytest.raises(InputError, match="rng"):
                self.mechanism().perturb(self.values(np.random.default_rng(0)), bad)

    def test_bad_reports_are_refused(self) -> None:
        for bad in self.bad_reports():
            with pytest.raises(InputError, match="must be") as caught:
                self.mechanism().aggregate(bad)
            assert re.match(r"(size of )?reports\b|round (one|two)\b", caught.value.argument)


class FiniteLawSuite(MechanismSuite):
    """Also: the output law is a law, is followed, and spends the stated budget exactly."""

    draws = 100_000

    # -- hooks --------------------------------------------------------------

    def epsilon(self) -> float:
        """The budget that the mechanism was asked to keep, in nats."""
        raise NotImplementedError

    def law_inputs(self) -> list[Any]:
        """One input per row of ``output_law()``, each valid within ``perturb``."""
        raise NotImplementedError

    def near_miss(self, law: np.ndarray) -> np.ndarray:
        """A law 5 % off the true one; must be noticed."""
        return 0.95 * law + 0.05 * (np.arange(law.size) == 0)

    def one_input(self, value: Any, times: int) -> Any:
        """The input of ``times`` people who all have ``value``."""
        return np.full(times, value)

    def index(self, reports: Any) -> np.ndarray:
        """The column of ``output_law()`` that each report belongs to."""
        return self.mechanism().report_index(reports)

    # -- tests --------------------------------------------------------------

    def test_law_sums_to_one(self) -> None:
        law = self.mechanism().output_law()
        assert law.shape[0] == len(self.law_inputs())
        assert law.min() >= 0
        np.testing.assert_allclose(law.sum(axis=1), 1, rtol=0, atol=1e-12)

    def test_privacy_loss_is_attained_and_the_budget_kept(self) -> None:
        mechanism = self.mechanism()
        law = mechanism.output_law()
        law = law[:, law.max(axis=0) > 0]
        realised = float(np.max(np.log(law.max(axis=0)) - np.log(law.min(axis=0))))
        assert mechanism.privacy_loss() == pytest.approx(realised, rel=1e-9)
        assert realised <= self.epsilon() * (1 + 1e-12)
        assert realised >= self.epsilon() - 1e-6  # rounding inward costs next to nothing

    def test_draws_follow_the_law(self) -> None:
        mechanism, rng = self.mechanism(), np.random.default_rng(8)
        law = mechanism.output_law()
        inputs = self.law_inputs()
        for row in np.unique(np.linspace(0, len(inputs) - 1, 6).astype(int)):
            reports = mechanism.perturb(self.one_input(inputs[row], self.draws), rng)
            counts = np.bincount(self.index(reports), minlength=law.shape[1])
            assert draws_follow(counts, law[row], 1e-6 / 6)
            assert not draws_follow(counts, self.near_miss(law[row]), 1e-6 / 6)
