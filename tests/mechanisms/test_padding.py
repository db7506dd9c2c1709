import numpy as np
import pytest

from planner import solve
from planner.designs.table import UnaryTable
from planner.errors import InputError, VerificationError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.itemsets import ItemSets
from planner.mechanisms.padding import PaddedUnaryMechanism, set_budgets
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy
from tests.mechanisms.decisions import mean_is, mean_square_is
from tests.mechanisms.suite import FiniteLawSuite
from tests.mechanisms.test_unary import TABLE_II, wrong_reports

ITEMS = 4
ALL_SETS = [[k for k in range(ITEMS) if (code >> k) & 1] for code in range(2**ITEMS)]


class PaddedSuite(FiniteLawSuite):
    """Four items; hooks give the mechanism at any padding length and the budget it spends."""

    length = 2
    budget = float(np.log(4))

    def mechanism(self):
        return self.padded(self.length)

    def padded(self, length):
        raise NotImplementedError

    def values(self, rng):
        return [ALL_SETS[code] for code in rng.integers(2**ITEMS, size=self.users)]

    def repeated(self, values, times):
        return values * times

    def one_input(self, value, times):
        return [value] * times

    def expectation(self, values):
        chance = [[(k in x) / max(len(x), self.length) for k in range(ITEMS)] for x in values]
        return self.length * np.sum(chance, axis=0)

    def variance(self, values):
        return self.mechanism().variance(values)

    def epsilon(self):
        return self.budget

    def law_inputs(self):
        return ALL_SETS

    def bad_values(self):
        return [
            [],
            [[0, ITEMS]],
            [[-1]],
            [[0, 0]],
            [[0.5]],
            [[float("nan")]],
            [["a"]],
            [0, 1],
            None,
            ItemSets.of([[0]], items=ITEMS + 1),
        ]

    def test_bias_is_truncation(self):
        values = self.values(np.random.default_rng(3))
        truth = np.array([sum(k in x for x in values) for k in range(ITEMS)])
        bias = self.mechanism().bias(values)
        np.testing.assert_allclose(bias, self.expectation(values) - truth, atol=1e-12)
        assert bias.max() < 0  # some sets have more items than the padding length
        np.testing.assert_allclose(self.padded(ITEMS).bias(values), 0, atol=1e-12)

    def test_counts_can_be_drawn_without_reports(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(4)
        values = ItemSets.of(self.values(rng), ITEMS)
        runs = np.array(
            [
                mechanism.estimate(mechanism.draw_aggregate(values, rng)).values
                for _ in range(self.repeats)
            ]
        )
        expected = self.expectation(self.values(np.random.default_rng(4)))
        assert mean_is(runs, expected)
        errors, variance = runs - expected, mechanism.variance(values)
        assert mean_square_is(errors, variance)
        assert not mean_square_is(errors, variance * self.variance_near_miss)

    def test_standard_errors_are_not_too_small(self):
        mechanism, rng = self.mechanism(), np.random.default_rng(5)
        values = ItemSets.of(self.values(rng), ITEMS)
        runs = [mechanism.estimate(mechanism.draw_aggregate(values, rng)) for _ in range(2000)]
        stated = np.mean([np.square(run.standard_errors) for run in runs], axis=0)
        exact = mechanism.variance(values)
        assert np.all((stated > 0.97 * exact) & (stated < 1.15 * exact))


class UnarySuite(PaddedSuite):
    """Also what is told of bits alone; a hook gives the mechanism of single items."""

    def padded(self, length):
        return PaddedUnaryMechanism(self.unary(), length)

    def unary(self):
        raise NotImplementedError

    def bad_reports(self):
        return wrong_reports(ITEMS + self.length, 1)

    def test_standard_errors_are_those_of_a_count_that_is_possible(self):
        """Estimated shares of ones outside ``[b, a]`` count as ``b`` and ``a``."""
        mechanism, n = self.mechanism(), 1000
        a, b, length = mechanism.unary.a, mechanism.unary.b, self.length
        none, full = (mechanism.estimate(Aggregate(n, np.full(ITEMS, count))) for count in (0, n))
        unit = length * np.sqrt(n) / (a - b)
        np.testing.assert_allclose(none.standard_errors, unit * np.sqrt(b * (1 - b)), rtol=1e-12)
        np.testing.assert_allclose(full.standard_errors, unit * np.sqrt(a * (1 - a)), rtol=1e-12)
        for estimates in (none, full):
            np.testing.assert_allclose(
                estimates.null_standard_errors, none.standard_errors, rtol=1e-12
            )

    def test_items_that_nobody_has(self):
        mechanism, sets = self.mechanism(), [[0], [0, 1]] * 50
        drawn = mechanism.draw_aggregate(sets, np.random.default_rng(1))
        assert drawn.counts.shape == (ITEMS,)
        assert mechanism.expectation(sets)[2:].tolist() == [0, 0]


class TestRapporPS(UnarySuite):
    def unary(self):
        return UnaryMechanism.rappor(self.budget, ITEMS)


class TestOptimizedUnaryEncodingPS(UnarySuite):
    length = 1

    def unary(self):
        return UnaryMechanism.oue(self.budget, ITEMS)


TWO_AND_TWO = UnaryTable(
    PrivacyPolicy(TABLE_II.policy.epsilons, [2, 2]), TABLE_II.a, TABLE_II.b, "opt0", "by hand"
)


class TestInputDiscriminativeUnaryEncodingPS(UnarySuite):
    length = 1
    budget = float(np.log(0.672998 * (1 - 0.277564) / 0.277564 / (1 - 0.672998)))

    def unary(self):
        return UnaryMechanism(TWO_AND_TWO, [1, 0, 0, 1])


def test_set_budgets_are_kept_and_attained():
    """Equation 18 by brute force: all pairs of sets, all reports."""
    for length in (1, 2, 3):
        mechanism = PaddedUnaryMechanism(UnaryMechanism(TWO_AND_TWO), length)
        law = np.log(mechanism.output_law())
        budgets = set_budgets(mechanism, ALL_SETS)
        worst = np.max(law[:, None, :] - law[None, :, :], axis=2)
        demanded = np.minimum(budgets[:, None], budgets[None, :])
        assert np.all(worst <= demanded + 1e-12)
        assert worst.max() <= mechanism.privacy_loss() + 1e-12
        if length == 1:  # one item each, of the two levels: a row of the table that binds
            assert worst[0b0001, 0b0100] == pytest.approx(np.log(4), abs=1e-5)
            assert demanded[0b0001, 0b0100] == pytest.approx(np.log(4), abs=1e-12)


def test_set_budgets_follow_equation_16():
    mechanism = PaddedUnaryMechanism(UnaryMechanism(TABLE_II), 2)
    budgets = set_budgets(mechanism, [[], [0], [1], [0, 1], [1, 2], [1, 2, 3], []])
    odds = [4, 4, (6 + 4) / 2, (4 + 6) / 2, 6, 6, 4]
    np.testing.assert_allclose(budgets, np.log(odds), rtol=1e-12)


def test_items_that_nobody_has_are_counted_too():
    assert ItemSets.of([[0, 1], [1]], 4).counts().tolist() == [1, 2, 0, 0]


def test_set_budgets_need_the_minimum_rule():
    policy = PrivacyPolicy([1.0, 2.0], [2, 2], rule="avg")
    table = UnaryTable(policy, [0.5, 0.5], [0.4, 0.4], "opt0", "by hand")
    mechanism = PaddedUnaryMechanism(UnaryMechanism(table), 2)
    with pytest.raises(InputError, match="min"):
        set_budgets(mechanism, [[0]])


@pytest.mark.parametrize("length", [0, -1, 1.5, True, None, float("nan")])
def test_padding_lengths_below_one_are_refused(length):
    with pytest.raises(InputError, match="padding_length"):
        PaddedUnaryMechanism(UnaryMechanism(TABLE_II), length)


def test_a_level_whose_own_row_is_missing_is_refused():
    policy = PrivacyPolicy([1.0, 1.0], [1, 3], rule=[[np.inf, 1.0], [1.0, 1.0]])
    table = UnaryTable(policy, [0.5, 0.5], [0.4, 0.4], "opt0", "by hand")
    PaddedUnaryMechanism(UnaryMechanism(table), 2)  # no budget is demanded there at all
    loose = UnaryTable(PrivacyPolicy([1.0, 1.0], [1, 3]), [0.8, 0.5], [0.2, 0.4], "opt0", "by hand")
    with pytest.raises(VerificationError):
        PaddedUnaryMechanism(UnaryMechanism(loose), 2)


def test_sets_from_flat_arrays():
    sets = ItemSets(3, np.array([2, 0, 1]), np.array([0, 2, 2, 3]))
    assert sets.sizes.tolist() == [2, 0, 1]
    assert sets.firsts().tolist() == [2, 1]
    for members, starts in (
        ([2, 2], [0, 2]),
        ([2, 0], [0, 1]),
        ([2, 0], [1, 2]),
        ([2, 0], [0, 3, 2]),
        ([2, 0], [0]),
        ([2, 0], [0.0, 2.0]),
        ([3], [0, 1]),
    ):
        with pytest.raises(InputError, match="must be"):
            ItemSets(3, np.array(members), np.array(starts))


def largest_excess(mechanism):
    """Over all pairs of sets and all reports, against the smaller of two sets' budgets (eq. 18)."""
    law = mechanism.output_law()
    law = np.log(law[:, law.max(axis=0) > 0])
    realised = np.array([np.max(row - law, axis=1) for row in law])
    sets = [[k for k in range(mechanism.items) if code >> k & 1] for code in range(len(law))]
    budgets = set_budgets(mechanism, sets)
    return float(np.max(realised - np.minimum(budgets[:, None], budgets[None, :])))


@pytest.mark.parametrize("length", [1, 2, 3])
@pytest.mark.parametrize("counts", [[1, 3], [2, 2]])
def test_set_budgets_are_kept(counts, length):
    policy = PrivacyPolicy([np.log(4), np.log(6)], counts)
    excess = largest_excess(PaddedUnaryMechanism(UnaryMechanism(solve(policy)), length))
    assert excess <= 1e-12
    if length == 1:
        assert excess >= -1e-6  # attained


def test_one_wrong_probability_is_found_out():
    mechanism = PaddedUnaryMechanism(UnaryMechanism.rappor(1.0, items=3), 1)
    a, _ = mechanism.unary.thresholds
    object.__setattr__(mechanism.unary, "_a", a + np.uint32(2**26))
    assert largest_excess(mechanism) > 0.01
