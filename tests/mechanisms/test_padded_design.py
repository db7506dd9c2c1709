"""Item sets through subset designs: the suite of padding, and set budgets by exhaustion."""

import numpy as np
import pytest

from planner import best_design
from planner.designs.set_design import SetDesign, with_dummy
from planner.errors import InputError
from planner.estimates.truncation import LongerSets
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import set_budgets
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.planning.solve import DESIGN, solve_for
from planner.policy.policy import PrivacyPolicy
from tests.mechanisms.test_padding import ALL_SETS, ITEMS, PaddedSuite, largest_excess
from tests.mechanisms.test_unary import wrong_reports


def design_of(epsilons, counts):
    return solve_for(PrivacyPolicy(epsilons, counts), DESIGN, sets=True)


EQUAL = design_of([0.5], [4])
LEVELS = design_of([1.0, 1.4], [2, 2])
ROUNDING = 1e-8


class DesignSuite(PaddedSuite):
    bias_near_miss = 8.0  # below half of one repetition's standard error

    def bad_reports(self):
        mechanism = self.mechanism()
        good = mechanism.perturb([[0], [1, 2], []], np.random.default_rng(0))
        unknown, heavy = good.copy(), good.copy()
        unknown[1, 0] = len(mechanism.single.high_counts)
        heavy[2, 1] ^= np.uint64(1)  # one item more or less than the type says
        return [*wrong_reports(ITEMS + 1, 2), unknown, heavy]


class TestEqualBudgets(DesignSuite):
    """Two items of a set are high and two of another low, so that the budget is attained."""

    budget = 0.5

    def padded(self, length):
        return PaddedDesignMechanism.of(EQUAL, length)


class TestLevels(DesignSuite):
    """Items are numbered across the levels."""

    length = 1
    budget = 1.4

    def padded(self, length):
        return PaddedDesignMechanism.of(LEVELS, length, level_of=np.array([1, 0, 0, 1]))


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("design", [EQUAL, LEVELS])
def test_set_budgets_hold_for_all_sets_and_reports(design, length):
    assert largest_excess(PaddedDesignMechanism.of(design, length)) <= ROUNDING


def test_set_budgets_are_used_and_a_smaller_one_is_broken():
    mechanism = PaddedDesignMechanism.of(LEVELS, 1)
    budgets = set_budgets(mechanism, ALL_SETS)
    assert budgets[[0b0001, 0b0100]].tolist() == [1.0, 1.4]
    law = mechanism.output_law()
    losses = np.log(law / law.min(axis=0)).max(axis=1)
    assert losses[[0b0001, 0b0100]] == pytest.approx([1.0, 1.4], abs=1e-6)


def test_the_error_of_draws_is_that_of_the_variance():
    """One person: every item, and the dummy, drawn for sure or with its chance."""
    mechanism, (items, dummy) = PaddedDesignMechanism.of(LEVELS, 1), LEVELS.draw_errors
    for item, level in enumerate((0, 0, 1, 1)):
        assert mechanism.variance([[item]]).sum() == pytest.approx(items[level], rel=1e-6)
    assert mechanism.variance([[]]).sum() == pytest.approx(dummy, rel=1e-6)
    padded = PaddedDesignMechanism.of(LEVELS, 3)
    expected = 9 * ((items[0] + items[1] + dummy + 2) / 3 - 2 / 9)
    assert padded.variance([[0, 2]]).sum() == pytest.approx(expected, rel=1e-6)


def test_a_dummy_of_a_larger_budget_is_refused():
    single = SubsetDesignMechanism.of(best_design(PrivacyPolicy([1.0, 1.4], [2, 3])))
    with pytest.raises(InputError, match=r"budget of the dummy is 1\.4 but must be 1"):
        PaddedDesignMechanism(single, 2)


def test_only_the_rule_min_has_budgets_of_sets():
    policy = PrivacyPolicy([1.0, 1.4], [2, 3], "avg")
    with pytest.raises(InputError, match="min"):
        with_dummy(policy)
    with pytest.raises(InputError, match="min"):
        PaddedDesignMechanism(SubsetDesignMechanism.of(best_design(policy)), 2)


def test_what_does_not_fit_is_refused():
    with pytest.raises(InputError, match="not for these levels and a dummy"):
        SetDesign(LEVELS.policy, EQUAL.design)
    with pytest.raises(InputError, match="padding_length is 0"):
        PaddedDesignMechanism.of(LEVELS, 0)
    with pytest.raises(InputError, match="padding_length of longer is 3 but must be 2"):
        PaddedDesignMechanism.of(LEVELS, 2, LongerSets(3, (), ()))
