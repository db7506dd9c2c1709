"""Collect a question that is asked again: counts of each round, and what they say together.

Each round's reports are from a part of the people, drawn by lot: those of that round, or those of
whom the value that they report lasts. So an estimate is scaled up, and its variance grows by that
of drawing the part; docs/theory/rounds.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.estimates.counts import Estimates, normal_quantile, tail_share
from planner.estimates.rows import AnswerRows
from planner.limits import REPORTS_REMEDY
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, Counter, Rows
from planner.mechanisms.words import Words

Array = NDArray[np.float64]


class ActiveCounter:
    """Counts reports that begin with a byte: 1 before one of the law, 0 before blanks.

    The last sum is how many are no blanks.
    """

    def __init__(self, inner: Counter) -> None:
        self._inner = inner
        self._people = 0

    def add(self, rows: Rows) -> None:
        """Count some reports; InputError for one that no client makes."""
        active = rows[:, 0] == 1
        if rows[~active].any():
            allowed = "1 and a report, or 0 and blanks"
            raise InputError("first byte of a report", "another", allowed, REPORTS_REMEDY)
        if active.any():
            self._inner.add(np.ascontiguousarray(rows[active, 1:]))
        self._people += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        inner = self._inner.sums()
        return Aggregate(self._people, np.append(inner.counts, inner.users))


def counter(law: CollectedLaw) -> Counter:
    """Counts reports of one round."""
    inner = law.shape.counter()
    return ActiveCounter(inner) if law.blanks else inner


def draw_rounds(law: CollectedLaw, codes: Sequence[Any], words: Words) -> dict[int, Rows]:
    """Reports of each round of people whose answers stay; round and value are drawn by lot."""
    assert law.again is not None  # noqa: S101 - for the types
    own = words.below(law.again.parts, len(codes))
    if law.blanks:
        (rows,) = law.draw_many(codes, words)
        active = (own == 0)[:, None]
        lasting = np.hstack([active.astype(np.uint8), rows * active])
        return dict.fromkeys(range(1, law.again.count + 1), lasting)
    parts = [[codes[u] for u in np.flatnonzero(own == n).tolist()] for n in range(law.again.count)]
    return {n: law.draw_many(part, words)[0] for n, part in enumerate(parts, 1) if part}


def round_rows(
    law: CollectedLaw, sums: Mapping[int, Aggregate], window: int, confidence: float
) -> Iterator[tuple[str, AnswerRows]]:
    """Rows of each round, moving window, the average of all rounds, and each change.

    ``sums`` are those of the rounds that have reports, by their number. Rounds that follow each
    other make a window and a change.
    """
    people = sum(one.users for one in sums.values())
    rounds = {number: _round(law, one, people, confidence) for number, one in sorted(sums.items())}
    for number, rows in rounds.items():
        yield f"round {number}", rows
    for last in rounds:
        inside = [rounds[n] for n in range(last - window + 1, last + 1) if n in rounds]
        if 1 < len(inside) == window < len(rounds):
            label = f"rounds {last - window + 1} to {last}"
            yield label, _combined(law, inside, [1 / window] * window, confidence)
    if len(rounds) > 1:
        share = [1 / len(rounds)] * len(rounds)
        yield "average of rounds", _combined(law, list(rounds.values()), share, confidence)
    for number, rows in rounds.items():
        if number - 1 in rounds:
            both = [rows, rounds[number - 1]]
            label = f"change from {number - 1} to {number}"
            yield label, _combined(law, both, [1.0, -1.0], confidence)


def _round(law: CollectedLaw, one: Aggregate, people: int, confidence: float) -> AnswerRows:
    """Rows of one round, scaled from those who reported to all people."""
    remark = ""
    if law.blanks and law.again is not None:
        people, part = one.users, int(one.counts[-1])
        one = Aggregate(part, one.counts[:-1])
        factor, active = float(law.again.parts), part / people
        missing = max(0.0, 1 - law.again.parts * active)
        remark = f"; {active:.1%} reported a value: about {missing:.0%} changed more often"
    if not one.users:
        raise InputError.because("reports", f"of {law.name!r} all are blanks", "Collect more.")
    if not law.blanks:
        factor = people / one.users
    found = _scaled(law.shape.estimate([one]), people, factor, law.blanks)
    rows = law.asked.rows(found, confidence)
    return replace(rows, users=one.users, remarks=[f"{text}{remark}" for text in rows.remarks])


def _scaled(found: Any, people: int, factor: float, apart: bool) -> Any:
    """Estimates of all people from those of a part of them, drawn by lot, each person apart or not.

    What a channel estimates is a mean, and its covariance has who was drawn in it already.
    """
    if not isinstance(found, Estimates):
        return found._replace(users=people)
    values = factor * found.values
    counts = np.clip(values, 0, people)
    drawn = (factor - 1) * counts * (1 - (0 if apart else counts / people))
    errors = np.sqrt(np.square(factor * found.standard_errors) + drawn)
    return Estimates(values, errors, factor * found.null_standard_errors, people)


def _combined(
    law: CollectedLaw, rows: Sequence[AnswerRows], weights: Sequence[float], confidence: float
) -> AnswerRows:
    """Sums of rounds with weights.

    Rounds of different people vary apart; one value is in many rounds, and at worst all vary
    together. What limits allow for besides, sets that were cut say, adds up.
    """
    first, weight = rows[0], np.abs(weights)[:, None]
    size = len(first.answers)
    values = np.array(weights) @ _columns(rows, "estimates")
    errors = weight * _columns(rows, "standard_errors")
    error = errors.sum(axis=0) if law.blanks else np.sqrt(np.square(errors).sum(axis=0))
    reach = normal_quantile(1 - tail_share(confidence, 1) / 2)
    lower, upper = _columns(rows, "lower"), _columns(rows, "upper")
    beside = np.maximum(upper - lower - 2 * reach * _columns(rows, "standard_errors"), 0)
    half = reach * error + (weight * beside).sum(axis=0)
    nothing = [None] * size
    return replace(
        first,
        users=sum(one.users for one in rows),
        estimates=_known(values),
        standard_errors=_known(error),
        lower=_known(values - half),
        upper=_known(values + half),
        joint_lower=nothing,
        joint_upper=nothing,
        processed=nothing,
        remarks=[""] * size,
    )


def _columns(rows: Sequence[AnswerRows], name: str) -> Array:
    return np.array([getattr(one, name) for one in rows], dtype=np.float64)  # None is not a number


def _known(column: Array) -> list[float | None]:
    return [None if np.isnan(one) else one for one in column.tolist()]
