"""Subset designs: the inherited suite over three rules, and what is theirs alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from planner import (
    OutputTypes,
    PrivacyPolicy,
    SubsetDesign,
    VerificationError,
    best_design,
)
from planner.mechanisms.counting import SidesCounter, pack
from planner.mechanisms.making import of_item
from planner.mechanisms.subset_design import SidesCollected, repair_sizes
from planner.mechanisms.words import seeded_words
from tests.mechanisms.random_designs import random_design
from tests.mechanisms.suite import SingleItemSuite
from tests.refusals import refused

# Levels 0.6 and 1.2 apart, so that a level parks in the middle of the other's window.
MATRIX = PrivacyPolicy([1.0, 1.4], [2, 3], [[1.0, 0.6], [0.6, 1.4]])
WINDOWS = [
    ([0.6, 0.0], [0.6, 1.2]),
    ([0.0, 0.4], [1.0, 0.6]),
    ([0.0, 0.0], [0.6, 0.6]),
]


def of(design):
    return of_item("subset-design", SidesCollected.of(design))


BY_MATRIX = of(random_design(MATRIX, np.random.default_rng(5), WINDOWS))
AVERAGE = of(best_design(PrivacyPolicy([1.0, 2.0], [2, 3], "avg")))
TABLE_II = of(best_design(PrivacyPolicy(np.log([4, 6]), [1, 4])))  # of the IDUE paper


class DesignSuite(SingleItemSuite):
    """Five items; hooks give the design and the largest budget that it spends."""

    # By the last seeds no group seems to have anybody: then all items are taken to be as frequent.
    @pytest.mark.parametrize(
        ("n", "seed"),
        [
            (1, 5),
            (1000, 5),
            (0, 3),
            (0, 12),
        ],
    )
    def test_standard_errors_are_of_the_estimated_counts(self, n, seed):
        law = self.mechanism().shape
        truth = [n, 0, int(n == 0), n, 0]
        rng = np.random.default_rng(seed)
        aggregate = self.mechanism().draw_aggregate(truth, rng)
        estimates = law.estimate(aggregate)
        group = np.repeat(law.groups, law.levels.item_counts)
        values = estimates.values
        people = np.maximum(np.bincount(group, values), 0)
        if not people.any():
            people = np.bincount(group)
        people = people * aggregate.users / people.sum()
        other, own_variance = law.variances
        for item in range(self.items):
            have = np.clip(values[item], 0, aggregate.users)
            i = group[item]
            variance = people @ other[:, i] + have * (own_variance[i] - other[i, i])
            assert estimates.standard_errors[item] == pytest.approx(
                np.sqrt(variance), rel=1e-9
            )
            rest = people * np.where(
                np.arange(people.size) == i, (group == i).sum() > 1, 1
            )
            nobody = aggregate.users * (rest @ other[:, i]) / rest.sum()
            assert estimates.null_standard_errors[item] == pytest.approx(
                np.sqrt(nobody), rel=1e-9
            )


class TestRuleMin(DesignSuite):
    budget = float(np.log(6))

    def mechanism(self):
        return TABLE_II


class TestRuleAvg(DesignSuite):
    budget = 2.0

    def mechanism(self):
        return AVERAGE


class TestMatrix(DesignSuite):
    budget = 1.2
    bias_near_miss = 8.0  # below half of one repetition's standard error

    def mechanism(self):
        return BY_MATRIX


@pytest.mark.parametrize("least", [1e-5, 2e-4])
def test_estimators_are_unbiased_at_small_budgets_too(least):
    """Beside large ones they were off by 1e-9 and more; the proof refuses that."""
    policy = PrivacyPolicy([least, 0.5], [10, 10])
    design = best_design(policy)
    law = SidesCollected.of(design)
    for mean, expected in zip(
        law.output_types.expectations(law.estimator), (0, 1), strict=True
    ):
        np.testing.assert_allclose(mean, expected, atol=1e-9)


@pytest.mark.parametrize("counts", [[50, 50, 900], [1, 63, 64, 200], [3, 700]])
def test_reports_hold_exactly_the_items_that_their_type_says(counts):
    policy = PrivacyPolicy(np.linspace(1, 2, len(counts)), counts)
    law = SidesCollected.of(best_design(policy))
    rng = np.random.default_rng(12)
    counter = law.counter()
    counter.add(
        law.draw_many(rng.integers(sum(counts), size=5_000), seeded_words(rng))[0]
    )
    assert counter.sums().users == 5_000  # those of other sizes are refused: see below


@pytest.mark.parametrize(
    "counts", [[51, 51, 922], [3] * 50, [1, 2] * 20 + [5000], [1000] * 3]
)
def test_no_weight_passes_for_another(counts):
    rng = np.random.default_rng(3)
    items = np.array(counts)
    levels = len(counts)
    full = np.zeros(levels, dtype=int)
    full[::2] = items[::2]
    high = np.array([full, items - full, rng.integers(items + 1)])
    rows = [0, 1, 2, 2, 0]
    starts = np.cumsum([0, *counts])
    bits = np.zeros((len(rows), starts[-1]), dtype=np.uint8)
    for row, kind in zip(bits, rows, strict=True):
        for start, ones, size in zip(starts, high[kind], counts, strict=False):
            row[start + rng.permutation(size)[:ones]] = 1
    good = np.column_stack([np.array(rows, dtype=np.uint64), pack(bits)])
    counter = SidesCounter(items, high)
    for _ in range(2):
        counter.add(good.view(np.uint8))
    total = [
        2 * bits[np.array(rows) == kind].sum(axis=0, dtype=int) for kind in range(3)
    ]
    counted = counter.sums().counts.reshape(3, -1)
    np.testing.assert_array_equal(counted[:, 1:], total)
    assert counted[:, 0].tolist() == [4, 2, 4]
    unknown = good.copy()
    unknown[[2, 4], 0] = 3
    with refused("reports"):
        counter.add(unknown.view(np.uint8))
    for level in range(
        0, levels - 1, 2
    ):  # one more in an empty one, for all of a full one
        forged = bits.copy()
        forged[4, starts[level] : starts[level + 1]] = 0
        forged[4, starts[level + 1]] = 1
        bad = np.column_stack([good[:, 0], pack(forged)])
        seen = [*full[:level].tolist(), 0, 1]
        with refused("size of reports") as caught:
            counter.add(bad.view(np.uint8))
        if level < 5:  # long lists are cut
            assert f"is {seen}"[:-1] in str(caught.value)


def test_a_design_that_breaks_its_policy_is_refused():
    types = OutputTypes([5], [0.5], [[1.0]], [[6.0]], [[1]])
    with refused(
        "The design exceeds a pair's budget by 0.2 nats", kind=VerificationError
    ):
        SidesCollected.of(
            SubsetDesign(PrivacyPolicy([np.log(5)], [5]), types, [0], [1.0])
        )
    light = OutputTypes([5], [0.49], [[1.0]], [[6.0]], [[1]])
    with refused(
        "The probabilities of level 0 sum to 0.98, not to 1", kind=VerificationError
    ):
        SidesCollected.of(
            SubsetDesign(PrivacyPolicy([np.log(6)], [5]), light, [0], [1.0])
        )


def test_levels_alike_share_a_group_and_keep_their_items():
    """Levels 0 and 3 are one group; bits stand group by group, answers in the levels' order."""
    law = SidesCollected.of(
        best_design(PrivacyPolicy([1.0, 2.0, 3.0, 1.0], [2, 40, 20, 3]))
    )
    assert law.groups == (0, 1, 1, 0)
    assert law.counts == (5, 60)
    truth = np.repeat([5_000, 1_000, 30_000], [2, 60, 3])
    rng = np.random.default_rng(3)
    reports = law.draw_aggregate(truth, rng)
    estimates = law.estimate(reports)
    assert (
        np.abs((estimates.values - truth) / estimates.standard_errors).max() < 5.7
    )  # 1e-6
    assert (
        np.abs(estimates.values - np.roll(truth, 1)).max()
        > 9 * estimates.standard_errors.max()
    )


@pytest.mark.parametrize("items", [3, 1000])
def test_repairs_fall_on_every_place_alike(items):
    """All 65,536 draws once: each place as often as any other, and what is left drawn anew."""
    draws = iter([np.arange(2**16, dtype=np.uint16).view(np.uint64)])
    part = np.zeros((-(-items // 64), 2**16), dtype=np.uint64)
    source = SimpleNamespace(raw=lambda _: next(draws))
    with pytest.raises(StopIteration):
        repair_sizes(part, 0, items, np.ones(2**16, dtype=np.int64), source)
    lanes = np.arange(64, dtype=np.uint64)
    ones = []
    for word in part:
        for lane in lanes:
            ones.append(int((word >> lane & np.uint64(1)).sum()))
    assert ones == [2**16 // items] * items + [0] * (len(ones) - items)


def test_levels_that_no_budget_connects_are_told_apart_without_bias():
    """Rounding gives both the blank type: what one never sends has to count against it."""
    apart = [[0.5, np.inf], [np.inf, 0.5]]
    law = SidesCollected.of(
        best_design(PrivacyPolicy([0.5, 1.0], [1, 2], apart))
    )  # which proves it
    assert law.weights[0][1] == (0, 0)
    assert law.values[1][0][0] < 0
