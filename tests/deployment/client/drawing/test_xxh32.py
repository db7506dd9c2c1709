"""The hash against the reference library."""

import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from planner.deployment.client.mechanisms.hashing import xxh32

WORDS = st.integers(0, 2**32 - 1)


@given(WORDS, WORDS)
@example(0, 0)
@example(2**32 - 1, 2**32 - 1)
@example(2**31, 2**32 - 1)
def test_xxh32_is_that_of_the_reference_library(item, seed):
    assert xxh32(item, seed) == xxhash.xxh32_intdigest(item.to_bytes(4, "little"), seed)
