"""Exponentials and logarithms that err to the private side only, by the standard library."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache

_UP = Context(prec=60, rounding=ROUND_CEILING)


@lru_cache(maxsize=4096)
def exp_lower_bound(exponent: float) -> Fraction:
    """A rational number not above ``e^exponent``, within a factor of ``1 - 10^-58``.

    The standard library's decimal ``exp`` is correctly rounded, so the next smaller
    decimal is below the true value.

    Examples
    --------
    >>> float(exp_lower_bound(1.0))
    2.718281828459045
    """
    return Fraction(_UP.next_minus(_UP.exp(Decimal(exponent))))


def log_above(ratio: Fraction) -> Decimal:
    """A decimal of 60 digits not below ``ln(ratio)``, for a positive rational."""
    quotient = _UP.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    return _UP.next_plus(_UP.ln(quotient))  # ln is rounded to nearest, whatever the context


def add_up(x: Decimal, y: Decimal) -> Decimal:
    """A decimal of 60 digits not below ``x + y``."""
    return _UP.add(x, y)


def float_above(x: Decimal) -> float:
    """A float above ``x``, at most two steps away."""
    return math.nextafter(float(x), math.inf)


def log_upper_bound(ratio: Fraction) -> float:
    """A float not below ``ln(ratio)``, for a positive rational.

    Examples
    --------
    >>> math.log(2) < log_upper_bound(Fraction(2)) < 0.6931472
    True
    """
    return float_above(log_above(ratio))
