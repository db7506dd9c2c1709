"""The best guess and the largest weight: against lists of all reports."""

from itertools import combinations, product

import numpy as np
import pytest

from planner import local_hashing, padded, randomized_response, rappor, subset_selection, unary
from planner.mechanisms.subset_design import SidesCollected
from planner.mechanisms.words import seeded_words
from planner.outsiders import seen_of
from planner.outsiders.shapes import of_policy
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import UnaryTable
from planner.solvers.design_search import best_design
from planner.solvers.solving import solve
from tests.mechanisms.listed import output_law
from tests.refusals import refused

POLICY = PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90])


def priors(rng, items):
    yield np.full(items, 1 / items)
    for concentration in (0.2, 1.0, 5.0):
        yield rng.dirichlet(np.full(items, concentration))
    yield np.eye(items)[rng.integers(items)]


def listed(law, prior):
    """Over all reports."""
    return float(np.max(prior[:, None] * law, axis=0).sum())


def seen(mechanism):
    return seen_of(mechanism.shape)


def random_table(seed):
    rng = np.random.default_rng(seed)
    items = int(rng.integers(2, 8))
    b = rng.uniform(0.02, 0.6, items)
    a = b + rng.uniform(0.02, 0.95, items) * (1 - b)
    policy = PrivacyPolicy(np.full(items, 50.0), np.ones(items, int))
    return unary(UnaryTable(policy, a, b, "opt0", "by hand"))


def random_design(counts):
    rng = np.random.default_rng(sum(counts))
    return SidesCollected.of(
        best_design(PrivacyPolicy(np.sort(rng.uniform(0.5, 2.5, len(counts))), counts))
    )


@pytest.mark.parametrize(
    "mechanism",
    [
        *map(random_table, range(20)),
        *map(random_design, ([2, 2], [1, 3], [2, 1, 2])),
        *(subset_selection(epsilon, items) for epsilon in (0.3, 3.0) for items in (2, 3, 5, 8)),
        *(randomized_response(epsilon, items) for epsilon in (0.3, 3.0) for items in (2, 8)),
    ],
)
def test_the_best_guess_by_listing_all_reports(mechanism):
    shape = getattr(mechanism, "shape", mechanism)
    law = output_law(shape)
    for prior in priors(np.random.default_rng(1), len(law)):
        success = seen_of(shape).guess(prior).success
        assert success == pytest.approx(listed(law, prior), rel=1e-9)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_of_a_set_by_listing_all_sets(size):
    """All sets alike: the posterior chance of each item to be in the set, for every report."""
    items = 4
    mechanism = rappor(1.5, items)
    law = output_law(mechanism)
    sets = list(combinations(range(items), size))
    reports = np.array([law[list(one)].mean(axis=0) for one in sets]) / len(sets)
    inside = np.array([[k in one for one in sets] for k in range(items)], dtype=float)
    true = (inside @ reports).max(axis=0).sum()
    of_sets = seen(padded(mechanism, size))
    guess = of_sets.guess()
    assert guess.success == pytest.approx(true, rel=1e-9)
    assert guess.blind == size / items
    assert of_sets.guess(np.full(items, 1 / items)) is None
    assert seen(padded(mechanism, items + 1)).guess() is None


def test_hashing_by_listing_all_functions():
    mechanism = local_hashing(np.log(2), 4)
    response = output_law(mechanism)
    for prior in priors(np.random.default_rng(1), 4):
        functions = product(range(mechanism.shape.values), repeat=4)
        true = np.mean([listed(response[list(f)], prior) for f in functions])
        assert seen(mechanism).guess(prior).success == pytest.approx(true, rel=1e-8)


def test_reference_values():
    table = seen(unary(solve(POLICY))).guess()
    assert (table.success, table.blind) == pytest.approx((0.02213, 0.01), abs=5e-6)
    design = seen_of(SidesCollected.of(best_design(POLICY))).guess().success
    grr = seen(randomized_response(1.0, 100)).guess().success
    subset = seen(subset_selection(1.0, 100)).guess().success
    assert (design, grr, subset) == pytest.approx((0.0236, 0.0267, 0.0186), abs=5e-5)
    assert max(table.success, design, grr) <= np.e / 100  # of any mechanism


@pytest.mark.parametrize(
    "law",
    [
        *(make(1.0, 4).shape for make in (rappor, randomized_response, local_hashing)),
        subset_selection(0.5, 4).shape,
        SidesCollected.of(best_design(PrivacyPolicy([1.0, 2.0], [1, 2]))),
    ],
)
def test_no_report_moves_an_estimate_by_more_and_some_by_as_much(law):
    """Of all reports that 400 people of each item send."""
    level = np.repeat(range(len(law.levels.item_counts)), law.levels.item_counts)
    own = np.repeat(np.arange(level.size), 400)
    (reports,) = law.draw_many(own, seeded_words(np.random.default_rng(1)))

    def estimated(report):
        counter = law.counter()
        counter.add(np.ascontiguousarray(report[None]))
        return law.estimate(counter.sums()).values

    moved = np.array([estimated(report) for report in np.unique(reports, axis=0)])
    found = [max(moved[:, level == i].max(), 1 - moved[:, level == i].min()) for i in set(level)]
    assert seen_of(law).reach == pytest.approx(found)


def test_the_weight_of_a_set_is_as_many_times_larger():
    single = rappor(1.0, 4)
    one, three = (seen(which).reach for which in (single, padded(single, 3)))
    assert three == pytest.approx(3 * one)


def test_what_is_not_known_and_refusals():
    policy = PrivacyPolicy([1.0, 2.0], [2, 3])
    unknown = of_policy(policy)
    assert unknown.guess() is unknown.reach is None
    three = seen(rappor(1.0, 3))
    for bad in ([0.5, 0.5], [0.5, 0.6, -0.1], [0.5, 0.2, 0.2]):
        with refused():
            three.guess(bad)
