"""Generalised randomised response: report the item itself, or another one."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import expm1, floor, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.errors import InputError
from planner.limits import DENOMINATOR
from planner.mechanisms import inputs
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.frequency import ItemReports


@dataclass(frozen=True, slots=True)
class GeneralizedRandomizedResponse(ItemReports):
    """Generalised (k-ary) randomised response, also called direct encoding.

    Output law, with ``m`` items: ``Pr[y = x] = p = e^eps / (e^eps + m - 1)`` and
    ``Pr[y = other] = q = 1 / (e^eps + m - 1)`` for each other item. It is drawn as
    "the truth with probability ``p - q``, else any of the ``m`` items", with
    ``p - q`` rounded down to a multiple of 2^-32, so the loss never exceeds ``epsilon``.

    Variance of an estimated count: ``n q(1-q)/(p-q)^2 + c (1-p-q)/(p-q)``. It grows
    with ``m``: best for a handful of items, hopeless for thousands.

    Source: Kairouz, Bonawitz and Ramage (ICML 2016); IDUE paper, section III-C.

    Parameters
    ----------
    epsilon:
        Budget in nats, above 0 and at most 50.
    items:
        Number of items, at least 2.

    Examples
    --------
    >>> mechanism = GeneralizedRandomizedResponse(np.log(4), items=5)
    >>> round(float(mechanism.variance([20, 20, 20, 20, 20]).sum() / 100), 2)  # table II: 4.89 n
    4.89
    """

    epsilon: float
    items: int
    _truth: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        arguments.budget("epsilon", self.epsilon)
        inputs.item_count(self.items)
        share = expm1(self.epsilon) / (expm1(self.epsilon) + self.items)
        truth = floor(
            share * DENOMINATOR * (1 - 1e-15)
        )  # the float may err by one unit: stay below
        if truth < 1:
            allowed = f"large enough for {self.items} items on a grid of 2^-32"
            raise InputError("epsilon", self.epsilon, allowed, "Raise it or merge items.")
        object.__setattr__(self, "_truth", truth)

    @property
    def p(self) -> float:
        """``Pr[y = x]``, as it is really drawn."""
        return self._truth / DENOMINATOR + self.q

    @property
    def q(self) -> float:
        """``Pr[y = another given item]``, as it is really drawn."""
        return (1 - self._truth / DENOMINATOR) / self.items

    @property
    def a(self) -> NDArray[np.float64]:
        """``p`` for every item, shape ``(items,)``."""
        return np.full(self.items, self.p)

    @property
    def b(self) -> NDArray[np.float64]:
        """``q`` for every item, shape ``(items,)``."""
        return np.full(self.items, self.q)

    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
        """Reported item numbers, int64, shape ``(n,)``."""
        true = inputs.item_numbers(values, self.items)
        coin = inputs.generator(rng).integers(DENOMINATOR, size=true.size, dtype=np.uint64)
        other = rng.integers(self.items, size=true.size)
        return np.where(coin < np.uint64(self._truth), true, other)

    def draw_aggregate(self, true_counts: ArrayLike, rng: np.random.Generator) -> Aggregate:
        """Exact joint law: truthful users per item, the rest multinomial over all items."""
        counts = inputs.true_counts(true_counts, self.items)
        kept = inputs.generator(rng).binomial(counts, self._truth / DENOMINATOR)
        n = int(counts.sum())
        lots = rng.multinomial(n - int(kept.sum()), np.full(self.items, 1 / self.items))
        return Aggregate(n, kept + lots)

    def privacy_loss(self) -> float:
        """``ln(p / q)``, in nats."""
        return log(self.p / self.q)

    def output_law(self) -> NDArray[np.float64]:
        """``Pr[y | x]``, shape ``(items, items)``."""
        return np.full((self.items, self.items), self.q) + (self.p - self.q) * np.eye(self.items)
