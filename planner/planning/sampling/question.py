"""The question that Sampling Privacy answers: how many people have each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from planner import arguments
from planner.errors import InputError


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """What is asked, of how many, and how much each answer may reveal in round two.

    Parameters
    ----------
    epsilons:
        Budget of each value 1 .. V, or one number for all, in nats, above 0, at most 50:
        how much the output ``v`` may say about the answer ``v`` (round two seen alone).
    yes_counts:
        Expected number of people with each value, shape ``(V,)``, whole, at least 0.
    population:
        Number of people asked, at least 1 and at least the sum of ``yes_counts``.
    cap:
        Largest sampling probability, above 0 and below 1; 0.45 (the paper's choice)
        keeps a sampled person in the minority.
    floor:
        Smallest ``pi_0``, at least 0 and below 1: people who stay at 0 hide the sampled
        ones in round one.
    none_epsilon:
        Budget of the answer "none of the values"; the smallest of ``epsilons`` if omitted.
    everyone_has_value:
        True only if "none of the values" cannot be an answer; then output 0 needs no budget.

    Raises
    ------
    InputError
        A budget, count or probability is out of range, or the counts exceed the population.

    Examples
    --------
    >>> SamplingQuestion(1.0, [30, 60], population=286).epsilons
    (1.0, 1.0)
    """

    epsilons: float | Sequence[float]
    yes_counts: Sequence[int]
    population: int
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: float | None = None
    everyone_has_value: bool = False

    def __post_init__(self) -> None:
        counts = _counts(self.yes_counts)
        population = arguments.whole_number("population", self.population)
        if sum(counts) > population:
            allowed = f"at most the population, {population}"
            remedy = "Lower the expected counts, or raise the population."
            raise InputError("yes_counts", sum(counts), f"{allowed}, in total", remedy)
        if self.everyone_has_value and sum(counts) < population:
            remedy = "The others have none of the values: set everyone_has_value to false."
            allowed = f"the population, {population}, in total, if everyone has a value"
            raise InputError("yes_counts", sum(counts), allowed, remedy)
        if not 0 < self.cap < 1:
            remedy = "Give the probability that a person is sampled at most, such as 0.45."
            raise InputError("cap", self.cap, "a probability above 0 and below 1", remedy)
        if not 0 <= self.floor < 1:
            remedy = "Give the probability that a person is sampled at least, such as 0."
            raise InputError("floor", self.floor, "a probability of at least 0 and below 1", remedy)
        budgets = _budgets(self.epsilons, len(counts))
        none = min(budgets) if self.none_epsilon is None else self.none_epsilon
        set_field = object.__setattr__
        set_field(self, "yes_counts", counts)
        set_field(self, "population", population)
        set_field(self, "epsilons", budgets)
        set_field(self, "none_epsilon", arguments.budget("none_epsilon", none))

    @property
    def output_budgets(self) -> NDArray[np.float64]:
        """Budget of each round-two output 0 .. V, shape ``(V + 1,)``; inf if it needs none."""
        none = inf if self.everyone_has_value else self.budgets[0]
        return np.array([none, *self.budgets[1:]])

    @property
    def budgets(self) -> tuple[float, ...]:
        """Stated budgets of the answers 0 (none of the values) and 1 .. V, in nats."""
        return (cast("float", self.none_epsilon), *cast("tuple[float, ...]", self.epsilons))

    def scaled(self, scale: float) -> SamplingQuestion:
        """The same question with all budgets times ``scale``."""
        none, *values = (scale * epsilon for epsilon in self.budgets)
        return replace(self, epsilons=tuple(values), none_epsilon=none)


def _counts(yes_counts: Sequence[int]) -> tuple[int, ...]:
    array = np.asarray(yes_counts)
    if array.ndim != 1 or array.size == 0:
        allowed = "a list with one expected count per value"
        remedy = "Give how many people you expect to have each value."
        raise InputError("yes_counts", yes_counts, allowed, remedy)
    counts = enumerate(array.tolist())
    return tuple(arguments.whole_number(f"yes_counts[{v}]", count, 0) for v, count in counts)


def _budgets(epsilons: float | Sequence[float], values: int) -> tuple[float, ...]:
    if isinstance(epsilons, int | float | np.number):
        return (arguments.budget("epsilons", epsilons),) * values
    budgets = np.asarray(epsilons)
    if budgets.shape != (values,):
        allowed = f"one budget, or a list of {values}, one per value"
        remedy = "Give each value its budget, or one budget for all."
        raise InputError("epsilons", epsilons, allowed, remedy)
    return tuple(arguments.budget(f"epsilons[{v}]", e) for v, e in enumerate(budgets.tolist()))
