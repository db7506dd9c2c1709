"""Set designs: reference values, tiny domains by enumeration, bounds, refusals."""

from contextlib import nullcontext
from math import ceil, e, isclose, log
from types import SimpleNamespace

import numpy as np
import pytest

from planner import PrivacyPolicy, VerificationError
from planner.laws.levels import Levels
from planner.limits import DENOMINATOR as D
from planner.mechanisms.making import set_design
from planner.mechanisms.set_design import (
    OverlapCollected,
    best_set_design,
    chances_in_report,
    hits_by_size,
    rival_supports,
    set_error,
    set_error_bound,
)
from planner.mechanisms.words import seeded_words
from tests.refusals import refused

# Derived twice and checked by brute force: items, length, budget, cap: error and size.
REFERENCE = [
    (10, 2, 1, 1, 60.37712858, 2),
    (20, 3, 1, 1, 195.44216719, 2),
    (100, 10, 1, 1, 3664.16999609, 3),
    (100, 10, 2, 2, 682.58241708, 1),
    (100, 5, 4, 4, 42.55743056, 1),
    (1000, 10, 1, 1, 41348.98482269, 26),
    (16470, 7, 2, 2, 87915.52293018, 271),
    (16470, 7, 4, 4, 8819.75086885, 42),
    (10, 3, 4, 4, 5.37964087, 2),
    (4, 2, 1, 1, 18.08556506, 1),
    (10, 2, 1, 2, 31.30698507, 4),
    (20, 3, 1, 2, 90.56875031, 5),
    (100, 10, 1, 1.5, 2472.3200, 18),
    (100, 10, 1, 2, 1410.09962599, 14),
    (100, 10, 1, 3, 760.23235411, 26),
    (100, 10, 1, 5, 436.4206, 32),
    (100, 10, 1, 10, 368.9325, 34),
    (100, 5, 4, 8, 20.95058665, 2),
    (1000, 10, 1, 2, 14931.04406502, 51),
    (16470, 7, 1, 2, 175616.0005625, 1188),
    (16470, 7, 2, 4, 32678.66664766, 522),
]


@pytest.mark.parametrize(
    ("items", "length", "epsilon", "cap", "error", "size"), REFERENCE
)
def test_reference_values(items, length, epsilon, cap, error, size):
    design = best_set_design(items, length, epsilon, cap)
    assert design.size == size
    digits = len(str(error).partition(".")[2])
    assert round(set_error(items, length, *design.support), digits) == error
    assert isclose(np.diff(design.log_steps).max(), epsilon)
    assert isclose(design.log_steps[-1], cap)
    assert set_error_bound(items, length, epsilon, cap) <= error


def test_known_integers_and_error():
    policy = PrivacyPolicy([1.0], [4])
    mechanism = set_design(policy, 2, 2.0)
    assert mechanism.shape.held == 2
    expected = (ceil(2**32 / e),) * 2
    assert mechanism.shape.ratios == expected
    chances = [float(chance) for chance in mechanism.shape.support()[0]]
    assert set_error(4, 2, *chances) == pytest.approx(11.049727, abs=1e-6)
    assert chances == pytest.approx(best_set_design(4, 2, 1.0, 2.0).support, rel=1e-6)
    assert set_error(10, 2, 0.9, 0.5) == pytest.approx(
        10 * 0.5**2 / 0.4**2
    )  # nobody has an item


# Tiny budgets, hits that are hardly ever drawn, a ratio of 9 over 2^32, hardly more than two steps.
WIDE = [
    (10, 1e-4, 1e-4, 4e-6),
    (300, 10, 50, 9e-6),
    (9, 20, 50, 0.02),
    (9, 4, 8 + 1e-9, 1e-7),
]


@pytest.mark.parametrize(("length", "epsilon", "cap", "loss"), WIDE)
def test_whole_numbers_lose_one_unit_of_a_ratio(length, epsilon, cap, loss):
    shape = set_design(
        PrivacyPolicy([epsilon], [1000]), length, cap
    ).shape  # proven there
    ideal = set_error(
        1000, length, *best_set_design(1000, length, epsilon, cap).support
    )
    assert (
        ideal
        < set_error(1000, length, *map(float, shape.support()[0]))
        < ideal * (1 + loss)
    )
    assert shape.cap == cap


def test_bits_of_another_number_are_refused_by_number():
    words = seeded_words(np.random.Generator(np.random.SFC64(7)))
    policy = PrivacyPolicy([0.3], [30])
    packed = set_design(policy, 2).shape
    assert packed.width == 0
    policy = PrivacyPolicy([1.0], [500])
    mechanism = set_design(policy, 5)
    assert mechanism.shape.width == 2
    expected = bytes([1, 2, 0, 0, 0, 0, 0, 0])
    assert packed.written([0, 9]) == expected
    bits = packed.draw_many(np.tile([0, 5], (6, 1)), words)[0]
    bits[2] = 255
    with refused("ones of report 2"):
        packed.counter().add(bits)


def test_hits_that_64_bits_do_not_decide_take_more():
    """Where a draw begins as an edge does, its next digits say on which side it is."""
    policy = PrivacyPolicy([0.3], [30])
    law = set_design(policy, 4).shape
    assert law.held == 3
    assert law.hits == range(4)
    edge, rest = divmod(law.ends[1] << 64, law.ends[-1])
    for last, hits in ((rest - 1, 1), (rest, 2)):
        octets = last.to_bytes(4 * (-(-law.ends[-1].bit_length() // 32) + 2), "little")
        words = SimpleNamespace(
            raw=lambda count: np.array([0, edge, 2**64 - 1], dtype=np.uint64)[:count],
            octets=lambda _count, octets=octets: octets,
        )
        assert law.hits_drawn(3, words).tolist() == [0, hits, 3]


def test_no_other_staircase_or_curve_is_better():
    """2,000 random columns, by hits, that keep both budgets; 60 of them next to the best one."""
    rng = np.random.default_rng(1)
    (items, length, epsilon, cap) = (12, 3, 1.0, 1.7)
    best = best_set_design(items, length, epsilon, cap)
    least = set_error(items, length, *best.support)
    for i in range(2000):
        steps = rng.uniform(-epsilon, epsilon, length)
        if i < 60:
            steps = np.diff(best.log_steps) + rng.normal(0, 0.02, length)
        curve = np.cumsum([0.0, *np.clip(steps, -epsilon, epsilon)])
        curve -= curve.min()
        if curve.max() > cap:
            continue
        if i >= 60:
            size = int(rng.integers(1, items + length))
        else:
            size = best.size
        chances = chances_in_report(items, length, np.array([size]), curve[None])
        assert not set_error(items, length, *chances) < least * (1 - 1e-12)


def test_own_elements_are_likelier_unless_all_reports_are_alike():
    """What a reader proves by the ratios alone, against the chances themselves."""
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(500):
        items, length = (int(n) for n in rng.integers(1, 7, 2))
        levels = Levels(("all",), (1.0,), (items,), ((),)).with_dummies(length)
        held = int(rng.integers(1, items + length))
        steps = min(length, held) - max(0, held - items)
        ratios = rng.choice([D, D - 1, D // 2], steps, p=(0.8, 0.1, 0.1)).tolist()
        law = OverlapCollected(levels, held, 40.0, tuple(ratios))
        ((own_chance, other),) = law.support()
        if own_chance > other:
            telling = nullcontext()
        else:
            telling = refused(kind=VerificationError)
        with telling:
            law.require_telling()
        hits += own_chance > other
    assert 100 < hits < 400


def test_numbers_in_a_report_are_below_the_elements_and_rise():
    policy = PrivacyPolicy([4.0], [1000])
    shape = set_design(policy, 3).shape
    words = seeded_words(np.random.Generator(np.random.SFC64(2)))
    (rows,) = shape.draw_many(np.tile([0, 1, 2], (5, 1)), words)
    numbers = rows.view("<u2")
    numbers[3, -1] = shape.cells - 1
    shape.counter().add(rows)
    for wrong in (shape.cells, int(numbers[3, -2])):
        numbers[3, -1] = wrong
        with refused("report 3"):
            shape.counter().add(rows)


def of_whole_sets(items, length, a, b):
    """Squared error per person of sets of exactly so many items."""
    return ((items - length) * b * (1 - b) + length * a * (1 - a)) / (a - b) ** 2


def test_bounds_and_rivals():
    published = [  # bound, PrivSet at its best size, Wheel, amplified GRR: sets of that size
        (10, 2, 1.0, 51.43079903, 60.37712858, 97.52, 53.43388131),
        (20, 3, 1.0, 175.87654256, 195.44216719, 299.79, 201.0502),
        (100, 10, 1.0, 3272.28068976, 3664.16999609, 5133.71, 4595.41),
        (100, 10, 2.0, 636.13893992, 682.58241708, 1064.41, 642.43288031),
        (16470, 7, 4.0, 8753.30274084, 8819.75086885, 8995.47, 98763.2),
    ]
    for items, length, epsilon, bound, privset, wheel, grr in published:
        assert set_error_bound(items, length, epsilon, epsilon) == pytest.approx(
            bound, abs=1e-8
        )
        rivals = rival_supports(items, length, epsilon)
        errors = {}
        for name, chances in rivals.items():
            errors[name] = set_error(items, length, *chances)
        assert errors["privset"] == pytest.approx(privset, abs=1e-7)
        assert errors["wheel"] == pytest.approx(wheel, abs=0.006)
        a, b = rival_supports(items - length, length, epsilon)[
            "amplified-grr"
        ]  # no dummies
        assert of_whole_sets(items, length, a, b) == pytest.approx(grr, rel=1e-6)
    assert set_error_bound(10, 2, 1.0, 2.0) == pytest.approx(25.3, abs=0.05)
    assert set_error_bound(1000, 10, 1.0, 2.0) == pytest.approx(7151, abs=0.5)
    # One element reported is randomised response with the amplified budget; where length / items
    # is 1 / (1 + e^epsilon) it attains the bound.
    uniform = hits_by_size(10, 2, np.array([1]))[0]
    weights = uniform * [1.0, 4.0, 4.0]
    a = weights[1] / weights.sum() / 2
    odds = 2 * (4 - 1) + 1  # randomised response on one drawn item
    assert a == pytest.approx((odds / 2 + 0.5) / (odds + 9), rel=1e-12)
    error = of_whole_sets(10, 2, a, (1 - 2 * a) / 8)
    assert error == pytest.approx(set_error_bound(10, 2, log(4), log(4)), rel=1e-12)


def test_refusals_name_the_argument():
    lengths = (
        (3, 4, 1.0),
        (3, 0, 1.0),
        (9999, 1025, 1.0),
    )
    caps = (9, 3, 1.0, 0.5), (9, 3, 1.0, 3.1)
    for arguments in (*lengths, *caps):
        with refused("cap", "length"):
            best_set_design(*arguments)
