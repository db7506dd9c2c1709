"""The ID-LDP paper's experiments: data, levels at random, mechanisms, errors.

Errors are measured by simulation and computed from the exact laws. The paper's two
figures of merit are ``MSE = sum_i (estimate_i - count_i)^2 / n`` and ``RE(k)``, the mean of
``|estimate_i - count_i| / count_i`` over the ``k`` truly most frequent items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

import planner
from planner import ItemSets, PrivacyPolicy, UnaryTable, baseline, solve, unary
from planner.mechanisms.asking import CollectedLaw
from planner.planning.datasets import AnswerCounts

from .literal import solve_literal
from .normal import mean_absolute

__all__ = [
    "FACTORS",
    "MEASURED_WITHIN",
    "SHARES",
    "Assignment",
    "assign",
    "errors",
    "expected",
    "largest_deviation",
    "mechanisms",
    "padded",
    "power_law",
    "relative_error",
    "sample_precision",
    "single_item_variance",
    "total_error",
    "uniform",
]

Array = NDArray[np.float64]
# the paper's default setting
FACTORS = (1.0, 1.2, 2.0)
SHARES = (0.05, 0.05, 0.90)
MEASURED_WITHIN = (
    6.5  # standard errors; even the largest of 500 exceeds it once in 10^7 runs
)


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Items in levels: the levels, and the level of each item, shape ``(items,)``."""

    policy: PrivacyPolicy
    level_of: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Mechanism:
    """A table's law, whose items stand level by level, and the level of each item here."""

    table: UnaryTable
    law: CollectedLaw
    level_of: NDArray[np.int64]

    @property
    def place(self) -> NDArray[np.int64]:
        """Where the law has each item, shape ``(items,)``."""
        return np.argsort(np.argsort(self.level_of, kind="stable"))

    def padded(self, length: int) -> Mechanism:
        """The same for item sets."""
        return replace(self, law=planner.padded(self.law, length))

    def people(self, answers: AnswerCounts) -> Any:
        """The answers as the law numbers the items."""
        if answers.sets is None:
            return answers.counts[np.argsort(self.place)]
        return ItemSets(
            answers.counts.size, self.place[answers.sets.members], answers.sets.starts
        )


def power_law(users: int, items: int, rng: np.random.Generator) -> AnswerCounts:
    """People with one item each, by a power law with exponent 2.

    Draws from the density ``x^-2`` on ``[1, items + 1)``, rounded down: the
    scale that uses all items. The paper does not say how it scales.
    """
    draws = 1 / (1 - rng.random(users) * (1 - 1 / (items + 1)))
    return _single(np.minimum(draws.astype(np.int64), items) - 1, items)


def uniform(users: int, items: int, rng: np.random.Generator) -> AnswerCounts:
    """People with one item each, all equally likely."""
    return _single(rng.integers(items, size=users), items)


def assign(
    items: int,
    epsilon: float,
    seed: int = 1,
    shares: Sequence[float] = SHARES,
    factors: Sequence[float] = FACTORS,
) -> Assignment:
    """Items in levels at random in these shares; the same items for every ``epsilon``.

    Every level gets at least one item, its share rounded.
    """
    ends = np.rint(np.cumsum(shares) * items).astype(np.int64)
    numbers = np.diff(ends, prepend=0)
    level_of = np.random.default_rng(seed).permutation(
        np.repeat(np.arange(len(shares)), numbers)
    )
    return Assignment(PrivacyPolicy(epsilon * np.array(factors), numbers), level_of)


def mechanisms(
    placed: Assignment, models: Sequence[str] = ("opt0",)
) -> dict[str, Mechanism]:
    """RAPPOR and OUE at the smallest budget, and IDUE with each model.

    ``"boxed"`` is opt0 as the paper solved it: in (a, b), with a >= 1/2 >= b.
    """
    policy = placed.policy
    level_of = placed.level_of
    found = {name.upper(): baseline(policy, name) for name in ("rappor", "oue")}
    for model in models:
        boxed = model == "boxed"
        found["opt0, boxed" if boxed else f"IDUE {model}"] = (
            solve_literal(policy, box=True) if boxed else solve(policy, model)
        )
    return {
        name: Mechanism(table, unary(table), level_of) for name, table in found.items()
    }


def padded(found: Mapping[str, Mechanism], padding_length: int) -> dict[str, Mechanism]:
    """The same mechanisms for item sets, named ``...-PS``."""
    return {
        f"{name.replace(' opt0', '')}-PS": one.padded(padding_length)
        for name, one in found.items()
    }


def errors(
    mechanism: Mechanism, answers: AnswerCounts, repeats: int, rng: np.random.Generator
) -> Array:
    """Errors of the estimated counts in simulated collections, ``(repeats, items)``."""
    law = mechanism.law
    data = mechanism.people(answers)
    place = mechanism.place
    estimates = (
        law.estimate(law.draw_aggregate(data, rng)).values for _ in range(repeats)
    )
    return np.array([values[place] - answers.counts for values in estimates])


def expected(mechanism: Mechanism, answers: AnswerCounts) -> tuple[Array, Array]:
    """Exact bias and variance of every estimated count."""
    law = mechanism.law
    data = mechanism.people(answers)
    place = mechanism.place
    variance = law.variance(data)
    return (law.bias(data) + np.zeros(place.size))[place], variance[place]


def single_item_variance(
    table: UnaryTable,
    level_of: NDArray[np.int64],
    counts: NDArray[np.int64],
    users: int,
) -> Array:
    """Variance of the counts of items in these levels (eq. 8), without a mechanism's grid."""
    return users * table.noise[level_of] + counts * table.signal[level_of]


def total_error(bias: Array, variance: Array, users: int) -> float:
    """Expected MSE per user."""
    return float(np.sum(bias**2 + variance) / users)


def relative_error(
    bias: Array, variance: Array, counts: NDArray[np.int64], k: int
) -> float:
    """Expected RE(k): estimates are sums over many people, so their errors are normal."""
    top = np.argsort(-counts, kind="stable")[:k]
    return float(
        np.mean(mean_absolute(bias[top], np.sqrt(variance[top])) / counts[top])
    )


def precision_at(chosen: NDArray[np.int64], true_counts: NDArray[np.int64]) -> float:
    """Share of the chosen items that are among the truly most frequent, 0 to 1.

    With ``k`` items chosen, those count whose true count reaches the ``k``-th largest,
    so that a tie is never counted as a mistake (IDUE paper, section VII).
    """
    least = np.sort(true_counts)[-chosen.size]
    return float(np.mean(true_counts[chosen] >= least))


def sample_precision(errors_seen: Array, counts: NDArray[np.int64], k: int) -> Array:
    """Share of the ``k`` largest estimates that are truly among the top ``k``, ``(repeats,)``."""
    chosen = np.argsort(-(errors_seen + counts), axis=1, kind="stable")[:, :k]
    return np.array([precision_at(one, counts) for one in chosen])


def largest_deviation(
    errors_seen: Array, bias: Array, variance: Array
) -> tuple[float, float]:
    """Measured total error against the expected: relative deviation, and in standard errors.

    Errors of different items are independent given what was sampled, and close to
    normal, so that the total has variance ``sum 2 v^2 + 4 v bias^2``.
    """
    want = float(np.sum(bias**2 + variance))
    spread = sqrt(
        float(np.sum(2 * variance**2 + 4 * variance * bias**2)) / len(errors_seen)
    )
    seen = float(np.mean(np.sum(errors_seen**2, axis=1)))
    return seen / want - 1, (seen - want) / spread


def _single(values: NDArray[np.int64], items: int) -> AnswerCounts:
    labels = tuple(str(i + 1) for i in range(items))
    return AnswerCounts(labels, np.bincount(values, minlength=items))
