"""Pair rules: how the budgets of two levels become the budget of telling them apart.

A rule is an object that answers whatever is asked of it; nothing outside asks which rule it
is. Adding one is a class with ``name`` and ``bounds`` (see :class:`PairRule`), which the general
solvers take as it is; a faster way of its own, as the rules min and avg have, is optional.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.errors import InputError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, MAX_EPSILON

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


def smallest_other(values: Array, own: NDArray[np.bool_]) -> Array:
    """Per level the smallest value of all levels; its own counts only where ``own`` says so.

    Examples
    --------
    >>> smallest_other(np.array([1.0, 2.0, 3.0]), np.array([False, False, True])).tolist()
    [2.0, 1.0, 1.0]
    """
    result = np.full(values.size, values.min())
    first = int(np.argmin(values))
    if not own[first]:
        result[first] = np.min(np.delete(values, first), initial=np.inf)
    return result


def largest_other(values: Array, own: NDArray[np.bool_]) -> Array:
    """The largest one likewise."""
    return -smallest_other(-values, own)


@dataclass(frozen=True, slots=True, eq=False)
class MinRule(PairRule):
    """MinID-LDP (IDUE paper, definition 3): ``r_ij = min(eps_i, eps_j)``; all in O(t)."""

    name: ClassVar[str] = "min"

    def plain(self, epsilons: Array) -> str:
        return self.name

    @property
    def words(self) -> str:
        return "the smaller of the two budgets"

    @property
    def saturates(self) -> bool:
        return True

    @property
    def covers_sets(self) -> bool:
        return True

    def bounds(self, epsilons: Array) -> Array:
        return np.minimum(epsilons[:, None], epsilons[None, :])

    def bounds_with(self, epsilons: Array, level: int) -> Array:
        return np.minimum(epsilons, epsilons[level])

    def room(self, epsilons: Array, used: Array, needed: Needed) -> Array:
        most, least = largest_other(used, needed), smallest_other(epsilons - used, needed)
        return np.minimum(epsilons - most, least)

    def leakage(self, epsilons: Array, item_counts: Counts, needed: Needed) -> Array:
        """``min(eps_i, 2 min eps)`` (table I); without the pair ``(i, i)`` to the others."""
        largest = largest_other(epsilons, needed)
        return np.minimum(np.minimum(epsilons, largest), 2 * epsilons.min())

    def largest_pairs(self, epsilons: Array) -> Array:
        return epsilons

    def shares(self, epsilons: Array, i: NDArray[np.intp], j: NDArray[np.intp]) -> Array:
        """The smaller budget decides; of two equal ones each has half."""
        smaller = np.where(epsilons[i] < epsilons[j], 1.0, 0.0)
        return np.where(i == j, 1.0, np.where(epsilons[i] == epsilons[j], 0.5, smaller))

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """``[max(0, E - eps), min(E, eps)]`` for every range ``E`` that can be tight."""
        most = 2 * float(epsilons.min())
        ranges = set(epsilons[epsilons <= most].tolist())
        if epsilons.max() > most:
            ranges.add(most)
        return tuple(
            (np.maximum(0.0, span - epsilons), np.minimum(span, epsilons))
            for span in sorted(ranges)
        )

    def reduction(self, epsilons: Array) -> Reduction:
        return _MinReduction(epsilons)

    def log_odds_rows(self, epsilons: Array, needed: Needed) -> tuple[Any, Array, Array, Any]:
        """4t rows: ``s_i <= S, w_i <= W, s_i + W <= eps_i, w_i + S <= eps_i``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.log_odds_rows(self, epsilons, needed)
        t = epsilons.size
        eye, zero = sp.eye_array(t), sp.csr_array((t, t))
        one, none = np.ones((t, 1)), np.zeros((t, 1))
        levels = sp.block_array([[eye, zero], [zero, eye], [eye, zero], [zero, eye]])
        extra = np.block([[-one, none], [none, -one], [none, one], [one, none]])
        limit = np.concatenate([np.zeros(2 * t), np.tile(epsilons, 2)])
        return levels, extra, limit, sp.hstack([zero, zero, eye, eye])

    def half_rows(self, epsilons: Array, needed: Needed, b: Array) -> tuple[Any, Array, Array, Any]:
        """3t rows with the auxiliary ``X = max x``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.half_rows(self, epsilons, needed, b)
        t = epsilons.size
        eye, one, shrink = sp.eye_array(t), np.ones((t, 1)), np.exp(-epsilons)
        levels = sp.vstack([eye, eye, sp.diags_array(shrink)])
        extra = np.concatenate([-one, shrink[:, None], one])
        limit = np.concatenate([np.zeros(t), np.tile((1 - shrink) / 2, 2)])
        slopes = [np.zeros(t), shrink * (1 - b.min()), shrink * (1 - b)]
        return levels, extra, limit, sp.hstack([sp.diags_array(slope) for slope in slopes])


class _MinReduction:
    """``s_i + w_i = 2 min(eps_i, T) - T``: a level with ``eps_i >= T`` is saturated."""

    def __init__(self, epsilons: Array) -> None:
        self.epsilons = epsilons
        self.lowest, self.highest = float(epsilons.min()), float(epsilons.max())

    def totals(self) -> tuple[float, float]:
        return self.lowest, min(2 * self.lowest * SHORT_OF_POLE, self.highest)

    def kinks(self) -> Array:
        return np.unique(self.epsilons)

    def centre(self, total: float) -> Array:
        return np.minimum(self.epsilons, total) - total / 2

    def saturated(self, total: float) -> tuple[Array, Array]:
        return (self.epsilons >= total).astype(np.float64), (self.epsilons > total).astype(
            np.float64
        )

    def half_lines(self) -> HalfLines:
        none, one = np.zeros_like(self.epsilons), np.ones_like(self.epsilons)
        return HalfLines(none, one, one, np.exp(self.epsilons))

    def half_ends(self) -> tuple[float, float]:
        low = max(np.exp(-self.lowest) / 2 / SHORT_OF_POLE, 1 / (1 + np.exp(self.highest)))
        return float(low), float(1 / (1 + np.exp(self.lowest)))

    def half_gain(self, z: float, upper: Array) -> Array:
        return upper * np.exp(self.epsilons) * z

    def prices(self, gains: Array) -> Array:
        return gains


@dataclass(frozen=True, slots=True, eq=False)
class AvgRule(PairRule):
    """AvgID-LDP (IDUE paper, section VIII): ``r_ij = (eps_i + eps_j) / 2``; all in O(t)."""

    name: ClassVar[str] = "avg"

    def plain(self, epsilons: Array) -> str:
        return self.name

    @property
    def words(self) -> str:
        return "the average of the two budgets"

    def bounds(self, epsilons: Array) -> Array:
        return (epsilons[:, None] + epsilons[None, :]) / 2

    def bounds_with(self, epsilons: Array, level: int) -> Array:
        return (epsilons + epsilons[level]) / 2

    def room(self, epsilons: Array, used: Array, needed: Needed) -> Array:
        return epsilons / 2 + smallest_other(epsilons / 2 - used, needed)

    def leakage(self, epsilons: Array, item_counts: Counts, needed: Needed) -> Array:
        """``(eps_i + max eps) / 2``, without ``(i, i)`` of the others; no path is tighter."""
        return (epsilons + largest_other(epsilons, needed)) / 2

    def largest_pairs(self, epsilons: Array) -> Array:
        return (epsilons + epsilons.max()) / 2

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """One window, ``[-eps/2, eps/2]``, up to a shift of all values."""
        return ((-epsilons / 2, epsilons / 2),)

    def reduction(self, epsilons: Array) -> Reduction:
        return _AvgReduction(epsilons)

    def log_odds_rows(self, epsilons: Array, needed: Needed) -> tuple[Any, Array, Array, Any]:
        """2t rows: ``s_i - D <= eps_i / 2, w_i + D <= eps_i / 2``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.log_odds_rows(self, epsilons, needed)
        t = epsilons.size
        eye, one = sp.eye_array(t), np.ones((t, 1))
        price = sp.hstack([eye, eye]) / 2
        return sp.eye_array(2 * t), np.concatenate([-one, one]), np.tile(epsilons / 2, 2), price

    def half_rows(self, epsilons: Array, needed: Needed, b: Array) -> tuple[Any, Array, Array, Any]:
        """2t rows with the auxiliary ``z``: ``b_i >= z e^(-eps_i / 2)``."""
        import scipy.sparse as sp

        if not needed.all():
            return PairRule.half_rows(self, epsilons, needed, b)
        t = epsilons.size
        one, shrink = np.ones((t, 1)), np.exp(-epsilons / 2)
        z = np.max((1 - b) * shrink)
        levels = sp.vstack([sp.eye_array(t), sp.diags_array(shrink)])
        extra = np.concatenate([shrink[:, None], -one])
        limit = np.concatenate([np.full(t, 0.5), -shrink / 2])
        slopes = [z * shrink / 2, shrink * (1 - b) / 2]
        return levels, extra, limit, sp.hstack([sp.diags_array(slope) for slope in slopes])


class _AvgReduction:
    """``s_i = eps_i / 2 + d, w_i = eps_i / 2 - d``: only the balance ``d`` is free."""

    def __init__(self, epsilons: Array) -> None:
        self.epsilons = epsilons
        self.lowest = float(epsilons.min())

    def totals(self) -> tuple[float, float]:
        return self.lowest, self.lowest

    def kinks(self) -> Array:
        return np.zeros(0)

    def centre(self, total: float) -> Array:
        return self.epsilons / 2

    def saturated(self, total: float) -> tuple[Array, Array]:
        half = np.full(self.epsilons.size, 0.5)
        return half, half

    def half_lines(self) -> HalfLines:
        none, one = np.zeros_like(self.epsilons), np.ones_like(self.epsilons)
        return HalfLines(none, np.exp(-self.epsilons / 2), one, np.exp(self.epsilons / 2))

    def half_ends(self) -> tuple[float, float]:
        half = self.lowest / 2
        return float(np.exp(-half) / 2 / SHORT_OF_POLE), float(np.exp(half) / 2)

    def half_gain(self, z: float, upper: Array) -> Array:
        _, down, _, up = self.half_lines()
        return (upper * up + (1 - upper) * down) * z / 2

    def prices(self, gains: Array) -> Array:
        return gains


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRule(PairRule):
    """A policy graph (IDUE paper, section VIII): ``r_ij`` as given, ``inf`` for an open pair."""

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


class ApartReduction:
    """The tables in which level ``apart``, of a single item, exceeds its own pair.

    A :class:`Reduction`. Without the pair ``(i, i)`` of one-item levels, ``s_i + w_j <= r_ij``
    is left for ``i != j``. Rules min and avg: unless one level p has both the largest s and the
    largest w (for avg: above half the budgets), the tables are those with all pairs. If it has,
    with ``T = s_p + w_p > eps_p``, for all others

        s_i = r_ip - w_p,    w_i = r_ip - s_p,    so    s_i + w_i = 2 r_ip - T

    which keeps every other pair: ``r_ip + r_jp - T <= r_ij``. Of opt2, with ``z = b_p``, likewise
    ``b_i = max(1 - e^r_ip z, e^-r_ip (1 - z))``. Every bound that this uses is a pair with p.
    """

    def __init__(self, rule: PairRule, epsilons: Array, apart: int) -> None:
        size = epsilons.size
        self.own = float(epsilons[apart])
        self.here = np.arange(size) == apart
        level, all_levels = np.full(size, apart), np.arange(size)
        self.pairs = rule.bounds_with(epsilons, apart)
        self.lowest = float(self.pairs[~self.here].min())
        self.to_others = rule.shares(epsilons, all_levels, level) * ~self.here
        self.to_apart = rule.shares(epsilons, level, all_levels) * ~self.here

    def totals(self) -> tuple[float, float]:
        return self.own, max(self.own, 2 * self.lowest * SHORT_OF_POLE)

    def kinks(self) -> Array:
        return np.zeros(0)

    def centre(self, total: float) -> Array:
        return np.where(self.here, total / 2, self.pairs - total / 2)

    def saturated(self, total: float) -> tuple[Array, Array]:
        share = self.here.astype(np.float64)
        return share, share

    def half_lines(self) -> HalfLines:
        small = np.where(self.here, 0.0, np.exp(-self.pairs))
        down, up = np.where(self.here, 1.0, -small), np.where(self.here, 0.0, np.exp(self.pairs))
        return HalfLines(small, down, np.where(self.here, 0.0, 1.0), up)

    def half_ends(self) -> tuple[float, float]:
        high = 1 / (1 + np.exp(self.own))
        return float(min(high, np.exp(-self.lowest) / 2 / SHORT_OF_POLE)), float(high)

    def half_gain(self, z: float, upper: Array) -> Array:
        small, _, _, up = self.half_lines()
        return np.where(self.here, 0.0, upper * up * z + (1 - upper) * small * (1 - z))

    def prices(self, gains: Array) -> Array:
        return gains * self.to_others + self.here * float(gains @ self.to_apart)


_NAMED: dict[str, PairRule] = {rule.name: rule for rule in (MinRule(), AvgRule())}

DEFAULT_RULE = "min"
ALLOWED_RULES = '"min", "avg" or a matrix of pair budgets'


def rule_of(rule: str | ArrayLike | PairRule, size: int) -> PairRule:
    """The rule called ``rule``, or that of a matrix of pair budgets, for ``size`` levels.

    Raises
    ------
    InputError
        An unknown name, or a matrix that is not ``size x size``, symmetric and in range.

    Examples
    --------
    >>> rule_of("min", 2).name, rule_of([[1, 2], [2, 3]], 2).name
    ('min', 'matrix')
    """
    if isinstance(rule, PairRule):
        rule.check(size)
        return rule
    if isinstance(rule, str):
        if rule not in _NAMED:
            raise InputError("rule", rule, ALLOWED_RULES, f'Leave it out for "{DEFAULT_RULE}".')
        return _NAMED[rule]
    try:
        matrix = np.array(rule)  # a copy: the caller's array stays the caller's
        if matrix.dtype.kind not in "iuf":
            raise TypeError
    except (TypeError, ValueError):
        remedy = "One row per level, as many numbers in each; inf where none is needed."
        raise InputError("rule", rule, "a rectangular list of numbers", remedy) from None
    matrix_rule = MatrixRule(matrix.astype(np.float64))
    matrix_rule.check(size)
    return matrix_rule
