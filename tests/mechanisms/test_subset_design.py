"""Subset designs as mechanisms: the inherited suite over three rules, and what is theirs alone."""

import numpy as np
import pytest

from planner import best_design
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms.counting import SidesCounter, pack, unpack
from planner.mechanisms.subset_design import SubsetDesignMechanism, draw_sides
from planner.mechanisms.words import seeded_words
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import SubsetDesign
from planner.solvers.types import OutputTypes
from tests.mechanisms.listed import output_law
from tests.mechanisms.random_designs import random_design
from tests.mechanisms.suite import SingleItemSuite

# Levels 0.6 and 1.2 apart, so that a level parks in the middle of the other's window.
MATRIX = PrivacyPolicy([1.0, 1.4], [2, 3], [[1.0, 0.6], [0.6, 1.4]])
WINDOWS = [([0.6, 0.0], [0.6, 1.2]), ([0.0, 0.4], [1.0, 0.6]), ([0.0, 0.0], [0.6, 0.6])]

BY_MATRIX = SubsetDesignMechanism.of(random_design(MATRIX, np.random.default_rng(5), WINDOWS))
AVERAGE = SubsetDesignMechanism.of(best_design(PrivacyPolicy([1.0, 2.0], [2, 3], "avg")))
_TABLE_II = best_design(PrivacyPolicy(np.log([4, 6]), [1, 4]))  # of the IDUE paper
TABLE_II = SubsetDesignMechanism.of(_TABLE_II)


class DesignSuite(SingleItemSuite):
    """Five items; hooks give the design and the largest budget that it spends."""

    @pytest.mark.parametrize("n", [1, 1000])
    def test_standard_errors_are_of_the_estimated_counts(self, n):
        mechanism = self.mechanism()
        aggregate = mechanism.draw_aggregate([n, 0, 0, n, 0], np.random.default_rng(5))
        estimates = mechanism.estimate(aggregate)
        level, values = mechanism.level_of, estimates.values
        people = np.maximum(np.bincount(level, values), 0)
        people *= aggregate.users / people.sum()
        other, own = mechanism.variances
        for item in range(self.items):
            have = np.clip(values[item], 0, aggregate.users)
            i = level[item]
            variance = people @ other[:, i] + have * (own[i] - other[i, i])
            assert estimates.standard_errors[item] == pytest.approx(np.sqrt(variance), rel=1e-9)
            rest = people * np.where(np.arange(people.size) == i, (level == i).sum() > 1, 1)
            nobody = aggregate.users * (rest @ other[:, i]) / rest.sum()
            assert estimates.null_standard_errors[item] == pytest.approx(np.sqrt(nobody), rel=1e-9)

    def test_bad_budgets_and_domains_are_refused(self):
        mechanism = self.mechanism()
        short = mechanism.integers.copy()
        short[0, 0, np.argmax(short[0, 0])] -= 1
        parts = mechanism.policy, mechanism.high_counts
        levels = mechanism.level_of
        with pytest.raises(VerificationError, match="sum to 2"):
            SubsetDesignMechanism(*parts, short, mechanism.estimator, levels)
        with pytest.raises(VerificationError, match="biased"):
            SubsetDesignMechanism(*parts, mechanism.integers, mechanism.estimator * 1.00001, levels)
        strict = PrivacyPolicy(mechanism.policy.epsilons / 2, parts[0].item_counts, "min")
        with pytest.raises(VerificationError, match="exceeds a pair's budget"):
            SubsetDesignMechanism(strict, parts[1], mechanism.integers, mechanism.estimator, levels)


class TestRuleMin(DesignSuite):
    budget = float(np.log(6))

    def mechanism(self):
        return TABLE_II

    def test_the_error_is_that_of_the_design(self):
        mechanism = self.mechanism()
        assert mechanism.worst_case_mse == pytest.approx(3.870237, rel=1e-6)
        worst = max(mechanism.variance(np.eye(5, dtype=int)[k]).sum() for k in range(5))
        assert worst == pytest.approx(mechanism.worst_case_mse, rel=1e-12)


class TestRuleAvg(DesignSuite):
    budget = 2.0

    def mechanism(self):
        return AVERAGE


class TestMatrix(DesignSuite):
    budget = 1.2
    bias_near_miss = 8.0  # below half of one repetition's standard error

    def mechanism(self):
        return BY_MATRIX


def test_realised_budgets_of_levels_are_within_the_demanded_ones():
    mechanism = TestMatrix().mechanism()
    realised, law = mechanism.pair_losses(), output_law(mechanism)
    levels = mechanism.level_of
    for i, j in ((0, 0), (0, 1), (1, 1)):
        pairs = [(x, y) for x in range(5) for y in range(5) if x != y]
        worst = max(
            np.max(np.abs(np.log(law[x]) - np.log(law[y])))
            for x, y in pairs
            if (levels[x], levels[y]) == (i, j)
        )
        assert realised[i, j] == pytest.approx(worst, rel=1e-12)
        assert worst <= MATRIX.bounds()[i, j]


def test_equal_budgets_give_subset_selection():
    design = best_design(PrivacyPolicy([1.0], [12]))
    mechanism = SubsetDesignMechanism.of(design)
    assert mechanism.high_counts.ravel().tolist() == [3, 0]
    assert mechanism.integers[0, 1, 0] < 100  # the blank takes what rounding leaves
    odds = mechanism.integers[0, 0, 1] / 3 / (mechanism.integers[0, 0, 0] / 9)
    assert np.log(odds) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("counts", [[50, 50, 900], [1, 63, 64, 200], [3, 700]])
def test_reports_hold_exactly_the_items_that_their_type_says(counts):
    policy = PrivacyPolicy(np.linspace(1, 2, len(counts)), counts)
    mechanism = SubsetDesignMechanism.of(best_design(policy))
    rng, items = np.random.default_rng(12), np.array(counts)
    own = rng.integers(sum(counts), size=5_000)
    drawn = (items, mechanism.high_counts, mechanism.integers)
    reports = draw_sides(own, *drawn, seeded_words(rng))
    bits = unpack(np.ascontiguousarray(reports[:, 1:]), sum(counts))
    starts = np.concatenate([[0], np.cumsum(counts)])
    weights = np.add.reduceat(bits, starts[:-1], axis=1, dtype=np.int64)
    np.testing.assert_array_equal(weights, mechanism.high_counts[reports[:, 0].astype(int)])
    counter = SidesCounter(items, mechanism.high_counts)
    counter.add(reports.view(np.uint8))
    total = counter.sums().counts.reshape(-1, 1 + sum(counts))
    assert total[:, 0].sum() == 5_000
    expected = np.zeros_like(total[:, 1:])
    np.add.at(expected, reports[:, 0].astype(int), bits)
    np.testing.assert_array_equal(total[:, 1:], expected)
    reports[1_234, 1] ^= np.uint64(1)  # its first level has one too many, or one too few
    with pytest.raises(InputError, match=r"size of reports\[6234\] is \["):
        counter.add(reports.view(np.uint8))


@pytest.mark.parametrize("exact", [2**24, 500])
@pytest.mark.parametrize("counts", [[51, 51, 922], [3] * 50, [1, 2] * 20 + [5000], [1000] * 3])
def test_no_weight_passes_for_another(counts, exact, monkeypatch):
    """Levels' weights are compared as digits of one number, or of several where it is too small."""
    monkeypatch.setattr("planner.mechanisms.counting._EXACT", exact)
    rng, items, levels = np.random.default_rng(3), np.array(counts), len(counts)
    full = np.zeros(levels, dtype=int)
    full[::2] = items[::2]
    high = np.array([full, items - full, rng.integers(items + 1)])
    rows, starts = [0, 1, 2, 2, 0], np.cumsum([0, *counts])
    bits = np.zeros((len(rows), starts[-1]), dtype=np.uint8)
    for row, kind in zip(bits, rows, strict=True):
        for start, ones, size in zip(starts, high[kind], counts, strict=False):
            row[start + rng.permutation(size)[:ones]] = 1
    good = np.column_stack([np.array(rows, dtype=np.uint64), pack(bits)])
    counter = SidesCounter(items, high)
    for _ in range(2):
        counter.add(good.view(np.uint8))
    total = [2 * bits[np.array(rows) == kind].sum(axis=0, dtype=int) for kind in range(3)]
    counted = counter.sums().counts.reshape(3, -1)
    np.testing.assert_array_equal(counted[:, 1:], total)
    assert counted[:, 0].tolist() == [4, 2, 4]
    for level in range(0, levels - 1, 2):  # full, then empty: one more carries into the next digit
        forged = bits.copy()
        forged[4, starts[level] : starts[level + 1]] = 0
        forged[4, starts[level + 1]] = 1
        bad = np.column_stack([good[:, 0], pack(forged)])
        seen = [*full[:level].tolist(), 0, 1]
        with pytest.raises(InputError, match=r"size of reports\[14\] is \[") as refused:
            counter.add(bad.view(np.uint8))
        if level < 5:  # long lists are cut
            assert f"is {seen}"[:-1] in str(refused.value)


def test_many_items_are_estimated_within_their_errors():
    """Simulated totals against the exact variance: five standard errors of a chi-square."""
    policy = PrivacyPolicy([1.0, 1.2, 2.0], [50, 50, 900])
    mechanism = SubsetDesignMechanism.of(best_design(policy))
    rng = np.random.default_rng(20200420)
    truth = np.bincount(rng.zipf(1.3, size=40_000) % 1000, minlength=1000)
    error = np.square(mechanism.estimate(mechanism.draw_aggregate(truth, rng)).values - truth).sum()
    assert abs(error / mechanism.variance(truth).sum() - 1) < 5 * np.sqrt(2 / 1000)


def test_a_design_that_breaks_its_policy_is_refused():
    types = OutputTypes([5], [0.5], [[1.0]], [[6.0]], [[1]])
    with pytest.raises(VerificationError, match=r"exceeds a pair's budget by 0\.2"):
        SubsetDesignMechanism.of(SubsetDesign(PrivacyPolicy([np.log(5)], [5]), types, [0], [1.0]))
    light = OutputTypes([5], [0.49], [[1.0]], [[6.0]], [[1]])
    with pytest.raises(VerificationError, match=r"sum to 0\.98"):
        SubsetDesignMechanism.of(SubsetDesign(PrivacyPolicy([np.log(6)], [5]), light, [0], [1.0]))


def test_integers_of_every_level_sum_to_the_grid():
    mechanism = TestRuleMin().mechanism()
    assert (mechanism.integers.sum(axis=(1, 2)) == DENOMINATOR).all()


def test_levels_alike_share_a_group_and_keep_their_items():
    """Levels 0 and 3 are one group; bits stand group by group, answers in the levels' order."""
    policy = PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [2, 40, 20, 3])
    mechanism = SubsetDesignMechanism.of(best_design(policy))
    assert mechanism.policy.size == 2
    assert mechanism.level_of.tolist() == [0] * 2 + [1] * 60 + [0] * 3
    truth = np.repeat([5_000, 1_000, 30_000], [2, 60, 3])
    estimates = mechanism.estimate(mechanism.draw_aggregate(truth, np.random.default_rng(3)))
    assert np.abs((estimates.values - truth) / estimates.standard_errors).max() < 5
