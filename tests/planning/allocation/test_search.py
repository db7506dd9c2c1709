"""Shares by a search: its bound holds, and it finds what the convex program finds."""

from dataclasses import replace

import numpy as np
import pytest

from planner import ChoiceBlock, MeanBlock, PrivacyPolicy, allocate, best_design
from planner.planning.allocation.goal import Goal
from planner.planning.allocation.search import search_shares
from planner.planning.budgets import scaled
from planner.planning.solve import ROUGH
from tests.planning.allocation.questions import SECTION_9

TARGETS = [20.0, 200.0, 4.0]
TOY = PrivacyPolicy(np.log([4, 6]), [1, 4])
DESIGNS = [ChoiceBlock("diagnosis", TOY, mechanism="subset-design"), MeanBlock("income", 2.0)]


@pytest.mark.parametrize("targets", [None, TARGETS])
def test_where_errors_are_convex_it_finds_the_proven_shares(targets):
    goal = Goal.of(SECTION_9, "sum" if targets is None else "minimax", targets)
    best = allocate(SECTION_9, "sum" if targets is None else "minimax", targets)
    shares, bound = search_shares(SECTION_9, goal)
    pairs = zip(SECTION_9, shares.tolist(), strict=True)
    errors = np.array([block.at(share).error for block, share in pairs])
    assert shares.sum() == pytest.approx(1)
    assert shares == pytest.approx(best.shares, rel=5e-3)
    assert best.value <= goal.value(errors) < best.value * (1 + 1e-4)
    assert 0.96 * best.value < bound <= best.value


@pytest.fixture(scope="module")
def split():
    return allocate(DESIGNS)


def test_designs_are_shared_with_a_gap_that_is_said(split):
    toy, income = (block.at(share) for block, share in zip(DESIGNS, split.shares, strict=True))
    assert split.errors.tolist() == [toy.error, income.error]
    assert toy.constant is toy.slope is None  # no tangent is claimed
    design = best_design(scaled(TOY, split.shares[0]))
    assert toy.error == pytest.approx(design.worst_case_mse, rel=1e-5)
    assert split.certified[0].policy == design.policy
    assert split.relative_gap == pytest.approx(split.value / split.lower_bound - 1)
    assert 0 < split.relative_gap < 0.2  # a dozen designs a question prove no more


def test_no_shares_are_below_the_bound(split):
    for share in np.linspace(0.1, 0.9, 9):
        errors = [DESIGNS[0].at(share).error, DESIGNS[1].at(1 - share).error]
        assert sum(errors) >= split.lower_bound
        assert sum(errors) >= split.value * (1 - 1e-3)  # and the shares are the best to see


def test_a_bound_that_is_proven_is_not_the_error_itself():
    (toy, _) = DESIGNS
    error, bound = toy.bounds_at(0.5)
    assert bound < error < bound * (1 + 1e-5)
    roughly = toy.bounds_at(0.5, ROUGH)
    assert roughly[1] < error * (1 + 1e-5)
    assert bound < roughly[0] < roughly[1] * (1 + ROUGH)
    assert replace(toy, mechanism="opt1").bounds_at(0.5)[0] > error


def test_errors_of_designs_are_not_convex_in_the_budgets():
    """The reason for the search: the size of the best subset changes, and the slope jumps down."""
    budgets = 0.8958797 + np.array([-0.01, 0.0, 0.01])
    designs = [best_design(PrivacyPolicy([e], [5]), tolerance=1e-9) for e in budgets.tolist()]
    assert [int(design.types.high_counts.max()) for design in designs[::2]] == [2, 1]
    low, middle, high = (design.worst_case_mse for design in designs)
    assert middle > 1.001 * (low + high) / 2
    assert max(design.certificate.relative_gap for design in designs) < 1e-8
