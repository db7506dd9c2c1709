"""How often XXH32 sends items 0 and 1 to one value: counted over all seeds, for every g.

The example of data sets that local hashing loses most on
(:class:`planner.outsiders.shapes.Hashed`) takes them to collide for at most
``1.01 / g`` of the seeds, for ``g`` up to 10,000. No proof of that is known for one fixed hash, so
it is counted: two hashes are alike modulo ``g`` if ``g`` divides their difference, and one pass
over the 2^32 seeds counts the differences for every ``g`` together.

Run: ``python benchmarks/collisions.py``; eight minutes of a processor and 4 GB. It prints 1.004373.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.mechanisms.plain import xxh32
from planner.outsiders.shapes import COLLISIONS, MOST_HASH_VALUES

SEEDS = 2**32
CHUNK = 2**21


def main() -> None:
    times = differences()
    largest = 0.0
    for g in range(2, MOST_HASH_VALUES + 1):
        share = int(times[::g].sum(dtype=np.int64)) / SEEDS
        largest = max(largest, share * g)
        if share > COLLISIONS / g:
            raise SystemExit(f"g = {g}: {share:.6g} is above {COLLISIONS} / g.")
    print(f"g times the share of colliding seeds is at most {largest:.6f}")


def differences() -> NDArray[np.uint8]:
    """How many seeds make the two hashes differ by 0, 1, 2, ...: a byte each."""
    times = np.zeros(SEEDS, dtype=np.uint8)
    zero, one = np.zeros(1, dtype=np.uint32), np.ones(1, dtype=np.uint32)
    for start in range(0, SEEDS, CHUNK):
        seeds = np.arange(start, start + CHUNK, dtype=np.uint64).astype(np.uint32)
        apart = np.abs(xxh32(zero, seeds).astype(np.int64) - xxh32(one, seeds))
        np.add.at(times, apart, np.uint8(1))
    if int(times.sum(dtype=np.int64)) != SEEDS:  # a byte that ran over has lost 256
        raise SystemExit("A difference occurs more than 255 times: count with more than a byte.")
    return times


if __name__ == "__main__":
    main()
