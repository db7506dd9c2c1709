"""Words, coins and choices: exact from the bytes, each byte used once and in order."""

import math
from collections import Counter

import pytest

from planner.deployment.client.drawing.entropy import choose, coin, system, words
from planner.errors import VerificationError
from tests.deployment.client.drawing.played import Played

GRID = 2**32


def test_words_are_little_endian_and_asked_for_at_once():
    asked = []

    def source(count):
        asked.append(count)
        return bytes(range(count))

    assert words(source, 3) == (0x03020100, 0x07060504, 0x0B0A0908)
    assert words(source, 0) == ()
    assert asked == [12, 0]


@pytest.mark.parametrize("data", [b"", b"123", b"12345", None, "1234", bytearray(4)])
def test_a_broken_source_draws_nothing(data):
    with pytest.raises(VerificationError, match=r"entropy failed. Report nothing"):
        words(lambda _: data, 1)


@pytest.mark.parametrize("threshold", [0, 1, 5, 2**31, GRID - 1, GRID])
def test_a_coin_is_true_for_exactly_the_words_below_its_threshold(threshold):
    for word in {max(threshold - 1, 0), min(threshold, GRID - 1), 0, GRID - 1}:
        source = Played(word)
        assert coin(source, threshold) is (word < threshold)
        assert source.taken == 4


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 2**31, 2**31 + 1, GRID - 1, GRID])
def test_a_choice_takes_the_words_below_the_largest_multiple_and_no_other(size):
    accepted = size * (GRID // size)
    for word in {0, size - 1, min(size, accepted - 1), accepted - 1}:
        source = Played(word)
        assert choose(source, size) == word % size
        assert source.taken == 4
    if accepted < GRID:
        source = Played(accepted, GRID - 1, 5)
        assert choose(source, size) == 5 % size
        assert source.taken == 12


@pytest.mark.parametrize("size", range(1, 17))
def test_choices_are_uniform_on_a_grid_of_sixteen_words(monkeypatch, size):
    """All words of a smaller grid, counted: each choice has as many."""
    monkeypatch.setattr("planner.deployment.client.drawing.entropy.DENOMINATOR", 16)
    drawn, rejected = Counter(), 0
    for word in range(16):
        source = Played(word, 0)
        choice = choose(source, size)
        if source.taken == 8:
            rejected += 1
        else:
            drawn[choice] += 1
    assert drawn == dict.fromkeys(range(size), 16 // size)
    assert rejected == 16 % size


def test_the_system_gives_as_much_as_it_is_asked_for_and_nothing_twice():
    assert [len(system(count)) for count in (0, 1, 33)] == [0, 1, 33]
    assert len({system(16) for _ in range(100)}) == 100
    ones = sum(byte.bit_count() for byte in system(10_000))
    assert abs(ones - 40_000) < 5 * math.sqrt(20_000)  # false-alarm rate 6e-7
