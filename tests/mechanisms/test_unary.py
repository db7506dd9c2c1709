"""Unary encoding: the inherited suite with reports, rounding inward, levels and widths."""

import numpy as np
import pytest

from planner import PrivacyPolicy, UnaryTable, baseline
from planner.errors import InputError, VerificationError
from planner.limits import DENOMINATOR
from planner.mechanisms.unary import UnaryMechanism
from tests.mechanisms.listed import output_law
from tests.mechanisms.suite import SingleItemSuite

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


class TestRappor(SingleItemSuite):
    def mechanism(self):
        return UnaryMechanism.rappor(self.budget, self.items)


class TestOptimizedUnaryEncoding(SingleItemSuite):
    def mechanism(self):
        return UnaryMechanism.oue(self.budget, self.items)


class TestInputDiscriminativeUnaryEncoding(SingleItemSuite):
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


@pytest.mark.parametrize("levels", [[0, 0, 1, 1, 1], [0, 1, 1, 1], [0, 1, 1, 1, 2], [0] * 5])
def test_wrong_assignments_of_items_to_levels_are_refused(levels):
    with pytest.raises(InputError, match=r"^level_of is .* \[1, 4\] of each"):
        UnaryMechanism(TABLE_II, levels)
