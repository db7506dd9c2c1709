"""Shuffled mechanisms, level by level."""

import numpy as np
import pytest

from planner import local_hashing, padded, randomized_response, solve, subset_selection, unary
from planner.mechanisms.collected import BitsCollected
from planner.mechanisms.subset_design import SidesCollected
from planner.outsiders import central_delta, seen_of, shuffled
from planner.outsiders.shapes import of_policy, of_rows
from planner.policy.policy import PrivacyPolicy
from planner.solvers.design_search import best_design
from tests.mechanisms.listed import output_law, sets_law
from tests.outsiders.exhaustion import delta, worst_delta
from tests.refusals import refused

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["intimate", "personal", "public"])
TABLE = solve(POLICY)
SEEN = seen_of(unary(TABLE).shape)


PAIRS = [(0, 0), (0, 2), (1, 2), (2, 2)]
PEOPLE = 100_000


def test_reference_table():
    result = shuffled(SEEN, PEOPLE, 1e-6)
    seen = [result.epsilons[pair] for pair in PAIRS]
    assert seen == pytest.approx([0.00529, 0.01052, 0.01205, 0.01407], abs=1.2e-5)
    assert result.epsilon == result.epsilons[2, 2]
    frame = result.to_frame()
    assert list(frame["level"]) == [POLICY.names[i] for i in (0, 0, 0, 1, 1, 2)]
    assert "holds if a shuffler" in result.summary
    assert f"{PEOPLE:,}" in result.summary


TWO_LEVELS = PrivacyPolicy([1.0, 2.0], [2, 2])
INSIDE = (((0, 0), (0, 1)),)
PAIRS_OF_LEVELS = ((0, 0), (0, 1)), ((0, 1), (0, 2)), ((1, 1), (2, 3))


@pytest.mark.parametrize(
    ("shape", "pairs"),
    [
        (randomized_response(1.0, 2).shape, INSIDE),
        (randomized_response(1.0, 5).shape, INSIDE),
        (subset_selection(0.5, 2).shape, INSIDE),
        (subset_selection(0.5, 5).shape, INSIDE),
        (unary(solve(TWO_LEVELS)).shape, PAIRS_OF_LEVELS),
        (SidesCollected.of(best_design(TWO_LEVELS)), PAIRS_OF_LEVELS),
    ],
)
def test_the_blanket_covers_all_data_sets_and_is_that_of_the_whole_law(shape, pairs):
    law = output_law(shape)
    whole = of_rows(law, tuple(map(str, range(len(law)))))
    merged = seen_of(shape)
    assert sum(merged.sizes) == len(law)
    for levels, items in pairs:
        ours, theirs = merged.blanket(*levels), whole.blanket(*items)
        for epsilon in (0.1, 0.3):
            one, two = (central_delta(blanket, epsilon, 50) for blanket in (ours, theirs))
            assert two.lower <= one.upper
            if not isinstance(shape, BitsCollected):  # one blanket for all pairs: others' bits
                assert one.lower <= two.upper
                assert ours.mass == pytest.approx(theirs.mass, rel=1e-12)
        worst = worst_delta(law, *items, 2, 0.2)
        assert 0 < worst <= central_delta(ours, 0.2, 2).upper * (1 + 1e-12)


def test_hashing_is_hidden_whatever_the_hash():
    """All hash functions from three items to three values: the exact law with a public seed."""
    mechanism = local_hashing(np.log(2), 3)
    assert mechanism.shape.values == 3
    truth = output_law(mechanism)
    for hashed in ((0, 1, 2), (0, 0, 1), (0, 1, 1), (0, 0, 0)):
        law = truth[list(hashed)]
        worst = worst_delta(law, 0, 1, 3, 0.1)
        assert worst <= central_delta(seen_of(mechanism.shape).blanket(0, 0), 0.1, 3).upper


def test_sets_are_hidden_by_items_and_dummies():
    policy = PrivacyPolicy([1.0, 2.0], [1, 2])
    sets = padded(unary(solve(policy)), 2)
    reports = seen_of(sets.shape)
    assert (reports.names, reports.sizes) == (policy.names, (3, 2))
    law = sets_law(sets)
    pairs = [(0, 0), (0, 1), (1, 1)]
    proven = max(central_delta(reports.blanket(*pair), 0.2, 2).upper for pair in pairs)
    pairs_of_sets = [(x, y, z) for x, y in ((0, 1), (6, 1), (7, 0), (1, 6)) for z in (0, 7)]
    true = max(delta(law[x], law[y], law[[z]], 0.2) for x, y, z in pairs_of_sets)
    assert 0.2 * proven < true <= proven


def test_any_mechanism_covers_the_table():
    any_one = shuffled(of_policy(POLICY), PEOPLE, 1e-6)
    assert np.all(shuffled(SEEN, PEOPLE, 1e-6).epsilons <= any_one.epsilons)


def test_one_alone_is_not_hidden():
    reports = seen_of(randomized_response(1.0, 10).shape)
    assert shuffled(reports, 1, 1e-6).epsilon == pytest.approx(1.0, rel=1e-6)
    with refused():
        shuffled(reports, 0, 1e-6)


def test_levels_of_one_item_have_no_pair_inside():
    policy = PrivacyPolicy([1.0, 2.0], [1, 2])
    result = shuffled(of_policy(policy), 1000, 1e-6)
    assert np.isnan(result.epsilons[0, 0])
    assert len(result.to_frame()) == 2


def test_refusals():
    inf = np.inf
    rule = [[1.0, 1.0, inf], [1.0, 1.0, inf], [inf, inf, 1.0]]
    design = PrivacyPolicy([1.0, 1.0], [2, 2], [[1.0, inf], [inf, 1.0]])
    for apart in (
        of_policy(PrivacyPolicy([1.0] * 3, [2] * 3, rule)),
        seen_of(SidesCollected.of(best_design(design))),
    ):
        with refused():
            apart.blanket(0, 1)
    with refused():
        shuffled(of_policy(PrivacyPolicy([1.0] * 31, [2] * 31)), 100, 1e-6)
