"""Exact draws in bulk, words, packed reports and counting: what all mechanisms draw with."""

import os
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.bernoulli import BernoulliRows, draw_reports
from planner.mechanisms.counting import Aggregate, BitCounter, pack, unpack
from planner.mechanisms.subset_design import draw_sets
from planner.mechanisms.words import Words, seeded_words, system_words
from tests.mechanisms.decisions import draws_follow, mean_is
from tests.refusals import refused

THRESHOLDS = np.array(
    [0, 1, 2**19, 2**20 - 1, 2**20, 2**31 - 1, 2**31, 3 * 2**30 + 5, DENOMINATOR - 1]
)
ONE_LEVEL = np.full(9, 0b01100110 * 2**24 + 12345)


@pytest.mark.parametrize("thresholds", [THRESHOLDS, ONE_LEVEL])
def test_bulk_draws_have_the_stated_law(thresholds):
    rows = np.empty((200_000, 1), dtype=np.uint64)
    BernoulliRows(thresholds, rows=200_000).fill(
        rows, seeded_words(np.random.default_rng(0))
    )
    bits = unpack(rows, thresholds.size)
    assert (
        not rows[:, 0].astype(np.int64).max() >> thresholds.size
    )  # nothing beyond the row
    for k, threshold in enumerate(thresholds):
        probability = threshold / DENOMINATOR
        ones = int(bits[:, k].sum())
        law = np.array([1 - probability, probability])
        assert draws_follow(np.array([200_000 - ones, ones]), law)
    # all bits of a row together: independent of each other
    middle = bits[:, 5:8] @ np.array([1, 2, 4])
    p = thresholds[5:8] / DENOMINATOR
    ones = np.arange(8)[:, None] >> np.arange(3) & 1
    law = np.where(ones, p, 1 - p).prod(axis=1)
    assert draws_follow(np.bincount(middle, minlength=8), law)
    assert not draws_follow(np.bincount(middle, minlength=8), np.roll(law, 1))


def test_rows_and_lanes_are_uncorrelated():
    rows = np.empty((64, 300), dtype=np.uint64)
    draws = BernoulliRows(np.full(300 * 64, DENOMINATOR // 3), rows=64)
    rng = np.random.default_rng(1)
    draws.fill(rows, seeded_words(rng))
    bits = unpack(rows, 300 * 64) - 1 / 3
    assert mean_is((bits[1:] * bits[:-1]).ravel(), 0.0)
    assert mean_is((bits[:, 1:] * bits[:, :-1]).ravel(), 0.0)
    assert not mean_is((bits * bits).ravel(), 0.0)


def undecided(rng):
    """Words in bulk that never decide, so that the last digits must.

    No digit is the same for all lanes, so a word of zeros says "no lane differs".
    """
    words = seeded_words(rng)
    return SimpleNamespace(
        raw=lambda size: np.zeros(size, dtype=np.uint64), half=words.half
    )


def test_the_last_digits_count():
    thresholds = np.array([DENOMINATOR - 1, 0, 2**14 - 1, 2**13, 1, 5 * 2**14 + 2**12])
    rows = np.empty((100_000, 1), dtype=np.uint64)
    draws = BernoulliRows(thresholds, rows=100_000)
    rng = np.random.default_rng(2)
    draws.fill(rows, undecided(rng))
    shares = unpack(rows, 6).mean(axis=0)
    low = (thresholds % 2**14) / 2**14
    assert np.all(np.abs(shares - low) <= 5 * np.sqrt(low * (1 - low) / 100_000) + 1e-4)


def test_unsuitable_generators_are_refused():
    with refused("rng"):
        seeded_words(np.random.Generator(np.random.MT19937(0)))


def test_numbers_below_their_sizes():
    """Each by rejection: a size just above half of all words leaves half of them out."""
    size = 2**63 + 1
    first = np.array([5, 2**63 + 1, 9, 2**63 - 1], dtype=np.uint64)
    raw = iter([first, np.array([7], dtype=np.uint64)])
    words = Words(lambda _count: next(raw), lambda _count: [])
    assert words.below([10, size, 1, size], 4).tolist() == [5, 7, 0, 2**63 - 1]
    many = seeded_words(np.random.default_rng(3)).below(
        np.tile([3, 2**32], 50_000), 100_000
    )
    counts = np.bincount(many[::2], minlength=3)
    assert draws_follow(counts, np.full(3, 1 / 3))
    assert not draws_follow(counts, np.array([0.32, 0.34, 0.34]))
    assert mean_is(many[1::2] / 2**32, 0.5)


def test_words_of_the_operating_system_differ():
    words = system_words()
    assert [len(words.octets(count)) for count in (0, 1, 8, 9)] == [0, 1, 8, 9]
    first, second = words.split(2)
    assert (
        first.raw(4).tolist() != second.raw(4).tolist()
    )  # equal with probability 2^-256


def test_many_items_are_all_as_likely():
    """Of 5,000 items 1,700, with 32 random bits a place where 16 would often be odd."""
    rng = np.random.Generator(np.random.SFC64(2))
    rows = 4_000
    m = 5_000
    k = 1_700
    kinds = np.zeros(rows, dtype=int)
    ones = np.ones(rows, dtype=bool)
    where = np.array([m]), np.array([[k]]), np.array([rows])
    words = draw_sets(*where, kinds, ones, seeded_words(rng))
    assert (np.bitwise_count(words).sum(axis=0, dtype=int) == k).all()
    octets = np.ascontiguousarray(words.T).view(np.uint8)
    counts = np.unpackbits(octets, axis=1, bitorder="little")[:, :m].sum(
        axis=0, dtype=int
    )
    assert counts[0] == rows
    # A row's places exclude each other, so that counts vary less than independent draws would.
    law = np.full(m - 1, 1 / (m - 1))
    assert draws_follow(counts[1:], law)
    tilted = law * np.where(np.arange(m - 1) % 2, 1.05, 0.95)
    assert not draws_follow(counts[1:], tilted / tilted.sum())


def test_the_true_bit_at_its_edge(monkeypatch):
    a = np.full(130, DENOMINATOR // 2, np.uint32)
    b = np.ones(130, np.uint32)
    scripted = SimpleNamespace(
        half=lambda _count: np.array([a[0] - 1, a[0]], dtype=np.uint32)
    )
    monkeypatch.setattr(
        BernoulliRows, "fill", lambda _self, rows, _words: rows.fill(2**64 - 1)
    )
    reports = draw_reports(
        np.array([127, 127]), a, b, Words(None, lambda _count: [scripted])
    )
    assert np.argwhere(unpack(reports, 130) == 0).tolist() == [[1, 127]]


def test_reports_do_not_depend_on_the_number_of_processors(monkeypatch):
    rng = np.random.default_rng(0)
    true = rng.integers(1000, size=7001)
    a = np.full(1000, 2**31, np.uint32)
    b = np.full(1000, 2**30, np.uint32)
    reports = []
    for processors in (1, 2, 5):
        monkeypatch.setattr(os, "cpu_count", lambda processors=processors: processors)
        rng = np.random.default_rng(1)
        reports.append(draw_reports(true, a, b, seeded_words(rng)))
        np.testing.assert_array_equal(reports[0], reports[-1])


@pytest.mark.parametrize("items", [1, 64, 70, 40_000])
def test_counters_count_as_batches_come(items):
    rng = np.random.default_rng(items)
    counter = BitCounter(items)
    truth = np.zeros(items, dtype=int)
    assert counter.counts().tolist() == [0] * items
    for rows in (1, 2, 40, 600, 30, 40_000 // items + 3, 1):
        bits = rng.integers(2, size=(rows, items), dtype=np.uint8)
        counter.add(pack(bits))
        truth += bits.sum(axis=0, dtype=int)
        np.testing.assert_array_equal(counter.counts(), truth)


def test_the_last_digits_decide_their_own_lane_only():
    thresholds = np.arange(1, 131) * (DENOMINATOR // 131)  # three words a row
    low = thresholds % 2**14
    draws = BernoulliRows(thresholds, rows=2)
    column = np.array([0, 1, 2, 0, 1, 2])
    flat = np.full(6, 1 << 40, dtype=np.uint64)
    undecided = np.zeros(6, dtype=np.uint64)
    undecided[[1, 4, 5]] = (1 << 3) + (1 << 63), 1, 2
    last = np.array([low[67] - 1, low[127], low[64] - 1, low[129]], dtype=np.uint32)
    words = SimpleNamespace(half=lambda _count: last << np.uint32(18))
    draws.finish(flat, undecided, column, words)
    assert (flat ^ np.uint64(1 << 40)).tolist() == [0, 1 << 3, 0, 0, 1, 0]


def test_counts_that_no_reports_have():
    for users, counts in (
        (-1, [0]),
        (3, [0.5]),
        (3, [-2, 1]),
        (3, [4, -2]),
    ):
        with refused("counts", "users"):
            Aggregate(users, counts)
    with refused("counts"):
        Aggregate(3, [1]) + Aggregate(3, [1, 1])
    counted = Aggregate(0, [0])
    assert counted.counts.tolist() == [0]
    counted = Aggregate(1, [1])
    assert not counted.counts.flags.writeable


def test_the_first_wrong_item_is_named():
    numbers = partial(inputs.item_numbers, "values")
    counts = inputs.true_counts
    for read, values in (
        (numbers, [0, 1, 5, 6]),
        (numbers, [1.0, 2.5, 0.5]),
        (numbers, [1.0, float("nan")]),
        (numbers, [[1]]),
        (counts, [1, -1, -2, 0, 0]),
        (counts, [0.5] * 5),
    ):
        with refused("true_counts", "values"):
            read(values, 5)
    assert numbers(np.array([7], dtype=np.uint8), 8).dtype == np.int64
