"""Estimates of a question that is asked again: of each round, of averages and of changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import InputError
from planner.estimates.counts import DrawnEstimates, Estimates, reach
from planner.estimates.rows import AnswerRows, joined
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate


class _Round(NamedTuple):
    """Rows of one round; by their ``spread`` two rounds of answers that stay vary together.

    Of one value the share of people who are ``missing``, and what is said of it.
    """

    rows: AnswerRows
    spread: Array
    missing: float = 0.0
    note: str = ""


def round_rows(
    law: CollectedLaw, sums: Mapping[int, Aggregate], window: int, confidence: float
) -> Iterator[tuple[str, AnswerRows]]:
    """Rows of each round, moving window, the average of all rounds, and each change.

    ``sums`` are those of the rounds that have reports, by their number. Rounds that follow each
    other make a window and a change.
    """
    # Nobody is in two rounds where each person has one of their own, so that the sum is
    # one of people.
    people = sum(counted.users for counted in sums.values())
    rounds = {}
    for number, counted in sorted(sums.items()):
        rounds[number] = _round(law, number, counted, people, confidence)
    for number, one_round in rounds.items():
        notes = _notes([one_round])
        yield f"round {number}", replace(one_round.rows, notes=notes)
    count = len(rounds)
    # A window of one round, or of all, says nothing that is not said elsewhere.
    says_more = 1 < window < count
    for last in rounds:
        first = last - window + 1
        numbers = range(first, last + 1)
        # A window with a gap would be an average over other times than its name says.
        complete = rounds.keys() >= set(numbers)
        if says_more and complete:
            inside = [rounds[number] for number in numbers]
            weights = [1 / window] * window
            rows = _combined(law, inside, weights, confidence)
            yield f"rounds {first} to {last}", rows
    if count > 1:
        weights = [1 / count] * count
        rows = _combined(law, list(rounds.values()), weights, confidence)
        yield "average of rounds", rows
    for number, one_round in rounds.items():
        before = rounds.get(number - 1)
        if before is not None:
            rows = _combined(law, [one_round, before], [1.0, -1.0], confidence)
            yield f"change from {number - 1} to {number}", rows


def _round(
    law: CollectedLaw, number: int, counted: Aggregate, people: int, confidence: float
) -> _Round:
    """One round, scaled from those who reported to all people."""
    groups = None
    note = ""
    missing = 0.0
    if law.blanks and law.again is not None:
        # Everybody reports in each round, a value or a blank; the last sum counts the values.
        groups = law.again.rotation_groups
        people = counted.users
        active = int(counted.counts[-1])
        counted = Aggregate(active, counted.counts[:-1])
        # If nobody ran out of values, one person in so many groups would report one;
        # what lacks of that are people whose value is beyond the last one.
        missing = max(0.0, 1 - groups * active / people)
        percent = 100 * active / people
        note = (
            f"in round {number} {percent:.1f} % reported a value: "
            f"about {100 * missing:.0f} % changed more often"
        )
    if not counted.users:
        reason = f"of {law.name!r} all are blanks"
        raise InputError.because("reports", reason, "Collect more.")
    estimates = law.shape.estimate(counted)
    if isinstance(estimates, Estimates):
        estimates = DrawnEstimates.of(estimates, people, groups)
        rows = law.asked.rows(estimates, confidence)
        spread = estimates.round_variance(rows["estimate"])
    else:  # of numbers per person; their covariance has who was drawn in it already
        estimates = estimates._replace(users=people)
        rows, spread = law.rows_of(estimates, confidence)
    return _Round(replace(rows, users=counted.users), spread, missing, note)


def _notes(rounds: Sequence[_Round]) -> list[str]:
    """What is said of each answer in any round, and of the one in which most are missing."""
    worst = max(rounds, key=lambda one_round: one_round.missing)
    notes = [""] * len(worst.rows.notes)
    said_of_answers = [one_round.rows.notes for one_round in rounds]
    for said in (*said_of_answers, [worst.note] * len(notes)):
        notes = list(map(joined, notes, said))
    return notes


class _WeightedSum(NamedTuple):
    """A sum of rounds with ``weights``, ``(rounds, 1)``.

    Estimates of answers that stay vary ``against`` each other between rounds, by this variance.
    Where everybody reports one value in many rounds, these vary ``together`` while it stays.
    """

    weights: Array
    against: Array
    together: bool

    def errors(self, errors: Array, deviations: float = 1.0) -> Array:
        """Errors of the sum, by those of the rounds: of both so many standard ``deviations``."""
        weighted = self.weights * errors
        drawn_anew = np.square(weighted).sum(axis=0)
        square = drawn_anew + deviations**2 * self.against
        if self.together:
            varying_together = np.square(weighted.sum(axis=0))
            square = np.maximum(square, varying_together)
        return np.asarray(np.sqrt(square))


def _combined(
    law: CollectedLaw,
    rounds: Sequence[_Round],
    weights: Sequence[float],
    confidence: float,
) -> AnswerRows:
    """Sums of rounds with weights: of answers that stay, or are drawn anew, what varies more.

    With ``w`` the weights, ``s`` the errors and ``t`` the spreads of the rounds, drawn anew the
    variance is ``sum (w s)^2``. Nobody is in two rounds, so estimates of answers that stay vary
    against each other: ``sum (w t)^2 - (sum w t)^2`` is added where it is positive. One value is
    in many rounds, and while it stays all vary together, ``(sum w s)^2``: the larger is taken.
    What limits allow for besides, sets that were cut say, adds up. Proof: docs/theory/rounds.md.
    """
    w = np.array(weights)[:, None]
    z = reach(confidence)
    # Of each round its estimates, errors and limits, shape (4, rounds, rows).
    figures = [one_round.rows.numbers[:4] for one_round in rounds]
    value, error, lower, upper = np.stack(figures, axis=1)
    # Variances become deviations before they are weighted, as the same people's
    # deviations add up.
    spreads = np.array([one_round.spread for one_round in rounds])
    weighted_spreads = w * np.sqrt(spreads)
    if_drawn_anew = np.square(weighted_spreads).sum(axis=0)
    if_they_stay = np.square(weighted_spreads.sum(axis=0))
    against = np.maximum(if_drawn_anew - if_they_stay, 0)
    weighted_sum = _WeightedSum(w, against, together=law.blanks)
    total = (w * value).sum(axis=0)
    # A quartile has no error and no mean over rounds: the quartile of all rounds
    # together is another number.
    quartile = np.isnan(error).any(axis=0)
    total[quartile] = np.nan
    columns = [total, weighted_sum.errors(error)]
    for side in (-1, 1):
        # A round that is taken away brings its upper limit to the lower one of the sum.
        half = np.where(side * w > 0, upper - value, value - lower)
        drawn = z * error
        if not law.asked.several:
            drawn = np.maximum(half, drawn)
        # What a limit allows for beyond the draws, in the round's own direction.
        beyond = np.abs(w) * np.maximum(half - drawn, 0)
        half_of_sum = weighted_sum.errors(drawn, z) + beyond.sum(axis=0)
        columns.append(total + side * half_of_sum)
    first = rounds[0].rows
    users = sum(one_round.rows.users for one_round in rounds)
    larger = np.maximum(if_drawn_anew, if_they_stay)
    of_drawn = np.where(np.isnan(first.drawn), np.nan, larger)
    stated = first.stating(users, columns, _notes(rounds), first.whole)
    return replace(stated, drawn=of_drawn)
