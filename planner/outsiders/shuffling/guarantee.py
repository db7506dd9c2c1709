"""What shuffled reports tell of the people of each privacy level, and what they cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arguments import positive, whole_number
from planner.errors import InfeasibleError, InputError
from planner.frames import Framed
from planner.outsiders.shown import delta_text
from planner.outsiders.shuffling.blanket import Blanket
from planner.outsiders.shuffling.central import MOST_PEOPLE, central_epsilon, is_kept, lost_epsilon
from planner.outsiders.shuffling.mechanisms import AnyMechanism, ShuffledReports
from planner.policy.budget_text import rounded_up
from planner.policy.policy import PrivacyPolicy

CONDITION = "holds if a shuffler or a secure sum stands between the people and whoever looks"
_MOST_LEVELS = 30
_Laws = tuple[bytes, ...]
Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ShuffledGuarantee(Framed):
    """Central (epsilon, delta) per pair of levels, beside the local guarantee.

    Attributes
    ----------
    names:
        Names of the levels.
    people:
        Honest people, colluders taken off.
    delta:
        For every pair.
    epsilons:
        Proven: whatever the honest others answer, nobody can tell an answer of level i from one
        of level j better, in nats, shape ``(t, t)``; NaN where no such pair exists.
    examples:
        Epsilons that are lost, proven, on one explicit pair of data sets each: all others have
        the same answer. NaN where there is none to be computed. The truth lies between.
    local:
        Budgets of one report seen alone.

    Notes
    -----
    Epsilons are upper bounds. That one level's is smaller does not prove that it is hidden better.
    """

    names: tuple[str, ...]
    people: int
    delta: float
    epsilons: Array
    examples: Array
    local: Array

    @property
    def level_epsilons(self) -> Array:
        """Per level, the largest over all levels to be told apart from, shape ``(t,)``."""
        return np.nanmax(self.epsilons, axis=1)

    @property
    def epsilon(self) -> float:
        """The largest of all."""
        return float(self.level_epsilons.max())

    @property
    def lost(self) -> float:
        """The largest epsilon that is lost on an explicit pair of data sets; NaN if none is."""
        known = self.examples[~np.isnan(self.examples)]
        return float(known.max()) if known.size else float("nan")

    @property
    def local_epsilon(self) -> float:
        """The largest budget of one report seen alone."""
        return float(np.nanmax(self.local))

    @property
    def summary(self) -> str:
        """The guarantee and its condition, in a sentence."""
        return (
            f"Among {self.people:,} people's shuffled reports anybody's answer is hidden with "
            f"epsilon {rounded_up(self.epsilon, 5)} at delta {delta_text(self.delta)}, where one "
            f"report alone may tell {rounded_up(self.local_epsilon, 4)}; it {CONDITION}."
        )

    @property
    def pairs(self) -> tuple[tuple[str, str, float, float], ...]:
        """Names of two levels, the budget of one report seen alone, and the epsilon shuffled."""
        return tuple(
            (self.names[i], self.names[j], float(self.local[i, j]), float(self.epsilons[i, j]))
            for i, j in self._numbers()
        )

    def _numbers(self) -> list[tuple[int, int]]:
        every = combinations_with_replacement(range(len(self.names)), 2)
        return [pair for pair in every if not np.isnan(self.epsilons[pair])]

    def columns(self) -> dict[str, Any]:
        """One row a pair of levels.

        Columns: ``level``, ``other``, ``local`` (nats), ``epsilon`` (proven), ``example`` (lost on
        one pair of data sets), ``delta``, ``people``.
        """
        rows = [
            (*row, self.examples[pair], self.delta, self.people)
            for pair, row in zip(self._numbers(), self.pairs, strict=True)
        ]
        names = ("level", "other", "local", "epsilon", "example", "delta", "people")
        return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def shuffled(
    reports: ShuffledReports,
    people: int,
    delta: float,
    colluders: int = 0,
    *,
    every_example: bool = True,
) -> ShuffledGuarantee:
    """Central privacy of every pair of levels if reports are shuffled.

    Parameters
    ----------
    reports:
        A mechanism's blankets, see :mod:`planner.outsiders.shuffling.mechanisms`.
    people:
        Everybody who reports.
    delta:
        Above 0, below 1.
    colluders:
        People who tell the observer what they sent; they hide nobody.
    every_example:
        Whether to look for an explicit loss for every pair of levels; else only for the pair with
        the largest epsilon, which takes a third of the time.

    Raises
    ------
    InputError
        Nobody honest is left, or more than 30 levels.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> from planner.outsiders import UnaryReports
    >>> table = solve(PrivacyPolicy([1.0, 2.0], [5, 90], names=["intimate", "public"]))
    >>> result = shuffled(UnaryReports(table.policy, table.a, table.b), 100_000, 1e-6)
    >>> result.to_frame()[["level", "other", "local", "epsilon", "example"]].round(4)
          level     other   local  epsilon  example
    0  intimate  intimate  0.5788   0.0051   0.0045
    1  intimate    public  1.0000   0.0108   0.0095
    2    public    public  1.4212   0.0145   0.0128
    """
    whole_number("people", people, most=MOST_PEOPLE)
    whole_number("colluders", colluders, 0, people - 1, "Somebody honest must be left.")
    size = len(reports.names)
    honest = people - colluders
    epsilons, examples, local = (np.full((size, size), np.nan) for _ in range(3))
    pairs = _pairs(reports)
    for i, j in pairs:
        blanket = reports.blanket(i, j)
        epsilons[i, j] = epsilons[j, i] = _kept(_laws(blanket), delta, honest)
        local[i, j] = local[j, i] = blanket.local_epsilon
    worst = max(pairs, key=lambda pair: float(epsilons[pair]))
    for i, j in pairs if every_example else [worst]:
        blankets = tuple(map(_laws, reports.examples(i, j)))
        examples[i, j] = examples[j, i] = _lost(blankets, delta, honest)
    return ShuffledGuarantee(reports.names, honest, delta, epsilons, examples, local)


def composed(guarantees: Sequence[ShuffledGuarantee]) -> tuple[float, float]:
    """Epsilon and delta of several questions, each shuffled separately: they add up.

    Questions asked of different people do not: each person keeps the guarantee of theirs.
    Answers sent in one message, shuffled as one: multiply their blankets instead, see
    :meth:`~planner.outsiders.shuffling.blanket.Blanket.of_one_message`.
    """
    if not guarantees:
        raise InputError(
            "guarantees", guarantees, "one or more", "Give the guarantee of each question."
        )
    return sum(one.epsilon for one in guarantees), sum(one.delta for one in guarantees)


def largest_scale(
    reports: Callable[[float], ShuffledReports],
    epsilon: float,
    people: int,
    delta: float,
    largest: float = 20.0,
) -> float:
    """The opposite way: a factor of the local budgets that keeps a wanted central epsilon.

    Found by halving and rounded down: the guarantee has been computed at the factor that is
    returned. For budgets alone (:class:`~planner.outsiders.shuffling.mechanisms.AnyMechanism`) the
    bound grows with the factor, so no larger one (by more than 0.1 %) keeps it.

    Parameters
    ----------
    reports:
        The blankets with all local budgets scaled by a factor.
    epsilon:
        Wanted: no pair of levels may have more, in nats.
    people, delta:
        As in :func:`shuffled`.
    largest:
        Largest factor to try.

    Raises
    ------
    InfeasibleError
        Not even a thousandth of the budgets keeps it.

    Examples
    --------
    Any mechanism for a million people; the best local budget for central epsilon 0.1:

    >>> from planner import PrivacyPolicy
    >>> from planner.outsiders import AnyMechanism
    >>> plain = lambda scale: AnyMechanism(PrivacyPolicy([scale], [2]))
    >>> round(largest_scale(plain, epsilon=0.1, people=1_000_000, delta=1e-8), 2)
    5.48
    """
    positive("epsilon", epsilon)
    positive("largest", largest)

    def kept(factor: float) -> bool:
        scaled = reports(factor)
        pairs = _pairs(scaled)
        return all(is_kept(scaled.blanket(i, j), epsilon, delta, people) for i, j in pairs)

    if kept(largest):
        return largest
    low, high = 1e-3, largest
    if not kept(low):
        reason = f"No local budgets reach a central epsilon of {epsilon:g} with {people:,} people"
        raise InfeasibleError(reason, "Ask more people, or accept a larger epsilon or delta.")
    while high / low > 1.001:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if kept(middle) else (low, middle)
    return low


def local_budget(epsilon: float, people: int, delta: float) -> float:
    """The largest plain local budget with which any mechanism keeps a wanted central epsilon.

    It is :func:`largest_scale` of a budget of one nat, in nats, rounded down, at most 20; whatever
    mechanism is planned with it. Arguments and errors as there.

    Examples
    --------
    >>> round(local_budget(epsilon=0.1, people=1_000_000, delta=1e-8), 2)
    5.48
    """
    return largest_scale(
        lambda nats: AnyMechanism(PrivacyPolicy([nats], [2])), epsilon, people, delta
    )


def _pairs(reports: ShuffledReports) -> list[tuple[int, int]]:
    """Pairs of levels with two different answers."""
    size = len(reports.names)
    if size > _MOST_LEVELS:
        remedy = "Merge levels with nearly the same budget."
        raise InputError("levels", size, f"at most {_MOST_LEVELS} to compare all pairs", remedy)
    pairs = combinations_with_replacement(range(size), 2)
    found = [(i, j) for i, j in pairs if i != j or reports.sizes[i] > 1]
    if not found:
        raise InputError("answers", 1, "two or more", "One answer alone says nothing.")
    return found


def _laws(blanket: Blanket) -> _Laws:
    """A blanket to remember a result by."""
    return tuple(column.tobytes() for column in (blanket.masses, blanket.first, blanket.second))


def _read(laws: _Laws) -> Blanket:
    return Blanket(*(np.frombuffer(column) for column in laws))


@lru_cache(maxsize=1024)
def _kept(laws: _Laws, delta: float, people: int) -> float:
    return central_epsilon(_read(laws), delta, people).upper


@lru_cache(maxsize=1024)
def _lost(examples: tuple[_Laws, ...], delta: float, people: int) -> float:
    return lost_epsilon([_read(laws) for laws in examples], delta, people)
