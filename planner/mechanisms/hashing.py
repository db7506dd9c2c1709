"""Optimised local hashing: hash the item to a few values, then randomise the value."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.chunks import map_rows
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.mechanisms.frequency import FrequencyMechanism

MAX_HASHING_EPSILON = 20.0
"""Beyond it there are too many hash values for a grid of 2^-32."""

_CHUNK_CELLS = 2**16


@dataclass(frozen=True, slots=True)
class OptimizedLocalHashing(FrequencyMechanism):
    """Optimised local hashing (OLH): reports of constant size for any number of items.

    Output law: the user draws a seed, uniform over 2^32, and hashes the item to one of
    ``g = round(e^eps) + 1`` values (XXH32 of the item's four little-endian bytes,
    modulo ``g``); the value then goes through generalised randomised response over
    ``g`` values with probabilities ``p`` and ``q``. Given the seed, hence whatever the
    hash, two items differ by a factor ``p / q <= e^eps`` at most.

    A report supports the items that hash to its value: ``a = p``, ``b = 1/g``, to within
    ``g 2^-32``. Variance of an estimated count: ``n b(1-b)/(a-b)^2 + c (1-a-b)/(a-b)``,
    about that of OUE. Counting costs a hash per user and item.

    Source: Wang, Blocki, Li and Jha (USENIX Security 2017).

    Parameters
    ----------
    epsilon:
        Budget in nats, above 0 and at most 20 (``g`` must stay well below 2^32).
    items:
        Number of items, at least 2.

    Examples
    --------
    >>> OptimizedLocalHashing(1.0, items=1000).values
    4
    """

    epsilon: float
    items: int

    def __post_init__(self) -> None:
        inputs.item_count(self.items)
        if arguments.budget("epsilon", self.epsilon) > MAX_HASHING_EPSILON:
            remedy = "With so large a budget use generalised randomised response."
            raise InputError(
                "epsilon", self.epsilon, f"above 0 and at most {MAX_HASHING_EPSILON:g}", remedy
            )
        self._response()  # checks that the budget is large enough for the grid

    @property
    def values(self) -> int:
        """Number of hash values, ``g``."""
        return round(exp(self.epsilon)) + 1

    @property
    def a(self) -> NDArray[np.float64]:
        """``p`` for every item, shape ``(items,)``."""
        return np.full(self.items, self._response().p)

    @property
    def b(self) -> NDArray[np.float64]:
        """``1 / g`` for every item, shape ``(items,)``."""
        return np.full(self.items, 1 / self.values)

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.uint32]:
        """Pairs of seed and randomised hash value, uint32, shape ``(n, 2)``."""
        true = inputs.item_numbers(values, self.items)
        seeds = inputs.generator(rng).integers(2**32, size=true.size, dtype=np.uint32)
        hashed = (xxh32(true.astype(np.uint32), seeds) % self.values).astype(np.int64)
        reported = self._response().perturb(hashed, rng)
        return np.column_stack([seeds, reported.astype(np.uint32)])

    def aggregate(self, reports: NDArray[Any]) -> Aggregate:
        """How many reports support each item, shape ``(items,)``."""
        pairs = self._checked(reports)
        items = np.arange(self.items, dtype=np.uint32)

        def support(part: slice, _: int) -> NDArray[np.int64]:
            seeds, reported = pairs[part].T[:, :, None]
            return np.sum(xxh32(items, seeds) % np.uint32(self.values) == reported, axis=0)

        chunk = max(1, _CHUNK_CELLS // self.items)
        return Aggregate(len(pairs), np.sum(map_rows(support, len(pairs), chunk), axis=0))

    def privacy_loss(self) -> float:
        """``ln(p / q)``, in nats, for every seed."""
        return log(self._response().p / self._response().q)

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[value | hashed item]`` given the seed, shape ``(g, g)``."""
        return self._response().output_law()

    def report_index(self, reports: NDArray[Any]) -> NDArray[np.int64]:
        """The reported hash value."""
        return self._checked(reports)[:, 1].astype(np.int64)

    def _response(self) -> GeneralizedRandomizedResponse:
        return GeneralizedRandomizedResponse(self.epsilon, self.values)

    def _checked(self, reports: NDArray[Any]) -> NDArray[np.uint32]:
        pairs = inputs.report_rows(reports, np.uint32, columns=2)  # seed and value
        for u in np.flatnonzero(pairs[:, 1] >= self.values)[:1]:
            allowed = f"a hash value from 0 to {self.values - 1}"
            remedy = "Read the reports with the mechanism that made them."
            raise InputError(f"reports[{u}][1]", int(pairs[u, 1]), allowed, remedy)
        return pairs


def xxh32(number: NDArray[np.uint32], seed: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """XXH32 of four little-endian bytes, for whole arrays (broadcast) of numbers and seeds.

    The reference libraries hash one buffer a call; this is their algorithm for a
    four-byte buffer, and the tests compare the two.

    Examples
    --------
    >>> hex(xxh32(np.array([1], dtype=np.uint32), np.array([7], dtype=np.uint32))[0])
    '0x57848006'
    """
    u = np.uint32
    h = seed + u(374761393) + u(4) + number * u(3266489917)
    h = ((h << u(17)) | (h >> u(15))) * u(668265263)
    h = (h ^ (h >> u(15))) * u(2246822519)
    h = (h ^ (h >> u(13))) * u(3266489917)
    return h ^ (h >> u(16))
