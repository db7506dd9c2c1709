"""The pair rules: min, one-sided, avg, and a matrix of pair budgets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from planner import arguments
from planner.arrays import Array, Flags
from planner.errors import InputError
from planner.limits import BUDGET_RANGE, BUDGET_REMEDY, MAX_EPSILON
from planner.policy.pair_rule import NAMED_RULES, ONE_SIDED, Index, PairRule
from planner.policy.privacy_rows import Reduction

if TYPE_CHECKING:
    from planner.policy.privacy_rows import RowParts


def _largest_other(values: Array, own_pairs: Flags) -> Array:
    """Per level the largest value of all levels; its own counts only where it has several items."""
    largest = np.full(values.size, values.max())
    top = int(np.argmax(values))
    if not own_pairs[top]:
        others = np.delete(values, top)
        largest[top] = others.max()
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
        """``eps`` and ``against``, how far a report may speak for a level; or the reverse."""
        lowering = self.lowering
        if lowering is None:
            lowering = epsilons
        if against:
            return lowering, epsilons
        return epsilons, lowering

    def bounds(self, epsilons: Array) -> Array:
        raising, lowering = self._budgets(epsilons)
        return np.minimum.outer(raising, lowering)

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        # min(eps_i, against_j) - used_j is least where used_j, or used_j - against_j, is largest.
        budget, others = self._budgets(epsilons, against=against)
        by_budget = budget - _largest_other(used, own_pairs)
        by_others = -_largest_other(used - others, own_pairs)
        return np.minimum(by_budget, by_others)

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``min(eps_i, 2 min eps)`` (table I), or the largest other budget if that is less."""
        budget, others = self._budgets(epsilons, against=against)
        direct = np.minimum(budget, _largest_other(others, own_pairs))
        # Or by way of a third item k: r_ik + r_kj is at most against_k + eps_k.
        by_third = (budget + others).min()
        return np.minimum(direct, by_third)

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        budget, others = self._budgets(epsilons, against=against)
        return np.minimum(budget, _largest_other(others, own_pairs))

    def windows(self, epsilons: Array) -> Iterator[tuple[Array, Array]]:
        """``[max(0, E - against), min(E, eps)]`` for every range ``E`` that can be tight.

        Of those up to the smallest ``against`` the largest holds all others. Source: the
        proposition of docs/theory/one-sided.md.
        """
        raising, lowering = self._budgets(epsilons)
        largest = self.largest_range(epsilons)
        # In a set, as np.unique would load NumPy's masked arrays for it.
        ends = {*raising.tolist(), *lowering.tolist(), largest}
        ranges = np.array(sorted(ends))
        ranges = ranges[ranges <= largest]
        up_to_smallest = int(np.searchsorted(ranges, lowering.min(), "right"))
        first = max(0, up_to_smallest - 1)
        for span in ranges[first:]:
            high = np.minimum(span, raising)
            low = np.maximum(0.0, span - lowering)
            yield np.minimum(low, high), high

    def largest_range(self, epsilons: Array) -> float:
        """No more than the largest budget either way, or both budgets of one level together."""
        raising, lowering = self._budgets(epsilons)
        both = raising + lowering
        largest = min(raising.max(), lowering.max())
        return float(min(largest, both.min()))

    def reduction(self, epsilons: Array) -> Reduction | None:
        """``s_i + w_i = 2 min(eps_i, T) - T``: a level with ``eps_i >= T`` is saturated."""
        none = np.zeros(epsilons.size)
        ones = np.ones(epsilons.size)
        prices = np.array([none, ones])
        # Half of 2 min(eps, T) - T: the line T / 2 up to the kink at eps, eps - T / 2 beyond.
        return Reduction.of(
            kinks=epsilons,
            offsets=np.array([none, epsilons]),
            slopes=np.array([ones, -ones]) / 2,
            prices=lambda _: prices,
        )

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction | None:
        """``b_i = max(z, 1 - z e^eps_i)``."""
        none = np.zeros(epsilons.size)
        growth = np.array([none, np.expm1(epsilons)])
        shares = np.array([[0.0], [1.0]])
        return Reduction.half(growth, shares)

    def log_odds_rows(self, epsilons: Array, own_pairs: Flags) -> RowParts:
        """4t rows: ``s_i <= S, w_i <= W, s_i + W <= eps_i, w_i + S <= against_i``.

        They say the same as all pairs, with ``S = max s`` and ``W = max w`` (proposition 1 of
        docs/theory/reduction.md).
        """
        import scipy.sparse as sp

        if not own_pairs.all():
            return PairRule.log_odds_rows(self, epsilons, own_pairs)
        raising, lowering = self._budgets(epsilons)
        t = epsilons.size
        # Rows against a level whose lowering is unlimited do not bind; if none binds, there is
        # no S, and rows s_i <= S go as well.
        binds = np.isfinite(lowering)
        below_largest = np.full(t, binds.any())
        always = np.full(2 * t, True)
        kept = np.concatenate([below_largest, always, binds])
        # The four kinds of rows stand one below the other: on (s, w) ...
        s_and_w = sp.eye_array(2 * t)
        levels = sp.vstack([s_and_w, s_and_w]).tocsr()
        # ... and on the auxiliaries (S, W).
        ones = np.ones(t)
        none = np.zeros(t)
        largest_s = np.concatenate([-ones, none, none, ones])
        largest_w = np.concatenate([none, -ones, ones, none])
        auxiliaries = np.column_stack([largest_s, largest_w])[kept]
        auxiliaries_used = auxiliaries.any(axis=0)
        limit = np.concatenate([none, none, raising, lowering])
        no_budget = sp.csr_array((t, 2 * t))
        budget = sp.eye_array(t)
        price = sp.hstack([no_budget, budget, budget]).tocsc()
        return (
            levels[kept],
            auxiliaries[:, auxiliaries_used],
            limit[kept],
            price[:, kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class OneSidedRule(MinRule):
    """A report may speak for an item by ``eps_i`` and against it by ``lowering_i``, if that binds.

    ``r_ij = min(eps_i, lowering_j)``, ``inf`` where only the others' budgets limit what is said
    against the level's items: see docs/theory/one-sided.md.
    """

    name: ClassVar[str] = ONE_SIDED
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
        first_decides = epsilons[i] <= self.lowering[j]
        of_first = np.where(first_decides, 1.0, 0.0)
        return of_first, 1.0 - of_first

    def mapped(self, change: Callable[[Array], Array]) -> OneSidedRule:
        return OneSidedRule(change(self.lowering))

    def reduction(self, epsilons: Array) -> None:
        return None

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction | None:
        """``b_i = max(z, (1 - z) e^-eps_i)``, where nothing else limits what is said against it."""
        limited = np.isfinite(self.lowering)
        if limited.any() or not own_pairs.all():
            return None
        shrinkage = np.exp(-epsilons)
        none = np.zeros(epsilons.size)
        ones = np.ones(epsilons.size)

        def prices(total: float) -> Array:
            return np.array([none, shrinkage * (0.5 + total)])

        return Reduction.of(
            # The lines cross where z = (1 - z) e^-eps: T = 1/2 - z = tanh(eps / 2) / 2.
            kinks=np.tanh(epsilons / 2) / 2,
            offsets=np.array([none, (1 - shrinkage) / 2]),
            slopes=np.array([ones, -shrinkage]),
            prices=prices,
        )


@dataclass(frozen=True, slots=True, eq=False)
class AvgRule(PairRule):
    """AvgID-LDP (IDUE paper, section VIII): ``r_ij = (eps_i + eps_j) / 2``; all in O(t)."""

    name: ClassVar[str] = "avg"

    def bounds(self, epsilons: Array) -> Array:
        return np.add.outer(epsilons, epsilons) / 2

    def room(
        self, epsilons: Array, used: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        halves = epsilons / 2
        left = halves - used
        return halves + left.min()

    def leakage(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        """``(eps_i + max eps) / 2``, over other items; no path is tighter."""
        largest = _largest_other(epsilons, own_pairs)
        return (epsilons + largest) / 2

    def largest_pairs(
        self, epsilons: Array, own_pairs: Flags, *, against: bool = False
    ) -> Array:
        return (epsilons + epsilons.max()) / 2

    def windows(self, epsilons: Array) -> tuple[tuple[Array, Array], ...]:
        """One window, ``[-eps/2, eps/2]``, up to a shift of all values."""
        return ((-epsilons / 2, epsilons / 2),)

    def reduction(self, epsilons: Array) -> Reduction:
        """``s_i = eps_i / 2 + d, w_i = eps_i / 2 - d``: only the balance ``d`` is free."""
        shape = (2, epsilons.size)
        prices = np.full(shape, 0.5)
        return Reduction(
            ends=(0.0, 0.0),  # T plays no role
            kinks=np.zeros(epsilons.size),
            offsets=np.tile(epsilons / 2, (2, 1)),
            slopes=np.zeros(shape),
            prices=lambda _: prices,
        )

    def half_reduction(self, epsilons: Array, own_pairs: Flags) -> Reduction:
        """``b_i = max(z e^(-eps_i / 2), 1 - z e^(eps_i / 2))``."""
        exponents = np.multiply.outer([-0.5, 0.5], epsilons)
        shares = np.array([[0.5], [0.5]])
        return Reduction.half(np.expm1(exponents), shares)

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
        is_open = np.isinf(matrix)
        in_range = (matrix > 0) & (matrix <= MAX_EPSILON)
        valid = in_range | np.isposinf(matrix)  # NaN is neither
        for i, j in np.argwhere(~valid):
            allowed = f"{BUDGET_RANGE}, or inf for a pair without protection"
            remedy = "Give inf where a pair needs none."
            if matrix[i, j] > 0:
                remedy = BUDGET_REMEDY
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)
        for i in np.flatnonzero(is_open.all(axis=1)):
            remedy = (
                "A level that is protected against nothing needs no randomisation: "
                "leave it out."
            )
            allowed = "finite for at least one pair"
            raise InputError(f"rule[{i}]", "inf everywhere", allowed, remedy)
        # A pair is open both ways, or not at all.
        other_way_alone = is_open < is_open.T
        for i, j in np.argwhere(other_way_alone):
            remedy = "Give both directions a budget, or inf to both."
            allowed = f"inf, as rule[{j}][{i}] is"
            raise InputError(f"rule[{i}][{j}]", float(matrix[i, j]), allowed, remedy)

    def bounds(self, epsilons: Array) -> Array:
        return self.pairs

    def shares(self, epsilons: Array, i: Index, j: Index) -> tuple[Array, Array]:
        """What is added to a level's budget is added to all of its pairs."""
        of_first = np.ones(i.size)
        of_second = np.where(i == j, 0.0, 1.0)
        return of_first, of_second

    def scaled(self, scale: float | Array) -> MatrixRule:
        if np.ndim(scale):
            remedy = "All pair budgets are scaled together."
            raise InputError(
                "scale", scale, "one number for a matrix of pair budgets", remedy
            )
        return MatrixRule(self.pairs * float(scale))

    def relaxed(self, level: int, amount: float) -> MatrixRule:
        # All pairs of the level, in both directions; its own pair once.
        added = np.zeros(self.pairs.shape)
        added[level, :] = amount
        added[:, level] = amount
        return MatrixRule(self.pairs + added)

    def without(self, spent: Array) -> MatrixRule:
        """Each pair budget less the larger of what the two levels have spent."""
        return MatrixRule(self.pairs - np.maximum.outer(spent, spent))


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
            pair_rule = _named_rule(rule, size, against)
        case _:
            pair_rule = MatrixRule(_numbers_of(rule))
    if against is not None and pair_rule.lowering is not against:
        allowed = f'left out: only the rule "{ONE_SIDED}" tells "for" from "against"'
        raise InputError(
            "against", against.tolist(), allowed, f'Write rule = "{ONE_SIDED}".'
        )
    pair_rule.check(size)
    return pair_rule


def _named_rule(name: str, size: int, against: Array | None) -> PairRule:
    """The rule of this name; of one-sided budgets ``against`` are unlimited unless given."""
    if name not in NAMED_RULES:
        remedy = f'Leave it out for "{DEFAULT_RULE}".'
        raise InputError("rule", name, ALLOWED_RULES, remedy)
    if name == MinRule.name:
        return MinRule()
    if name == AvgRule.name:
        return AvgRule()
    if against is None:
        return OneSidedRule(np.full(size, np.inf))
    return OneSidedRule(against)


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
