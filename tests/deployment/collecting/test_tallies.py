"""Counting reports: right for every mechanism, and no report counted that none can produce."""

import numpy as np
import pytest
import xxhash

from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.item_sets import SetLaw
from planner.deployment.client.mechanisms.response import ResponseLaw
from planner.deployment.client.mechanisms.sampling import SamplingLaw
from planner.deployment.client.mechanisms.sign import SignLaw
from planner.deployment.client.mechanisms.subset import SubsetLaw
from planner.deployment.mechanisms.registry import deployed
from planner.errors import InputError
from tests.deployment.client.laws.oracle import D, levels

LEVELS = levels((1.0, 2.0), (2, 3))
UNARY = SetLaw(LEVELS, (9, 9), (8, 8), 2)
DIE = SamplingLaw(LEVELS, 1, D - 6, (1,) * 5, 1.0, everyone_has_value=False)


def tally(law, *batches):
    tallier = deployed(law).counter()
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


def test_items_and_outputs():
    grr = tally(ResponseLaw(LEVELS, 5), words(4, 0, 4))
    assert grr.counts.tolist() == [1, 0, 0, 0, 2]
    assert tally(DIE, words(5, 0, 0)).counts.tolist() == [2, 0, 0, 0, 0, 1]
    for law, number in ((ResponseLaw(LEVELS, 5), 5), (DIE, 6)):
        with pytest.raises(InputError, match=f"report 1 is {number} .* from 0 to {number - 1}"):
            tally(law, words(0, number))


def test_two_bits():
    law = SignLaw(1.0, 0.0, 1.0, yes_no=False, low=5)
    rows = np.array([[3], [0], [3], [2]], np.uint8)
    assert tally(law, rows).counts.tolist() == [1, 0, 1, 2]
    with pytest.raises(InputError, match=r"report 0 is 4 .* from 0 to 3"):
        tally(law, np.array([[4]], np.uint8))


def test_subsets_have_one_size():
    law = SubsetLaw(LEVELS, 9, 2)
    found = tally(law, bits({0, 1}, {1, 4}))
    assert found.counts.tolist() == [1, 2, 0, 0, 1]
    for wrong in ({1}, {0, 1, 2}):
        with pytest.raises(InputError, match=f"size of report 1 is {len(wrong)} .* 2 items"):
            tally(law, bits({0, 1}, wrong))


@pytest.mark.parametrize("values", [2, 3, 4, 9, 1000, 10**8])
def test_hashed_values_support_the_items_with_that_hash(values):
    hashed = [
        [xxhash.xxh32_intdigest(k.to_bytes(4, "little"), seed) % values for k in range(5)]
        for seed in range(30)
    ]
    rows = words(*(word for seed in range(30) for word in (seed, hashed[seed][seed % 5])), width=2)
    expected = [sum(one[k] == one[seed % 5] for seed, one in enumerate(hashed)) for k in range(5)]
    found = tally(HashingLaw(LEVELS, 9, values), rows)
    assert found.counts.tolist() == expected
    with pytest.raises(InputError, match=f"from 0 to {values - 1}"):
        tally(HashingLaw(LEVELS, 9, values), words(0, values, width=2))
