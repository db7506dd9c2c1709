"""Audit anybody's client of a parameter file: by its reports alone, against what the file says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import exp, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.mechanisms.channel import MeanChannelLaw
from planner.deployment.client.mechanisms.design import DesignLaw
from planner.deployment.client.mechanisms.hashing import HashingLaw
from planner.deployment.client.mechanisms.item_sets import DesignSetLaw
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.client.mechanisms.ordered_channel import OrderedChannelLaw
from planner.deployment.client.questions import DeployedQuestion
from planner.deployment.mechanisms.registry import deployed
from planner.deployment.parameter_file.parameters import Parameters
from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms.hashing import xxh32
from planner.outsiders.auditing.audit import Expected, Promise, ReportAudit, audit_reports
from planner.outsiders.auditing.boxes import BlackBox
from planner.outsiders.auditing.views import VIEWS, Reports, View
from planner.outsiders.statistics import findable_excess

_MOST_PAIRS = 500
_MOST_CELLS = 10**6
_TELLING = 0.999  # of the largest ratio


@dataclass(frozen=True, slots=True, eq=False)
class ClientAudit:
    """What an audit of one question asks, before anything is asked.

    Attributes
    ----------
    question:
        Name of the question.
    promises:
        Pairs of answers, each with what an honest client loses and what the policy demands.
    findable:
        Per pair, an excess over the honest loss that is found with probability 0.9, in nats.
    reports:
        Per answer.
    confidence:
        Probability that an honest client has no fault.
    """

    question: str
    promises: tuple[Promise, ...]
    findable: tuple[float, ...]
    reports: int
    confidence: float
    _expected: Expected | None
    _views: Mapping[str, Callable[[Promise], View]]

    def run(self, box: BlackBox, rng: np.random.Generator) -> ReportAudit:
        """Ask the box and judge it, see :func:`~planner.outsiders.auditing.audit.audit_reports`."""
        return audit_reports(
            box, self.promises, self.reports, rng, self._expected, self._views, self.confidence
        )


def plan_audit(
    parameters: Parameters,
    question: str | None = None,
    answers: Sequence[Any] = (),
    reports: int = 100_000,
    confidence: float = 0.999999,
) -> ClientAudit:
    """What to ask a client of a parameter file, and what can be found by it.

    Parameters
    ----------
    parameters:
        The file, proven.
    question:
        Name of the question; may be left out if there is one.
    answers:
        Answers to compare, each with each; by default the first and the last item of each level,
        or for a number its ends and no answer.
    reports:
        Per answer.
    confidence:
        Probability that an honest client has no fault.

    Raises
    ------
    InputError
        No such question, an answer that is none of its answers, fewer than two, more than 500
        pairs, or a question in rounds, whose rounds are not protected alone.
    """
    chosen = _question(parameters, question)
    law = chosen.law
    if law.rounds != (None,):
        allowed = "a question whose reports are made in one round"
        raise InputError("question", chosen.name, allowed, "Audit its law by `verify`.")
    encoder, asked = law.encoder(), list(answers) or _default_answers(law)
    for answer in asked:
        encoder.code(answer)  # refuses what is none
    if len(asked) * (len(asked) - 1) > 2 * _MOST_PAIRS:
        allowed = f"so few that there are {_MOST_PAIRS} pairs at most"
        remedy = "Choose some of the answers."
        raise InputError("answers", len(asked), allowed, remedy)
    places = [_place(law, encoder.code(answer)) for answer in asked]
    listed = {(pair.first, pair.second): pair for pair in chosen.pairs}
    promises, chances = [], []
    for i, j in combinations(range(len(asked)), 2):
        pair = listed.get((min(places[i], places[j]), max(places[i], places[j])))
        if pair is not None and isfinite(pair.demanded):
            promises.append(Promise(asked[i], asked[j], pair.realised, pair.demanded))
            chances.append(_chance(law, places[i], places[j]))
    if not promises:
        allowed = "two or more that a budget protects from each other"
        remedy = "Choose two answers whose pair has a finite budget."
        raise InputError("answers", asked, allowed, remedy)
    expected = _expected(law, asked)
    views = {"hashed": _hashed(law)} if isinstance(law, HashingLaw) else {}
    tests = 2 * len(promises) * (len(VIEWS) + len(views)) + 1
    tests += len(expected.names) * len(asked) if expected else 0
    error, draws = (1 - confidence) / tests, reports - reports // 2
    findable = tuple(
        findable_excess(chance, chance * exp(-promise.epsilon), draws, error)
        for chance, promise in zip(chances, promises, strict=True)
    )
    return ClientAudit(chosen.name, tuple(promises), findable, reports, confidence, expected, views)


def audit_client(
    parameters: Parameters,
    box: BlackBox,
    rng: np.random.Generator,
    question: str | None = None,
    answers: Sequence[Any] = (),
    reports: int = 100_000,
    confidence: float = 0.999999,
) -> ReportAudit:
    """Ask a black box for reports of a question and say what they prove.

    Parameters as in :func:`plan_audit`; ``box`` is asked, ``rng`` mixes the order of answers.
    """
    return plan_audit(parameters, question, answers, reports, confidence).run(box, rng)


def _question(parameters: Parameters, name: str | None) -> DeployedQuestion:
    questions = {one.name: one for one in parameters.questions}
    if name is None and len(questions) == 1:
        return parameters.questions[0]
    if name not in questions:
        raise InputError(
            "question", name, f"one of {', '.join(questions)}", "Name the question to audit."
        )
    return questions[name]


def _default_answers(law: Law) -> list[Any]:
    if not hasattr(law, "levels"):
        return list(dict.fromkeys(law.examples()))
    levels = law.levels
    names, numbers = levels.item_names(), levels.numbers()
    ends = []
    start = 0
    for count in levels.item_counts:
        ends += sorted({start, start + count - 1})
        start += count
    items = [names[k] if names[k] in numbers else k for k in ends]
    return [[item] for item in items] if law.kind == "item-set" else items


def _place(law: Law, code: Any) -> int:
    """Which position of the law's pairs an answer belongs to."""
    if isinstance(law, MeanChannelLaw):
        return law.place(code)
    if not hasattr(law, "levels"):
        return 0
    number = code[0] if law.kind == "item-set" else code
    for i, count in enumerate(law.levels.item_counts):
        if number < count:
            return i
        number -= count
    return len(law.levels.item_counts) - 1


def _chance(law: Law, i: int, j: int) -> float:
    """About the probability of the event that tells a pair apart best, under the first answer."""
    if isinstance(law, DesignLaw):
        sides = _chance_of_sides(law, law.level_groups[i], law.level_groups[j])
        return sides / law.padding_length if isinstance(law, DesignSetLaw) else sides
    if isinstance(law, MeanChannelLaw):
        held = (
            [law.symbol_levels[k].rows for k in {i, j}]
            if law.symbol_levels
            else [range(len(law.rows))]
        )
        return _chance_of_report([law.rows[x] for rows in held for x in rows])
    if isinstance(law, OrderedChannelLaw):
        rows = zip(law.rows, law.levels.level_of(), strict=True)
        return _chance_of_report([row for row, level in rows if level in (i, j)])
    constants = law.estimator()
    if "offsets" not in constants:
        return float((1 - constants["noise"]) / 2)
    offsets, slopes = constants["offsets"], constants["slopes"]
    one = float((offsets[i] + slopes[i]) * (1 - offsets[j]))
    return one / float(constants["factor"]) if law.kind == "item-set" else one


def _chance_of_report(rows: Sequence[Sequence[int]]) -> float:
    """That of the likeliest report that tells two rows apart next to best."""
    columns = np.array(rows).T / DENOMINATOR
    ratios = columns.max(axis=1) / columns.min(axis=1)
    return float(columns[ratios >= _TELLING * ratios.max()].max())


def _chance_of_sides(law: DesignLaw, first: int, second: int) -> float:
    """That of the types and sides of both answers, of these groups, that tell them apart best."""
    events = []
    for one, other, highs in zip(law.groups[first], law.groups[second], law.types, strict=True):
        own, others = (highs[group] / law.items[group] for group in (first, second))
        for side, share in enumerate((1 - own, own)):
            for there, part in enumerate((1 - others, others)):
                if share and part and other[there]:
                    ratio = one[side] / share * part / other[there]
                    events.append((ratio, one[side] / DENOMINATOR * part))
    best = max(ratio for ratio, _ in events)
    return sum(chance for ratio, chance in events if ratio >= _TELLING * best)


def _expected(law: Law, answers: Sequence[Any]) -> Expected | None:
    """Probabilities of all cells for each answer; unknown for numbers and sets."""
    if law.kind != "categorical":
        return None
    half = deployed(law)
    cells = half.cells(None)
    if len(cells.names) * len(answers) > _MOST_CELLS:
        return None
    slack = float(getattr(half, "slack", 0.0))
    encoder = law.encoder()
    lowest, highest = {}, {}
    if isinstance(law, DesignLaw):  # its cells are types with items: limits whatever the answer
        lowest, highest = dict.fromkeys(answers, cells.low), dict.fromkeys(answers, cells.high)
        answers = ()
    for answer in answers:
        own = np.arange(len(cells.names)) == encoder.code(answer)
        lowest[answer] = np.where(own, cells.high - 2 * slack, cells.low)
        highest[answer] = np.where(own, cells.high, cells.low + 2 * slack)

    def counted(rows: NDArray[np.uint8]) -> NDArray[np.int64]:
        if rows.shape[1] != law.size:
            remedy = "The client and the parameter file differ: give both the same file."
            raise InputError("size of a report", rows.shape[1], f"{law.size} bytes", remedy)
        counter = half.counter()
        counter.add(np.ascontiguousarray(rows))
        return counter.sums().counts

    return Expected(counted, lowest, highest, cells.names)


def _hashed(law: HashingLaw) -> Callable[[Promise], View]:
    """Which of the two answers hash to the reported value: all that such a report says."""
    encoder = law.encoder()

    def make(promise: Promise) -> View:
        codes = [encoder.code(x) for x in (promise.first, promise.second)]

        def look(pair: Sequence[Reports], half: int) -> list[NDArray[np.int64]]:
            del half
            return [_collisions(one.content, codes, law.values) for one in pair]

        return look

    return make


def _collisions(rows: NDArray[np.uint8], codes: Sequence[int], values: int) -> NDArray[np.int64]:
    if rows.shape[1] != 8:
        return np.zeros(len(rows), dtype=np.int64)
    seeds, reported = np.ascontiguousarray(rows).view("<u4").astype(np.uint32).T
    numbers = np.array(codes, dtype=np.uint32)[:, None]
    first, second = xxh32(numbers, seeds) % np.uint32(values) == reported
    return 2 * first.astype(np.int64) + second
