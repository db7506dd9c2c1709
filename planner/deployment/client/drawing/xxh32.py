"""XXH32 of one item under a seed: the hash of local hashing, in plain integers."""

from __future__ import annotations

__all__ = ["xxh32"]

_MASK = 2**32 - 1


def xxh32(item: int, seed: int) -> int:
    """XXH32 of the item's four little-endian bytes under a seed.

    Examples
    --------
    >>> hex(xxh32(1, 7))
    '0x57848006'
    """
    h = (seed + 374761393 + 4 + item * 3266489917) & _MASK
    h = ((h << 17 | h >> 15) & _MASK) * 668265263 & _MASK
    h = (h ^ h >> 15) * 2246822519 & _MASK
    h = (h ^ h >> 13) * 3266489917 & _MASK
    return h ^ h >> 16
