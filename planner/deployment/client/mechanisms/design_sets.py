"""Item sets by padding and sampling with a subset design: one item of the set is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from planner.deployment.client.drawing.answers import item_set
from planner.deployment.client.drawing.entropy import Source, choose
from planner.deployment.client.mechanisms.design import DesignEncoder, DesignLaw
from planner.deployment.client.mechanisms.item_sets import PADDING, PaddedLaw
from planner.deployment.client.mechanisms.law import Encoder
from planner.deployment.client.schema import Schema

__all__ = ["DesignSetEncoder", "DesignSetLaw"]


@dataclass(frozen=True)
class DesignSetLaw(PaddedLaw, DesignLaw):
    """A subset design in which one dummy item stands last in the group of the least budget.

    The dummy is one more item of the first level of the least budget. Types, integers and the
    estimator count it; the levels do not list it.
    """

    mechanism: ClassVar[str] = "subset-design-ps"
    least_items: ClassVar[int] = 1
    keys: ClassVar[Mapping[str, Schema]] = {**DesignLaw.keys, **PADDING}

    padding_length: int
    longer_sets: tuple[tuple[int, float], ...] | None = None

    @property
    def item_counts(self) -> tuple[int, ...]:
        """Items of each level, with the dummy."""
        counts = list(self.levels.item_counts)
        counts[self.levels.dummy_level] += 1
        return tuple(counts)

    @property
    def item_groups(self) -> list[int]:
        return [*super().item_groups, self.level_groups[self.levels.dummy_level]]

    def verify(self) -> None:
        self._require_set_budgets()
        DesignLaw.verify(self)

    def encoder(self) -> Encoder:
        return DesignSetEncoder(self)


class DesignSetEncoder(DesignEncoder):
    """One item of the set, in ascending order, or the dummy; then as :class:`DesignEncoder`.

    Draws a slot from 0 to ``max(set size, padding length) - 1``; the dummy is reported if no item
    of the set has the slot. The number of words says nothing of the set beyond the report: a
    choice rejects a word with the same probability for all sets up to the padding length, and
    with less than ``size / 2^32`` for those of more items.
    """

    def __init__(self, law: DesignSetLaw) -> None:
        super().__init__(law)
        self._length = law.padding_length
        self._dummy_group = law.level_groups[law.levels.dummy_level]

    def code(self, answer: Any) -> Any:
        """The items' numbers."""
        return item_set(self._levels, self._numbers, answer)

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        slot = choose(source, max(len(code), self._length))
        if slot < len(code):
            return super().draw(code[slot], source)
        return self._report(self._dummy_group, self._starts[self._dummy_group + 1] - 1, source)
