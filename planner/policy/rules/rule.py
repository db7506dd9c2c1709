"""What everything else asks of a pair rule, with general answers from the pair budgets alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError

if TYPE_CHECKING:
    import scipy.sparse as sp


Array = NDArray[np.float64]
Needed = NDArray[np.bool_]
Counts = NDArray[np.int64]

SHORT_OF_POLE = 1 - 1e-12  # where a search ends before the error is infinite
_MOST_DENSE_LEVELS = 20_000


@dataclass(frozen=True, slots=True)
class Rows:
    """Privacy as ``matrix @ (coordinates, auxiliaries) <= limit``.

    ``price`` has one row per level and one column per privacy row: the derivative of
    the row's limit by the level's budget, so that ``price @ multipliers`` are shadow prices.
    """

    matrix: sp.csr_array
    limit: Array
    price: sp.csr_array


class HalfLines(NamedTuple):
    """``b_i = max(base_i + down_i z, top_i - up_i z)`` for opt2, each of shape ``(t,)``."""

    base: Array
    down: Array
    top: Array
    up: Array


class Reduction(Protocol):
    """A policy's optimum in one or two variables, however many levels there are.

    opt0 and opt1 move along ``T = max s + max w`` (and the balance of s and w), opt2 along
    ``z``. A level is *saturated* where it follows the largest, and not its own budget.
    """

    lowest: float
    """Smallest pair budget: ``2 |s - w|`` of no level exceeds ``2 lowest - T``."""

    def totals(self) -> tuple[float, float]:
        """Ends of ``T``; equal where it plays no role."""

    def kinks(self) -> Array:
        """Values of ``T`` where a level saturates, sorted."""

    def centre(self, total: float) -> Array:
        """``(s_i + w_i) / 2`` of each level at ``T = total``, shape ``(t,)``."""

    def saturated(self, total: float) -> tuple[Array, Array]:
        """Share of each level that is saturated just below and just above ``T = total``."""

    def half_lines(self) -> HalfLines:
        """The lines between which opt2's ``b`` moves."""

    def half_ends(self) -> tuple[float, float]:
        """Ends of opt2's ``z``."""

    def half_gain(self, z: float, upper: Array) -> Array:
        """By how much opt2's ``-b_i`` grows per nat; ``upper``: share on the second line."""

    def prices(self, gains: Array) -> Array:
        """What a nat of each level's budget brings, from what a nat of ``s + w`` or ``b`` does."""


@dataclass(frozen=True, slots=True, eq=False)
class PairRule:
    """How the budgets of two levels become the budget of their pair.

    A rule of one's own needs ``name`` and ``bounds``; everything else follows from these,
    in O(t^2) time and memory. ``needed`` says of each level whether two different items of
    it, the pair ``(i, i)``, need protection; all arrays have shape ``(t,)`` and are in nats.
    """

    name: ClassVar[str]

    # -- what it is ---------------------------------------------------------

    def bounds(self, epsilons: Array) -> Array:
        """Pair budgets ``r_ij``, symmetric, shape ``(t, t)``; ``inf`` where none is needed."""
        raise NotImplementedError

    def plain(self, epsilons: Array) -> Any:
        """The rule as files have it: its name if every reader knows it, else all pair budgets."""
        return tuple(map(tuple, self.bounds(epsilons).tolist()))

    @property
    def words(self) -> str:
        """The rule in words that complete "a pair of answers is protected by"."""
        return f"the pair budgets of the rule {self.name}"

    @property
    def by_level(self) -> bool:
        """Whether the levels' budgets alone decide, so that one of them may change alone."""
        return True

    @property
    def open_pairs(self) -> bool:
        """Whether some pair of levels needs no protection."""
        return False

    @property
    def saturates(self) -> bool:
        """Whether budget above that of all others buys nothing (IDUE paper, lemma 1)."""
        return False

    @property
    def covers_sets(self) -> bool:
        """Whether it gives sets of answers a budget (IDUE paper, eq. 16)."""
        return False

    def check(self, size: int) -> None:
        """Refuse a rule that does not fit ``size`` levels.

        Raises
        ------
        InputError
            It is made for another number of levels, or a pair budget is out of range.
        """

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(self.name)

    # -- pairs --------------------------------------------------------------

    def demanded(self, epsilons: Array, needed: Needed) -> Array:
        """``bounds`` with ``inf`` for the pairs ``(i, i)`` that need no protection.

        Raises
        ------
        InputError
            More than 20,000 levels: the matrix would not fit in memory.
        """
        if epsilons.size > _MOST_DENSE_LEVELS:
            allowed = f"at most {_MOST_DENSE_LEVELS} for a dense matrix of pair budgets"
            raise InputError("levels", epsilons.size, allowed, "Use room(), which never builds it.")
        bounds = self.bounds(epsilons)
        if needed.all():
            return bounds
        bounds = bounds.copy()
        np.fill_diagonal(bounds, np.where(needed, np.diag(bounds), np.inf))
        return bounds

    def room(self, epsilons: Array, used: Array, needed: Needed) -> Array:
        """``min_j (r_ij - used_j)`` over the pairs that need protection."""
        return np.asarray(np.min(self.demanded(epsilons, needed) - used[None, :], axis=1))

    def tolerated(self, epsilons: Array) -> Array:
        """Per level the budget that a collection spends: its own, unless pairs have theirs."""
        return epsilons

    def has_partner(self, epsilons: Array) -> Needed:
        """Per level whether a pair with another level needs protection."""
        return np.full(epsilons.size, epsilons.size > 1)

    def leakage(self, epsilons: Array, item_counts: Counts, needed: Needed) -> Array:
        """The tightest bound, over all paths of pairs, from each level to any other input."""
        from scipy.sparse.csgraph import shortest_path

        matrix = self.demanded(epsilons, needed)
        graph = np.where(np.isinf(matrix), 0.0, matrix)  # csgraph reads 0 as "no edge"
        paths = shortest_path(graph, directed=False)
        # Two items of the same level: their own edge, or there and back over a neighbour.
        within = np.minimum(np.diag(matrix), 2 * np.min(matrix, axis=1))
        alone = (item_counts == 1) & np.isinf(np.diag(matrix))
        np.fill_diagonal(paths, np.where(alone, 0.0, within))
        return np.asarray(paths.max(axis=1))

    def largest_pairs(self, epsilons: Array) -> Array:
        """Per level the largest budget of a protected pair that it is part of."""
        bounds = self.bounds(epsilons)
        return np.max(np.where(np.isinf(bounds), 0.0, bounds), axis=1)

    def bounds_with(self, epsilons: Array, level: int) -> Array:
        """Row ``r_i,level`` of the pair budgets, shape ``(t,)``."""
        return self.bounds(epsilons)[level]

    def shares(self, epsilons: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
        """Derivative of ``r_ij`` by the budget of level ``i``; of a pair ``(i, i)`` the whole."""
        return np.where(i == j, 1.0, 0.5)

    # -- other budgets ------------------------------------------------------

    def scaled(self, scale: float | Array) -> PairRule:
        """The rule when all budgets are multiplied by ``scale``, one number or one a level."""
        return self

    def relaxed(self, level: int, amount: float) -> PairRule:
        """The rule when ``amount`` nats are added to the budgets of one level."""
        return self

    def without(self, spent: Array) -> PairRule:
        """The rule when the levels have spent part of their budgets."""
        return self

    def of_levels(self, used: NDArray[np.intp]) -> PairRule:
        """The rule for some of the levels."""
        return self

    # -- solving ------------------------------------------------------------

    def reduction(self, epsilons: Array) -> Reduction | None:
        """The rule's way of solving with one or two variables, if it has one."""
        return None

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...] | None:
        """Ends of the log likelihoods that one report may have, for all extreme rays.

        Each window is a smallest and a largest value per level, shape ``(t,)`` each; any
        choice of values inside one window keeps every pair. ``None`` where they are not known
        in closed form. Superfluous windows are harmless.
        """
        return None

    def log_odds_rows(self, epsilons: Array, needed: Needed) -> tuple[Any, Array, Array, Any]:
        """Rows ``s_i + w_j <= r_ij``: on ``(s, w)``, on auxiliaries, limits, prices."""
        import scipy.sparse as sp

        i, j, limit = self._finite_pairs(epsilons, needed)
        levels = sp.hstack([_picker(i, epsilons.size), _picker(j, epsilons.size)])
        price = self._pair_price(epsilons, i, j, np.ones(limit.size))
        return levels, np.zeros((limit.size, 0)), limit, price

    def half_rows(self, epsilons: Array, needed: Needed, b: Array) -> tuple[Any, Array, Array, Any]:
        """Rows ``e^r_ij b_i + b_j >= 1``, divided by ``e^r_ij``, in ``x = 1/2 - b``; likewise."""
        import scipy.sparse as sp

        i, j, budgets = self._finite_pairs(epsilons, needed)
        shrink, size = np.exp(-budgets), epsilons.size
        levels = _picker(i, size) + sp.diags_array(shrink) @ _picker(j, size)
        price = self._pair_price(epsilons, i, j, shrink * (1 - b[j]))
        return levels, np.zeros((budgets.size, 0)), (1 - shrink) / 2, price

    def _finite_pairs(
        self, epsilons: Array, needed: Needed
    ) -> tuple[NDArray[np.intp], NDArray[np.intp], Array]:
        matrix = self.demanded(epsilons, needed)
        i, j = np.nonzero(np.isfinite(matrix))
        return i, j, matrix[i, j]

    def _pair_price(
        self, epsilons: Array, i: NDArray[np.intp], j: NDArray[np.intp], slope: Array
    ) -> sp.csr_array:
        import scipy.sparse as sp

        twice = i != j  # the pair (i, i) belongs to level i once
        row = np.concatenate([i, j[twice]])
        column = np.concatenate([np.arange(i.size), np.flatnonzero(twice)])
        shares = np.concatenate(
            [self.shares(epsilons, i, j), self.shares(epsilons, j[twice], i[twice])]
        )
        slopes = np.concatenate([slope, slope[twice]])
        return sp.csr_array((shares * slopes, (row, column)), shape=(epsilons.size, i.size))


def _picker(index: NDArray[np.intp], size: int) -> sp.csr_array:
    import scipy.sparse as sp

    count = index.size
    return sp.csr_array((np.ones(count), (np.arange(count), index)), shape=(count, size))
