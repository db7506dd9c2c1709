"""Levels of budgets: which answers they hold, and what is demanded of every pair of answers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from itertools import accumulate, chain, combinations, pairwise, product, starmap
from typing import NamedTuple

from planner.errors import InputError
from planner.laws import schema
from planner.laws.schema import BUDGET, NULL, TEXT, Document, Schema, unfit
from planner.limits import EXPORT_REMEDY, MAX_COUNT

Rule = str | Sequence[Sequence[float]]
_NUMBER = re.compile("[0-9]{1,12}")  # no question has more items
_UNNAMED = re.compile("(.*) ([1-9][0-9]{0,11})", re.DOTALL)
_LEVEL = schema.record(
    {
        "name": TEXT,
        "epsilon": BUDGET,
        "item_count": schema.whole(1, MAX_COUNT),
        "items": schema.list_of(TEXT, least=0),
    },
    "One privacy level and its items; items is empty where only their number is known. Of the rule "
    "one-sided alone, against may limit how far a report lowers the odds of its items.",
)
_LEVEL["properties"]["against"] = BUDGET  # which may be left out
LEVELS_FORM: Schema = schema.list_of(_LEVEL)
_NAMED_RULES = schema.choice("min", "avg", "one-sided")
RULE: Schema = schema.described(
    schema.either(
        _NAMED_RULES, schema.list_of(schema.list_of(schema.either(BUDGET, NULL)))
    ),
    "Pair budgets: of both levels the smaller, the mean, epsilon of the likelier or "
    "against of the other if that is smaller; or a matrix, null where none is demanded.",
)


class PairBudget(NamedTuple):
    """Realised and demanded budget of telling an item of level ``first`` from one of ``second``.

    A report is so much likelier for the first, or either way round where both are promised alike.
    ``realised`` is rounded up, in nats; ``demanded`` is ``inf`` for a pair without protection.
    """

    first: int
    second: int
    realised: float
    demanded: float


class Member(NamedTuple):
    """Elements of a level, and how far a report may speak for one and against it."""

    elements: int
    epsilon: float
    against: float


@dataclass(frozen=True, slots=True)
class Levels:
    """Levels in file order; items are numbered from 0 through the levels, one after the other.

    Attributes
    ----------
    names, epsilons, item_counts:
        One per level; budgets in nats.
    items:
        Item names per level; empty for a level of which only the number of items is known.
    rule:
        ``"min"``, ``"avg"``, ``"one-sided"`` or a matrix of pair budgets with ``inf`` for none.
    dummies:
        Elements that fill up sets, numbered after the items. Where budgets are compared they are
        one more level, of the least budget.
    against:
        Of the rule ``"one-sided"`` one budget a level, ``inf`` where none is stated; else empty.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    item_counts: tuple[int, ...]
    items: tuple[tuple[str, ...], ...]
    rule: Rule = "min"
    dummies: int = 0
    against: tuple[float, ...] = ()

    @classmethod
    def read(cls, question: Document, least: int = 1) -> Levels:
        """The levels of a question of the right form that has ``least`` items or more."""
        rows = question["levels"]
        for i, row in enumerate(rows):
            given = len(row["items"])
            count = row["item_count"]
            if given not in (0, count):
                reason = (
                    f"levels[{i}] lists {given} items, and its item_count is {count}"
                )
                raise InputError.because(f"levels[{i}].items", reason, EXPORT_REMEDY)
        names = tuple(row["name"] for row in rows)
        epsilons = tuple(float(row["epsilon"]) for row in rows)
        items = tuple(tuple(row["items"]) for row in rows)
        rule = _rule(question["rule"], len(rows))
        against = tuple(float(row.get("against", math.inf)) for row in rows)
        if rule != "one-sided":
            if min(against) < math.inf:
                raise unfit("against", min(against), "left out under this rule")
            against = ()
        levels = cls(
            names=names,
            epsilons=epsilons,
            item_counts=tuple(row["item_count"] for row in rows),
            items=items,
            rule=rule,
            against=against,
        )
        if levels.total < least:
            reason = f"the levels have {levels.total} item together, at least {least} are needed"
            raise InputError.because("levels", reason, EXPORT_REMEDY)
        listed = tuple(chain.from_iterable(items))
        for kind, values in (("level", names), ("item", listed)):
            if len(set(values)) < len(values):
                reason = f"two {kind}s have the same name"
                raise InputError.because("levels", reason, EXPORT_REMEDY)
        # "Level 3" names an item of a level without a list, too.
        for item in listed:
            if levels.unnamed(item) is not None:
                reason = f"{item!r} is the name of two items, one of them of a level without a list"
                raise InputError.because("levels", reason, EXPORT_REMEDY)
        return levels

    def with_dummies(self, dummies: int) -> Levels:
        """The levels with so many dummies."""
        return replace(self, dummies=dummies)

    def document(self) -> Document:
        """The keys ``rule`` and ``levels`` of a question."""
        levels = []
        for i, name in enumerate(self.names):
            level = {
                "name": name,
                "epsilon": self.epsilons[i],
                "item_count": self.item_counts[i],
                "items": list(self.items[i]),
            }
            # JSON has no infinity: the key is left out.
            if self.against and self.against[i] < math.inf:
                level["against"] = self.against[i]
            levels.append(level)
        if self.matrix is None:
            return {"rule": self.rule, "levels": levels}
        matrix = []
        for row in self.matrix:
            budgets: list[float | None] = list(map(float, row))
            for j, budget in enumerate(row):
                if math.isinf(budget):
                    budgets[j] = None
            matrix.append(budgets)
        return {"rule": matrix, "levels": levels}

    @property
    def matrix(self) -> Sequence[Sequence[float]] | None:
        """Pair budgets, where the rule is no name."""
        if isinstance(self.rule, str):
            return None
        return self.rule

    # -- budgets ---------------------------------------------------------------------------

    @property
    def members(self) -> list[Member]:
        """Number of elements and budgets of each level, then of the dummies if there are any."""
        lowering = self.against or self.epsilons
        members = list(map(Member, self.item_counts, self.epsilons, lowering))
        if self.dummies:
            least = min(self.epsilons)
            members.append(Member(self.dummies, least, least))
        return members

    @property
    def directed(self) -> bool:
        """Whether a pair's budget depends on which of the two is likelier."""
        matrix = self.matrix
        if matrix is None:
            return self.rule == "one-sided"
        pairs = combinations(range(len(matrix)), 2)
        return any(matrix[i][j] != matrix[j][i] for i, j in pairs)

    @property
    def dummy_level(self) -> int:
        """The first level of the least budget, whose probabilities dummies may have."""
        return self.epsilons.index(min(self.epsilons))

    def demanded(self, i: int, j: int) -> float:
        """Budget of two elements of the levels, ``inf`` for none: a lone one has no other."""
        # A level of one item has no pair within it.
        if i == j and self.item_counts[i] == 1:
            return math.inf
        # A matrix states every pair; a rule with a name works it out of two budgets.
        if self.matrix is not None:
            return float(self.matrix[i][j])
        lowering = self.against or self.epsilons
        return of_both(
            rule=self.rule,
            x=self.epsilons[i],
            y=self.epsilons[j],
            against=lowering[j],
        )

    def least_demanded(self) -> float:
        """The smallest budget of any pair of elements.

        Examples
        --------
        >>> two = Levels(("a", "b"), (2.0, 1.0), (3, 1), ((), ()), "avg")
        >>> two.least_demanded(), two.with_dummies(2).least_demanded()
        (1.5, 1.0)
        """
        if self.matrix is not None:
            positions = range(len(self.names))
            return min(starmap(self.demanded, product(positions, repeat=2)))
        budgets = []
        for member in self.members:
            # Two elements of one level are a pair, too; more of them are no other pairs.
            budgets += [member.epsilon] * min(member.elements, 2)
        if len(budgets) < 2:
            return math.inf
        # The two least demanding elements are the pair of the least budget.
        two = nsmallest(2, budgets)
        if self.rule == "avg":
            return sum(two) / 2
        return min(two[0], *self.against, math.inf)

    def connected(self) -> list[list[str]]:
        """The levels' names by connected component of the graph whose edges are finite budgets.

        No budget is demanded between two components: a report may tell them apart.

        Examples
        --------
        >>> inf = math.inf
        >>> rule = ((1.0, inf, 2.0), (inf, 1.0, inf), (2.0, inf, 1.0))
        >>> Levels(("a", "b", "c"), (1.0,) * 3, (1, 1, 2), ((),) * 3, rule).connected()
        [['b'], ['a', 'c']]
        """
        if self.matrix is None:
            return [list(self.names)]
        groups: list[set[int]] = []
        for i in range(len(self.names)):
            component = {i}
            separate = []
            for group in groups:
                budgets = [self.demanded(i, j) for j in group]
                if min(budgets) < math.inf:
                    component |= group
                else:
                    separate.append(group)
            groups = [*separate, component]
        named = []
        for group in groups:
            named.append([self.names[i] for i in sorted(group)])
        return named

    # -- items -----------------------------------------------------------------------------

    @property
    def total(self) -> int:
        """Number of items of all levels, ``m``."""
        return sum(self.item_counts)

    @property
    def elements(self) -> int:
        """Number of items and dummies."""
        return self.total + self.dummies

    @property
    def named(self) -> bool:
        """Whether every item has a name."""
        return all(self.items)

    def level_of(self) -> list[int]:
        """Level number of each item; a list of :attr:`total` entries."""
        levels: list[int] = []
        for level, count in enumerate(self.item_counts):
            levels += [level] * count
        return levels

    def level_names(self) -> list[str]:
        """The level of each item, by name."""
        return [self.names[i] for i in self.level_of()]

    def numbers(self) -> dict[str, int]:
        """Item number of each named item."""
        numbers: dict[str, int] = {}
        start = 0
        for count, items in zip(self.item_counts, self.items, strict=True):
            for number, item in enumerate(items, start):
                numbers[item] = number
            start += count
        return numbers

    def unnamed(self, answer: object) -> int | None:
        """The number of an item without a name that is given by it, or as "level 57".

        Examples
        --------
        >>> some = Levels(("severe", "mild"), (1.0, 2.0), (1, 90), (("HIV",), ()))
        >>> some.unnamed("mild 57"), some.unnamed(57), some.unnamed("mild 91")
        (57, 57, None)
        """
        if type(answer) is int and not self.named and 0 <= answer < self.total:
            return answer
        if type(answer) is not str:
            return None
        match = _UNNAMED.fullmatch(answer)
        if match is None:
            return None
        rows = zip(self.names, spans(self.item_counts), self.items, strict=True)
        level = match[1]
        number = int(match[2])
        for name, (start, end), items in rows:
            if level == name and not items and number <= end - start:
                return start + number - 1
        return None

    def meant(self, text: str) -> int | None:
        """The item without a name that a cell of a table means, by number or as "Level 57"."""
        if _NUMBER.fullmatch(text):
            return self.unnamed(int(text))
        match = _UNNAMED.fullmatch(text)
        if match is None:
            return None
        names = list(map(folded, self.names))
        level = folded(match[1])
        if names.count(level) != 1:  # of two that differ by case alone none is meant
            return None
        return self.unnamed(f"{self.names[names.index(level)]} {match[2]}")

    def item_name(self, number: int) -> str:
        """The name of an item: where the file has none the level's, with a number from 1."""
        for name, count, items in zip(
            self.names, self.item_counts, self.items, strict=True
        ):
            if number < count:
                if items:
                    return items[number]
                return f"{name} {number + 1}"
            number -= count
        raise IndexError(number)

    def item_names(self) -> list[str]:
        """The names of all items, as :meth:`item_name` gives them."""
        names: list[str] = []
        for name, count, items in zip(
            self.names, self.item_counts, self.items, strict=True
        ):
            names += items or [f"{name} {k + 1}" for k in range(count)]
        return names


def spans(counts: Iterable[int]) -> list[tuple[int, int]]:
    """Where parts of such sizes begin and end, one after the other.

    Examples
    --------
    >>> spans([2, 1])
    [(0, 2), (2, 3)]
    """
    return list(pairwise(accumulate(counts, initial=0)))


def folded(text: str) -> str:
    """The form in which names are compared: case, composition and outer blanks do not count.

    Examples
    --------
    >>> folded("\u00a0Cafe\u0301 ") == folded("CAF\u00c9")
    True
    """
    composed = unicodedata.normalize("NFC", text.strip())
    return unicodedata.normalize("NFC", composed.casefold())


def of_both(rule: Rule, x: float, y: float, against: float) -> float:
    """The budget of a pair under a rule of a name; ``against`` is that of the second."""
    if rule == "avg":
        return (x + y) / 2
    return min(x, against)


def _rule(rule: str | list[list[float | None]], size: int) -> Rule:
    if isinstance(rule, str):
        return rule
    if len(rule) != size or set(map(len, rule)) != {size}:
        raise unfit("rule", rule, f"a name or a {size} x {size} matrix")
    matrix = []
    for row in rule:
        budgets = []
        for entry in row:
            budget = math.inf
            if entry is not None:
                budget = float(entry)
            budgets.append(budget)
        matrix.append(tuple(budgets))
    for i, j in product(range(size), repeat=2):
        forward = matrix[i][j]
        backward = matrix[j][i]
        if math.isinf(forward) != math.isinf(backward):
            raise unfit("rule", rule, "null in both directions, or in neither")
    for budgets_of_level in matrix:
        if min(budgets_of_level) == math.inf:
            remedy = "A level that is protected against nothing needs no randomisation."
            raise InputError(
                "rule", rule, "finite for at least one pair of each level", remedy
            )
    return tuple(matrix)
