"""Pair rules: how the budgets of two levels become the budget of telling them apart.

A rule is an object that answers whatever is asked of it; nothing outside asks which rule it
is. Adding one is a class with ``name`` and ``bounds`` (see :class:`PairRule`), which the general
solvers take as it is; a faster way of its own, as the rules min and avg have, is optional.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.arrays import Array, Flags
from planner.errors import InputError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, MAX_EPSILON

if TYPE_CHECKING:
    import scipy.sparse as sp

    RowParts = tuple[sp.sparray, Array | None, Array, sp.sparray]

Index = NDArray[np.intp]

SHORT_OF_POLE = 1 - 1e-12  # where a search ends before the error is infinite


class PrivacyRows(NamedTuple):
    """Privacy as ``matrix @ (coordinates, auxiliaries) <= limit``.

    ``price``, one row a level: the derivative of each row's limit by the level's budget, so that
    ``price @ multipliers`` are shadow prices.
    """

    matrix: sp.csr_array
    limit: Array
    price: sp.csr_array

    @classmethod
    def of(
        cls, levels: sp.sparray, extra: Array | None, limit: Array, price: sp.sparray
    ) -> PrivacyRows:
        """The rows from their parts on the coordinates and on the auxiliaries."""
        import scipy.sparse as sp

        matrix = levels
        if extra is not None:
            matrix = sp.hstack([levels, sp.csr_array(extra)])
        return cls(sp.csr_array(matrix), limit, sp.csr_array(price))


class Reduction(NamedTuple):
    """A model's optimum in one variable ``T`` (opt0: and a balance), however many levels there are.

    A level's coordinate, of opt0 ``(s_i + w_i) / 2``, is the smaller of two lines in ``T``: up to
    its kink the level is *saturated*, it follows the largest; beyond, its own budget holds it.
    The lines' ``offsets``, ``slopes`` and derivatives by the level's budget, ``prices(T)``, have
    shape ``(2, t)``. The best ``T`` lies between ``ends``.
    """

    ends: tuple[float, float]
    kinks: Array
    offsets: Array
    slopes: Array
    prices: Callable[[float], Array]

    @classmethod
    def of(
        cls,
        kinks: Array,
        offsets: Array,
        slopes: Array,
        prices: Callable[[float], Array],
    ) -> Reduction:
        """The reduction between the first kink and the last, or where a coordinate falls to 0."""
        # The second line of a level falls to 0 at its pole: T stays just short of the first one.
        pole = float(np.min(-offsets[1] / slopes[1])) * SHORT_OF_POLE
        ends = float(kinks.min()), min(pole, float(kinks.max()))
        return cls(ends, kinks, offsets, slopes, prices)

    @classmethod
    def half(cls, grown: Array, shares: Array) -> Reduction:
        """opt2's ``x_i``, by ``b_i >= (1 + grown[0]) z`` and ``1 - b_i <= (1 + grown[1]) z``.

        These grow with the budget times ``shares``. ``T`` is ``1/2 - z``: no digits of small
        budgets are lost.
        """
        # With x = 1/2 - b and z = 1/2 - T both conditions are lines in T, of which x is at most
        # the smaller: x <= (1 + g_0) T - g_0 / 2 and x <= g_1 / 2 - (1 + g_1) T.
        signs = np.array([[1.0], [-1.0]])
        offsets = -signs * grown / 2
        slopes = signs * (1 + grown)
        prices = shares * (1 + grown)
        # The two lines of a level cross at T = (g_0 + g_1) / (2 (2 + g_0 + g_1)).
        both = grown.sum(axis=0)
        kinks = both / (2 + both) / 2
        return cls.of(kinks, offsets, slopes, lambda t: prices * (0.5 - t))

    def at(self, total: float) -> Array:
        """The coordinates at ``T``, shape ``(t,)``."""
        return np.asarray((self.offsets + self.slopes * total).min(axis=0))

    def rows(self, x: Array) -> PrivacyRows:
        """The lines as rows on one coordinate a level and ``T``, with their prices at ``x``."""
        import scipy.sparse as sp

        # The smallest T at which no coordinate is above its first line.
        total = np.max((x - self.offsets[0]) / self.slopes[0])
        # A row x_i - slope T <= offset is divided by its largest number, which may be e^50.
        share = 1 / np.maximum(1.0, np.abs(self.slopes))
        levels = sp.vstack(list(map(sp.diags_array, share)))
        extra = -(share * self.slopes).reshape(-1, 1)
        limit = (share * self.offsets).ravel()
        prices = sp.hstack(list(map(sp.diags_array, share * self.prices(float(total)))))
        return PrivacyRows.of(levels, extra, limit, prices)

    def saturated(self, total: float) -> tuple[Array, Array]:
        """The share of each level that is saturated just below ``T`` and just above."""
        below = np.where(self.kinks >= total, 1.0, 0.0)
        above = np.where(self.kinks > total, 1.0, 0.0)
        return below, above


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
        if self.name in (*_NAMED, ONE_SIDED):
            return self.name
        return tuple(map(tuple, self.bounds(epsilons).tolist()))

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
            columns.append(np.asarray(getattr(self, field.name)).tobytes())
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
        return np.asarray(np.where(np.diag(~own_pairs), np.inf, matrix))

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``min_j (r_ij - used_j)``."""
        matrix = self.demanded(epsilons, own_pairs, against=against)
        return np.asarray(np.min(matrix - used, axis=1))

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """The tightest bound, over all paths of pairs, from each level to any other item."""
        from scipy.sparse.csgraph import shortest_path

        matrix = self.demanded(epsilons, own_pairs, against=against)
        # Log ratios add up along a path of pairs: the shortest path is the tightest bound.
        paths = shortest_path(np.where(np.isinf(matrix), 0.0, matrix))  # 0 is "no edge"
        # Two items of the same level: their own edge, or there and back over others.
        back = paths + paths.T
        np.fill_diagonal(back, np.diag(matrix))
        np.fill_diagonal(paths, np.where(own_pairs, back.min(axis=1), 0.0))
        return np.asarray(paths.max(axis=1))

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """Per level the largest budget of a protected pair that it is part of."""
        matrix = self.demanded(epsilons, own_pairs, against=against)
        return np.asarray(np.max(np.where(np.isinf(matrix), 0.0, matrix), axis=1))

    def shares(self, epsilons: Array, i: Index, j: Index) -> tuple[Array, Array]:
        """Derivatives of ``r_ij`` by the budgets of ``i`` and of ``j``; their sum if ``i = j``."""
        return np.full(i.size, 0.5), np.full(i.size, 0.5)

    # -- other budgets ------------------------------------------------------

    def mapped(self, change: Callable[[Array], Array]) -> PairRule:
        """The rule with its budgets by level changed, where it has some beside the policy's."""
        return self

    def scaled(self, scale: float | Array) -> PairRule:
        """The rule when all budgets are multiplied by ``scale``, one number or one a level."""
        return self.mapped(lambda budgets: budgets * scale)

    def relaxed(self, level: int, amount: float) -> PairRule:
        """The rule when ``amount`` nats are added to the budgets of one level."""
        return self.mapped(
            lambda budgets: budgets + amount * (np.arange(budgets.size) == level)
        )

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
        levels = sp.hstack([_picker(i, epsilons.size), _picker(j, epsilons.size)])
        return (
            levels,
            None,
            limit,
            self._pair_price(epsilons, i, j, np.ones(limit.size)),
        )

    def half_rows(self, epsilons: Array, own_pairs: Flags, b: Array) -> RowParts:
        """Rows ``e^r_ij b_i + b_j >= 1``, divided by ``e^r_ij``, in ``x = 1/2 - b``; likewise."""
        import scipy.sparse as sp

        i, j, budgets = self._finite_pairs(epsilons, own_pairs)
        # With b = 1/2 - x: x_i + e^-r x_j <= (1 - e^-r) / 2.
        shrink = np.exp(-budgets)
        size = epsilons.size
        levels = _picker(i, size) + sp.diags_array(shrink) @ _picker(j, size)
        price = self._pair_price(epsilons, i, j, shrink * (1 - b[j]))
        return levels, None, (1 - shrink) / 2, price

    def _finite_pairs(
        self, epsilons: Array, own_pairs: Flags
    ) -> tuple[Index, Index, Array]:
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
        shape = (epsilons.size, i.size)
        return sp.csr_array((derivatives, (levels, pairs)), shape=shape)


def _picker(index: Index, size: int) -> sp.csr_array:
    """A row for each number of ``index``, with 1 in its column."""
    import scipy.sparse as sp

    count = index.size
    places = (np.arange(count), index)
    return sp.csr_array((np.ones(count), places), shape=(count, size))


def _largest_other(values: Array, own_pairs: Flags) -> Array:
    """Per level the largest value of all levels; its own counts only where it has several items."""
    largest = np.full(values.size, values.max())
    first = int(np.argmax(values))
    if not own_pairs[first]:
        largest[first] = np.delete(values, first).max()
    return largest


@dataclass(frozen=True, slots=True, eq=False)
class MinRule(PairRule):
    """MinID-LDP (IDUE paper, definition 3): ``r_ij = min(eps_i, eps_j)``; all in O(t).

    Formulas are for ``r_ij = min(eps_i, against_j)``, of which it is the case that both are alike.
    """

    name: ClassVar[str] = "min"
    saturates: ClassVar[bool] = True
    covers_sets: ClassVar[bool] = True

    def _budgets(
        self, epsilons: Array, *, against: bool = False
    ) -> tuple[Array, Array]:
        """How far a report may speak for each level and against it, in nats; or the reverse."""
        lowering = self.lowering
        if lowering is None:
            lowering = epsilons
        if against:
            return lowering, epsilons
        return epsilons, lowering

    def bounds(self, epsilons: Array) -> Array:
        return np.minimum.outer(*self._budgets(epsilons))

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        # min(eps_i, against_j) - used_j is least where used_j, or used_j - against_j, is largest.
        mine, others = self._budgets(epsilons, against=against)
        by_own = mine - _largest_other(used, own_pairs)
        by_others = -_largest_other(used - others, own_pairs)
        return np.minimum(by_own, by_others)

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``min(eps_i, 2 min eps)`` (table I), or the largest other budget if that is less."""
        mine, others = self._budgets(epsilons, against=against)
        direct = np.minimum(mine, _largest_other(others, own_pairs))
        # Or by way of a third item k: r_ik + r_kj is at most against_k + eps_k.
        return np.minimum(direct, (mine + others).min())

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        mine, others = self._budgets(epsilons, against=against)
        return np.minimum(mine, _largest_other(others, own_pairs))

    def windows(self, epsilons: Array) -> Iterator[tuple[Array, Array]]:
        """``[max(0, E - against), min(E, eps)]`` for every range ``E`` that can be tight.

        Of those up to the smallest ``against`` the largest holds all others.
        """
        up, down = self._budgets(epsilons)
        most = self.largest_range(epsilons)
        ranges = np.array(sorted({*up, *down, most}))
        ranges = ranges[ranges <= most]
        first = max(1, int(np.searchsorted(ranges, down.min(), "right")))
        for span in ranges[first - 1 :]:
            high = np.minimum(span, up)
            low = np.maximum(0.0, span - down)
            yield np.minimum(low, high), high

    def largest_range(self, epsilons: Array) -> float:
        """No more than the largest budget either way, or both budgets of one level together."""
        up, down = self._budgets(epsilons)
        return float(min(up.max(), down.max(), (up + down).min()))

    def reduction(self, epsilons: Array) -> Reduction | None:
        """``s_i + w_i = 2 min(eps_i, T) - T``: a level with ``eps_i >= T`` is saturated."""
        none = np.zeros(epsilons.size)
        ones = np.ones(epsilons.size)
        # Half of 2 min(eps, T) - T: the line T / 2 up to the kink at eps, eps - T / 2 beyond.
        offsets = np.array([none, epsilons])
        slopes = np.array([ones, -ones]) / 2
        return Reduction.of(epsilons, offsets, slopes, lambda _: np.array([none, ones]))

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction | None:
        """``b_i = max(z, 1 - z e^eps_i)``."""
        grown = np.array([0 * epsilons, np.expm1(epsilons)])
        return Reduction.half(grown, np.array([[0.0], [1.0]]))

    def log_odds_rows(self, epsilons: Array, own_pairs: Flags) -> RowParts:
        """4t rows: ``s_i <= S, w_i <= W, s_i + W <= eps_i, w_i + S <= against_i``."""
        import scipy.sparse as sp

        if not own_pairs.all():
            return PairRule.log_odds_rows(self, epsilons, own_pairs)
        up, down = self._budgets(epsilons)
        t = epsilons.size
        # Rows against a level whose lowering is unlimited do not bind; if none binds, there is
        # no S, and rows s_i <= S go as well.
        binds = np.isfinite(down)
        below_largest = np.full(t, binds.any())
        kept = np.concatenate([below_largest, np.full(2 * t, True), binds])
        eye = sp.eye_array(t)
        both = sp.eye_array(2 * t)
        ones = np.ones((t, 1))
        none = np.zeros((t, 1))
        # On the auxiliaries (S, W), the four kinds of rows one below the other.
        extra = np.block([[-ones, none], [none, -ones], [none, ones], [ones, none]])
        extra = extra[kept]
        limit = np.concatenate([np.zeros(2 * t), up, down])[kept]
        price = sp.hstack([sp.csr_array((t, 2 * t)), eye, eye]).tocsc()[:, kept]
        levels = sp.vstack([both, both]).tocsr()[kept]
        auxiliaries_used = extra.any(axis=0)
        return levels, extra[:, auxiliaries_used], limit, price


@dataclass(frozen=True, slots=True, eq=False)
class OneSidedRule(MinRule):
    """A report may speak for an item by ``eps_i`` and against it by ``lowering_i``, if that binds.

    ``r_ij = min(eps_i, lowering_j)``, ``inf`` where only the others' budgets limit what is said
    against the level's items: see docs/theory/one-sided.md.
    """

    name: ClassVar[str] = "one-sided"
    saturates: ClassVar[bool] = False
    covers_sets: ClassVar[bool] = False
    keeps_own: ClassVar[bool] = False
    directed: ClassVar[bool] = True
    lowering: Array

    def __post_init__(self) -> None:
        self.lowering.setflags(write=False)

    def check(self, size: int) -> None:
        if self.lowering.shape != (size,):
            remedy = "Give one budget a level, inf where none is stated."
            raise InputError(
                "against", self.lowering.tolist(), f"{size} budgets", remedy
            )
        arguments.require_budgets("against", self.lowering, unlimited=True)

    def shares(self, epsilons: Array, i: Index, j: Index) -> tuple[Array, Array]:
        # The smaller of the two decides, and takes the whole derivative.
        up = epsilons[i] <= self.lowering[j]
        return np.where(up, 1.0, 0.0), np.where(up, 0.0, 1.0)

    def mapped(self, change: Callable[[Array], Array]) -> OneSidedRule:
        return OneSidedRule(change(self.lowering))

    def reduction(self, epsilons: Array) -> None:
        return None

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction | None:
        """``b_i = max(z, (1 - z) e^-eps_i)``, where nothing else limits what is said against it."""
        if not own_pairs.all() or np.isfinite(self.lowering).any():
            return None
        shrunk = np.exp(-epsilons)
        none = np.zeros(epsilons.size)
        ones = np.ones(epsilons.size)
        offsets = np.array([none, (1 - shrunk) / 2])
        slopes = np.array([ones, -shrunk])
        # The lines cross where z = (1 - z) e^-eps: T = 1/2 - z = tanh(eps / 2) / 2.
        kinks = np.tanh(epsilons / 2) / 2

        def prices(total: float) -> Array:
            return np.array([none, shrunk * (0.5 + total)])

        return Reduction.of(kinks, offsets, slopes, prices)


@dataclass(frozen=True, slots=True, eq=False)
class AvgRule(PairRule):
    """AvgID-LDP (IDUE paper, section VIII): ``r_ij = (eps_i + eps_j) / 2``; all in O(t)."""

    name: ClassVar[str] = "avg"

    def bounds(self, epsilons: Array) -> Array:
        return (epsilons[:, None] + epsilons[None, :]) / 2

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        return epsilons / 2 + np.min(epsilons / 2 - used)

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``(eps_i + max eps) / 2``, over other items; no path is tighter."""
        return (epsilons + _largest_other(epsilons, own_pairs)) / 2

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        return (epsilons + epsilons.max()) / 2

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """One window, ``[-eps/2, eps/2]``, up to a shift of all values."""
        return ((-epsilons / 2, epsilons / 2),)

    def reduction(self, epsilons: Array) -> Reduction:
        """``s_i = eps_i / 2 + d, w_i = eps_i / 2 - d``: only the balance ``d`` is free."""
        both = np.tile(epsilons / 2, (2, 1))
        prices = np.full(both.shape, 0.5)
        return Reduction((0.0, 0.0), 0 * epsilons, both, 0 * both, lambda _: prices)

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction:
        """``b_i = max(z e^(-eps_i / 2), 1 - z e^(eps_i / 2))``."""
        # 1 + grown is e^(-eps / 2) and e^(eps / 2).
        ends = np.multiply.outer([-0.5, 0.5], epsilons)
        return Reduction.half(np.expm1(ends), np.array([[0.5], [0.5]]))

    def log_odds_rows(self, epsilons: Array, own_pairs: Flags) -> RowParts:
        """2t rows: ``s_i - D <= eps_i / 2, w_i + D <= eps_i / 2``."""
        import scipy.sparse as sp

        t = epsilons.size
        eye = sp.eye_array(t)
        ones = np.ones((t, 1))
        balance = np.concatenate([-ones, ones])  # of D, the one auxiliary
        limit = np.tile(epsilons / 2, 2)
        price = sp.hstack([eye, eye]) / 2
        return sp.eye_array(2 * t), balance, limit, price


@dataclass(frozen=True, slots=True, eq=False)
class MatrixRule(PairRule):
    """A policy graph (IDUE paper, section VIII): ``r_ij`` as given, ``inf`` for an open pair."""

    name: ClassVar[str] = "matrix"
    by_level: ClassVar[bool] = False
    pairs: Array

    def __post_init__(self) -> None:
        self.pairs.setflags(write=False)

    @property
    def open_pairs(self) -> bool:
        return bool(np.isinf(self.pairs).any())

    @property
    def directed(self) -> bool:
        return not np.array_equal(self.pairs, self.pairs.T)

    def check(self, size: int) -> None:
        matrix = self.pairs
        if matrix.shape != (size, size):
            remedy = "Give the pair budgets of all levels in their order."
            allowed = f"a {size} x {size} matrix, one row per level"
            raise InputError("rule", matrix.shape, allowed, remedy)
        in_range = (matrix > 0) & (matrix <= MAX_EPSILON)
        # NaN is neither in the range nor infinite.
        for i, j in np.argwhere(~(in_range | np.isposinf(matrix))):
            allowed = f"{BUDGET_RANGE}, or inf for a pair without protection"
            remedy = "Give inf where a pair needs none."
            if matrix[i, j] > 0:
                remedy = BUDGET_REMEDY
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)
        for i in np.flatnonzero(np.isinf(matrix).all(axis=1)):
            remedy = (
                "A level that is protected against nothing needs no randomisation: "
                "leave it out."
            )
            allowed = "finite for at least one pair"
            raise InputError(f"rule[{i}]", "inf everywhere", allowed, remedy)
        # A pair is open both ways, or not at all.
        for i, j in np.argwhere(np.isinf(matrix) < np.isinf(matrix.T)):
            remedy = "Give both directions a budget, or inf to both."
            allowed = f"inf, as rule[{j}][{i}] is"
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)

    def bounds(self, epsilons: Array) -> Array:
        return self.pairs

    def shares(self, epsilons: Array, i: Index, j: Index) -> tuple[Array, Array]:
        """What is added to a level's budget is added to all of its pairs."""
        return np.ones(i.size), np.where(i == j, 0.0, 1.0)

    def scaled(self, scale: float | Array) -> MatrixRule:
        if np.ndim(scale):
            remedy = "All pair budgets are scaled together."
            raise InputError(
                "scale", scale, "one number for a matrix of pair budgets", remedy
            )
        return MatrixRule(self.pairs * float(scale))

    def relaxed(self, level: int, amount: float) -> MatrixRule:
        # All pairs of the level, in both directions; its own pair once.
        here = np.arange(len(self.pairs)) == level
        return MatrixRule(self.pairs + amount * (here[:, None] | here[None, :]))

    def without(self, spent: Array) -> MatrixRule:
        """Each pair budget less the larger of what the two levels have spent."""
        return MatrixRule(self.pairs - np.maximum.outer(spent, spent))


_NAMED: dict[str, PairRule] = {rule.name: rule for rule in (MinRule(), AvgRule())}
ONE_SIDED = OneSidedRule.name

DEFAULT_RULE = "min"
ALLOWED_RULES = '"min", "avg", "one-sided" or a matrix of pair budgets'


def rule_of(
    rule: str | ArrayLike | PairRule, size: int, against: Array | None = None
) -> PairRule:
    """The rule called ``rule``, or that of a matrix of pair budgets, for ``size`` levels.

    ``against`` are budgets of the rule "one-sided" alone, ``inf`` where none is stated.

    Examples
    --------
    >>> rule_of("min", 2).name, rule_of([[1, 2], [2, 3]], 2).name
    ('min', 'matrix')
    """
    pair_rule: PairRule
    match rule:
        case PairRule():
            pair_rule = rule
        case str():
            if rule not in (*_NAMED, ONE_SIDED):
                raise InputError(
                    "rule", rule, ALLOWED_RULES, f'Leave it out for "{DEFAULT_RULE}".'
                )
            lowering = against
            if lowering is None:
                lowering = np.full(size, np.inf)
            pair_rule = _NAMED.get(rule) or OneSidedRule(lowering)
        case _:
            pair_rule = MatrixRule(_numbers_of(rule))
    if against is not None and pair_rule.lowering is not against:
        allowed = f'left out: only the rule "{ONE_SIDED}" tells "for" from "against"'
        raise InputError(
            "against", against.tolist(), allowed, f'Write rule = "{ONE_SIDED}".'
        )
    pair_rule.check(size)
    return pair_rule


def _numbers_of(matrix: ArrayLike) -> Array:
    """A copy: the caller's array stays the caller's."""
    try:
        numbers = np.array(matrix)
        if numbers.dtype.kind not in "iuf":
            raise TypeError
    except (TypeError, ValueError):
        remedy = "One row per level, as many numbers in each; inf where none is needed."
        raise InputError(
            "rule", matrix, "a rectangular list of numbers", remedy
        ) from None
    return numbers.astype(np.float64)
