"""Sets of exact sizes: every set of the right size equally likely, whatever the level's size."""

from itertools import combinations

import numpy as np
import pytest

from planner.mechanisms.fixed_weight import Segments, draw_sets
from planner.mechanisms.words import seeded_words
from tests.mechanisms.decisions import draws_follow

ROWS = 120_000


def drawn(item_counts, target, own, held, seed=1):
    rng = np.random.Generator(np.random.SFC64(seed))
    segments = Segments.of(np.array(item_counts))
    runs = np.array([ROWS])
    owns, helds = np.full(ROWS, own), np.full(ROWS, held)
    return draw_sets(segments, np.array([target]), runs, owns, helds, seeded_words(rng))


@pytest.mark.parametrize("target", [1, 2, 4, 5])
@pytest.mark.parametrize("held", [False, True])
def test_all_sets_with_the_given_item_are_equally_likely(target, held):
    """Ten sets at most, of six items whose level begins in the middle of a word."""
    if target == 5 and not held:
        target = 3
    start, own = 61, 63
    words = drawn([start, 6, 3], [0, target, 3], own, held)
    assert words.shape == (2, ROWS)
    assert not (words[0] << np.uint64(3)).any()
    bits = (words[0] >> np.uint64(start)) | ((words[1] & np.uint64(7)) << np.uint64(3))
    assert (words[1] >> np.uint64(3) == 7).all()  # the last level's three are all in
    sets = [
        sum(1 << k for k in chosen)
        for chosen in combinations(range(6), target)
        if (own - start in chosen) == held
    ]
    counts = np.bincount(bits.astype(int), minlength=64)
    assert counts[sets].sum() == ROWS
    law = np.full(len(sets), 1 / len(sets))
    assert draws_follow(counts[sets], law)
    if len(sets) > 1:
        miss = law.copy()
        miss[:2] += [0.05 * law[0], -0.05 * law[0]]
        assert not draws_follow(counts[sets], miss)


def test_many_items_are_all_as_likely():
    """Of 5,000 items 1,700, with 32 random bits a place where 16 would often be odd."""
    rng = np.random.Generator(np.random.SFC64(2))
    rows, m, k = 4_000, 5_000, 1_700
    words = draw_sets(
        Segments.of(np.array([m])),
        np.array([[k]]),
        np.array([rows]),
        np.zeros(rows, dtype=int),
        np.ones(rows, dtype=bool),
        seeded_words(rng),
    )
    assert (np.bitwise_count(words).sum(axis=0, dtype=int) == k).all()
    octets = np.ascontiguousarray(words.T).view(np.uint8)
    counts = np.unpackbits(octets, axis=1, bitorder="little")[:, :m].sum(axis=0, dtype=int)
    assert counts[0] == rows
    # A row's places exclude each other, so that counts vary less than independent draws would.
    law = np.full(m - 1, 1 / (m - 1))
    assert draws_follow(counts[1:], law)
    tilted = law * np.where(np.arange(m - 1) % 2, 1.05, 0.95)
    assert not draws_follow(counts[1:], tilted / tilted.sum())


def test_segments_of_levels_that_meet_in_words():
    segments = Segments.of(np.array([50, 50, 900]))
    assert segments.first.tolist() == [0, 1, 3]
    assert segments.last.tolist() == [0, 2, 17]
    assert segments.word.tolist() == [0, 0, 1, 1, *range(2, 16)]
    together = np.zeros(16, dtype=np.uint64)
    for word, mask in zip(segments.word, segments.mask, strict=True):
        assert not together[word] & mask
        together[word] |= mask
    assert together.tolist() == [2**64 - 1] * 15 + [2**40 - 1]
