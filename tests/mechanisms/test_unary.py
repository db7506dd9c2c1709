import os

import numpy as np
import pytest

from planner.designs.table import UnaryTable
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy
from tests.mechanisms.single_item import SingleItemSuite

# Table II of the IDUE paper: ln 4 for one item, ln 6 for four (opt0, 8.567 n).
TABLE_II = UnaryTable(
    PrivacyPolicy([np.log(4), np.log(6)], [1, 4]),
    [0.592048, 0.672998],
    [0.327001, 0.277564],
    "opt0",
    "from the literature",
)


def wrong_reports(items, words):
    good = np.zeros((3, words), dtype=np.uint64)
    beyond = good.copy()
    beyond[1, -1] = np.uint64(1) << np.uint64(items % 64)
    return [
        good.astype(np.int64),
        good.astype(np.uint8),
        good[:0],
        good[0],
        np.zeros((3, words + 1), dtype=np.uint64),
        beyond,
        good.tolist(),
        None,
    ]


class UnarySuite(SingleItemSuite):
    def bad_reports(self):
        return wrong_reports(self.items, 1)


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
    realised, law = mechanism.pair_losses(), mechanism.output_law()
    levels = mechanism.level_of
    for i, j in ((0, 1), (1, 1)):
        pairs = [(x, y) for x in range(5) for y in range(5) if x != y and levels[x] == i]
        worst = max(
            np.max(np.abs(np.log(law[x]) - np.log(law[y]))) for x, y in pairs if levels[y] == j
        )
        assert realised[i, j] == realised[j, i] == pytest.approx(worst, rel=1e-12)
        assert worst <= TABLE_II.policy.bounds()[i, j]
    assert np.isnan(realised[0, 0])  # one item: there is no pair


def test_rounding_is_inward():
    table = UnaryTable(PrivacyPolicy([1.0], [4]), [0.6], [0.36], "opt0", "by hand")
    a, b = (int(threshold[0]) for threshold in UnaryMechanism(table).thresholds)
    assert a / DENOMINATOR <= 0.6 < (a + 1) / DENOMINATOR
    assert (b - 1) / DENOMINATOR < 0.36 <= b / DENOMINATOR


def test_a_table_that_breaks_its_policy_is_refused():
    table = UnaryTable(PrivacyPolicy([1.0], [4]), [0.8], [0.2], "opt0", "by hand")
    with pytest.raises(VerificationError, match=r"exceeds a pair's budget by 1\.77"):
        UnaryMechanism(table)


def test_plain_mechanisms_say_which_they_are():
    assert [UnaryMechanism.rappor(1.0, 4).table.model, UnaryMechanism.oue(1.0, 4).table.model] == [
        "rappor",
        "oue",
    ]
    assert UnaryMechanism.oue(1.0, 4).table.method == "closed form"


def test_probabilities_next_to_0_and_1_stay_inside():
    assert UnaryMechanism.oue(22.2, 4)._b.tolist() == [1]
    largest = UnaryTable(PrivacyPolicy([50.0], [4]), [1 - 2.0**-53], [0.5], "opt0", "by hand")
    assert UnaryMechanism(largest)._a.tolist() == [DENOMINATOR - 1]


def test_probabilities_finer_than_the_grid_are_refused():
    with pytest.raises(InputError, match=r"level 0 is \(0\.5.*\) but must be further .* 2\^-32"):
        UnaryMechanism.rappor(1e-10, 4)


@pytest.mark.parametrize("levels", [[0, 0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1, 2], [0.0] * 5])
def test_wrong_assignments_of_items_to_levels_are_refused(levels):
    with pytest.raises(InputError, match=r"^(level_of|items in level)\b.* must be"):
        UnaryMechanism(TABLE_II, levels)


def test_a_level_may_not_be_left_out():
    with pytest.raises(InputError, match="items in level 0 is 5 but must be 1, as the policy says"):
        UnaryMechanism(TABLE_II, [0] * 5)
    three = UnaryTable(PrivacyPolicy([1, 1, 1], [2, 2, 1]), [0.5] * 3, [0.4] * 3, "opt0", "by hand")
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
    table = UnaryTable(PrivacyPolicy([1.0], [items]), [0.5], [0.3], "oue", "by hand")
    mechanism = UnaryMechanism(table)
    values = np.arange(5000) % items
    aggregate = mechanism.aggregate(mechanism.perturb(values, np.random.default_rng(0)))
    expected = np.where(items == 1, 0.5, 0.5 / items + 0.3 * (1 - 1 / items)) * 5000
    assert np.all(np.abs(aggregate.counts - expected) < 6 * np.sqrt(5000 / 4))


def test_values_of_every_integer_dtype():
    mechanism = UnaryMechanism.oue(1.0, items=5)
    for dtype in (np.int8, np.uint8, np.uint64):
        assert mechanism.perturb(np.array([0, 4], dtype), np.random.default_rng(0)).shape == (2, 1)
