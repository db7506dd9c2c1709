"""Sources that play words back, and reports taken apart."""

import numpy as np


class Played:
    """Plays words back and counts the bytes that are taken; zeros when the words run out."""

    def __init__(self, *words):
        self.left = list(words)
        self.taken = 0

    def __call__(self, count):
        self.taken += count
        assert self.taken < 10_000, "entropy is taken without end"
        words = [self.left.pop(0) if self.left else 0 for _ in range(count // 4)]
        return b"".join(word.to_bytes(4, "little") for word in words)


def bits_of(report):
    return np.unpackbits(np.frombuffer(report, np.uint8), bitorder="little")


def number(value):
    """Four bytes, little-endian."""
    return value.to_bytes(4, "little")
