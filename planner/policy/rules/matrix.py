"""A policy graph (IDUE paper section VIII): every pair of levels has a budget of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, MAX_EPSILON
from planner.policy.rules.rule import PairRule

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRule(PairRule):
    """``r_ij`` as given: symmetric, ``inf`` where a pair needs no protection."""

    name: ClassVar[str] = "matrix"
    pairs: Array

    def __post_init__(self) -> None:
        self.pairs.setflags(write=False)

    @property
    def words(self) -> str:
        return "the pair's own budget"

    @property
    def by_level(self) -> bool:
        return False

    @property
    def open_pairs(self) -> bool:
        return bool(np.isinf(self.pairs).any())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MatrixRule) and np.array_equal(self.pairs, other.pairs)

    def __hash__(self) -> int:
        return hash(self.pairs.tobytes())

    def check(self, size: int) -> None:
        matrix = self.pairs
        if matrix.shape != (size, size):
            remedy = "Give the pair budgets of all levels in their order."
            allowed = f"a {size} x {size} matrix, one row per level"
            raise InputError("rule", matrix.shape, allowed, remedy)
        for i, j in np.argwhere(~((matrix > 0) & ((matrix <= MAX_EPSILON) | np.isposinf(matrix)))):
            allowed = f"{BUDGET_RANGE}, or inf for a pair without protection"
            remedy = BUDGET_REMEDY if matrix[i, j] > 0 else "Give inf where a pair needs none."
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)
        for i, j in np.argwhere(matrix != matrix.T):
            allowed = f"equal to rule[{j}][{i}], which is {float(matrix[j, i])!r}"
            remedy = "Indistinguishability is symmetric: give both directions the smaller budget."
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)
        for i in np.flatnonzero(np.isinf(matrix).all(axis=1)):
            remedy = (
                "A level that is protected against nothing needs no randomisation: leave it out."
            )
            allowed = "finite for at least one pair"
            raise InputError(f"rule[{i}]", "inf everywhere", allowed, remedy)

    def bounds(self, epsilons: Array) -> Array:
        return self.pairs

    def tolerated(self, epsilons: Array) -> Array:
        """The largest budget of the level's protected pairs."""
        return self.largest_pairs(epsilons)

    def has_partner(self, epsilons: Array) -> NDArray[np.bool_]:
        return np.asarray((np.isfinite(self.pairs) & ~np.eye(len(self.pairs), dtype=bool)).any(1))

    def shares(self, epsilons: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
        """What is added to a level's budget is added to all of its pairs."""
        return np.ones(i.size)

    def scaled(self, scale: float | Array) -> MatrixRule:
        if np.ndim(scale):
            remedy = "All pair budgets are scaled together."
            raise InputError("scale", scale, "one number for a matrix of pair budgets", remedy)
        return MatrixRule(self.pairs * float(scale))

    def relaxed(self, level: int, amount: float) -> MatrixRule:
        here = np.arange(len(self.pairs)) == level
        return MatrixRule(self.pairs + amount * (here[:, None] | here[None, :]))

    def without(self, spent: Array) -> MatrixRule:
        """Each pair budget less the larger of what the two levels have spent."""
        return MatrixRule(self.pairs - np.maximum.outer(spent, spent))

    def of_levels(self, used: NDArray[np.intp]) -> MatrixRule:
        return MatrixRule(self.pairs[np.ix_(used, used)])
