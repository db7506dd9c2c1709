"""Ask a black box for reports, and prove from them what it gives away at least."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arguments import finite, whole_number
from planner.errors import InputError
from planner.mechanisms import inputs
from planner.outsiders.auditing.boxes import BlackBox
from planner.outsiders.auditing.views import VIEWS, Reports, View
from planner.outsiders.shown import lost_at_least
from planner.outsiders.statistics import log_ratio_limit, share_limits, telling_event
from planner.policy.budget_text import rounded_up

LEAST_REPORTS = 100
_REPEATED = 2000  # reports of each answer that are asked for again after a restart
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Promise:
    """What a pair of answers may be told apart by.

    Attributes
    ----------
    first, second:
        The two answers.
    epsilon:
        The most that an honest client spends on the pair, in nats; what it is convicted by.
    demanded:
        The budget that the policy promises, not below ``epsilon``; ``inf`` if none.
    """

    first: Any
    second: Any
    epsilon: float
    demanded: float = inf


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """How often honest reports count for each cell, if that is known.

    Attributes
    ----------
    counted:
        Counts per cell of reports as bytes, shape ``(n, size)``; InputError for what no honest
        client sends.
    lowest, highest:
        Per answer, limits of each cell's probability, each of shape ``(cells,)``.
    names:
        One per cell.
    """

    counted: Callable[[NDArray[np.uint8]], NDArray[np.int64]]
    lowest: Mapping[Any, Array]
    highest: Mapping[Any, Array]
    names: Sequence[str]


@dataclass(frozen=True, slots=True)
class FoundPair:
    """The largest loss that is proven for a pair of answers.

    Attributes
    ----------
    promise:
        The pair and what it may lose.
    lower_bound:
        It loses at least this much, in nats.
    view:
        What gave most away.
    """

    promise: Promise
    lower_bound: float
    view: str

    @property
    def broken(self) -> bool:
        """Whether more is lost than an honest client loses."""
        return self.lower_bound > self.promise.epsilon


@dataclass(frozen=True, slots=True)
class FoundShare:
    """A cell that is not counted as often as honest reports are.

    ``seen`` are the proven limits of its probability, ``expected`` the honest ones.
    """

    answer: Any
    cell: str
    seen: tuple[float, float]
    expected: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ReportAudit:
    """What reports of a black box prove.

    Attributes
    ----------
    pairs:
        Per pair the largest proven loss.
    shares:
        Cells that do not fit the promised law.
    repeats:
        Whether reports of two starts agree more often than those of one: a seed is fixed.
    malformed:
        Why reports are none of the mechanism's; ``None`` if they are.
    reports:
        Per answer.
    tests:
        Number of tests; each is wrong with probability at most ``(1 - confidence) / tests``.
    confidence:
        Probability that an honest client has no fault.
    """

    pairs: tuple[FoundPair, ...]
    shares: tuple[FoundShare, ...]
    repeats: bool
    malformed: str | None
    reports: int
    tests: int
    confidence: float

    @property
    def passed(self) -> bool:
        """No fault was found."""
        return not self.faults

    @property
    def faults(self) -> list[str]:
        """A sentence per fault."""
        found = [] if self.malformed is None else [f"Reports are malformed: {self.malformed}"]
        if self.repeats:
            found.append("Reports repeat after a restart: the seed is fixed, so they hide nothing.")
        found += [_broken(pair) for pair in self.pairs if pair.broken]
        return found + [_unfaithful(one) for one in self.shares]

    @property
    def summary(self) -> str:
        """The verdict in a sentence."""
        number = len(self.faults)
        what = f"{number} fault{'s' * (number > 1)} found" if number else "no violation found"
        return (
            f"{what} with {self.reports:,} reports per answer, {self.tests:,} tests, all of them "
            f"right with probability {self.confidence!r}"
        )


def audit_reports(
    box: BlackBox,
    promises: Sequence[Promise],
    reports: int,
    rng: np.random.Generator,
    expected: Expected | None = None,
    views: Mapping[str, Callable[[Promise], View]] | None = None,
    confidence: float = 0.999999,
) -> ReportAudit:
    """Ask for reports and prove lower bounds of what they give away, pair by pair.

    The first half of the reports chooses, for each pair, order and view, the event that tells the
    two answers apart best; the second half bounds its two probabilities by Clopper and Pearson's
    exact limits. The number of tests is fixed beforehand, and each has an equal share of the
    chance of a false alarm (Bonferroni). That is valid if reports are drawn independently.

    Parameters
    ----------
    box:
        The black box; it is started twice.
    promises:
        The pairs to look at.
    reports:
        Per answer, at least 100.
    rng:
        Mixes the order in which answers are asked, so that nothing is due to time.
    expected:
        What honest reports count for.
    views:
        Further views, made for each pair, besides
        :data:`~planner.outsiders.auditing.views.VIEWS`.
    confidence:
        Probability that an honest client has no fault, at least 0.5, below 1.

    Raises
    ------
    InputError
        The box cannot be asked, or an argument is out of range.

    Examples
    --------
    A client that tells the truth three times of four has a loss of ln 3, not 1:

    >>> from planner.outsiders import FunctionBox
    >>> rng = np.random.default_rng(1)
    >>> box = FunctionBox(lambda answer: str(answer if rng.random() < 0.75 else 1 - answer))
    >>> audit = audit_reports(box, [Promise(0, 1, 1.0)], 50_000, rng)
    >>> audit.passed, 1.0 < audit.pairs[0].lower_bound < 1.0987
    (False, True)
    """
    inputs.generator(rng)
    whole_number("reports", reports, LEAST_REPORTS, 10**8)
    if not 0.5 <= finite("confidence", confidence) < 1:
        remedy = "Write 99 % as 0.99."
        raise InputError("confidence", confidence, "a probability of at least 0.5, below 1", remedy)
    answers = _answers(promises)
    looks = {name: (lambda _, view=view: view) for name, view in VIEWS.items()} | dict(views or {})
    cells = len(expected.names) * len(answers) if expected else 0
    tests = 2 * len(promises) * len(looks) + cells + 1  # both orders; and the test of repeats
    error = (1 - confidence) / tests
    order = rng.permuted(np.tile(np.arange(len(answers)), (reports, 1)), axis=1).ravel()
    asked = [answers[k] for k in order]
    lines, again = box.ask(asked), box.ask(asked[: _REPEATED * len(answers)])
    seen = [
        Reports.read([lines[u] for u in np.flatnonzero(order == k)]) for k in range(len(answers))
    ]
    repeats = _repeats(lines, again, order, error)
    malformed, shares = _shares(expected, answers, seen, error)
    place = {_key(answer): k for k, answer in enumerate(answers)}
    pairs = tuple(
        _pair(one, [seen[place[_key(x)]] for x in (one.first, one.second)], looks, error)
        for one in promises
    )
    return ReportAudit(pairs, shares, repeats, malformed, reports, tests, confidence)


def _answers(promises: Sequence[Promise]) -> list[Any]:
    if not promises:
        remedy = "Say which answers are protected from each other, as Promise(0, 1, 1.0)."
        raise InputError("promises", promises, "one pair of answers or more", remedy)
    known: dict[str, Any] = {}
    for i, one in enumerate(promises):
        if _key(one.first) == _key(one.second):
            remedy = "Leave it out: an answer needs no protection from itself."
            raise InputError(f"promises[{i}]", one.first, "of two different answers", remedy)
        if not isfinite(one.epsilon) or not 0 <= one.epsilon <= one.demanded:
            allowed = "finite, at most the demanded"
            remedy = "Leave out pairs that are promised nothing."
            raise InputError(f"promises[{i}].epsilon", one.epsilon, allowed, remedy)
        known |= {_key(one.first): one.first, _key(one.second): one.second}
    return list(known.values())


def _key(answer: Any) -> str:
    return repr(answer)


def _pair(
    promise: Promise,
    pair: Sequence[Reports],
    looks: Mapping[str, Callable[[Promise], View]],
    error: float,
) -> FoundPair:
    best, source = 0.0, "nothing"
    draws = len(pair[0].shapes)
    half = draws // 2
    for name, look in looks.items():
        symbols = _known_before(look(promise)(pair, half), half)
        size = 1 + max(int(one.max()) for one in symbols)
        choose, prove = (
            [np.bincount(one[part], minlength=size) for one in symbols]
            for part in (slice(half), slice(half, None))
        )
        for one, other in ((0, 1), (1, 0)):
            event = telling_event(choose[one], choose[other], half)
            hits = [int(prove[which][event].sum()) for which in (one, other)]
            bound = log_ratio_limit(hits[0], hits[1], draws - half, error)
            if bound > best:
                best, source = bound, name
    return FoundPair(promise, best, source)


def _known_before(symbols: Sequence[NDArray[np.int64]], half: int) -> list[NDArray[np.int64]]:
    """All that the first half has not shown as one symbol, 0: no event may tell them apart.

    An event that did would be chosen by the very reports that are to prove it.
    """
    known = np.unique(np.concatenate([one[:half] for one in symbols]))
    found = []
    for one in symbols:
        place = np.minimum(np.searchsorted(known, one), known.size - 1)
        found.append(np.where(known[place] == one, place + 1, 0))
    return found


def _repeats(
    lines: Sequence[bytes], again: Sequence[bytes], order: NDArray[np.int64], error: float
) -> bool:
    """Fisher's exact test: agreement of two starts at one place against that of two places.

    Half of the places serve for each, so that the two counts are independent.
    """
    from scipy.stats import fisher_exact

    first, second = Reports.read(lines[: len(again)]), Reports.read(again)
    texts = [[bytes(row) for row in one.content] for one in (first, second)]
    half = len(again) // 2
    same = sum(texts[0][u] == texts[1][u] for u in range(half))
    apart, pairs = 0, 0
    for answer in np.unique(order[half : len(again)]):
        places = half + np.flatnonzero(order[half : len(again)] == answer)
        for u, v in zip(places[::2], places[1::2], strict=False):
            pairs += 1
            apart += texts[0][u] == texts[0][v]
    table = [[same, half - same], [apart, pairs - apart]]
    return bool(fisher_exact(table, alternative="greater").pvalue < error)


def _shares(
    expected: Expected | None, answers: Sequence[Any], seen: Sequence[Reports], error: float
) -> tuple[str | None, tuple[FoundShare, ...]]:
    found: list[FoundShare] = []
    if expected is None:
        return None, ()
    for answer, one in zip(answers, seen, strict=True):
        try:
            counts = expected.counted(one.content)
        except InputError as problem:
            return str(problem), ()
        low, high = expected.lowest[answer], expected.highest[answer]
        for k, count in enumerate(counts.tolist()):
            limits = share_limits(count, len(one.shapes), error / 2)
            if limits[0] > high[k] or limits[1] < low[k]:
                honest = float(low[k]), float(high[k])
                found.append(FoundShare(answer, expected.names[k], limits, honest))
    return None, tuple(found)


def _broken(pair: FoundPair) -> str:
    promise = pair.promise
    lost = (
        f"Answers {promise.first!r} and {promise.second!r} lose at least "
        f"{lost_at_least(pair.lower_bound)} nats ({pair.view}), "
    )
    if pair.lower_bound > promise.demanded:
        return f"{lost}more than their budget of {rounded_up(promise.demanded, 4)}."
    return f"{lost}where a client as promised loses {rounded_up(promise.epsilon, 4)}."


def _unfaithful(one: FoundShare) -> str:
    return (
        f"Answer {one.answer!r} makes reports count for {one.cell!r} with probability "
        f"{one.seen[0]:.6g} to {one.seen[1]:.6g}, not {one.expected[0]:.6g} to "
        f"{one.expected[1]:.6g}."
    )
