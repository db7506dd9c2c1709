"""What guesses of an answer may succeed at most: a limit on a question's mechanism."""

from __future__ import annotations

from collections.abc import Sequence

from planner.errors import InputError

__all__ = ["check_guess_limit"]

_REMEDY = "Leave the limit out, or plan the question so that a subset design can answer it."


def check_guess_limit(
    limit: object, kind: str, criterion: str, rule: object, item_counts: Sequence[int]
) -> None:
    """Check a limit on the success of the best guess of an answer, all answers alike before.

    Only subset designs are made for one: for the error of all items together, one answer a person
    and the rules min and avg; or for sets, of which one answer or none is drawn: what was drawn
    is guessed.

    Raises
    ------
    InputError
        The question cannot have one, or it is not between what is guessed blindly and 1.

    Examples
    --------
    >>> check_guess_limit(0.1, "categorical", "total", "min", [2, 8])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: guess is 0.1 but must be above 0.1 and at most 1. Of 10 answers ...
    """
    if kind not in ("categorical", "item-set"):
        allowed = "'categorical' or 'item-set' where guesses are limited"
        raise InputError("kind", kind, allowed, _REMEDY)
    if criterion != "total":
        raise InputError("criterion", criterion, "'total' where guesses are limited", _REMEDY)
    if rule not in ("min", "avg"):
        raise InputError("rule", rule, '"min" or "avg" where guesses are limited', _REMEDY)
    items = sum(item_counts) + (kind == "item-set")
    blind = 1 / items
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not blind < limit <= 1:
        remedy = f"Of {items:,} answers so many are guessed without any report: allow more."
        raise InputError("guess", limit, f"above {blind:.6g} and at most 1", remedy)
