"""Unary encoding: the inherited suite with reports, rounding inward, levels and widths."""

import os

import numpy as np
import pytest

from planner import PrivacyPolicy, UnaryTable, baseline
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms.packed import unpack
from planner.mechanisms.unary import UnaryMechanism
from tests.mechanisms.listed import output_law
from tests.mechanisms.suite import ItemReportsSuite, wrong_reports

# Table II of the IDUE paper: ln 4 for one item, ln 6 for four (opt0, 8.567 n).
TABLE_II = UnaryTable(
    PrivacyPolicy([np.log(4), np.log(6)], [1, 4]),
    [0.592048, 0.672998],
    [0.327001, 0.277564],
    "opt0",
    "from the literature",
)


def by_hand(policy, a, b):
    return UnaryTable(policy, a, b, "opt0", "by hand")


class UnarySuite(ItemReportsSuite):
    def bad_reports(self):
        return wrong_reports(self.items, 1)

    def index(self, reports):
        return reports[:, 0].astype(int)


class TestRappor(UnarySuite):
    def mechanism(self):
        return UnaryMechanism.rappor(self.budget, self.items)


class TestOptimizedUnaryEncoding(UnarySuite):
    def mechanism(self):
        return UnaryMechanism.oue(self.budget, self.items)


class TestInputDiscriminativeUnaryEncoding(UnarySuite):
    budget = float(np.log(0.672998 * (1 - 0.277564) / 0.277564 / (1 - 0.672998)))

    def mechanism(self):
        return UnaryMechanism(TABLE_II, [1, 1, 0, 1, 1])


def test_realised_budget_of_every_pair_of_levels_is_within_the_demanded_one():
    mechanism = UnaryMechanism(TABLE_II)
    realised, law = mechanism.pair_losses(), output_law(mechanism)
    levels = mechanism.level_of
    for i, j in ((0, 1), (1, 1)):
        pairs = [(x, y) for x in range(5) for y in range(5) if x != y and levels[x] == i]
        worst = max(
            np.max(np.abs(np.log(law[x]) - np.log(law[y]))) for x, y in pairs if levels[y] == j
        )
        assert realised[i, j] == realised[j, i] == pytest.approx(worst, rel=1e-12)
        assert worst <= TABLE_II.policy.bounds()[i, j]
    assert np.isnan(realised[0, 0])  # one item: there is no pair
    alone = UnaryMechanism(baseline(PrivacyPolicy([1.0], [1]), "oue"))
    assert alone.privacy_loss() == 0.0


def test_rounding_is_inward_and_stays_between_0_and_1():
    a, b = UnaryMechanism(by_hand(PrivacyPolicy([1.0], [4]), [0.6], [0.36])).thresholds
    assert a[0] / DENOMINATOR <= 0.6 < (a[0] + 1) / DENOMINATOR
    assert (b[0] - 1) / DENOMINATOR < 0.36 <= b[0] / DENOMINATOR
    assert UnaryMechanism.oue(22.2, 4).thresholds[1].tolist() == [1]
    largest = by_hand(PrivacyPolicy([50.0], [4]), [1 - 2.0**-53], [0.5])
    assert UnaryMechanism(largest).thresholds[0].tolist() == [DENOMINATOR - 1]
    with pytest.raises(InputError, match=r"level 0 is \(0\.5.*\) but must be further .* 2\^-32"):
        UnaryMechanism.rappor(1e-10, 4)


def test_a_table_that_breaks_its_policy_is_refused():
    with pytest.raises(VerificationError, match=r"exceeds a pair's budget by 1\.77"):
        UnaryMechanism(by_hand(PrivacyPolicy([1.0], [4]), [0.8], [0.2]))
    # Two sets may sample the same level's item and dummy: one item keeps its own budget, too.
    policy = PrivacyPolicy([1.0, 1.0], [1, 1], [[np.inf, 1.0], [1.0, 0.3]])
    with pytest.raises(VerificationError, match=r"exceeds a pair's budget by 0\.105 nats"):
        UnaryMechanism(by_hand(policy, [0.5, 0.5], [0.35, 0.4]))


@pytest.mark.parametrize("levels", [[0, 0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1, 2], [0.0] * 5])
def test_wrong_assignments_of_items_to_levels_are_refused(levels):
    with pytest.raises(InputError, match=r"^(level_of|items in level)\b.* must be"):
        UnaryMechanism(TABLE_II, levels)


def test_a_level_may_not_be_left_out():
    with pytest.raises(InputError, match="items in level 0 is 5 but must be 1, as the policy says"):
        UnaryMechanism(TABLE_II, [0] * 5)
    three = by_hand(PrivacyPolicy([1, 1, 1], [2, 2, 1]), [0.5] * 3, [0.4] * 3)
    with pytest.raises(InputError, match="items in level 2 is 0 but must be 1, as the policy says"):
        UnaryMechanism(three, [0, 0, 1, 1])
    assert not UnaryMechanism(TABLE_II).level_of.flags.writeable


def test_reports_do_not_depend_on_the_number_of_processors(monkeypatch):
    mechanism = UnaryMechanism.oue(1.0, items=1000)
    values = np.random.default_rng(0).integers(1000, size=7001)
    reports = []
    for processors in (1, 2, 5):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        reports.append(mechanism.perturb(values, np.random.default_rng(1)))
        counts = mechanism.aggregate(reports[-1]).counts
        np.testing.assert_array_equal(counts, mechanism.aggregate(reports[0]).counts)
    np.testing.assert_array_equal(reports[0], reports[1])
    np.testing.assert_array_equal(reports[0], reports[2])


@pytest.mark.parametrize("items", [1, 63, 64, 65, 200])
def test_every_width_of_report(items):
    mechanism = UnaryMechanism(by_hand(PrivacyPolicy([20.0], [items]), [0.5], [2e-8]))
    true = np.arange(5000, dtype=np.uint64) % items
    bits = unpack(mechanism.perturb(true, np.random.default_rng(0)), items)
    own = bits[np.arange(true.size), true.astype(int)]
    assert abs(own.mean() - 0.5) < 4.9 * 0.5 / np.sqrt(true.size)  # every item has its own bit
    assert bits.sum() - own.sum() <= true.size * items * 2e-8 + 3
