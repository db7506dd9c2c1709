"""Figures of what outsiders learn, as text: exact, and rounded to the private side.

A float is compared as the number that it is. A product or a tolerance before rounding would show
some figures on the wrong side.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import floor, log10


def of_hundred(share: float) -> str:
    """Guesses that are right of 100: never fewer than there are.

    Examples
    --------
    >>> of_hundred(0.88079), of_hundred(0.5), of_hundred(0.00123)
    ('88.08', '50', '0.13')
    """
    return _of_hundred(share, ROUND_CEILING)


def of_hundred_before(share: float) -> str:
    """Guesses that are right of 100 without a report: never more, so that no gain looks smaller.

    Examples
    --------
    >>> of_hundred_before(1 / 3), of_hundred_before(0.2)
    ('33.33', '20')
    """
    return _of_hundred(share, ROUND_FLOOR)


def reach_up(people: float) -> str:
    """By how many people a false report moves a count: never shown smaller than it is.

    Examples
    --------
    >>> reach_up(2.111), reach_up(1234.5)
    ('2.12', '1,234.50')
    """
    return f"{_rounded(people, 2, ROUND_CEILING):,}"


def delta_text(delta: float) -> str:
    """A delta, one or two digits of it: as it is, or larger.

    Examples
    --------
    >>> delta_text(1e-8), delta_text(1.21e-8)
    ('1e-08', '1.3e-08')
    """
    for digits in (0, 1):
        text = f"{delta:.{digits}e}"
        if float(text) == delta:
            return text
    above = Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(delta))
    return f"{float(above):.1e}"


def _of_hundred(share: float, rounding: str) -> str:
    """Two digits behind the point, or two that are not zero where the share is below 1 %."""
    digits = 2 if share >= 0.01 else -floor(log10(share)) - 1
    return f"{_rounded(share, digits + 2, rounding).scaleb(2):f}".rstrip("0").rstrip(".")


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=rounding)
