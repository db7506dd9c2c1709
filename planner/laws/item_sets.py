"""Ways of asking for a set of items: which sets there are, and what each report is about.

Errors say of what type an answer is, never the answer: they may end up in a log.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar, Self

from planner.errors import InputError
from planner.laws import schema
from planner.laws.answers import LEFT_OUT, Answer, Code, Item, type_of
from planner.laws.levels import LEVELS_FORM, RULE, Levels
from planner.laws.schema import NULL, SHARE, Document, Keys, unfit
from planner.laws.shape import Own
from planner.laws.source import Source, choose, order
from planner.limits import MAX_COUNT, MAX_PADDING_LENGTH

_LONGER = schema.record({"size": schema.whole(2, MAX_COUNT), "share": SHARE})
# Between the items of a cell; blanks are the last that is tried.
_MARKS = (";", "|", ",", None)


@dataclass(frozen=True)
class OneOfSet(Item):
    """A set of items; the report is about one of them, in ascending order, or about a dummy.

    Draws a slot from 0 to ``max(set size, padding length) - 1`` and, of several dummies, one,
    which counts if no item of the set has the slot. Both are always drawn, so that the number of
    words says nothing of the set, but for words that a choice rejects: with one probability for all
    sets up to the padding length, below ``size / 2^32`` for those of more items.

    ``longer_sets`` are sizes of longer sets and the shares of people; ``None`` if nothing is said.
    Estimates rest on them: of a set that has more items than the largest size nothing is drawn.
    """

    name: ClassVar[str] = "one-of-set"
    kind: ClassVar[str] = "item-set"
    several: ClassVar[bool] = True
    keys: ClassVar[Keys] = {
        "rule": schema.choice("min"),
        "levels": LEVELS_FORM,
        "padding_length": schema.whole(1, MAX_PADDING_LENGTH),
        "longer_sets": schema.described(
            schema.either(schema.list_of(_LONGER, 0), NULL),
            "share of the people have a set of more items than the size before, or "
            "than the padding length for the first; no set has more than the last size; none is "
            "longer if the list is empty, and nothing is known if it is null. A statement of the "
            "planner, on which upper limits of estimates rest; a client takes no larger set.",
        ),
    }

    padding_length: int
    longer_sets: tuple[tuple[int, float], ...] | None = None

    @classmethod
    def read(cls, question: Document) -> Self:
        length = question["padding_length"]
        stated = question["longer_sets"]
        longer = None
        if stated is not None:
            longer = tuple((entry["size"], entry["share"]) for entry in stated)
        for (before, above), (size, share) in pairwise(
            [(length, 1.0), *(longer or ())]
        ):
            if size <= before or share > above:
                allowed = f"of sizes that rise from above {length}, and shares that do not rise"
                raise unfit("longer_sets", (size, share), allowed)
        return cls(Levels.read(question).with_dummies(length), length, longer)

    def document(self) -> Document:
        rows = None
        if self.longer_sets is not None:
            rows = [{"size": n, "share": share} for n, share in self.longer_sets]
        document = super().document()
        document["longer_sets"] = rows
        return document

    def code(self, answer: Answer) -> Code:
        # A text is a sequence, too, and would be taken for a list of letters.
        if type(answer) not in (list, tuple, set, frozenset):
            remedy = "Put the items into a list, [] if there are none."
            raise InputError(
                "answer", type_of(answer), "a list of items, empty for none", remedy
            )
        items = [super(OneOfSet, self).code(item) for item in answer]
        if len(set(items)) < len(items):
            remedy = "Give each item once."
            raise InputError.because(
                "answer", "answer is a list that has an item twice", remedy
            )
        return self.of_items(items)

    @property
    def largest_set(self) -> int:
        """How many items a set may have: all, where nothing is said of sizes."""
        if self.longer_sets is None:
            return self.levels.total
        largest = self.padding_length
        if self.longer_sets:
            largest, _ = self.longer_sets[-1]
        return min(largest, self.levels.total)

    def of_items(self, items: Collection[int]) -> Code:
        """The answer with these items, none of which is there twice; InputError if too many."""
        if len(items) > self.largest_set:
            allowed = f"a list of at most {self.largest_set}, the largest size of a set"
            remedy = "State the sizes of sets as they are, and plan again."
            raise InputError("answer", "a list of more items", allowed, remedy)
        return tuple(sorted(items))

    def own(self, code: Code, source: Source) -> Own:
        length = self.padding_length
        slot = choose(source, max(len(code), length))
        dummy = 0
        if length > 1:
            dummy = choose(source, length)
        if slot < len(code):
            return (code[slot],)
        return (self.levels.total + dummy,)

    def texts(self, cell: str) -> list[str]:
        """Listed in JSON, or between semicolons, bars, commas or blanks."""
        if self.find(cell) is not None:
            return [cell]
        if cell.startswith("["):
            return _listed(cell)
        lists = []
        for mark in _MARKS:
            if mark is not None and mark not in cell:
                continue
            texts = list(filter(str.strip, cell.split(mark)))
            # The first mark at which the cell falls into known items is the one meant.
            if None not in map(self.find, texts):
                return texts
            lists.append(texts)
        # No mark is: the error is about the parts by the first one, or about the cell.
        if len(lists) > 1:
            return lists[0]
        return [cell]

    def read_cell(self, cell: str) -> Code:
        items = set()
        for text in self.texts(cell):
            items.add(self._known(self.find(text), text))
        return self.of_items(items)

    def without(self, *, blank: bool) -> Code:
        if blank:
            return ()
        return LEFT_OUT

    def answer(self, code: Code) -> Answer:
        return [self.levels.item_name(k) for k in code]

    def examples(self) -> Iterator[Answer]:
        items = list(super().examples())
        yield from ([], items[:1], items[: self.largest_set])


@dataclass(frozen=True)
class WholeSet(OneOfSet):
    """A set of items; the report is about all of it, filled up with dummies, the first ones.

    Draws an order of the set's items, and of numbers up to the padding length for shorter sets, as
    far as that length: of a longer set those are kept. Sizes of choices are the same for all sets
    that are not longer.
    """

    name: ClassVar[str] = "whole-set"
    keys: ClassVar[Keys] = {**OneOfSet.keys, "rule": RULE}

    def own(self, code: Code, source: Source) -> Own:
        length = self.padding_length
        # As many choices of the same sizes for every set up to the length.
        positions = order(source, max(len(code), length), length)
        if len(code) > length:
            return tuple(code[position] for position in positions)
        missing = length - len(code)
        first_dummy = self.levels.total
        return (*code, *range(first_dummy, first_dummy + missing))


def _listed(cell: str) -> list[str]:
    """The items of a list in JSON."""
    try:
        items = json.loads(cell)
    except (ValueError, RecursionError):
        items = None
    # Of a list what is neither a text nor a number, such as a list or true, is no item.
    fits = type(items) is list and set(map(type, items)) <= {str, int}
    if not fits:
        remedy = 'Write the items as a list in brackets: ["tea", "rice"].'
        # The error names no part of the cell: it is an answer.
        raise InputError("answer", "text", "a JSON list of items", remedy)
    return list(map(str, items))
