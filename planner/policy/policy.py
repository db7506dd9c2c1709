"""Who needs how much protection: privacy levels, their budgets, and the pair rule.

Source: Gu, Li, Xiong and Cao, "Providing Input-Discriminative Protection for Local Differential
Privacy" (ICDE 2020), definitions 2 and 3, lemma 1, table I, and section VIII.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from planner import arguments
from planner.arrays import Array, Flags, Whole
from planner.errors import InputError
from planner.laws.levels import Levels
from planner.limits import MAX_COUNT
from planner.policy.budget_text import parse_epsilon
from planner.policy.pair_rule import PairRule
from planner.policy.rules import rule_of

_MOST_REPEATED = 8
_MOST_DENSE_LEVELS = 20_000
_MOST_APART = (
    50  # levels of which tables tell which have a single item: all pairs are rows then
)


@dataclass(frozen=True, slots=True, eq=False, init=False, repr=False)
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
        ``r_ij = (eps_i + eps_j) / 2``), ``"one-sided"`` (``r_ij = min(eps_i, against_j)``),
        or a ``t x t`` matrix of pair budgets with ``inf`` where a pair needs no protection (a
        policy graph), or a :class:`~planner.policy.pair_rule.PairRule` of one's own. A report may
        be ``e^r_ij`` times as likely for an item of level ``i`` as for one of level ``j``.
        The entry ``(i, i)`` is for two different items of level ``i``; but for ``"one-sided"``,
        tables keep it, as in the paper, also where the level has a single item.
    names:
        One distinct name per level; ``"level 1"``, ``"level 2"``, ... when omitted.
    against:
        Of the rule ``"one-sided"`` alone: how far a report may lower the odds of each level's items
        against others, shape ``(t,)``, in nats, ``inf`` or omitted for as far as raising those of
        others does.

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
    >>> PrivacyPolicy([1, 3], [1, 4], "one-sided", against=[2, math.inf]).bounds().tolist()
    [[1.0, 1.0], [2.0, 3.0]]
    """

    epsilons: Array
    item_counts: Whole
    rule: PairRule
    _names: tuple[str, ...] | None

    def __init__(
        self,
        epsilons: ArrayLike,
        item_counts: ArrayLike,
        rule: str | ArrayLike | PairRule = "min",
        names: Sequence[str] | None = None,
        against: ArrayLike | None = None,
    ) -> None:
        budgets = _read_budgets("epsilons", epsilons)
        arguments.require_budgets("epsilons", budgets)
        size = budgets.size
        # A frozen dataclass is filled past its own lock.
        set_field = object.__setattr__
        set_field(self, "epsilons", budgets)
        set_field(self, "item_counts", _counts(item_counts, size))
        lowering = None
        if against is not None:
            lowering = _read_budgets("against", against)
        set_field(self, "rule", rule_of(rule, size, lowering))
        distinct = None
        if names is not None:
            distinct = _distinct_names(names, size)
        set_field(self, "_names", distinct)

    # -- what it is ---------------------------------------------------------

    def __repr__(self) -> str:
        parts = [_short(self.epsilons), _short(self.item_counts)]
        if self.rule_name != "min":
            parts.append(f"rule={self.rule_name!r}")
        if self.against is not None and np.isfinite(self.against).any():
            parts.append(f"against={_short(self.against)}")
        if self._names is not None:
            parts.append(f"names={_short(self._names)}")
        return f"PrivacyPolicy({', '.join(parts)})"

    @property
    def size(self) -> int:
        """Number of levels, ``t``."""
        return self.epsilons.size

    @property
    def names(self) -> tuple[str, ...]:
        """One name per level."""
        if self._names is not None:
            return self._names
        return tuple(f"level {i + 1}" for i in range(self.size))

    @property
    def rule_name(self) -> str:
        """The rule's name for display: ``"min"``, ``"avg"``, ``"matrix"``."""
        return self.rule.name

    @property
    def against(self) -> Array | None:
        """How far a report may lower each level's odds; None but for the rule ``"one-sided"``."""
        return self.rule.lowering

    @property
    def own_pairs(self) -> Flags:
        """The levels of which tables keep a pair of two items, ``(t,)``; all of more than fifty."""
        return self._several | (self.rule.keeps_own or self.size > _MOST_APART)

    @property
    def _several(self) -> Flags:
        return (self.item_counts > 1) | (self.size == 1)

    def plain(self, dummies: int = 0) -> Levels:
        """The levels as laws have them, of items without names."""
        epsilons = tuple(self.epsilons.tolist())
        counts = tuple(self.item_counts.tolist())
        against: tuple[float, ...] = ()
        if self.against is not None:
            against = tuple(self.against.tolist())
        return Levels(
            names=tuple(self.names),
            epsilons=epsilons,
            item_counts=counts,
            items=((),) * self.size,
            rule=self.rule.plain(self.epsilons),
            dummies=dummies,
            against=against,
        )

    def bounds(self) -> Array:
        """Pair budgets ``r_ij``, shape ``(t, t)``; ``inf`` where nothing is demanded.

        More than 20,000 levels raise an :class:`InputError`: the matrix would not fit in memory.
        """
        if self.size > _MOST_DENSE_LEVELS:
            allowed = f"at most {_MOST_DENSE_LEVELS} for a dense matrix of pair budgets"
            raise InputError(
                "levels", self.size, allowed, "Use room(), which never builds it."
            )
        return self.rule.bounds(self.epsilons)

    def demanded(self) -> Array:
        """Pair budgets of two different items, ``(t, t)``: ``inf`` within a level of one item."""
        bounds = self.bounds().copy()
        # A level of one item has no two different items to tell apart.
        alone = np.flatnonzero(self.item_counts == 1)
        bounds[alone, alone] = np.inf
        return bounds

    def room(self, used: ArrayLike, *, against: bool = False) -> Array:
        """What each level has left when partner ``j`` uses ``used_j``: ``min_j (r_ij - used_j)``.

        Shape ``(t,)``, in nats; ``against``: ``min_j (r_ji - used_j)``. Rules with a name take O(t)
        time and memory.

        Examples
        --------
        >>> PrivacyPolicy([1.0, 3.0], [1, 1]).room([0.25, 0.5]).tolist()
        [0.5, 0.75]
        """
        # A matrix takes O(t^2); rules with a name need the two largest used budgets alone.
        partners = np.asarray(used, dtype=np.float64)
        return self.rule.room(self.epsilons, partners, self.own_pairs, against=against)

    def largest_pairs(self, *, against: bool = False) -> Array:
        """Per level the largest budget for its items, or ``against`` them, shape ``(t,)``."""
        return self.rule.largest_pairs(self.epsilons, self._several, against=against)

    @property
    def tolerated(self) -> Array:
        """Per level what a collection spends: its budget, or of a matrix the largest of a pair."""
        if self.rule.by_level:
            return self.epsilons
        return self.largest_pairs()

    @property
    def largest_each_way(self) -> Array:
        """:meth:`largest_pairs` for the answers of each level and against them, ``(2, t)``."""
        return np.array([self.largest_pairs(), self.largest_pairs(against=True)])

    @property
    def smallest_pair(self) -> float:
        """The smallest budget that the policy demands of any pair, in nats."""
        room = self.room(np.zeros(self.size))
        return float(room.min())

    def with_changes(
        self, epsilons: ArrayLike | None = None, rule: PairRule | None = None
    ) -> PrivacyPolicy:
        """The policy of these levels with other budgets or another rule."""
        if epsilons is None:
            epsilons = self.epsilons
        return PrivacyPolicy(epsilons, self.item_counts, rule or self.rule, self._names)

    # -- what it implies ----------------------------------------------------

    @property
    def leakage_epsilons(self) -> Array:
        """Worst log-ratio between an item of each level and any other item, shape ``(t,)``.

        The tightest bound over all paths in the policy graph; for rule ``"min"`` it is
        ``min(eps_i, 2 min eps)`` (table I), and at most the largest budget of the other items.
        ``inf`` where some item is not connected to this one at all.
        """
        return self.rule.leakage(self.epsilons, self._several)

    @property
    def against_epsilons(self) -> Array:
        """Worst log-ratio between any other item and one of each level: the other direction."""
        return self.rule.leakage(self.epsilons, self._several, against=True)

    @property
    def ldp_epsilon(self) -> float:
        """The plain LDP budget that the policy implies; ``inf`` if some pair is unprotected.

        For rule ``"min"`` at most that of lemma 1, ``min(max eps, 2 min eps)``, which a single item
        with the largest budget does not reach.
        """
        return float(self.leakage_epsilons.max())

    # -- identity -----------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        return type(other) is PrivacyPolicy and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        # Arrays have no hash; their bytes have, and are equal where all numbers are.
        budgets = self.epsilons.tobytes()
        counts = self.item_counts.tobytes()
        return (budgets, counts, self.rule, self._names)


def require_policy(value: object) -> None:
    """Refuse what is no policy, for example the budgets alone.

    Examples
    --------
    >>> require_policy([1.0, 2.0])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: policy is [1.0, 2.0] but must be a PrivacyPolicy. ...
    """
    if not isinstance(value, PrivacyPolicy):
        remedy = "Write PrivacyPolicy([1.0, 2.0], [3, 4]): a budget and a number of items a level."
        raise InputError("policy", value, "a PrivacyPolicy", remedy)


def _short(values: ArrayLike) -> str:
    """A list in one line: its first entries, and how many follow."""
    texts = []
    for value in np.asarray(values).tolist():
        text = repr(value)
        if type(value) is float:
            text = f"{value:.6g}"
        texts.append(text)
    left_out = len(texts) - _MOST_REPEATED
    if left_out > 0:
        texts[_MOST_REPEATED:] = [f"... {left_out:,} more"]
    return f"[{', '.join(texts)}]"


def _read_budgets(name: str, values: ArrayLike) -> Array:
    """Budgets as numbers, or where one of them is a text, such as ``"ln 4"``, as texts."""
    if isinstance(values, (list, tuple)) and any(
        isinstance(value, str) for value in values
    ):
        read = []
        for i, value in enumerate(values):
            argument = f"{name}[{i}]"
            read.append(parse_epsilon(value, argument))
        values = read
    return arguments.number_column(name, values, finite=False)


def _counts(item_counts: ArrayLike, size: int) -> Whole:
    values = arguments.number_column("item_counts", item_counts, finite=False)
    if values.size != size:
        allowed = f"a list of {size} counts, one per level"
        remedy = "Say for each level how many answers it has."
        raise InputError("item_counts", item_counts, allowed, remedy)
    allowed = f"a whole number from 1 to {MAX_COUNT}"
    whole = values == np.floor(values)
    valid = whole & (values >= 1) & (values <= MAX_COUNT)
    # The first that is wrong is named, with its place.
    for i in np.flatnonzero(~valid)[:1]:
        raise InputError(
            f"item_counts[{i}]", float(values[i]), allowed, "Count the answers."
        )
    counts = values.astype(np.int64)
    counts.setflags(write=False)
    return counts


def _distinct_names(names: Sequence[str], size: int) -> tuple[str, ...]:
    chosen = tuple(names)
    if isinstance(names, str) or len(chosen) != size:
        remedy = "Name each level, or leave all names out."
        raise InputError(
            "names", names, f"a list of {size} names, one per level", remedy
        )
    seen: set[str] = set()
    for name in chosen:
        if not isinstance(name, str) or not name.strip():
            raise InputError(
                "names", name, "text that is not blank", "Give the level a name."
            )
        if name in seen:
            remedy = "Rename one of the two, or merge them."
            raise InputError(
                "names", name, "different from every other level's name", remedy
            )
        seen.add(name)
    return chosen
