"""Numbers as text that never look better than they are."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from math import isinf

__all__ = ["rounded_up"]


def rounded_up(value: float, digits: int = 3, unlimited: str = "unlimited") -> str:
    """A budget or a privacy loss with so many decimals, never shown smaller than it is.

    Exact: the float itself is rounded, not a product that was rounded before.

    Examples
    --------
    >>> rounded_up(1.0), rounded_up(1.0000000000000002), rounded_up(float("inf"))
    ('1.000', '1.001', 'unlimited')
    """
    if isinf(value):
        return unlimited
    return str(Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_CEILING))
