"""The privacy levels of a deployed question, and which answers belong to them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.deployment.client.laws.pairs import Rule
from planner.deployment.client.schema import (
    BUDGET,
    TEXT,
    Schema,
    choice,
    either,
    list_of,
    record,
    whole,
)
from planner.errors import InputError
from planner.limits import EXPORT_REMEDY, MAX_COUNT

_NUMBER = re.compile("[0-9]{1,12}")  # no question has more items
LEVEL = record(
    {
        "name": TEXT,
        "epsilon": BUDGET,
        "item_count": whole(1, MAX_COUNT),
        "items": list_of(TEXT, least=0),
    },
    "One privacy level and its items; items is empty where only their number is known.",
)
RULE: Schema = either(choice("min", "avg"), list_of(list_of(either(BUDGET, {"type": "null"})))) | {
    "description": "Pair budgets: of both levels the smaller, the mean, or a symmetric matrix "
    "with null where none is demanded.",
}


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
    def read(cls, question: Mapping[str, Any], least: int = 1) -> Levels:
        """The levels of a question of the right shape that has ``least`` items or more.

        Raises
        ------
        InputError
            The parts do not fit each other, or a name appears twice.
        """
        rows = question["levels"]
        names, counts = ([row[key] for row in rows] for key in ("name", "item_count"))
        items = [tuple(row["items"]) for row in rows]
        for i, (given, count) in enumerate(zip(items, counts, strict=True)):
            if given and len(given) != count:
                reason = f"levels[{i}] lists {len(given)} items, and its item_count is {count}"
                raise InputError.because(f"levels[{i}].items", reason, EXPORT_REMEDY)
        epsilons = [float(row["epsilon"]) for row in rows]
        rule = _rule(question["rule"], len(rows))
        levels = cls(tuple(names), tuple(epsilons), tuple(counts), tuple(items), rule)
        if levels.total < least:
            reason = f"the levels have {levels.total} item together, at least {least} are needed"
            raise InputError.because("levels", reason, EXPORT_REMEDY)
        for kind, values in (("level", names), ("item", [x for row in items for x in row])):
            if len(set(values)) < len(values):
                reason = f"two {kind}s have the same name"
                raise InputError.because("levels", reason, EXPORT_REMEDY)
        return levels

    @property
    def total(self) -> int:
        """Number of items of all levels, ``m``."""
        return sum(self.item_counts)

    @property
    def named(self) -> bool:
        """Whether every item has a name."""
        return all(self.items)

    @property
    def dummy_level(self) -> int:
        """The level that dummies of item sets are of: the first one of the least budget."""
        return self.epsilons.index(min(self.epsilons))

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

    def from_text(self, text: str) -> str | int:
        """The item that a text means: its name, or its number where items have no names."""
        if not self.named and isinstance(text, str) and _NUMBER.fullmatch(text):
            return int(text)
        return text

    def item_names(self) -> list[str]:
        """A name for each item; its number where the file has none."""
        names = [str(k) for k in range(self.total)]
        for name, number in self.numbers().items():
            names[number] = name
        return names


def _rule(rule: str | list[list[float | None]], size: int) -> Rule:
    if isinstance(rule, str):
        return rule
    if len(rule) != size or any(len(row) != size for row in rule):
        raise InputError("rule", rule, f"min, avg or a {size} x {size} matrix", EXPORT_REMEDY)
    matrix = [[math.inf if entry is None else float(entry) for entry in row] for row in rule]
    if any(matrix[i][j] != matrix[j][i] for i in range(size) for j in range(i)):
        raise InputError("rule", rule, "a symmetric matrix", EXPORT_REMEDY)
    if any(all(map(math.isinf, row)) for row in matrix):
        remedy = "A level that is protected against nothing needs no randomisation."
        raise InputError("rule", rule, "finite for at least one pair of each level", remedy)
    return matrix
