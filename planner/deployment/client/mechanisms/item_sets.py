"""Item sets by padding and sampling: one item of the set, by unary encoding or by a design."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from planner.deployment.client.drawing.answers import item_set
from planner.deployment.client.drawing.entropy import Source, choose
from planner.deployment.client.mechanisms.design import MAX_GROUPS, DesignEncoder, DesignLaw
from planner.deployment.client.mechanisms.law import Encoder, ItemLaw
from planner.deployment.client.mechanisms.unary import UnaryEncoder, UnaryLaw
from planner.deployment.client.schema import Schema, choice, list_of, record, whole
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY, MAX_COUNT, MAX_PADDING_LENGTH

_LONGER = record(
    {
        "size": whole(2, MAX_COUNT),
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    },
    "share of the people have a set of more items than the size before, or than the padding length "
    "for the first; no set has more than the last size; none is longer if the list is empty. A "
    "statement of the planner, on which upper limits of estimates rest; no reader can check it.",
)
_PADDING: Mapping[str, Schema] = {
    "rule": choice("min"),
    "padding_length": whole(1, MAX_PADDING_LENGTH),
}
"""The keys of a question of item sets beside those of its law for single items."""


class PaddedLaw(ItemLaw):
    """What laws of item sets add to a law of single items, which follows in their bases.

    They have the fields ``padding_length`` and ``longer_sets``: sizes of longer sets and the
    shares of people, as stated; None if nothing is.
    """

    __slots__ = ()

    kind: ClassVar[str] = "item-set"
    stated: ClassVar[Mapping[str, Schema]] = {"longer_sets": list_of(_LONGER, 0)}

    @classmethod
    def _more(cls, question: Mapping[str, Any]) -> tuple[Any, ...]:
        """A question's padding length, and what it states of longer sets."""
        length, stated = question["padding_length"], question.get("longer_sets")
        if stated is None:
            return (length, None)
        longer = tuple((one["size"], one["share"]) for one in stated)
        _check_order(length, longer)
        return (length, longer)

    def _require_set_budgets(self) -> None:
        """VerificationError where sets have no budgets."""
        if self.levels.rule != "min":
            reason = 'Item sets have budgets (IDUE paper, eq. 16) under the rule "min" only'
            raise VerificationError(reason)

    def examples(self) -> Iterator[Any]:
        items = list(super().examples())
        yield from ([], items[:1], items)

    def from_text(self, cell: str) -> Any:
        return [self.levels.from_text(item) for item in _items(cell)]


@dataclass(frozen=True, slots=True)
class SetLaw(PaddedLaw, UnaryLaw):
    """As many dummy bits as the padding length follow the items' bits, as of the least budget."""

    mechanism: ClassVar[str] = "idue-ps"
    keys: ClassVar[Mapping[str, Schema]] = {**UnaryLaw.keys, **_PADDING}

    padding_length: int
    longer_sets: tuple[tuple[int, float], ...] | None = None

    @property
    def dummies(self) -> int:
        return self.padding_length

    def verify(self) -> None:
        self._require_set_budgets()
        UnaryLaw.verify(self)

    def encoder(self) -> Encoder:
        return SetEncoder(self)


class SetEncoder(UnaryEncoder):
    """One item of the set, in ascending order, or a dummy; then as :class:`UnaryEncoder`.

    Draws a slot from 0 to ``max(set size, padding length) - 1`` and a dummy from 0 to ``padding
    length - 1``, which counts if no item of the set has the slot. Both are always drawn, so that
    the number of words says nothing of the set: it is the number of bits and 2, and one more for
    each word that a choice rejects, which has the same probability for all sets up to the
    padding length, and is below ``size / 2^32`` for those of more items.
    """

    def __init__(self, law: SetLaw) -> None:
        super().__init__(law)
        self._length = law.padding_length

    def code(self, answer: Any) -> Any:
        """The items' numbers."""
        return item_set(self._levels, self._numbers, answer)

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        slot = choose(source, max(len(code), self._length))
        dummy = choose(source, self._length)
        chosen = code[slot] if slot < len(code) else self._levels.total + dummy
        return self._report(chosen, source)


def _check_order(length: int, longer: tuple[tuple[int, float], ...]) -> None:
    """Sizes rise from above the padding length, and shares do not."""
    before, above = length, 1.0
    for size, share in longer:
        if size <= before or share > above:
            allowed = f"of sizes that rise from above {length}, and shares that do not rise"
            raise InputError("longer_sets", (size, share), allowed, EXPORT_REMEDY)
        before, above = size, share


def _items(cell: str) -> list[Any]:
    """What a cell of a table lists: in JSON, or between semicolons."""
    if not cell.startswith("["):
        return [item for item in cell.split(";") if item]
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        items = None
    if not isinstance(items, list):
        remedy = 'Write the items as a list in brackets: ["tea", "rice"].'
        raise InputError("answer", "text", "a JSON list", remedy)
    return items


@dataclass(frozen=True)
class DesignSetLaw(PaddedLaw, DesignLaw):
    """A subset design in which one dummy item, of the least budget, stands last in its group.

    Types, integers and the estimator count the dummy; the levels do not list it.
    """

    mechanism: ClassVar[str] = "subset-design-ps"
    least_items: ClassVar[int] = 1
    keys: ClassVar[Mapping[str, Schema]] = {
        **DesignLaw.keys,
        **_PADDING,
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
