"""Whole sets: proof, device's and bulk draws, counts and estimates against listed reports."""

import copy
from fractions import Fraction
from itertools import combinations
from math import comb, log

import numpy as np
import pytest

from planner.deployment.building import parameters_from_mechanisms
from planner.errors import InputError, VerificationError
from planner.estimates.truncation import LongerSets
from planner.laws.law import DEVICE, Law
from planner.laws.source import order
from planner.limits import DENOMINATOR as D
from planner.mechanisms.asking import COLLECTOR, CollectedLaw
from planner.mechanisms.itemsets import ItemSets
from planner.mechanisms.set_design import SetDesignMechanism
from planner.mechanisms.words import seeded_words
from planner.policy.policy import PrivacyPolicy
from tests.deployment.examples import every_mechanism
from tests.laws.oracle import true_exp
from tests.mechanisms.decisions import draws_follow

QUESTION = next(
    law.document()
    for law in parameters_from_mechanisms(*every_mechanism()).questions
    if law.name == "whole sets"
)
DEVICE_LAW, LAW = Law.read(QUESTION, DEVICE), CollectedLaw.read(QUESTION, COLLECTOR)
REFERENCE = SetDesignMechanism.of(PrivacyPolicy([1.0], [4]), 2, 2.0)
MANY, FEW = 20_000, 5000


def law_of(shape, own):
    """Every report, as a set of elements, and its probability; from the document's words alone."""
    elements, held = range(shape.levels.elements), shape.held
    reports = [frozenset(one) for one in combinations(elements, held)]
    step = [sum(len(one & set(own)) >= s for s in shape.steps) - 1 for one in reports]
    counts = np.bincount(step, minlength=len(shape.steps))
    return {
        one: Fraction(shape.weights[c], D * int(counts[c]))
        for one, c in zip(reports, step, strict=True)
    }


def test_known_integers_and_error():
    law = REFERENCE.law
    assert (law.held, law.steps) == (2, (0, 1, 2))
    assert np.abs(np.subtract(law.weights, (733444606, 2658278820, 903243870))).max() <= 2
    a, b = REFERENCE.support
    assert max(
        ((4 - s) * b * (1 - b) + s * a * (1 - a)) / (a - b) ** 2 for s in (0, 2)
    ) == pytest.approx(11.049727, abs=1e-6)


@pytest.mark.parametrize("shape", [REFERENCE.law, LAW.shape], ids=["one level", "two"])
def test_listed_reports_keep_both_budgets_and_have_two_chances(shape):
    padded = list(combinations(range(shape.levels.elements), shape.levels.dummies))
    laws = [law_of(shape, own) for own in padded]
    least = shape.levels.least_demanded()
    own, other = shape.support()[0]
    worst = {1: Fraction(0), 2: Fraction(0)}
    for one, first in zip(padded, laws, strict=True):
        assert sum(first.values()) == 1
        for item in range(shape.levels.elements):
            chance = sum(p for report, p in first.items() if item in report)
            assert chance == (own if item in one else other)
        for two, second in zip(padded, laws, strict=True):
            apart = min(2, len(set(one) - set(two)))
            if apart:
                ratio = max(first[report] / second[report] for report in first)
                worst[apart] = max(worst[apart], ratio)
    assert worst[1] == shape.ratio(0, 0)
    assert true_exp(least - 1e-6) < worst[1] <= true_exp(least)
    assert true_exp(shape.cap - 1e-6) < worst[2] <= true_exp(shape.cap)
    assert log(worst[2]) <= shape.largest() < log(worst[2]) + 1e-12


def as_set(payload):
    number = int.from_bytes(payload, "little")
    if not LAW.shape.width:
        return frozenset(k for k in range(number.bit_length()) if number >> k & 1)
    return frozenset(np.frombuffer(payload, "<u2").tolist())


@pytest.mark.parametrize("answer", [["HIV", "flu"], ["x"], []])
def test_draws_follow_the_law(answer):
    """Two draws of three sets at a false alarm of 1e-6 each; twenty deviations would show."""
    code = LAW.asked.code(answer)
    own = LAW.asked.own(code, bytes)
    law = law_of(LAW.shape, own)
    chances = np.array([float(p) for p in law.values()])
    place = {report: k for k, report in enumerate(law)}
    source = np.random.Generator(np.random.SFC64(3)).bytes
    words = seeded_words(np.random.Generator(np.random.SFC64(4)))
    bulk = LAW.draw_many([code] * MANY, words)[0]
    single = [DEVICE_LAW.draw(code, source) for _ in range(FEW)]
    for reports in (list(map(bytes, bulk)), single):
        counts = np.bincount([place[as_set(one)] for one in reports], minlength=len(law))
        assert draws_follow(counts, chances)
        miss = chances.copy()
        miss[np.argmax(chances)] *= 1 + 20 / np.sqrt(len(reports) * chances.max())
        assert not draws_follow(counts, miss / miss.sum())


def test_as_many_bytes_of_entropy_for_every_set():
    taken = []
    for answer in ([], ["HIV"], ["HIV", "flu"], ["flu", "x", "cold", "HIV"]):
        given = []

        def source(count, given=given):
            given.append(count)
            return bytes(count)

        DEVICE_LAW.draw(DEVICE_LAW.asked.code(answer), source)
        taken.append(sum(given))
    assert len(set(taken)) == 1


def test_orders_are_uniform_and_long_sets_are_cut_alike():
    source = np.random.Generator(np.random.SFC64(5)).bytes
    orders = [tuple(order(source, 4, 2)) for _ in range(FEW)]
    names = sorted(set(orders))
    assert len(names) == 12
    counts = np.array([orders.count(one) for one in names])
    assert draws_follow(counts, np.full(12, 1 / 12))
    words = seeded_words(np.random.Generator(np.random.SFC64(6)))
    own = LAW.asked.own_many([(0, 1, 3)] * MANY, words)
    pairs = np.sort(own, axis=1)
    counts = [int((pairs == pair).all(axis=1).sum()) for pair in ((0, 1), (0, 3), (1, 3))]
    assert sum(counts) == MANY
    assert draws_follow(np.array(counts), np.full(3, 1 / 3))
    short = LAW.asked.own_many([(2,), ()], words)
    assert short.tolist() == [[2, 5], [6, 5]]


def test_other_reports_are_refused_by_number():
    words = seeded_words(np.random.Generator(np.random.SFC64(7)))
    packed = SetDesignMechanism.of(PrivacyPolicy([0.3], [30]), 2).law
    good = packed.draw_many(np.tile([0, 5], (6, 1)), words)[0]
    wide = SetDesignMechanism.of(PrivacyPolicy([1.0], [500]), 5).law
    assert wide.width == 2
    assert not packed.width
    rows = wide.draw_many(np.tile([0, 1, 2, 3, 4], (6, 1)), words)[0]
    numbers = rows.view("<u2")
    numbers[3, 0] = numbers[3, 1]  # twice
    for shape, wrong, number in (
        (packed, np.where(np.arange(6)[:, None] == 2, 255, good).astype(np.uint8), 2),
        (wide, rows, 3),
        (wide, np.where(np.arange(6)[:, None] == 4, 255, np.delete(rows, 3, 0)[:1]), 4),
    ):
        with pytest.raises(InputError, match=f"report.? {number}"):
            shape.counter().add(np.ascontiguousarray(wrong.astype(np.uint8)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": [10, 20, 30]}, "do not sum"),
        ({"steps": [0, 2, 1]}, "rising"),
        ({"steps": [1, 2, 3]}, "rising"),
        ({"held": 7}, "held"),
        ({"cap": 0.5}, "below the smallest budget"),
        ({"cap": 1.99}, "are promised|than the"),
    ],
)
def test_wrong_files_are_refused(change, message):
    question = copy.deepcopy(QUESTION) | change
    with pytest.raises((InputError, VerificationError), match=message):
        Law.read(question, DEVICE)
    if "cap" in change:
        question = copy.deepcopy(QUESTION)
        question["levels"][0]["epsilon"] *= 0.999
        with pytest.raises(VerificationError, match="differ in one item"):
            Law.read(question, DEVICE)


@pytest.mark.parametrize("cap", [1.0, 2.0])
def test_means_and_variances_of_sets_of_all_sizes(cap):
    """30 items, sizes 0 to 6 cut to 4, 300 collections of 400 people; false alarms 1e-6."""
    rng = np.random.Generator(np.random.SFC64(8))
    mechanism = SetDesignMechanism.of(
        PrivacyPolicy([1.0, 2.0], [5, 25]), 4, cap, LongerSets(4, (6,), (0.3,))
    )
    sets = [rng.choice(30, size, replace=False).tolist() for size in np.arange(400) % 7]
    found = np.array(
        [mechanism.estimate(mechanism.draw_aggregate(sets, rng)).values for _ in range(300)]
    )
    counts = ItemSets.of(sets, mechanism.items).counts()
    expected, variance = counts + mechanism.bias(sets), mechanism.variance(sets)
    z = (found.mean(axis=0) - expected) / np.sqrt(variance / 300)
    assert np.abs(z).max() < 5.6
    ratio = (np.square(found - expected) / variance).mean()
    spread = np.sqrt(2 / 300 / 30) * 1.5  # reports tie the items' counts together
    assert abs(ratio - 1) < 5 * spread
    assert abs(ratio / 1.15 - 1) > 5 * spread


def test_uniform_reports_have_as_many_hits_as_they_should():
    shape = REFERENCE.law
    ways = [comb(2, j) * comb(4, 2 - j) for j in range(3)]
    assert [count * shape._counts[0] for count in ways] == [
        count * ways[0] for count in shape._counts
    ]
