"""What a pair rule answers, and how any rule does that answers for every pair of levels.

A rule turns the budgets of two levels into the budget of telling them apart. It is an object
that answers whatever is asked of it; nothing outside asks which rule it is. Adding one is a class
with ``name`` and ``bounds``, which the general solvers take as it is; a faster way of its own,
as the rules min and avg have (:mod:`planner.policy.rules`), is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array, Flags
from planner.policy.privacy_rows import Reduction

if TYPE_CHECKING:
    import scipy.sparse as sp

    from planner.policy.privacy_rows import RowParts

Index = NDArray[np.intp]

ONE_SIDED = "one-sided"
NAMED_RULES = ("min", "avg", ONE_SIDED)  # that every reader of a file knows by name


@dataclass(frozen=True, slots=True, eq=False)
class PairRule:
    """How the budgets of two levels become the budget of their pair.

    A rule of one's own needs ``name`` and ``bounds``; everything else follows from these,
    in O(t^2) time and memory. All arrays have shape ``(t,)`` and are in nats.

    ``own`` says of which levels two items are a pair, and ``against`` asks for the other direction:
    budgets of the other items with those of a level.
    """

    name: ClassVar[str]
    by_level: ClassVar[bool] = True
    """Whether the levels' budgets alone decide, so that one of them may change alone."""
    saturates: ClassVar[bool] = False
    """Whether budget above that of all others buys nothing (IDUE paper, lemma 1)."""
    covers_sets: ClassVar[bool] = False
    """Whether it gives sets of answers a budget (IDUE paper, eq. 16)."""
    keeps_own: ClassVar[bool] = True
    """Whether tables keep ``r_ii`` of a level with a single item, too, as those of the paper do."""

    def bounds(self, epsilons: Array) -> Array:
        """Pair budgets ``r_ij``, shape ``(t, t)``; ``inf`` where none is needed.

        No report is over ``e^r_ij`` times as likely for an item of ``i`` as for one of ``j``.
        """
        raise NotImplementedError

    def plain(self, epsilons: Array) -> str | tuple[tuple[float, ...], ...]:
        """The rule as files have it: its name if every reader knows it, else all pair budgets."""
        if self.name in NAMED_RULES:
            return self.name
        budgets = self.bounds(epsilons).tolist()
        return tuple(map(tuple, budgets))

    @property
    def open_pairs(self) -> bool:
        """Whether some pair of levels needs no protection."""
        return False

    @property
    def directed(self) -> bool:
        """Whether the budget of a pair depends on which of the two a report speaks for."""
        return False

    @property
    def lowering(self) -> Array | None:
        """How far a report may speak against each level, ``inf`` if only others' budgets say."""
        return None

    def check(self, size: int) -> None:
        """Refuse a rule that does not fit ``size`` levels."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairRule) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[object, ...]:
        # Arrays have no hash; their bytes have, and are equal where all budgets are.
        columns = []
        for field in fields(self):
            budgets = np.asarray(getattr(self, field.name))
            columns.append(budgets.tobytes())
        return type(self), *columns

    # -- pairs --------------------------------------------------------------

    def demanded(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """The pair budgets, ``inf`` where there is no pair; ``against``: ``r_ji`` at ``[i, j]``."""
        matrix = self.bounds(epsilons)
        if against:
            matrix = matrix.T
        # A level without two items to tell apart has no budget on the diagonal.
        no_pair = np.diag(~own_pairs)
        return np.where(no_pair, np.inf, matrix)

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``min_j (r_ij - used_j)``."""
        matrix = self.demanded(epsilons, own_pairs, against=against)
        left = matrix - used
        return left.min(axis=1)

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """The tightest bound, over all paths of pairs, from each level to any other item."""
        from scipy.sparse.csgraph import shortest_path

        matrix = self.demanded(epsilons, own_pairs, against=against)
        # Log ratios add up along a path of pairs: the shortest path is the tightest bound.
        # SciPy takes a weight of 0 for "no edge".
        edges = np.where(np.isinf(matrix), 0.0, matrix)
        paths = shortest_path(edges)
        # Two items of the same level: their own edge, or there and back over others.
        there_and_back = paths + paths.T
        np.fill_diagonal(there_and_back, np.diag(matrix))
        shortest = there_and_back.min(axis=1)
        within_level = np.where(own_pairs, shortest, 0.0)
        np.fill_diagonal(paths, within_level)
        return paths.max(axis=1)

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """Per level the largest budget of a protected pair that it is part of."""
        matrix = self.demanded(epsilons, own_pairs, against=against)
        matrix[np.isinf(matrix)] = 0.0
        return matrix.max(axis=1)

    def shares(self, epsilons: Array, i: Index, j: Index) -> tuple[Array, Array]:
        """Derivatives of ``r_ij`` by the budgets of ``i`` and of ``j``; their sum if ``i = j``."""
        half = np.full(i.size, 0.5)
        return half, half

    # -- other budgets ------------------------------------------------------

    def mapped(self, change: Callable[[Array], Array]) -> PairRule:
        """The rule with its budgets by level changed, where it has some beside the policy's."""
        return self

    def scaled(self, scale: float | Array) -> PairRule:
        """The rule when all budgets are multiplied by ``scale``, one number or one a level."""
        return self.mapped(lambda budgets: budgets * scale)

    def relaxed(self, level: int, amount: float) -> PairRule:
        """The rule when ``amount`` nats are added to the budgets of one level."""

        def relax(budgets: Array) -> Array:
            added = np.zeros(budgets.size)
            added[level] = amount
            return budgets + added

        return self.mapped(relax)

    def without(self, spent: Array) -> PairRule:
        """The rule when the levels have spent part of their budgets."""
        return self.mapped(lambda budgets: budgets - spent)

    # -- solving ------------------------------------------------------------

    def reduction(self, epsilons: Array) -> Reduction | None:
        """The rule's way of solving opt0 and opt1 with one or two variables, if it has one."""
        return None

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction | None:
        """The rule's way of solving opt2 with one variable, if it has one."""
        return None

    def windows(self, epsilons: Array) -> Iterable[tuple[Array, Array]] | None:
        """Ends of the log likelihoods that one report may have, for all extreme rays.

        Each window is a smallest and a largest value per level, shape ``(t,)`` each; any
        choice of values inside one window keeps every pair. ``None`` where they are not known
        in closed form. Superfluous windows are harmless.
        """
        return None

    def largest_range(self, epsilons: Array) -> float:
        """The largest range of the log likelihoods of one report, ``inf`` where it is not known.

        What a level's budget has beyond it is of no use in a design.
        """
        return np.inf

    def log_odds_rows(self, epsilons: Array, own_pairs: Flags) -> RowParts:
        """Rows ``s_i + w_j <= r_ij``: on ``(s, w)``, on auxiliaries, limits, prices."""
        import scipy.sparse as sp

        i, j, limit = self._finite_pairs(epsilons, own_pairs)
        size = epsilons.size
        s_of_first = _picker(i, size)
        w_of_second = _picker(j, size)
        levels = sp.hstack([s_of_first, w_of_second])
        slope = np.ones(limit.size)
        price = self._pair_price(epsilons, i, j, slope)
        return levels, None, limit, price

    def half_rows(self, epsilons: Array, own_pairs: Flags, b: Array) -> RowParts:
        """Rows ``e^r_ij b_i + b_j >= 1``, divided by ``e^r_ij``, in ``x = 1/2 - b``; likewise."""
        import scipy.sparse as sp

        i, j, budgets = self._finite_pairs(epsilons, own_pairs)
        # With b = 1/2 - x: x_i + e^-r x_j <= (1 - e^-r) / 2.
        shrinkage = np.exp(-budgets)
        x_of_first = _picker(i, epsilons.size)
        x_of_second = _picker(j, epsilons.size)
        levels = x_of_first + sp.diags_array(shrinkage) @ x_of_second
        limit = (1 - shrinkage) / 2
        # e^-r (1 - b_j) is the limit's derivative by r where b_i = e^-r (1 - b_j).
        slope = shrinkage * (1 - b[j])
        price = self._pair_price(epsilons, i, j, slope)
        return levels, None, limit, price

    def _finite_pairs(
        self, epsilons: Array, own_pairs: Flags
    ) -> tuple[Index, Index, Array]:
        """The levels ``i`` and ``j`` of each protected pair, and their budgets ``r_ij``."""
        matrix = self.demanded(epsilons, own_pairs)
        i, j = np.nonzero(np.isfinite(matrix))
        return i, j, matrix[i, j]

    def _pair_price(
        self, epsilons: Array, i: Index, j: Index, slope: Array
    ) -> sp.csr_array:
        """Derivatives of the pairs' limits by the levels' budgets, ``(t, pairs)``.

        By the chain rule: ``slope`` is that of a limit by its pair's budget.
        """
        import scipy.sparse as sp

        of_first, of_second = self.shares(epsilons, i, j)
        derivatives = np.concatenate([of_first * slope, of_second * slope])
        levels = np.concatenate([i, j])
        pairs = np.tile(np.arange(i.size), 2)
        positions = (levels, pairs)
        shape = (epsilons.size, i.size)
        return sp.csr_array((derivatives, positions), shape=shape)


def _picker(index: Index, size: int) -> sp.csr_array:
    """A row for each number of ``index``, with 1 in its column."""
    import scipy.sparse as sp

    count = index.size
    positions = (np.arange(count), index)
    ones = np.ones(count)
    return sp.csr_array((ones, positions), shape=(count, size))
