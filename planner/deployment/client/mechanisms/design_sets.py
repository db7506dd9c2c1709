"""Item sets by padding and sampling with a subset design: one item of the set is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from planner.deployment.client.drawing.answers import item_set
from planner.deployment.client.drawing.entropy import Source, choose
from planner.deployment.client.mechanisms.design import MAX_GROUPS, DesignEncoder, DesignLaw
from planner.deployment.client.mechanisms.item_sets import PADDING, PaddedLaw
from planner.deployment.client.mechanisms.law import Encoder
from planner.deployment.client.schema import Schema, whole

__all__ = ["DesignSetEncoder", "DesignSetLaw"]


@dataclass(frozen=True)
class DesignSetLaw(PaddedLaw, DesignLaw):
    """A subset design in which one dummy item, of the least budget, stands last in its group.

    Types, integers and the estimator count the dummy; the levels do not list it.
    """

    mechanism: ClassVar[str] = "subset-design-ps"
    least_items: ClassVar[int] = 1
    keys: ClassVar[Mapping[str, Schema]] = {
        **DesignLaw.keys,
        **PADDING,
        "dummy_group": whole(0, MAX_GROUPS - 1)
        | {"description": "The group of levels whose likelihoods the dummy item shares."},
    }

    dummy_group: int
    padding_length: int
    longer_sets: tuple[tuple[int, float], ...] | None = None

    @property
    def members(self) -> list[tuple[int, int, float]]:
        return [*super().members, (self.dummy_group, 1, min(self.levels.epsilons))]

    @classmethod
    def _more(cls, question: Mapping[str, Any]) -> tuple[Any, ...]:
        return (question["dummy_group"], *super()._more(question))

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
        self._dummy_group = law.dummy_group

    def code(self, answer: Any) -> Any:
        """The items' numbers."""
        return item_set(self._levels, self._numbers, answer)

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        slot = choose(source, max(len(code), self._length))
        if slot < len(code):
            return super().draw(code[slot], source)
        return self._report(self._dummy_group, self._starts[self._dummy_group + 1] - 1, source)
