"""Each encoder against its law: every word that decides is tried, and outcomes are counted."""

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.mechanisms.hashing import HashingEncoder, HashingLaw, xxh32
from planner.deployment.client.mechanisms.item_sets import SetEncoder, SetLaw
from planner.deployment.client.mechanisms.response import ResponseEncoder, ResponseLaw
from planner.deployment.client.mechanisms.sampling import SamplingEncoder, SamplingLaw
from planner.deployment.client.mechanisms.sign import SignEncoder, SignLaw
from planner.deployment.client.mechanisms.subset import SubsetEncoder, SubsetLaw
from planner.deployment.client.mechanisms.unary import UnaryEncoder, UnaryLaw
from planner.errors import InputError
from planner.limits import MAX_CELLS
from tests.deployment.client.drawing.played import Played, bits_of, number
from tests.deployment.client.laws.oracle import D, levels

LEVELS = levels((2.0, 1.0), (1, 4))  # five items; the second level has the smaller budget
A, B = (3 * 10**9, 2 * 10**9), (10**9, 9 * 10**8)
UNARY = UnaryLaw(LEVELS, A, B)
SETS = SetLaw(LEVELS, A, B, 3)
RESPONSE = ResponseLaw(LEVELS, 10**9)
HASHING = HashingLaw(LEVELS, 10**9, 3)
SIGN = SignLaw(2.0, 17.0, 90.0, yes_no=False, low=5 * 10**8)
DIE = SamplingLaw(LEVELS, 7, D - 22, (1, 2, 3, 4, 5), 1.0, everyone_has_value=False)


@pytest.mark.parametrize(
    ("law", "kind", "size", "rounds"),
    [
        (UNARY, UnaryEncoder, 8, (None,)),
        (SETS, SetEncoder, 8, (None,)),
        (UnaryLaw(levels((1.0,), (64,)), (9,), (8,)), UnaryEncoder, 8, (None,)),
        (UnaryLaw(levels((1.0,), (65,)), (9,), (8,)), UnaryEncoder, 16, (None,)),
        (SetLaw(levels((1.0,), (62,)), (9,), (8,), 3), SetEncoder, 16, (None,)),
        (RESPONSE, ResponseEncoder, 4, (None,)),
        (HASHING, HashingEncoder, 8, (None,)),
        (SubsetLaw(levels((1.0,), (128,)), 9, 2), SubsetEncoder, 16, (None,)),
        (SIGN, SignEncoder, 1, (None,)),
        (DIE, SamplingEncoder, 4, (1, 2)),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_law_has_its_encoder(law, kind, size, rounds):
    assert type(law.encoder()) is kind
    assert (law.size, law.rounds) == (size, rounds)


def test_the_largest_reports_and_what_a_collector_counts_of_them():
    assert MAX_CELLS == 8 * 2 * 2**20  # 2 MiB
    assert SubsetLaw(levels((1.0,), (MAX_CELLS,)), 9, 1).size == MAX_CELLS // 8
    assert ResponseLaw(levels((1.0,), (MAX_CELLS,)), 9).size == 4
    assert HashingLaw(levels((1.0,), (MAX_CELLS,)), 9, 3).size == 8
    for law in (
        SubsetLaw(levels((1.0,), (MAX_CELLS + 1,)), 9, 1),
        SetLaw(levels((1.0,), (MAX_CELLS,)), (9,), (8,), 1),
        ResponseLaw(levels((1.0,), (MAX_CELLS + 1,)), 9),
        HashingLaw(levels((1.0,), (MAX_CELLS + 1,)), 9, 3),
    ):
        assert law.cells == MAX_CELLS + 1


def test_codes_are_item_numbers():
    for law in (UNARY, RESPONSE, HASHING, SubsetLaw(LEVELS, 9, 2)):
        assert law.encoder().code(3) == 3
    assert SETS.encoder().code([4, 1]) == (1, 4)
    assert SIGN.encoder().code(20) == 20.0
    assert DIE.encoder().code(3) == 4
    assert DIE.encoder().code(None) == 0
    everyone = SamplingLaw(LEVELS, 7, D - 22, (1, 2, 3, 4, 5), 1.0, everyone_has_value=True)
    with pytest.raises(InputError, match="number from 0 to 4"):
        everyone.encoder().code(None)


def test_codes_of_named_items():
    named = Levels(("x", "y"), (1.0, 2.0), (1, 2), (("HIV",), ("flu", "cold")), "min")
    for law in (UnaryLaw(named, A, B), ResponseLaw(named, 10**9)):
        assert law.encoder().code("cold") == 2
    assert SetLaw(named, A, B, 2).encoder().code(["flu", "HIV"]) == (0, 1)


# -- bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("item", range(5))
def test_each_bit_is_1_for_exactly_the_words_below_its_threshold(item):
    own = [B[0], B[1], B[1], B[1], B[1]]
    own[item] = A[0 if item == 0 else 1]
    encoder = UNARY.encoder()
    below = Played(*(threshold - 1 for threshold in own))
    assert bits_of(encoder.draw(item, below)).tolist() == [1] * 5 + [0] * 59
    at = Played(*own)
    assert not bits_of(encoder.draw(item, at)).any()
    assert below.taken == at.taken == 20
    for k in range(5):  # each word decides its own bit
        words = [threshold - (j == k) for j, threshold in enumerate(own)]
        assert bits_of(encoder.draw(item, Played(*words))).tolist() == [j == k for j in range(64)]


def test_bits_fill_whole_words():
    wide = UnaryLaw(levels((1.0,), (70,)), (9,), (5,))
    report = wide.encoder().draw(69, Played(*[5] * 69, 8))
    assert len(report) == 16
    assert bits_of(report).nonzero()[0].tolist() == [69]


def slots(code, length):
    """The own bit for every slot and dummy that may be drawn: its number, and the words taken."""
    encoder = SETS.encoder()
    found = []
    for slot, dummy in product(range(max(len(code), 3)), range(length)):
        source = Played(slot, dummy, B[0], *[B[1]] * 7)  # at its threshold only the own bit is 1
        report = bits_of(encoder.draw(code, source))
        assert report.sum() == 1
        assert source.taken == 4 * (2 + 8)  # whatever the set
        found.append(int(report.argmax()))
    return Counter(found)


def test_item_sets_sample_each_slot_alike_and_then_each_dummy():
    assert slots((), 3) == {5: 3, 6: 3, 7: 3}
    assert slots((2,), 3) == {2: 3, 5: 2, 6: 2, 7: 2}
    assert slots((0, 3), 3) == {0: 3, 3: 3, 5: 1, 6: 1, 7: 1}
    assert slots((0, 1, 4), 3) == {0: 3, 1: 3, 4: 3}
    assert slots((0, 1, 2, 4), 3) == {0: 3, 1: 3, 2: 3, 4: 3}  # more than the padding length


def test_dummies_have_the_thresholds_of_the_smallest_budget():
    source = Played(2, 0, *[D - 1] * 5, A[1] - 1, B[1], B[1] - 1)
    assert bits_of(SETS.encoder().draw((), source)).nonzero()[0].tolist() == [5, 7]


# -- values --------------------------------------------------------------------------


@pytest.mark.parametrize("item", range(5))
def test_a_response_is_the_truth_or_any_item(item):
    encoder = RESPONSE.encoder()
    source = Played(RESPONSE.truth - 1)
    assert encoder.draw(item, source) == number(item)
    assert source.taken == 4
    other = [encoder.draw(item, Played(RESPONSE.truth, word)) for word in range(5)]
    assert other == [number(k) for k in range(5)]
    assert encoder.draw(item, Played(RESPONSE.truth, D - 1, 3)) == number(3)  # D - 1 is rejected


@pytest.mark.parametrize("seed", [0, 7, D - 1])
def test_a_hashed_response_reports_its_seed(seed):
    encoder = HASHING.encoder()
    for item in range(5):
        hashed = xxhash.xxh32_intdigest(number(item), seed) % 3
        assert encoder.draw(item, Played(seed, HASHING.truth - 1)) == number(seed) + number(hashed)
        other = [encoder.draw(item, Played(seed, HASHING.truth, word)) for word in range(3)]
        assert other == [number(seed) + number(k) for k in range(3)]


@pytest.mark.parametrize("size", range(1, 5))
def test_subsets_are_all_alike(size):
    """Uniform over the sets of the right size, given whether the true item is held."""
    law = SubsetLaw(LEVELS, 10**9, size)
    encoder = law.encoder()
    for held, item in product((True, False), range(5)):
        missing = size - held
        sizes = [4 - missing + j + 1 for j in range(missing)]
        reports = Counter()
        for choice in product(*(range(2 * size) for size in sizes)):  # each choice by two words
            source = Played(law.held - held, *choice)
            reports[encoder.draw(item, source)] += 1
            assert source.taken == 4 * (1 + missing)
        others = [k for k in range(5) if k != item]
        expected = [{*chosen, *[item] * held} for chosen in combinations(others, missing)]
        found = [set(bits_of(report).nonzero()[0].tolist()) for report in reports]
        assert sorted(map(sorted, found)) == sorted(map(sorted, expected))
        assert set(reports.values()) == {math.factorial(missing) * 2**missing}
        assert {len(report) for report in reports} == {8}


# -- numbers -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "share"), [(17, 0), (90, 1), (53.5, Fraction(1, 2)), (35.25, Fraction(1, 4))]
)
@pytest.mark.parametrize("positive", [0, 1])
def test_two_bits(answer, share, positive):
    """By negative sampling the bit is turned over; of the second word only one bit counts."""
    encoder = SIGN.encoder()
    threshold = SIGN.low + round(share * (D - 2 * SIGN.low))
    for word, one in ((threshold - 1, 1), (threshold, 0)):
        for sign in (positive, D - 2 + positive):
            source = Played(word, sign)
            report = encoder.draw(encoder.code(answer), source)
            assert report == bytes([2 * positive + (one if positive else 1 - one)])
            assert source.taken == 8


@pytest.mark.parametrize("answer", [None, math.nan])
@pytest.mark.parametrize("positive", [0, 1])
def test_no_answer_is_not_turned_over(answer, positive):
    encoder = SIGN.encoder()
    for word, one in ((SIGN.low - 1, 1), (SIGN.low, 0)):
        assert encoder.draw(encoder.code(answer), Played(word, positive)) == bytes(
            [2 * positive + one]
        )


@given(st.floats(17, 90))
@example(17.0)
@example(90.0)
@example(np.nextafter(90.0, 0).item())
def test_numbers_between_have_the_nearest_threshold(answer):
    exact = SIGN.low + (Fraction(answer) - 17) / 73 * (D - 2 * SIGN.low)
    threshold = threshold_of(SIGN, answer)
    assert SIGN.low <= threshold <= D - SIGN.low
    assert abs(threshold - exact) <= Fraction(1, 2) + Fraction(1, 1000)  # 2^32 times a rounding


def threshold_of(law, answer):
    """Found from outside: the number of words that give a 1 by positive sampling."""
    encoder = law.encoder()
    low, high = 0, D
    while low < high:
        middle = (low + high) // 2
        if encoder.draw(answer, Played(middle, 1)) == b"\x03":
            low = middle + 1
        else:
            high = middle
    return low


def test_a_number_that_was_never_checked_keeps_the_promise():
    """Beyond the range the law is that of the range's end."""
    assert threshold_of(SIGN, 1e9) == threshold_of(SIGN, 90.0) == D - SIGN.low
    assert threshold_of(SIGN, -1e9) == threshold_of(SIGN, 17.0) == SIGN.low


def test_halves_are_rounded_up():
    """Four steps between the outermost thresholds, so that shares are exact."""
    law = SignLaw(1.0, 0.0, 8.0, yes_no=False, low=D // 2 - 2)
    found = [threshold_of(law, float(answer)) - law.low for answer in range(9)]
    assert found == [0, 1, 1, 2, 2, 3, 3, 4, 4]


# -- the die -------------------------------------------------------------------------


def test_both_rounds_share_the_die():
    encoder = DIE.encoder()
    edges = np.cumsum([DIE.zero, *DIE.decoys]).tolist()
    for code in range(6):
        for face, (start, end) in enumerate(zip([0, *edges], edges, strict=False)):
            for word in (start, end - 1):
                source = Played(word)
                die = encoder.draw(code, source)
                assert source.taken == 4
                assert die == number(word)  # the die does not know the answer
                both = [encoder.output(die, code, round_number) for round_number in (1, 2)]
                assert both == [number(face)] * 2
        for word in (edges[-1], D - 1):  # sampled: nothing at first, then the truth
            assert encoder.output(number(word), code, 1) == number(0)
            assert encoder.output(number(word), code, 2) == number(code)


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
@example(0, 0)
@example(2**32 - 1, 2**32 - 1)
@example(2**31, 2**32 - 1)
def test_xxh32_is_that_of_the_reference_library(item, seed):
    assert xxh32(item, seed) == xxhash.xxh32_intdigest(item.to_bytes(4, "little"), seed)
