"""Random words of which draws in bulk are made: the operating system's, or a generator's."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.mechanisms.chunks import spawn


@dataclass(frozen=True, slots=True)
class Words:
    """A source of random words.

    Attributes
    ----------
    raw:
        Gives so many uniform words of 64 bits, uint64, shape ``(count,)``.
    split:
        Gives so many sources for chunks that are drawn side by side.
    """

    raw: Callable[[int], NDArray[np.uint64]]
    split: Callable[[int], list[Words]]

    def half(self, count: int) -> NDArray[np.uint32]:
        """So many uniform words of 32 bits."""
        return self.raw(-(-count // 2)).view(np.uint32)[:count]

    def below(self, sizes: ArrayLike, count: int) -> NDArray[np.int64]:
        """Uniform whole numbers below ``sizes``, each from 1 to 2^32, shape ``(count,)``.

        A word of 64 bits is taken again where it is in the last, incomplete run of its size.
        """
        size = np.broadcast_to(np.asarray(sizes, dtype=np.uint64), (count,))
        chosen = np.empty(count, dtype=np.int64)
        left = np.arange(count)
        while left.size:
            word, modulus = self.raw(left.size), size[left]
            rest = word % modulus
            chosen[left] = rest
            left = left[word - rest > np.uint64(0) - modulus]
        return chosen


def system_words() -> Words:
    """Words of the operating system's generator."""

    def raw(count: int) -> NDArray[np.uint64]:
        return np.frombuffer(secrets.token_bytes(8 * count), dtype=np.uint64)

    words = Words(raw, lambda count: [words] * count)
    return words


def seeded_words(rng: np.random.Generator) -> Words:
    """Words of a generator, for simulations alone; chunks have children of it (SFC64).

    Raises
    ------
    InputError
        The generator's raw words have 32 bits.
    """
    if isinstance(rng.bit_generator, np.random.MT19937):
        raise InputError("rng", "MT19937", "a generator of 64-bit words", "Use SFC64.")
    raw = rng.bit_generator.random_raw
    return Words(
        lambda count: np.asarray(raw(count), dtype=np.uint64),
        lambda count: [seeded_words(child) for child in spawn(rng, count)],
    )
