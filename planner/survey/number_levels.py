"""Answers of a numeric question that have a budget of their own: parts of the range, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from planner import arguments
from planner.errors import InputError
from planner.survey.numeric_domain import NumericDomain


@dataclass(frozen=True, slots=True)
class NumberLevel:
    """Some answers to a numeric question, with their budget.

    Parameters
    ----------
    name:
        Distinct within the question, and not the question's own.
    epsilon:
        Budget in nats, above 0, at most 50. Two answers are protected by the smaller of theirs.
    lower, upper:
        Smallest and largest answer of this level; an end of the question's range when omitted.
    no_answer:
        The level is that of giving no answer, and has no range.

    Raises
    ------
    InputError
        A blank name, a bad budget, or a range that is empty or given for no answer.
    """

    name: str
    epsilon: float
    lower: float | None = None
    upper: float | None = None
    no_answer: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("level name", self.name, "text that is not blank", "Fill it in.")
        arguments.budget(f"epsilon of level {self.name!r}", self.epsilon)
        ends = self.lower, self.upper
        what, given = f"range of level {self.name!r}", ends != (None, None)
        if self.no_answer and given:
            remedy = "Leave lower and upper out, or no_answer."
            raise InputError(what, ends, "left out for no answer", remedy)
        if not (self.no_answer or given):
            remedy = "Give lower or upper, or no_answer = true; epsilon is that of all others."
            raise InputError(what, None, "given", remedy)
        for name, end in zip(("lower", "upper"), ends, strict=True):
            if end is not None:
                arguments.finite(f"{name} of level {self.name!r}", end)

    def range_in(self, domain: NumericDomain) -> tuple[float, float]:
        """Its smallest and largest answer."""
        return (
            domain.lower if self.lower is None else self.lower,
            domain.upper if self.upper is None else self.upper,
        )


class SymbolLevel(NamedTuple):
    """A level's symbols: numbers of grid points, and the number of points for no answer."""

    name: str
    epsilon: float
    symbols: tuple[int, ...]


def check_number_levels(levels: Sequence[NumberLevel], domain: NumericDomain) -> None:
    """Refuse levels that do not fit together.

    Raises
    ------
    InputError
        A repeated name, two levels for no answer, or a range that is empty, overlaps another's
        or leaves the question's.
    """
    names = [level.name for level in levels]
    for name in names:
        if names.count(name) > 1:
            raise InputError("level name", name, "different from every other's", "Rename one.")
    if sum(level.no_answer for level in levels) > 1:
        raise InputError("no_answer", "given twice", "one level's", "Keep one of them.")
    before = None
    for level in _by_range(levels, domain):
        lower, upper = level.range_in(domain)
        what = f"range of level {level.name!r}"
        if not domain.lower <= lower <= upper <= domain.upper:
            allowed = f"within {domain.lower:g} to {domain.upper:g}, lower first"
            raise InputError(what, (lower, upper), allowed, "Correct its ends.")
        if before is not None and lower < before:
            allowed = "apart from the other levels'"
            raise InputError(what, (lower, upper), allowed, "Let it begin where another ends.")
        before = upper


def symbol_levels(
    levels: Sequence[NumberLevel], rest: tuple[str, float], domain: NumericDomain, grid: ArrayLike
) -> tuple[SymbolLevel, ...]:
    """Which level each grid point has, and no answer; ``rest`` is the name and budget of others.

    An answer between two grid points is rounded to either. So a point has the smallest budget of
    all answers that may be rounded to it, and every answer at least its own protection.

    Examples
    --------
    >>> levels = [NumberLevel("high", 1.0, lower=80.0), NumberLevel("none", 4.0, no_answer=True)]
    >>> grid = [0, 25, 50, 75, 100]
    >>> for one in symbol_levels(levels, ("other", 2.0), NumericDomain(0, 100), grid):
    ...     print(one.name, one.epsilon, one.symbols)
    other 2.0 (0, 1, 2)
    high 1.0 (3, 4)
    none 4.0 (5,)
    """
    points = np.asarray(grid, dtype=np.float64)
    ends = np.concatenate([[-np.inf], points, [np.inf]])
    ranges = _by_range(levels, domain)
    symbols: dict[tuple[str, float], list[int]] = {rest: []}
    for k in range(points.size):
        left, right = float(ends[k]), float(ends[k + 2])  # answers between may be rounded to it
        reaching = [
            (one.name, one.epsilon)
            for one in ranges
            if one.range_in(domain)[0] < right and one.range_in(domain)[1] > left
        ]
        if not _covered(ranges, domain, max(left, domain.lower), min(right, domain.upper)):
            reaching.append(rest)
        symbols.setdefault(min(reaching, key=lambda level: level[1]), []).append(k)
    none = next(((one.name, one.epsilon) for one in levels if one.no_answer), rest)
    symbols.setdefault(none, []).append(points.size)
    return tuple(SymbolLevel(*level, tuple(held)) for level, held in symbols.items() if held)


def _by_range(levels: Sequence[NumberLevel], domain: NumericDomain) -> list[NumberLevel]:
    ranges = [level for level in levels if not level.no_answer]
    return sorted(ranges, key=lambda level: level.range_in(domain))


def _covered(
    ranges: Sequence[NumberLevel], domain: NumericDomain, left: float, right: float
) -> bool:
    """Whether every answer between has a level, of levels in order."""
    for level in ranges:
        lower, upper = level.range_in(domain)
        if lower > left:
            break
        left = max(left, upper)
    return left >= right
