"""What channels of all kinds share in the file: a row of integers a symbol, values of reports."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import floor
from typing import Any

from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.schema import list_of
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY

__all__ = [
    "MAX_SYMBOLS",
    "REPORT_BYTES",
    "VALUES",
    "Rows",
    "Values",
    "largest_ratios",
    "require_law",
    "require_shape",
    "require_unbiased",
    "row_tuples",
]

MAX_SYMBOLS, _MAX_OUTPUTS = 64, 4096
REPORT_BYTES = 2
VALUES: dict[str, Any] = list_of(
    list_of({"type": "number", "minimum": -(2.0**40), "maximum": 2.0**40})
)
_BIAS = 10**7  # a person's bias is at most one part in so many of the largest value
_SCALE = 2**80
Rows = tuple[tuple[int, ...], ...]
Values = tuple[tuple[float, ...], ...]


def require_shape(
    rows: Sequence[Sequence[int]], values: Sequence[Sequence[float]], numbers: int
) -> None:
    """A table of a row a symbol, and for each wanted number a value a report; else InputError."""
    outputs = len(rows[0])
    if len(rows) > MAX_SYMBOLS or outputs > _MAX_OUTPUTS:
        allowed = f"at most {MAX_SYMBOLS} rows of {_MAX_OUTPUTS} reports"
        raise InputError("rows", (len(rows), outputs), allowed, EXPORT_REMEDY)
    for name, table, size in (("rows", rows, len(rows)), ("estimator.values", values, numbers)):
        if len(table) != size or any(len(row) != outputs for row in table):
            reason = f"{name} is not of the shape {size} x {outputs}"
            raise InputError.because(name, reason, EXPORT_REMEDY)


def require_law(rows: Rows) -> None:
    """Every row's integers sum to 2^32; else VerificationError."""
    for x, row in enumerate(rows):
        if sum(row) != D:
            raise VerificationError(f"The integers of row {x} do not sum to 2^32")


def require_unbiased(rows: Rows, values: Values, wanted: Sequence[Sequence[Fraction]]) -> None:
    """Each symbol counts as what is wanted of it, on average; else VerificationError.

    To within 10^-7 of the largest value of a report, which is below the noise of a survey
    of fewer than 10^14 people: rows of whole numbers cannot always do better.
    """
    for meaning, numbers in zip(values, wanted, strict=True):
        scaled = [floor(Fraction(value) * _SCALE) for value in meaning]
        bound = D * max(map(abs, scaled)) // _BIAS
        for x, (row, number) in enumerate(zip(rows, numbers, strict=True)):
            total = sum(weight * value for weight, value in zip(row, scaled, strict=True))
            if abs(total - floor(number * (D * _SCALE))) > bound:
                raise VerificationError(f"The estimator is biased for the answers of row {x}")


def largest_ratios(groups: Sequence[Sequence[Sequence[int]]]) -> dict[tuple[int, int], Fraction]:
    """Largest ratio of a row of one group and one of the other in any report, by their places."""
    ends = [[(min(column), max(column)) for column in zip(*group, strict=True)] for group in groups]
    return {
        (i, j): max(
            max(Fraction(b, c), Fraction(d, a))
            for (a, b), (c, d) in zip(ends[i], ends[j], strict=True)
        )
        for i, j in combinations_with_replacement(range(len(ends)), 2)
    }


def row_tuples(table: Sequence[Sequence[Any]]) -> Any:
    """The same table, not to be changed."""
    return tuple(tuple(row) for row in table)
