from types import SimpleNamespace

import numpy as np
import pytest

from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.bernoulli import BernoulliRows
from planner.mechanisms.packed import bit_counts, pack, unpack
from planner.mechanisms.words import Words, seeded_words, system_words
from tests.mechanisms.decisions import draws_follow, mean_is


@pytest.mark.parametrize(
    ("rows", "items"), [(1, 1), (7, 64), (40_001, 5), (9001, 1000), (70, 40_000)]
)
def test_carry_save_counts_are_plain_counts(rows, items):
    bits = np.random.default_rng(rows).integers(2, size=(rows, items), dtype=np.uint8)
    reports = pack(bits)
    kept = reports.copy()
    np.testing.assert_array_equal(bit_counts(reports, items), bits.sum(axis=0))
    np.testing.assert_array_equal(reports, kept)
    np.testing.assert_array_equal(unpack(reports, items), bits)


THRESHOLDS = np.array(
    [0, 1, 2**19, 2**20 - 1, 2**20, 2**31 - 1, 2**31, 3 * 2**30 + 5, DENOMINATOR - 1]
)
ONE_LEVEL = np.full(9, 0b01100110 * 2**24 + 12345)


@pytest.mark.parametrize("thresholds", [THRESHOLDS, ONE_LEVEL])
def test_bulk_draws_have_the_stated_law(thresholds):
    rows = np.empty((200_000, 1), dtype=np.uint64)
    BernoulliRows(thresholds, rows=200_000).fill(rows, seeded_words(np.random.default_rng(0)))
    bits = unpack(rows, thresholds.size)
    assert not rows[:, 0].astype(np.int64).max() >> thresholds.size  # nothing beyond the row
    for k, threshold in enumerate(thresholds):
        probability = threshold / DENOMINATOR
        ones = int(bits[:, k].sum())
        law = np.array([1 - probability, probability])
        assert draws_follow(np.array([200_000 - ones, ones]), law)
    # all bits of a row together: independent of each other
    middle = bits[:, 5:8] @ np.array([1, 2, 4])
    p = thresholds[5:8] / DENOMINATOR
    law = np.array(
        [np.prod([p[j] if (y >> j) & 1 else 1 - p[j] for j in range(3)]) for y in range(8)]
    )
    assert draws_follow(np.bincount(middle, minlength=8), law)
    assert not draws_follow(np.bincount(middle, minlength=8), np.roll(law, 1))


def test_rows_and_lanes_are_uncorrelated():
    rows = np.empty((64, 300), dtype=np.uint64)
    draws = BernoulliRows(np.full(300 * 64, DENOMINATOR // 3), rows=64)
    draws.fill(rows, seeded_words(np.random.default_rng(1)))
    bits = unpack(rows, 300 * 64) - 1 / 3
    assert mean_is((bits[1:] * bits[:-1]).ravel(), 0.0)
    assert mean_is((bits[:, 1:] * bits[:, :-1]).ravel(), 0.0)
    assert not mean_is((bits * bits).ravel(), 0.0)


def undecided(rng):
    """Words in bulk that never decide, so that the last digits must.

    No digit is the same for all lanes, so a word of zeros says "no lane differs".
    """
    words = seeded_words(rng)
    return SimpleNamespace(raw=lambda size: np.zeros(size, dtype=np.uint64), half=words.half)


def test_the_last_digits_count():
    thresholds = np.array([DENOMINATOR - 1, 0, 2**14 - 1, 2**13, 1, 5 * 2**14 + 2**12])
    rows = np.empty((100_000, 1), dtype=np.uint64)
    draws = BernoulliRows(thresholds, rows=100_000)
    draws.fill(rows, undecided(np.random.default_rng(2)))
    shares = unpack(rows, 6).mean(axis=0)
    low = (thresholds % 2**14) / 2**14
    assert np.all(np.abs(shares - low) <= 5 * np.sqrt(low * (1 - low) / 100_000) + 1e-4)


@pytest.mark.parametrize("thresholds", [[], [-1], [DENOMINATOR], [0.5], [[1]]])
def test_bad_thresholds_are_refused(thresholds):
    with pytest.raises(InputError, match="thresholds"):
        BernoulliRows(thresholds, rows=1)


def test_unsuitable_arrays_and_generators_are_refused():
    draws, words = BernoulliRows([1, 2], rows=4), seeded_words(np.random.default_rng(0))
    for shape in ((5, 1), (2, 2), (4,)):
        with pytest.raises(InputError, match="out"):
            draws.fill(np.empty(shape, dtype=np.uint64), words)
    with pytest.raises(InputError, match="out"):
        draws.fill(np.empty((4, 2), dtype=np.uint64)[:, :1], words)
    with pytest.raises(InputError, match="64-bit"):
        seeded_words(np.random.Generator(np.random.MT19937(0)))


def test_numbers_below_their_sizes():
    """Each by rejection: a size just above half of all words leaves half of them out."""
    size = 2**63 + 1
    raw = iter([np.array([5, 2**63 + 1, 9], dtype=np.uint64), np.array([7], dtype=np.uint64)])
    words = Words(lambda _count: next(raw), lambda _count: [])
    assert words.below([10, size, 1], 3).tolist() == [5, 7, 0]
    many = seeded_words(np.random.default_rng(3)).below(np.tile([3, 2**32], 50_000), 100_000)
    counts = np.bincount(many[::2], minlength=3)
    assert draws_follow(counts, np.full(3, 1 / 3))
    assert not draws_follow(counts, np.array([0.32, 0.34, 0.34]))
    assert mean_is(many[1::2] / 2**32, 0.5)


def test_words_of_the_operating_system_differ():
    words = system_words()
    first, second = words.split(2)
    assert first.raw(4).tolist() != second.raw(4).tolist()  # equal with probability 2^-256
