"""The privacy levels of a deployed question, and which answers belong to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from planner.deployment.client.json_fields import Fields
from planner.deployment.client.laws.pairs import MAX_BUDGET, Rule
from planner.errors import InputError

__all__ = ["Levels"]

_MAX_COUNT = 10**12


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
        ``"min"``, ``"avg"`` or a matrix of pair budgets with ``inf`` for none.
    """

    names: tuple[str, ...]
    epsilons: tuple[float, ...]
    item_counts: tuple[int, ...]
    items: tuple[tuple[str, ...], ...]
    rule: Rule

    @classmethod
    def read(cls, fields: Fields, least: int = 1) -> Levels:
        """The levels of a question that has ``least`` items or more.

        Raises
        ------
        InputError
            A field is missing or not as it must be, or a name appears twice.
        """
        names, epsilons, counts, items = [], [], [], []
        for row in fields.list("levels"):
            level = Fields("a level", row)
            names.append(level.text("name"))
            level = Fields(f"level {names[-1]!r}", row)
            epsilons.append(level.number("epsilon", math.ulp(0), MAX_BUDGET))
            counts.append(level.whole("item_count", 1, _MAX_COUNT))
            items.append(_names(level, counts[-1]))
        rule = _rule(fields, len(names))
        levels = cls(tuple(names), tuple(epsilons), tuple(counts), tuple(items), rule)
        if levels.total < least:
            raise fields.wrong("levels", f"{levels.total} item", f"of at least {least} items")
        for kind, values in (("level", names), ("item", [x for row in items for x in row])):
            if len(set(values)) < len(values):
                raise fields.wrong("levels", f"a repeated {kind} name", f"distinct {kind} names")
        return levels

    @property
    def total(self) -> int:
        """Number of items of all levels, ``m``."""
        return sum(self.item_counts)

    @property
    def named(self) -> bool:
        """Whether every item has a name."""
        return all(self.items)

    def level_of(self) -> list[int]:
        """Level number of each item; a list of :attr:`total` entries."""
        return [i for i, count in enumerate(self.item_counts) for _ in range(count)]

    def numbers(self) -> dict[str, int]:
        """Item number of each named item."""
        found: dict[str, int] = {}
        start = 0
        for count, items in zip(self.item_counts, self.items, strict=True):
            found.update(zip(items, range(start, start + len(items)), strict=True))
            start += count
        return found

    def item_names(self) -> list[str]:
        """A name for each item; its number where the file has none."""
        names = [str(k) for k in range(self.total)]
        for name, number in self.numbers().items():
            names[number] = name
        return names


def _names(level: Fields, count: int) -> tuple[str, ...]:
    items = level.list("items", least=0)
    if any(not isinstance(item, str) or not item for item in items):
        raise level.wrong("items", items, "a list of texts that are not empty")
    if items and len(items) != count:
        raise level.wrong("items", f"a list of {len(items)}", f"a list of item_count = {count}")
    return tuple(items)


def _rule(fields: Fields, size: int) -> Rule:
    rule = fields.value("rule")
    if isinstance(rule, str):
        return fields.choice("rule", ("min", "avg"))
    rows = fields.list("rule")
    if len(rows) != size or any(not isinstance(row, list) or len(row) != size for row in rows):
        raise fields.wrong("rule", rule, f"min, avg or a {size} x {size} matrix")
    matrix = [[_budget(fields, entry) for entry in row] for row in rows]
    if any(matrix[i][j] != matrix[j][i] for i in range(size) for j in range(i)):
        raise fields.wrong("rule", rule, "a symmetric matrix")
    if any(all(map(math.isinf, row)) for row in matrix):
        remedy = "A level that is protected against nothing needs no randomisation."
        raise InputError("rule", rule, "finite for at least one pair of each level", remedy)
    return matrix


def _budget(fields: Fields, entry: Any) -> float:
    if entry is None:
        return math.inf
    if type(entry) not in (int, float) or not 0 < entry <= MAX_BUDGET:
        allowed = f"a matrix of budgets above 0 and at most {MAX_BUDGET}, or null"
        raise fields.wrong("rule", entry, allowed)
    return float(entry)
