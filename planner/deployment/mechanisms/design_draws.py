"""Reports of a subset design for many people at once, byte for byte those of the client.

The client draws one word for a type and a side, and then choices, as many as the type needs
(:class:`planner.deployment.client.mechanisms.design.DesignEncoder`); of a set it draws one item
before (:class:`planner.deployment.client.mechanisms.item_sets.DesignSetEncoder`). Where a
person's words begin therefore depends on everybody before: one walk over the words finds that, and
what they say is worked out for all people of a type together.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.drawing.entropy import Source, random_bytes
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.design import DesignLaw
from planner.deployment.client.mechanisms.item_sets import DesignSetLaw

_BLOCK_WORDS = 2**22  # random words that are looked at together
_BLOCK_ITEMS = 2**25  # of all people whose words are looked at together
_CACHED_ITEMS = 2**18  # of the people whose sets are made together: small enough for the cache
_TYPE_BYTES = 8
Numbers = NDArray[np.int64]


def draw_design(law: DesignLaw, codes: Sequence[Any], source: Source) -> NDArray[np.uint8]:
    """Reports for checked answers, uint8, shape ``(n, report size)``.

    The bytes that the client's encoder makes of the same words for one person after the other.

    Parameters
    ----------
    law:
        A subset design.
    codes:
        Item number of each person, shape ``(n,)``; for item sets, their items' numbers.
    source:
        The operating system's entropy; tests may play back bytes.
    """
    groups = np.repeat(*np.array([(group, count) for group, count, _ in law.members]).T)
    place = np.empty(groups.size, dtype=np.int64)
    place[np.argsort(groups, kind="stable")] = np.arange(groups.size)
    layouts = [_TypeLayout(law.items, row) for row in law.types]
    reports = np.zeros((len(codes), law.size), dtype=np.uint8)
    step = max(1, _CACHED_ITEMS // groups.size)
    for block in _Walk(law, groups, layouts, source).blocks(codes):
        out, held = reports[block.people], place[block.items]
        out[:, :2] = block.kinds.astype("<u2").view(np.uint8).reshape(-1, 2)
        order = np.argsort(block.kinds, kind="stable")
        ends = np.cumsum(np.bincount(block.kinds, minlength=len(layouts))).tolist()
        for layout, first, last in zip(layouts, [0, *ends], ends, strict=False):
            for rows in (order[at : min(at + step, last)] for at in range(first, last, step)):
                bits = layout.split(block.choices(rows, layout), held[rows], block.sides[rows])
                packed = np.packbits(bits, axis=1, bitorder="little")
                out[rows, _TYPE_BYTES : _TYPE_BYTES + packed.shape[1]] = packed
    return reports


class _TypeLayout:
    """What the choices of a report of one type are for, over all groups at once.

    Picks stand the last one first, so that of equal ones the first is written last.
    """

    def __init__(self, items: Sequence[int], highs: Sequence[int]) -> None:
        starts = [0, *accumulate(items)]
        picks, sizes, done = [np.zeros((4, 0), dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
        self._template = np.zeros(starts[-1], dtype=np.uint8)
        self._groups = [*zip(starts, items, strict=False)]
        self._rank_columns = np.zeros((len(items), 2), dtype=np.int64)
        for group, (start, count, high) in enumerate(zip(starts, items, highs, strict=False)):
            few, ones = min(high, count - high), high <= count - high
            self._template[start : start + count] = high > 0 if not few else not ones
            if few:
                lasts = np.arange(count - few, count)
                columns = (lasts + done - lasts[0], start, start + lasts, ones)
                picks.append(np.array(np.broadcast_arrays(*columns), dtype=np.int64))
                sizes += [lasts + 1, np.array([high, count - high])]
                self._rank_columns[group] = done + few + 1, done + few
                done += few + 2
        self.sizes = np.concatenate(sizes).astype(np.uint32)
        self._column, self._start, self._last, ones_of = np.hstack(picks)[:, ::-1].copy()
        self._ones = ones_of.astype(np.uint8)
        self._group_ends = np.array(starts[1:])
        self._pick_of = np.full(self._template.size, -1, dtype=np.int64)
        self._pick_of[self._last] = np.arange(self._last.size)

    def split(
        self, choices: NDArray[np.uint32], own: Numbers, sides: NDArray[np.bool_]
    ) -> NDArray[np.uint8]:
        """One byte an item, 0 or 1, by the choices of each person, shape ``(people, items)``."""
        people, items = choices.shape[0], self._template.size
        bits = np.tile(self._template, (people, 1))
        rows = np.arange(people)
        if self._column.size:
            picks = choices.take(self._column, axis=1) + self._start
            cells, flat = picks + (rows * items)[:, None], bits.reshape(-1)
            flat[cells] = self._ones
            person, pick = np.divmod(np.flatnonzero(self._taken(picks, cells)), self._last.size)
            flat[person * items + self._last[pick]] = self._ones[pick]
        wrong = np.flatnonzero(bits[rows, own] != sides)
        group = np.searchsorted(self._group_ends, own[wrong], side="right")
        for one in np.unique(2 * group + sides[wrong]).tolist():
            some = wrong[2 * group + sides[wrong] == one]
            self._exchange(bits, some, own[some], one >> 1, one & 1, choices)
        return bits

    def _taken(self, picks: Numbers, cells: Numbers) -> NDArray[np.bool_]:
        """Picks that were in the set already, for which the last item of their range goes in.

        An item is in the set if it was picked before, or went in for a pick that was taken.
        """
        people, count = picks.shape
        seen = np.empty(people * self._template.size, dtype=np.int32)
        numbers = np.arange(count, dtype=np.int32)
        seen[cells.ravel()] = np.tile(numbers, people)
        taken = seen.take(cells) != numbers
        stands_for = self._pick_of.take(picks)
        flat = taken.ravel()
        open_ = np.flatnonzero(~flat & (stands_for > numbers).ravel())
        cause = open_ - open_ % count + stands_for.ravel()[open_]
        while True:
            known = flat[cause]
            if not known.any():
                return flat.reshape(people, count)
            flat[open_[known]] = True
            open_, cause = open_[~known], cause[~known]

    def _exchange(
        self,
        bits: NDArray[np.uint8],
        rows: Numbers,
        own: Numbers,
        group: int,
        side: int,
        choices: NDArray[np.uint32],
    ) -> None:
        """Own items on the wrong side change places with one of those on the right side."""
        start, count = self._groups[group]
        there = np.flatnonzero(bits[rows, start : start + count] == side).reshape(rows.size, -1)
        rank = choices[rows, self._rank_columns[group, side]]
        other = start + there[np.arange(rows.size), rank] % count
        bits[rows, other] = 1 - side
        bits[rows, own] = side


class _Block(NamedTuple):
    """People one after the other whose types are known, and where their choices' words end.

    ``items`` are those that are reported: of item sets what was drawn, a dummy being the last.
    """

    people: slice
    items: Numbers
    kinds: Numbers
    sides: NDArray[np.bool_]
    ends: Numbers
    words: NDArray[np.uint32]

    def choices(self, rows: Numbers, layout: _TypeLayout) -> NDArray[np.uint32]:
        """The choices of people of one type, shape ``(people, choices)``."""
        count = layout.sizes.size
        chosen = self.words[self.ends[rows][:, None] + np.arange(-count, 0)]
        return chosen % layout.sizes


class _Walk:
    """Finds, person by person, the type and the words of the choices in one stream of words."""

    def __init__(
        self, law: DesignLaw, groups: Numbers, layouts: Sequence[_TypeLayout], source: Source
    ) -> None:
        self._source, self._sizes = source, [layout.sizes for layout in layouts]
        self._groups = groups.tolist()
        self._length = law.padding_length if isinstance(law, DesignSetLaw) else 0
        self._thresholds = [list(accumulate(chain.from_iterable(row))) for row in law.groups]
        self._most = 2 + max(sizes.size for sizes in self._sizes)
        self._people = max(1, _BLOCK_ITEMS // law.levels.total)
        # A choice among ``size`` rejects less than ``size`` words, the largest ones.
        self._suspect = DENOMINATOR - max(law.items)
        self._words = np.zeros(0, dtype=np.uint32)

    def blocks(self, codes: Sequence[Any]) -> Iterator[_Block]:
        """Blocks of people, by the answer of each; words are drawn in order, few in vain."""
        done = 0
        while done < len(codes):
            wanted = min(_BLOCK_WORDS, min(self._people, len(codes) - done) * self._most)
            self._draw(max(wanted, self._most) - self._words.size)
            block, used = self._block(codes[done : done + self._people], done)
            if not block.kinds.size:  # words were rejected: these are too few
                self._draw(self._most)
                continue
            yield block
            done = block.people.stop
            self._words = self._words[used:]

    def _draw(self, count: int) -> None:
        if count > 0:
            fresh = np.frombuffer(random_bytes(self._source, 4 * count), dtype="<u4")
            self._words = np.append(self._words, fresh.astype(np.uint32))

    def _block(self, codes: Sequence[Any], first: int) -> tuple[_Block, int]:
        """As many people as the words suffice for, and how many words they take."""
        stream = self._words
        suspects = [*np.flatnonzero(stream >= self._suspect).tolist(), stream.size]
        suspect, position = 0, 0
        items, drawn, ends = [], [], []
        for code in codes:
            item, start = self._sampled(code, position) if self._length else (code, position)
            if start >= stream.size:
                break
            one = bisect_right(self._thresholds[self._groups[item]], int(stream[start]))
            end = start + 1 + self._sizes[one >> 1].size
            while suspects[suspect] <= start and suspect < len(suspects) - 1:
                suspect += 1
            if suspects[suspect] < end <= stream.size:
                end = self._past_rejected(start + 1, self._sizes[one >> 1])
            if end > stream.size:
                break
            items.append(item)
            drawn.append(one)
            ends.append(end)
            position = end
        columns = np.array([items, drawn, ends], dtype=np.int64)
        people = slice(first, first + len(items))
        kinds, sides = columns[1] >> 1, (columns[1] & 1).astype(np.bool_)
        return _Block(people, columns[0], kinds, sides, columns[2], stream), position

    def _sampled(self, code: Sequence[int], first: int) -> tuple[int, int]:
        """One item of a set or the dummy, which is the last, and where the next word stands."""
        stream, size = self._words, max(len(code), self._length)
        accepted = DENOMINATOR - DENOMINATOR % size
        for position in range(first, stream.size):
            if stream[position] < accepted:
                slot = int(stream[position]) % size
                return (code[slot] if slot < len(code) else len(self._groups) - 1), position + 1
        return 0, stream.size

    def _past_rejected(self, first: int, sizes: NDArray[np.uint32]) -> int:
        """Where a person's choices end, once the accepted words have moved there together."""
        stream, accepted = self._words, DENOMINATOR - DENOMINATOR % sizes.astype(np.int64)
        places = np.arange(first, first + sizes.size)
        while places[-1] < stream.size:
            rejected = np.flatnonzero(stream[places] >= accepted)
            if not rejected.size:
                end = int(places[-1]) + 1
                stream[end - sizes.size : end] = stream[places]
                return end
            places[rejected[0] :] += 1
        return stream.size + 1
