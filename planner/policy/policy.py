"""Who needs how much protection: privacy levels, their budgets, and the pair rule.

A :class:`PrivacyPolicy` is a set of privacy levels. Level ``i`` has a budget
``epsilon_i`` and ``m_i`` items. The rule turns two levels' budgets into the
budget ``r_ij`` of a pair of inputs: how well an observer of a report may tell an
input of level ``i`` from one of level ``j``.

Source: Gu, Li, Xiong and Cao, "Providing Input-Discriminative Protection for
Local Differential Privacy" (ICDE 2020), definitions 2 and 3, lemma 1, table I,
and section VIII for the average rule and the incomplete policy graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError

__all__ = ["MAX_EPSILON", "PrivacyPolicy"]

MAX_EPSILON = 50.0
_BUDGET_RANGE = f"a finite number above 0 and at most {MAX_EPSILON:g}"
_BUDGET_REMEDY = (
    f"A budget above {MAX_EPSILON:g} allows odds of more than 10^21 to 1, which protects nobody, "
    "and is finer than deployed probabilities (integers over 2^32) can express."
)
_MAX_DENSE_LEVELS = 20_000
_MAX_COUNT = 10**12
A = TypeVar("A", bound=NDArray[Any])


@dataclass(frozen=True, slots=True, eq=False, init=False)
class PrivacyPolicy:
    """Privacy levels, their budgets and the rule for pairs. Immutable, validated once.

    Parameters
    ----------
    epsilons:
        Budget of each level, shape ``(t,)``, in nats: above 0, at most 50. Any
        order; equal budgets are allowed.
    item_counts:
        Number of items (possible answers) in each level, shape ``(t,)``, whole, at least 1.
    rule:
        ``"min"`` (MinID-LDP, ``r_ij = min(eps_i, eps_j)``), ``"avg"`` (AvgID-LDP,
        ``r_ij = (eps_i + eps_j) / 2``), or a symmetric ``t x t`` matrix of pair
        budgets with ``inf`` where a pair needs no protection (a policy graph).
        The entry ``(i, i)`` is for two different items of level ``i``.
    names:
        One distinct name per level; ``"level 1"``, ``"level 2"``, ... when omitted.

    Raises
    ------
    InputError
        A budget, count, name or matrix entry is outside the allowed range.

    Examples
    --------
    >>> import math
    >>> policy = PrivacyPolicy([math.log(4), math.log(6)], [1, 4], names=["severe", "common"])
    >>> policy.bounds().round(4).tolist()
    [[1.3863, 1.3863], [1.3863, 1.7918]]
    >>> round(policy.ldp_epsilon, 4)
    1.7918
    """

    epsilons: NDArray[np.float64]
    item_counts: NDArray[np.int64]
    rule: str | NDArray[np.float64]
    _names: tuple[str, ...] | None

    def __init__(
        self,
        epsilons: ArrayLike,
        item_counts: ArrayLike,
        rule: str | ArrayLike = "min",
        names: Sequence[str] | None = None,
    ) -> None:
        budgets = _budgets(epsilons)
        size = budgets.size
        set_field = object.__setattr__
        set_field(self, "epsilons", _frozen(budgets))
        set_field(self, "item_counts", _frozen(_counts(item_counts, size)))
        set_field(self, "rule", _rule(rule, size))
        set_field(self, "_names", None if names is None else _distinct_names(names, size))

    # -- what it is ---------------------------------------------------------

    @property
    def size(self) -> int:
        """Number of levels, ``t``."""
        return self.epsilons.size

    @property
    def names(self) -> tuple[str, ...]:
        """One name per level."""
        return self._names or tuple(f"level {i + 1}" for i in range(self.size))

    @property
    def rule_name(self) -> str:
        """``"min"``, ``"avg"`` or ``"matrix"``."""
        return self.rule if isinstance(self.rule, str) else "matrix"

    def bounds(self) -> NDArray[np.float64]:
        """Pair budgets ``r_ij``, shape ``(t, t)``; ``inf`` where nothing is demanded.

        Raises
        ------
        InputError
            More than 20,000 levels: the matrix would not fit in memory.
        """
        if not isinstance(self.rule, str):
            return self.rule
        if self.size > _MAX_DENSE_LEVELS:
            raise InputError(
                "levels",
                self.size,
                f"at most {_MAX_DENSE_LEVELS} for a dense matrix of pair budgets",
                "Use room(), which never builds the matrix.",
            )
        first, second = self.epsilons[:, None], self.epsilons[None, :]
        return np.minimum(first, second) if self.rule == "min" else (first + second) / 2

    def room(self, used: ArrayLike) -> NDArray[np.float64]:
        """What each level has left when partner ``j`` uses ``used_j``: ``min_j (r_ij - used_j)``.

        Shape ``(t,)``, in nats. Rules ``"min"`` and ``"avg"`` take O(t) time and memory.

        Examples
        --------
        >>> PrivacyPolicy([1.0, 3.0], [1, 1]).room([0.25, 0.5]).tolist()
        [0.5, 0.75]
        """
        used = np.asarray(used, dtype=np.float64)
        if not isinstance(self.rule, str):
            return np.asarray(np.min(self.rule - used[None, :], axis=1))
        if self.rule == "min":
            return np.minimum(self.epsilons - used.max(), (self.epsilons - used).min())
        return self.epsilons / 2 + (self.epsilons / 2 - used).min()

    # -- what it implies ----------------------------------------------------

    @property
    def leakage_epsilons(self) -> NDArray[np.float64]:
        """Worst log-ratio between an input of each level and any other input, shape ``(t,)``.

        The tightest bound over all paths in the policy graph; for rule ``"min"``
        it is ``min(eps_i, 2 min eps)`` (table I). ``inf`` where some input is not
        connected to this one at all.
        """
        if not isinstance(self.rule, str):
            return _longest_shortest_paths(self.rule, self.item_counts)
        if self.rule == "min":
            return np.minimum(self.epsilons, 2 * self.epsilons.min())
        return (self.epsilons + self.epsilons.max()) / 2

    @property
    def ldp_epsilon(self) -> float:
        """The plain LDP budget that the policy implies; ``inf`` if some pair is unprotected.

        For rule ``"min"`` this is lemma 1, ``min(max eps, 2 min eps)``; for any
        rule it is the largest of the tightest bounds over paths.
        """
        return float(self.leakage_epsilons.max())

    @property
    def prior_posterior_bounds(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Bounds on ``Pr(x) / Pr(x | report)`` for an input of each level (table I).

        Returns the lower and the upper bound, each of shape ``(t,)``.

        Examples
        --------
        >>> lower, upper = PrivacyPolicy([1.0, 3.0], [1, 4]).prior_posterior_bounds
        >>> upper.round(3).tolist()
        [2.718, 7.389]
        """
        epsilon = self.leakage_epsilons
        return np.exp(-epsilon), np.exp(epsilon)

    # -- identity -----------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrivacyPolicy) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[Any, ...]:
        rule = self.rule if isinstance(self.rule, str) else self.rule.tobytes()
        return (self.epsilons.tobytes(), self.item_counts.tobytes(), rule, self._names)


def _budgets(epsilons: ArrayLike) -> NDArray[np.float64]:
    values = _numbers("epsilons", epsilons)
    if values.ndim != 1 or values.size == 0:
        raise InputError("epsilons", epsilons, "a list of one or more budgets", "Add a level.")
    for i in np.flatnonzero(~(np.isfinite(values) & (values > 0) & (values <= MAX_EPSILON))):
        raise InputError(f"epsilons[{i}]", float(values[i]), _BUDGET_RANGE, _BUDGET_REMEDY)
    return values


def _counts(item_counts: ArrayLike, size: int) -> NDArray[np.int64]:
    values = _numbers("item_counts", item_counts)
    if values.shape != (size,):
        raise InputError("item_counts", item_counts, f"a list of {size} counts, one per level")
    allowed = f"a whole number from 1 to {_MAX_COUNT}"
    whole = np.isfinite(values) & (values == np.floor(values))
    for i in np.flatnonzero(~(whole & (values >= 1) & (values <= _MAX_COUNT))):
        raise InputError(f"item_counts[{i}]", float(values[i]), allowed, "Count the answers.")
    return values.astype(np.int64)


def _rule(rule: str | ArrayLike, size: int) -> str | NDArray[np.float64]:
    if isinstance(rule, str):
        if rule not in ("min", "avg"):
            raise InputError("rule", rule, '"min", "avg" or a matrix of pair budgets')
        return rule
    matrix = _numbers("rule", rule)
    if matrix.shape != (size, size):
        raise InputError("rule", matrix.shape, f"a {size} x {size} matrix, one row per level")
    for i, j in np.argwhere(~((matrix > 0) & ((matrix <= MAX_EPSILON) | np.isposinf(matrix)))):
        allowed = f"above 0 and at most {MAX_EPSILON:g}, or inf for a pair without protection"
        raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, _BUDGET_REMEDY)
    for i, j in np.argwhere(matrix != matrix.T):
        allowed = f"equal to rule[{j}][{i}], which is {float(matrix[j, i])!r}"
        remedy = "Indistinguishability is symmetric: give both directions the smaller budget."
        raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)
    for i in np.flatnonzero(np.isinf(matrix).all(axis=1)):
        raise InputError(
            f"rule[{i}]",
            "inf everywhere",
            "finite for at least one pair",
            "A level that is protected against nothing needs no randomisation; leave it out.",
        )
    return _frozen(matrix)


def _distinct_names(names: Sequence[str], size: int) -> tuple[str, ...]:
    chosen = tuple(names)
    if isinstance(names, str) or len(chosen) != size:
        raise InputError("names", names, f"a list of {size} names, one per level")
    seen: set[str] = set()
    for name in chosen:
        if not isinstance(name, str) or not name.strip():
            raise InputError("names", name, "text that is not blank")
        if name in seen:
            raise InputError("names", name, "different from every other level's name")
        seen.add(name)
    return chosen


def _numbers(argument: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.array(values)  # a copy: the caller's array stays the caller's
        if array.dtype.kind not in "iuf":
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise InputError(argument, values, "a rectangular list of numbers") from None


def _frozen(array: A) -> A:
    array.setflags(write=False)
    return array


def _longest_shortest_paths(
    matrix: NDArray[np.float64], item_counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    from scipy.sparse.csgraph import shortest_path

    graph = np.where(np.isinf(matrix), 0.0, matrix)  # csgraph reads 0 as "no edge"
    paths = shortest_path(graph, directed=False)
    # Two items of the same level: their own edge, or there and back over a neighbour.
    within = np.minimum(np.diag(matrix), 2 * np.min(matrix, axis=1))
    alone = (item_counts == 1) & np.isinf(np.diag(matrix))
    np.fill_diagonal(paths, np.where(alone, 0.0, within))
    return np.asarray(paths.max(axis=1))
