"""Counting reports: right for every law, and no report counted that none can produce."""

import numpy as np
import pytest
import xxhash

from planner.errors import InputError
from planner.laws.levels import Levels
from planner.mechanisms.collected import Bits, Die, Hash, Rows, Sides

D = 2**32
LEVELS = Levels(("a", "b"), (1.0, 2.0), (2, 3), ((), ()))
UNARY = Bits(LEVELS.with_dummies(2), (9, 9), (8, 8))
DIE = Die(LEVELS, 1, D - 6, (1,) * 5, 1.0, everyone_has_value=False, guarantee={})


def tally(law, *batches):
    tallier = law.counter()
    for batch in batches:
        tallier.add(batch)
    return tallier.sums()


def words(*values, width=1):
    return np.array(values, "<u4").reshape(-1, width).view(np.uint8)


def bits(*reports):
    """Reports of 64 bits, each given by the positions of its ones."""
    return np.array([sum(1 << k for k in ones) for ones in reports], "<u8")[:, None].view(np.uint8)


def test_bits():
    found = tally(UNARY, bits({0, 6}, {0}), bits(set(), {0, 1, 2, 3, 4, 5, 6}))
    assert found.users == 4
    assert found.counts.tolist() == [3, 1, 1, 1, 1, 1, 2]
    with pytest.raises(InputError, match="0 in all bits from 7"):
        tally(UNARY, bits({7}))


def test_small_numbers():
    assert tally(DIE, words(5, 0, 0)).counts.tolist() == [2, 0, 0, 0, 0, 1]
    channel = Rows(LEVELS, ((1, 1, D - 2),) * 5, ())
    assert tally(channel, np.array([[2, 0], [0, 0], [2, 0]], np.uint8)).counts.tolist() == [1, 0, 2]
    for law, row, number in (
        (DIE, words(0, 6), 6),
        (channel, np.array([[0, 0], [3, 0]], np.uint8), 3),
    ):
        with pytest.raises(InputError, match=f"report 1 is {number} .* from 0 to {number - 1}"):
            tally(law, row)


def test_subsets_have_one_size():
    law = Sides(LEVELS, (0, 0), ((2,),), (((9, D - 9),),), ())
    found = tally(law, bits({0, 1}, {1, 4}))
    assert found.counts.tolist() == [2, 1, 2, 0, 0, 1]
    for wrong in ({1}, {0, 1, 2}):
        with pytest.raises(InputError, match=rf"size of reports\[1\] is \[{len(wrong)}\] .*\[2\]"):
            tally(law, bits({0, 1}, wrong))


@pytest.mark.parametrize("values", [2, 3, 4, 9, 1000, 10**8])
def test_hashed_values_support_the_items_with_that_hash(values):
    hashed = [
        [xxhash.xxh32_intdigest(k.to_bytes(4, "little"), seed) % values for k in range(5)]
        for seed in range(30)
    ]
    rows = words(*(word for seed in range(30) for word in (seed, hashed[seed][seed % 5])), width=2)
    expected = [sum(one[k] == one[seed % 5] for seed, one in enumerate(hashed)) for k in range(5)]
    found = tally(Hash(LEVELS, "xxh32", 9, values), rows)
    assert found.counts.tolist() == expected
    with pytest.raises(InputError, match=f"from 0 to {values - 1}"):
        tally(Hash(LEVELS, "xxh32", 9, values), words(0, values, width=2))
