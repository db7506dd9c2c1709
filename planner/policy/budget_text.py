"""Privacy budgets as text: read as people write them, and never shown smaller than they are."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, Context, Decimal

from planner import arguments
from planner.errors import InputError
from planner.limits import MAX_EPSILON

_NUMBER_TEXT = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_FACTOR = re.compile(
    rf"\s*(?P<ln>ln\b\s*)?(?P<open>\(\s*)?(?P<number>{_NUMBER_TEXT})\s*(?P<close>\))?\s*",
    re.ASCII,
)
_ALLOWED = (
    f'a budget above 0 and at most {MAX_EPSILON:g}, such as 1.5, "ln 4" or "1.2 * ln 6"'
)
_MAX_LENGTH = 100


def parse_epsilon(value: object, argument: str = "epsilon") -> float:
    """A budget in nats from a number or from text; never evaluates code.

    The text is one or more factors joined by ``*`` or ``/``; a factor is a positive
    number or ``ln`` of one, in parentheses or not.

    Anything else, or outside 0 < epsilon <= 50, raises an :class:`InputError`.

    Examples
    --------
    >>> parse_epsilon("1.2 * ln 6") == 1.2 * math.log(6)
    True
    >>> parse_epsilon("ln(4) / 2") == math.log(2)
    True
    """
    number = value
    if not arguments.is_number(value):
        number = _number_of(value, argument)
    return arguments.budget(argument, number)


def rounded_up(value: float, digits: int = 3, unlimited: str = "unlimited") -> str:
    """A budget or a privacy loss with so many decimals, never shown smaller than it is.

    The number as it is written, the shortest text that reads back as it, is rounded: 0.8 is 0.800,
    though its float is larger by 4e-17.

    Examples
    --------
    >>> rounded_up(0.8), rounded_up(1.0000000000000002), rounded_up(float("inf"))
    ('0.800', '1.001', 'unlimited')
    """
    if math.isinf(value):
        return unlimited
    # Rounded up: a loss that is shown smaller than it is would be a false promise.
    written = Decimal(repr(float(value)))
    last_digit = Decimal(1).scaleb(-digits)
    return str(written.quantize(last_digit, rounding=ROUND_CEILING))


def _number_of(text: object, argument: str) -> float:
    """What a text says, in nats, whatever its size; an :class:`InputError` if it says none."""
    try:
        if not isinstance(text, str):
            raise TypeError
        return _product(text)
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        remedy = "Write the budget as a number, or as ln of one."
        if type(text) is str and "," in text:
            remedy = "Write the decimal point as a point: 1.5, not 1,5."
        raise InputError(argument, text, _ALLOWED, remedy) from None


def _product(text: str) -> float:
    if len(text) > _MAX_LENGTH:
        raise ValueError
    # From the left, as people read it: 6 / 2 * 3 is 9.
    first, *rest = re.split(r"([*/])", text)
    result = _factor(first)
    operators = rest[::2]
    factors = map(_factor, rest[1::2])
    for operator, factor in zip(operators, factors, strict=True):
        if operator == "*":
            result *= factor
        else:
            result /= factor
    return result


def _factor(text: str) -> float:
    match = _FACTOR.fullmatch(text)
    if match is None:
        raise ValueError
    opens = bool(match["open"])
    closes = bool(match["close"])
    # A bracket that opens has to close; the pattern alone takes one without the other.
    if opens != closes:
        raise ValueError
    number = float(match["number"])
    if match["ln"]:
        return math.log(number)
    return number


def digits_up(value: float) -> str:
    """Four digits of a positive number, never shown smaller than it is.

    Examples
    --------
    >>> digits_up(1.48201), digits_up(0.8), digits_up(50.0)
    ('1.483', '0.8', '50')
    """
    written = Decimal(repr(float(value)))
    return f"{float(_rounded(written, digits=4)):.4g}"


def _rounded(number: Decimal, digits: int) -> Decimal:
    """So many digits of a number, rounded up."""
    upwards = Context(prec=digits, rounding=ROUND_CEILING)
    return upwards.create_decimal(number)


def magnitude_up(value: float) -> str:
    """Two digits of a positive number that spans magnitudes, never shown smaller than it is.

    Examples
    --------
    >>> magnitude_up(1.21e-9), magnitude_up(1202604.3)
    ('1.3e-9', '1.3e+6')
    """
    return f"{_rounded(Decimal(value), digits=2):.1e}"


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
    above = _rounded(Decimal(delta), digits=2)
    return f"{float(above):.1e}"


def factor_up(epsilon: float) -> str:
    """The factor by which odds change at most with this budget, rounded up.

    Examples
    --------
    >>> factor_up(1.0), factor_up(20.0)
    ('2.72', '4.9e+8')
    """
    factor = math.exp(epsilon)
    if factor >= 1e6:
        return magnitude_up(factor)
    # What is left of rounding in a product by 100 is no reason for another hundredth.
    hundredths = math.ceil(factor * 100 - 1e-9)
    return f"{hundredths / 100:,.2f}"
