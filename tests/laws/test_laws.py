"""One suite over all laws: proven budgets, draws, counts and estimates against listed reports.

The oracle lists every report of a question from its document alone. Statistical tests have a fixed
seed, a false-alarm rate of 1e-6 and reject a near miss.
"""

import copy
import itertools
import math
import pickle
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from planner.errors import InputError, VerificationError
from planner.laws.answers import MEAN_OF_SCORES
from planner.laws.law import DEVICE, Law
from planner.laws.source import order
from planner.limits import DENOMINATOR as D
from planner.mechanisms.asking import COLLECTOR, CollectedLaw
from planner.mechanisms.collected import xxh32
from planner.mechanisms.counting import Aggregate, stacked
from planner.mechanisms.words import seeded_words
from tests.laws.oracle import (
    breaches,
    inputs,
    largest_ratio,
    law_of,
    level_of,
    set_ratios,
    true_exp,
)
from tests.laws.questions import QUESTIONS
from tests.mechanisms.decisions import draws_follow
from tests.refusals import refused

every = pytest.mark.parametrize("name", QUESTIONS)
MANY = 50_000
FEW = 4000
EDGED = [
    name for name, question in QUESTIONS.items() if question["law"] in ("rows", "die")
]


def laws(name):
    """The question's document, and its law as a device and a collector have it."""
    question = QUESTIONS[name]
    return question, Law.read(question, DEVICE), CollectedLaw.read(question, COLLECTOR)


def owns(question):
    """Numbers of inputs to look at: the first, and the last of each level; of sets the last."""
    levels = level_of(question)
    last = [k for k, level in enumerate(levels) if level not in levels[k + 1 :]]
    if question["law"] == "overlap":
        return [0, 7, len(inputs(question)) - 1]
    if question["law"] != "die":
        return sorted({0, *last})
    return [0, 1, len(question["decoys"])]


def listed(question, true_input):
    """Reports and their probabilities; of hashing the reported values."""
    reports = law_of(question)[true_input]
    return list(reports), np.array([float(chance) for chance in reports.values()])


def source_of(seed):
    """A device's source, but seeded."""
    return np.random.Generator(np.random.SFC64(seed)).bytes


# -- proofs ------------------------------------------------------------------------------------


@every
def test_probabilities_sum_to_one_and_keep_every_budget(name):
    question, device, collector = laws(name)
    assert all(sum(law.values()) == 1 for law in law_of(question))
    assert breaches(question) == []
    assert device.document() == collector.document() == question
    assert question.get("yes_no", False) is name.startswith("yes")
    assert device.pairs == collector.pairs


@every
def test_realised_budgets_are_attained_and_rounded_up(name):
    question, device, _ = laws(name)
    if question["law"] in ("die", "hash"):
        return  # their pairs are of outputs and of values; the oracle has looked at those
    if question["law"] == "overlap":
        one_item, every_two = set_ratios(question)
        assert (
            device.shape.ratio(0, 0)
            == one_item
            > true_exp(device.levels.least_demanded() - 1e-6)
        )
        assert every_two > true_exp(question["cap"] - 1e-6)
        assert (
            math.log(every_two) <= device.shape.largest() < math.log(every_two) + 1e-12
        )
        return
    chances = law_of(question)
    levels = level_of(question)
    places = {}
    for i in levels:
        places[i] = [k for k, level in enumerate(levels) if level == i]
    for pair in device.pairs:
        first = places[pair.first]
        second = places[pair.second]
        directed = device.levels.directed
        if directed:
            ways = [(first, second)]
        else:
            ways = [(first, second), (second, first)]
        ratio = max(largest_ratio(chances, *two) for two in ways)
        assert ratio <= true_exp(pair.realised)
        assert pair.realised - 1e-13 * max(1, pair.realised) <= math.log(ratio)
        assert pair.realised <= pair.demanded
        ratios = [device.shape.ratio(pair.first, pair.second)]
        ratios += [] if directed else [device.shape.ratio(pair.second, pair.first)]
        assert max(ratios) == ratio


@every
def test_one_unit_more_for_the_truth_is_too_much_or_less_than_rounding(name):
    """Budgets are spent: a thousandth less of each is refused, by name of the question."""
    question = copy.deepcopy(QUESTIONS[name])
    if "epsilon" in question:
        question["epsilon"] *= 0.999
    for level in question.get("levels", ()):
        level |= {
            key: 0.999 * level[key] for key in ("epsilon", "against") if key in level
        }
    if isinstance(question.get("rule"), list):
        question["rule"] = [[r and r * 0.999 for r in row] for row in question["rule"]]
    if name in ("sampled", "rappor", "oue", "grr", "olh", "subset"):
        question["levels"][0]["epsilon"] *= 0.6
    with refused(kind=VerificationError):
        Law.read(question, DEVICE)


def expected_sums(question, collector, true_input):
    """What each report of an element adds to the sums of each round, on average."""
    if question["law"] == "hash":
        mine, other = (float(chance) for chance in collector.shape.support()[0])
        return [np.where(np.arange(collector.levels.total) == true_input, mine, other)]
    rounds = []
    for number in collector.rounds:
        reports, chances = listed(question, true_input if number != 1 else 0)
        rows = np.frombuffer(b"".join(reports), dtype=np.uint8).reshape(
            len(reports), -1
        )
        sums = 0.0
        for row, chance in zip(rows, chances, strict=True):
            counter = collector.shape.counter()
            counter.add(np.ascontiguousarray(row[None]))
            sums = sums + chance * counter.sums().counts
        rounds.append(sums)
    return rounds


@every
def test_estimators_are_unbiased(name):
    """Sums as they are expected give the truth: ones for own items, or what an answer counts as."""
    question, device, collector = laws(name)
    scale = 2**50
    columns = device.asked.counts_as()
    for true_input in owns(question):
        sums = []
        for total in expected_sums(question, collector, true_input):
            counts = np.rint(total * scale).astype(np.int64)
            if question["law"] in ("rows", "die"):  # a histogram has no rounding left
                counts[0] += scale - counts.sum()
            sums.append(Aggregate(scale, counts))
        estimates = collector.shape.estimate(stacked(sums))
        values = estimates.values
        if columns is None:
            truth = []
            for k in range(values.size):
                truth.append(float(k in inputs(question)[true_input]))
            assert values / scale == pytest.approx(truth, abs=1e-7)
        else:
            assert values == pytest.approx(
                [float(row[true_input]) for row in columns], abs=1e-7
            )


@pytest.mark.parametrize("name", ["age", "yes", "hours", "order"])
def test_what_is_processed_is_moved_to_the_ends_of_its_range(name):
    """Where most reports are alike, whichever: some estimates are too small, others too large."""
    question, _, law = laws(name)
    ends = {
        "mean": (question.get("lower"), question.get("upper")),
        "mean score": (0, 9),
    }
    ends |= {"missing rate": (0, 1), "frequency": (0, 1)}
    if name == "order":
        values = (tuple(np.linspace(-1, 10, law.cells)),)
        asked = replace(law.asked, wanted=MEAN_OF_SCORES)
        law = replace(law, asked=asked, shape=replace(law.shape, values=values))
    pairs = itertools.permutations(np.eye(law.cells, dtype=int), 2)
    tables = [law.rows([Aggregate(100, 99 * most + rest)], 0.9) for most, rest in pairs]
    processed = np.transpose([rows["processed"] for rows in tables])
    for k, (answer, values) in enumerate(
        zip(tables[0].answers, processed, strict=True)
    ):
        assert (
            answer == "total" or (np.nanmin(values), np.nanmax(values)) == ends[answer]
        )
        for table in (
            tables if answer in ("total", "missing rate", "mean score") else ()
        ):
            width = (table["upper"] - table["lower"])[k]
            assert width == pytest.approx(
                2 * 1.6449 * table["standard_error"][k], rel=1e-4
            )
    for mean, total, missing in (
        [] if name == "order" else [rows["estimate"][:3] for rows in tables]
    ):
        assert np.isnan(mean) or total == pytest.approx(
            100 * mean * (1 - missing), abs=1e-9
        )


# -- draws ---------------------------------------------------------------------------------------


def follows(reports, question, true_input):
    """Whether reports have the law of the oracle; and a law of one probability a little off."""
    names, chances = listed(question, 0 if question["law"] == "hash" else true_input)
    if question["law"] == "hash":
        numbers = np.array([int.from_bytes(r[4:], "little") for r in reports])
        seeds = np.array(
            [int.from_bytes(r[:4], "little") for r in reports], dtype=np.uint32
        )
        hashed = (
            xxh32(np.full(seeds.size, true_input, dtype=np.uint32), seeds)
            % question["values"]
        )
        numbers = (numbers - hashed) % question["values"]  # 0: the truth
        counts = np.bincount(numbers, minlength=question["values"])
    else:
        index_of = {report: k for k, report in enumerate(names)}
        assert {bytes(report) for report in reports} <= index_of.keys()
        counts = np.bincount(
            [index_of[bytes(report)] for report in reports], minlength=len(names)
        )
    top = int(np.argmax(chances))
    miss = chances.copy()
    miss[top] *= 1 + 20 / math.sqrt(
        len(reports) * miss[top]
    )  # twenty standard deviations
    return draws_follow(counts, chances), draws_follow(counts, miss / miss.sum())


@every
def test_draws_in_bulk_follow_the_law(name):
    question, device, collector = laws(name)
    for true_input in owns(question)[:2]:
        words = seeded_words(np.random.Generator(np.random.SFC64(true_input)))
        elements = np.tile(inputs(question)[true_input], (MANY, 1))
        if question["law"] == "overlap":
            taken = elements
        else:
            taken = elements[:, 0]
        *_, rows = collector.shape.draw_many(taken, words)
        expected = (MANY, device.shape.size)
        assert rows.shape == expected
        counter = collector.shape.counter()
        counter.add(rows)  # the strict parser takes them all
        assert follows(list(map(bytes, rows)), question, true_input) == (True, False)


@pytest.mark.parametrize("name", EDGED)
def test_in_bulk_a_word_decides_as_on_a_device(name):
    """On both sides of every edge."""
    question, device, collector = laws(name)
    for true_input in owns(question):
        faces = question.get("decoys") or question["rows"][true_input]
        edges = np.cumsum([question.get("zero", 0), *faces])
        at = np.concatenate([edges - 1, edges])
        at = at[(at >= 0) & (at < D)].astype(np.uint32)
        words = SimpleNamespace(half=lambda _count, at=at: at)
        *_, many = collector.shape.draw_many(np.full(at.size, true_input), words)
        code = inputs(question)[true_input]
        for word, report in zip(at.tolist(), many, strict=True):
            drawn = device.shape.draw(
                code, lambda _, word=word: word.to_bytes(4, "little")
            )
            assert device.shape.output(drawn, code, device.rounds[-1]) == bytes(report)


def test_a_hash_is_told_below_its_threshold_alone():
    law = laws("olh")[2].shape
    halves = iter(np.array([[0, 0], [law.truth - 1, law.truth]], dtype=np.uint32))
    other = lambda size, count: np.full(count, size)  # noqa: E731 - what no hash is
    words = SimpleNamespace(half=lambda _count: next(halves), below=other)
    hashed = law.draw_many(np.zeros(2, dtype=np.int64), words)[0].view("<u4")[:, 1]
    assert (hashed == law.values).tolist() == [False, True]


@every
def test_the_devices_draws_follow_the_law(name):
    question, device, _ = laws(name)
    true_input = owns(question)[-1]
    source = source_of(11)
    code = inputs(question)[true_input]
    drawn = [device.shape.draw(code, source) for _ in range(FEW)]
    reports = [device.shape.output(draw, code, device.rounds[-1]) for draw in drawn]
    good, missed = follows(reports, question, true_input)
    assert good
    assert not missed


@every
def test_as_many_words_for_every_answer(name):
    """But for words that a choice rejects, which depend on the type of a report alone."""
    question, device, _ = laws(name)
    taken = []
    for answer in device.examples():
        given = []  # and words of zeros: no choice rejects them, the first type
        device.draw(
            device.code(answer),
            lambda n, given=given: given.append(n) or bytes(n),
        )
        taken.append(sum(given))
    assert len(set(taken)) == 1, question["law"]
    with refused("The source of entropy failed", kind=VerificationError):
        device.draw(device.code(answer), lambda count: bytes(count - 1))


def test_a_set_is_about_each_of_its_items_alike():
    """Listed: all slots and dummies, as choices of a short and a long set."""
    _, device, collector = laws("sets")
    for items, length in (
        ((1,), 3),
        ((), 3),
        ((0, 1, 2, 4), 4),
    ):
        orders = []
        for slot, dummy in itertools.product(range(max(3, len(items))), range(3)):
            data = iter([slot.to_bytes(4, "little"), dummy.to_bytes(4, "little")])
            orders.append(
                device.asked.own(items, lambda _count, data=data: next(data))[0]
            )
        if len(items) < length:
            expected = [*items, *range(5, 8)]
        else:
            expected = items
        counts = [orders.count(k) for k in expected]
        assert sum(counts) == len(orders)
        assert counts[: len(items)] == [3] * len(items)
        words = seeded_words(np.random.Generator(np.random.SFC64(4)))
        many = np.bincount(
            collector.asked.own_many([items] * 20_000, words), minlength=8
        )
        law = np.bincount(orders, minlength=8) / len(orders)
        assert draws_follow(many, law)
        assert not draws_follow(many, np.roll(law, 1))


def test_orders_are_uniform_and_long_sets_are_cut_alike():
    _, _, collector = laws("whole sets")
    source = source_of(5)
    orders = [tuple(order(source, 4, 2)) for _ in range(FEW)]
    counts = np.array(
        [
            orders.count(permutation)
            for permutation in itertools.permutations(range(4), 2)
        ]
    )
    assert draws_follow(counts, np.full(12, 1 / 12))
    words = seeded_words(np.random.Generator(np.random.SFC64(6)))
    pairs = np.sort(collector.asked.own_many([(0, 1, 3)] * 20_000, words), axis=1)
    counts = np.array(
        [(pairs == pair).all(axis=1).sum() for pair in ((0, 1), (0, 3), (1, 3))]
    )
    assert counts.sum() == 20_000
    assert draws_follow(counts, np.full(3, 1 / 3))
    assert not draws_follow(counts, np.array([0.36, 0.34, 0.30]))
    assert collector.asked.own_many([(2,), ()], words).tolist() == [[2, 5], [6, 5]]


def test_numbers_are_rounded_to_either_point_without_bias():
    question, device, collector = laws("hours")
    last = question["points"] - 1
    for answer in (17.0, 40.25, 88.9, 90.0, None):
        words = seeded_words(np.random.Generator(np.random.SFC64(5)))
        many = collector.asked.own_many([device.asked.code(answer)] * MANY, words)
        if answer is None:
            assert set(many) == {question["points"]}
            continue
        share = (answer - 17) / 73 * last
        assert set(many) <= {math.floor(share), math.ceil(share)}
        below = min(int(share), last - 1)
        up = int((share - below) * D + 0.5)
        edge = np.array([word for word in (up - 1, up) if 0 <= word < D])
        points = [below + (word < up) for word in edge]
        assert [device.asked.point(answer, word) for word in edge] == points
        words = SimpleNamespace(half=lambda _count, edge=edge: edge)
        assert collector.asked.own_many([answer] * edge.size, words).tolist() == points
        error = 6 * math.sqrt((share - below) * (1 - share + below) / MANY)
        assert abs(many.mean() - share) <= error + 1e-9


# -- reports and workers -------------------------------------------------------------------------


@every
def test_what_no_answer_gives_is_refused_with_its_number(name):
    question, _, collector = laws(name)
    words = seeded_words(np.random.Generator(np.random.SFC64(2)))
    whole = question["law"] == "overlap"
    if whole:
        codes = np.tile(inputs(question)[0], (6, 1))
    else:
        codes = np.zeros(6, dtype=np.int64)
    good = collector.shape.draw_many(codes, words)[0]
    for byte in (255, 0):
        rows = good.copy()
        rows[4] = byte
        impossible = (
            byte or whole or (question["law"] == "sides" and any(question["types"][0]))
        )
        refused = pytest.raises(InputError, match=r"(report|reports).?4")
        with refused if impossible else nullcontext():
            collector.shape.counter().add(rows)


@every
def test_laws_travel_to_workers_without_what_was_worked_out(name):
    _, device, collector = laws(name)
    plain = len(pickle.dumps(device))
    device.draw(device.code(next(device.examples())), source_of(1))
    assert len(pickle.dumps(device)) == plain
    again = pickle.loads(pickle.dumps(collector))  # noqa: S301
    assert again == collector
    assert again.size == device.size
