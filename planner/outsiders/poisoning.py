"""What false reports can move, in people: at most, whatever they say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column, whole_number
from planner.designs.output_types import OutputTypes
from planner.errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Poisoning:
    """Reach of false reports that take the places of honest ones.

    One report adds between ``least`` and ``largest`` people to an item's estimate. An honest report
    adds 1 on average if the person has the item, else 0.

    Attributes
    ----------
    false_reports:
        ``k``.
    largest, least:
        What one report adds to each item's estimate, at most and at least, shape ``(items,)``.
    at_once:
        Items that one report can raise at once.
    """

    false_reports: int
    largest: Array
    least: Array
    at_once: int

    @property
    def upward(self) -> Array:
        """Largest mean shift up, in place of people without the item, shape ``(items,)``."""
        return self.false_reports * self.largest

    @property
    def downward(self) -> Array:
        """Largest mean shift down, in place of people with the item, shape ``(items,)``."""
        return self.false_reports * (1 - self.least)

    @property
    def realised(self) -> Array:
        """Largest change of the very estimate that honest reports would have given."""
        return self.false_reports * (self.largest - self.least)

    def total_gain(self, targets: int) -> float:
        """Largest mean gain of so many targeted items together, in people.

        The frequency gain of Cao, Jia and Gong, "Data Poisoning Attacks to Local Differential
        Privacy Protocols" (USENIX Security 2021), times the number of people, for targets that
        nobody had.
        """
        whole_number("targets", targets, most=self.largest.size)
        raised = min(targets, self.at_once)
        strongest = np.sort(self.largest)[::-1][:raised]
        rest = np.sort(self.least)[::-1][: targets - raised]
        return self.false_reports * float(strongest.sum() + rest.sum())


def poisoning(
    a: ArrayLike, b: ArrayLike, false_reports: int, at_once: int, set_size: int = 1
) -> Poisoning:
    """What ``k`` false reports can move in the estimates ``(count - n b) / (a - b)``.

    Parameters
    ----------
    a, b:
        Probability that a report supports an item that the person has, and that they have not, per
        item, shape ``(items,)``; ``mechanism.a`` and ``mechanism.b``.
    false_reports:
        ``k``, at least 1.
    at_once:
        Items that one report can support at once: all for unary encoding, 1 for randomised
        response, ``mechanism.size`` for subset selection; for local hashing as many as some seed
        sends to one value, so all targets if they are few.
    set_size:
        Padding length for item sets: estimates are multiplied by it.

    Examples
    --------
    >>> from planner import UnaryMechanism
    >>> rappor = UnaryMechanism.rappor(np.log(9), items=10)
    >>> attack = poisoning(rappor.a, rappor.b, false_reports=100, at_once=10)
    >>> attack.upward[:2].round(3).tolist(), round(attack.total_gain(10), 1)
    ([150.0, 150.0], 1500.0)
    """
    held, other = number_column("a", a), number_column("b", b)
    if held.shape != other.shape:
        raise InputError(
            "b", other.shape, f"of the shape {held.shape}", "Take a and b from the same mechanism."
        )
    for k in np.flatnonzero(~((other >= 0) & (other < held) & (held <= 1)))[:1]:
        pair = (float(held[k]), float(other[k]))
        remedy = "Is b, the chance of a false 1, swapped with a?"
        raise InputError(f"(a, b) of item {k}", pair, "such that 0 <= b < a <= 1", remedy)
    whole_number("false_reports", false_reports)
    whole_number("at_once", at_once, most=held.size)
    whole_number("set_size", set_size)
    gap = (held - other) / set_size
    return Poisoning(false_reports, (1 - other) / gap, -other / gap, at_once)


def reach(a: ArrayLike, b: ArrayLike, set_size: int = 1) -> Array:
    """By how many people one false report moves each item's estimate, at most, shape ``(items,)``.

    The larger of both directions, in place of an honest report; arguments as in :func:`poisoning`.

    Examples
    --------
    >>> reach([0.75], [0.25]).tolist()
    [1.5]
    """
    one = poisoning(a, b, false_reports=1, at_once=1, set_size=set_size)
    return np.maximum(one.upward, one.downward)


def design_reach(types: OutputTypes, prior: ArrayLike) -> Array:
    """The same for a subset design, by level of its types, shape ``(t,)``.

    Parameters
    ----------
    types:
        The types as drawn; one false report may be of any type.
    prior:
        For which the estimator is best, see
        :meth:`~planner.designs.output_types.OutputTypes.estimator`.

    Examples
    --------
    >>> design_reach(OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]]), [1.0]).round(4).tolist()
    [1.6667]
    """
    return estimator_reach(types, types.estimator(prior))


def estimator_reach(types: OutputTypes, estimator: Array, set_size: int = 1) -> Array:
    """The same for an estimator of the types.

    Parameters
    ----------
    types:
        The types as drawn.
    estimator:
        What a report adds to an item's count, by type, level and side, shape ``(n, t, 2)``.
    set_size:
        Padding length for item sets: estimates are multiplied by it.

    Examples
    --------
    >>> types = OutputTypes([3], [0.5], [[1.0]], [[4.0]], [[1]])
    >>> estimator_reach(types, types.estimator([1.0]), set_size=3).round(4).tolist()
    [5.0]
    """
    adds = set_size * estimator
    there = np.stack([types.low_counts > 0, types.high_counts > 0], axis=2)
    largest = np.max(np.where(there, adds, -np.inf), axis=(0, 2))
    least = np.min(np.where(there, adds, np.inf), axis=(0, 2))
    return np.maximum(largest, 1 - least)
