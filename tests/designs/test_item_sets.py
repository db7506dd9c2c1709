"""Budgets of item sets hold for any mechanism for single items, with one dummy: by exhaustion."""

import numpy as np
import pytest

from planner import PrivacyPolicy, best_design
from planner.mechanisms.subset_design import SubsetDesignMechanism
from tests.mechanisms.listed import output_law

ITEMS = 4
LEVELS = np.array([0, 1, 1, 2])
SETS = (np.arange(2**ITEMS)[:, None] >> np.arange(ITEMS)) & 1
ROUNDING = 1e-8


def policy(epsilons, rule="min"):
    """The items and one dummy, which counts as one more item of the least budget."""
    return PrivacyPolicy(epsilons, [2, 2, 1], rule)


def sampling(length):
    """Chances of the items, then of the dummy, for every set, shape ``(sets, items + 1)``."""
    chance = SETS / np.maximum(SETS.sum(axis=1, keepdims=True), length)
    return np.hstack([chance, 1 - chance.sum(axis=1, keepdims=True)])


def set_budgets(epsilons, length):
    """Eq. 16: the log of the mean odds of what is drawn."""
    odds = np.exp(np.array(epsilons)[LEVELS])
    return np.log(sampling(length) @ np.append(odds, np.exp(min(epsilons))))


def set_losses(mechanism, length):
    """The largest log-ratio of every set to any other, over all reports, shape ``(sets,)``."""
    law = output_law(mechanism)[[0, 2, 3, 4, 1]]  # the second item of the least budget last
    sets = sampling(length) @ law
    sets = sets[:, sets.max(axis=0) > 0]
    return np.log(sets / sets.min(axis=0)).max(axis=1)


@pytest.fixture(scope="module", params=[(0.5, 0.7, 0.9), (1.0, 1.2, 2.0), (1.0, 3.0, 4.0)])
def designs(request):
    """Budgets, and the best design of four items and a dummy."""
    design = best_design(policy(request.param))
    levels = design.groups[np.array([0, 0, 1, 1, 2])]
    assert (np.diff(levels) >= 0).all()
    return request.param, SubsetDesignMechanism.of(design)


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_one_dummy_keeps_every_sets_budget(designs, length):
    """All 256 pairs of sets, shorter and longer than the padding length, and all reports."""
    epsilons, mechanism = designs
    losses = set_losses(mechanism, length)
    assert (losses <= set_budgets(epsilons, length) + ROUNDING).all()


@pytest.mark.parametrize("length", [1, 2, 3, 5])
def test_no_guess_about_a_set_is_helped_more_than_one_of_what_is_drawn(designs, length):
    """The sum of the largest chances bounds every factor; with nothing padded it is reached."""
    _, mechanism = designs
    law = output_law(mechanism)[[0, 2, 3, 4, 1]]
    of_sets = (sampling(length) @ law).max(axis=0).sum()
    drawn = law.max(axis=0).sum()
    assert of_sets <= drawn * (1 + ROUNDING)
    assert drawn == pytest.approx((ITEMS + 1) * mechanism.types.guess)
    if length == 1:
        assert of_sets == pytest.approx(drawn)


def test_single_items_without_padding_use_their_budgets(designs):
    """No mechanism can use more than twice the least budget; what it can is used."""
    epsilons, mechanism = designs
    singles = set_losses(mechanism, 1)[[1, 2, 4]]
    usable = np.minimum(epsilons, 2 * epsilons[0])[[0, 1, 1]]
    np.testing.assert_allclose(singles, usable, rtol=1e-5)


def test_a_dummy_of_a_larger_budget_breaks_them():
    """Near miss: the dummy in the second level, whose pairs have more than the least budget."""
    epsilons = (1.0, 3.0, 4.0)
    design = best_design(PrivacyPolicy(epsilons, [1, 3, 1]))
    law = output_law(SubsetDesignMechanism.of(design))[[0, 1, 2, 4, 3]]
    sets = sampling(2) @ law
    losses = np.log(sets / sets.min(axis=0)).max(axis=1)
    assert (losses > set_budgets(epsilons, 2) + 0.01).any()


def test_the_rule_avg_does_not_keep_them():
    epsilons = (1.0, 2.0, 3.0)
    mechanism = SubsetDesignMechanism.of(best_design(policy(epsilons, "avg")))
    losses = set_losses(mechanism, 1)
    assert (losses > set_budgets(epsilons, 1) + 0.1).any()
