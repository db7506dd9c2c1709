"""What a question about ordered answers states besides its levels: the order, what matters."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from planner.errors import InputError
from planner.survey.kinds import Level

__all__ = [
    "COUNTS",
    "MAX_ORDERED_ANSWERS",
    "MEAN_OF_SCORES",
    "SHARES_UP_TO",
    "WANTED",
    "answers_in_order",
    "check_ordered",
]

SHARES_UP_TO, COUNTS, MEAN_OF_SCORES = "shares up to", "counts", "mean of scores"
WANTED = (SHARES_UP_TO, COUNTS, MEAN_OF_SCORES)
"""Of which the error is made small. Shares, counts and mean are estimated for the first two; for
the last the mean alone, as reports need not tell all answers apart."""

MAX_ORDERED_ANSWERS = 32
"""Up to 16 answers the channel is proven to be the best, up to 24 to be within about 3 per cent of
it; above, planning takes ten seconds or more, and at budgets of 2 and more the bound is 10 to
30 per cent off."""


def answers_in_order(levels: Sequence[Level], order: Sequence[str]) -> tuple[str, ...]:
    """The answers from the lowest to the highest: as ``order`` lists them, else as the levels do.

    Examples
    --------
    >>> levels = Level("ends", 1.0, ("never", "daily")), Level("middle", 2.0, ("weekly",))
    >>> answers_in_order(levels, ("never", "weekly", "daily"))
    ('never', 'weekly', 'daily')
    >>> answers_in_order(levels, ())
    ('never', 'daily', 'weekly')
    """
    return tuple(order) or tuple(item for level in levels for item in level.items)


def check_ordered(
    levels: Sequence[Level],
    order: Sequence[str],
    scores: Sequence[float],
    criterion: str,
    wanted: str = SHARES_UP_TO,
) -> None:
    """Check that the answers have names and one order, the scores a number for each, and the rest.

    Raises
    ------
    InputError
        Answers without names, fewer than 2 or more than 24; an order that is not of exactly
        these answers; scores that are not one finite number an answer, two of them different;
        nothing known that is wanted, or none of it important; or levels with a prior.

    Examples
    --------
    >>> check_ordered((Level("all", 1.0, ("no", "yes")),), ("no", "maybe"), (), "total")
    Traceback (most recent call last):
    ...
    planner.errors.InputError: order is ('no', 'maybe') but must be each of 'no', 'yes' once. ...
    """
    if criterion != "total":
        remedy = "Of ordered answers the total error of what is wanted is made small."
        raise InputError("criterion", criterion, "left out for 'ordinal'", remedy)
    for level in levels:
        if not level.items:
            remedy = "Name the answers: the lowest first."
            raise InputError(f"items of level {level.name!r}", (), "listed for 'ordinal'", remedy)
        if level.prior is not None:
            remedy = "Ordered answers are planned for whatever answers people have."
            what = f"prior of level {level.name!r}"
            raise InputError(what, level.prior, "left out for 'ordinal'", remedy)
    answers = answers_in_order(levels, ())
    if not 2 <= len(answers) <= MAX_ORDERED_ANSWERS:
        remedy = "Merge neighbouring brackets, or ask with the kind categorical."
        allowed = f"2 to {MAX_ORDERED_ANSWERS} for 'ordinal'"
        raise InputError("number of answers", len(answers), allowed, remedy)
    if order and sorted(order) != sorted(answers):
        allowed = f"each of {', '.join(map(repr, answers))} once"
        remedy = "List the answers of all levels, the lowest first."
        raise InputError("order", tuple(order), allowed, remedy)
    if scores and not (
        len(scores) == len(answers) and all(map(isfinite, scores)) and len(set(scores)) > 1
    ):
        allowed = f"{len(answers)} finite numbers, two of them different"
        remedy = "Give a score for each answer, in their order."
        raise InputError("scores", tuple(scores), allowed, remedy)
    _check_wanted(levels, order or answers, scores, wanted)


def _check_wanted(
    levels: Sequence[Level], answers: Sequence[str], scores: Sequence[float], wanted: str
) -> None:
    if wanted not in WANTED:
        remedy = "Leave it out for the shares of people up to each answer."
        raise InputError.unknown("wanted", wanted, WANTED, remedy)
    if wanted == MEAN_OF_SCORES:
        if not scores:
            remedy = "Give a score for each answer, in their order."
            raise InputError("scores", (), f"given for wanted = {wanted!r}", remedy)
        if any(level.importance != 1.0 for level in levels):
            importance = [level.importance for level in levels]
            remedy = "A mean is one number; its scores say what each answer counts for."
            raise InputError("importance", importance, f"left out for {wanted!r}", remedy)
    judged = answers[:-1] if wanted == SHARES_UP_TO else answers
    if not any(level.importance for level in levels if not set(level.items).isdisjoint(judged)):
        remedy = "The share up to the highest answer is known; give a lower one some importance."
        raise InputError("importance", 0.0, f"above 0 for one of {len(judged)} answers", remedy)
