"""Channels for ordered answers: a row of probabilities an answer, shares up to each answer."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from math import inf, isfinite
from typing import Any, ClassVar, Self

from planner.deployment.client.drawing.entropy import Source, words
from planner.deployment.client.laws.bounds import exp_lower_bound, log_upper_bound
from planner.deployment.client.laws.levels import LEVEL, RULE, Levels
from planner.deployment.client.laws.pairs import PairBudget, demanded_budget
from planner.deployment.client.mechanisms.channel_rows import (
    REPORT_BYTES,
    VALUES,
    Rows,
    Values,
    largest_ratios,
    require_law,
    require_shape,
    require_unbiased,
    row_tuples,
)
from planner.deployment.client.mechanisms.law import Encoder, Estimator, ItemEncoder, ItemLaw
from planner.deployment.client.schema import PROBABILITY, Schema, choice, list_of, record, whole
from planner.errors import InputError, VerificationError
from planner.limits import EXPORT_REMEDY

_MAX_ANSWERS = 32
MEAN_OF_SCORES = "mean of scores"
WANTED = ("shares up to", "counts", MEAN_OF_SCORES)


@dataclass(frozen=True, slots=True)
class OrderedChannelLaw(ItemLaw):
    """A channel for ordered answers: with ``rows[k][y]/D`` the report ``y``, if item ``k`` is held.

    Items stand level by level, as everywhere; ``order`` has their numbers from the lowest answer
    to the highest.
    """

    mechanism: ClassVar[str] = "ordered-channel"
    kind: ClassVar[str] = "ordinal"
    since: ClassVar[int] = 3
    keys: ClassVar[Mapping[str, Schema]] = {
        "rule": RULE,
        "levels": list_of(LEVEL),
        "order": list_of(whole(0, _MAX_ANSWERS - 1), 2)
        | {"description": "The items' numbers, from the lowest answer to the highest."},
        "scores": list_of({"type": "number"}, 0)
        | {
            "description": "What each answer, in their order, counts for in a mean; empty if no "
            "mean is wanted."
        },
        "wanted": choice(*WANTED)
        | {"description": "Of which the error is small. For a mean nothing else is estimated."},
        "rows": list_of(list_of(PROBABILITY), 2)
        | {
            "description": "2^32 times the probability of each report, for every item level "
            "by level; each row sums to 2^32."
        },
    }
    estimates: ClassVar[Schema] = record(
        {"values": VALUES},
        "What each report adds to the number of people up to each answer, in their order, the "
        "last one left out; of the mean of scores in one row to the sum of the scores.",
    )

    order: tuple[int, ...]
    scores: tuple[float, ...]
    wanted: str
    rows: Rows
    values: Values

    @classmethod
    def read(cls, question: Mapping[str, Any]) -> Self:
        levels = Levels.read(question, least=2)
        order, scores, size = question["order"], question["scores"], levels.total
        if size > _MAX_ANSWERS or sorted(order) != list(range(size)):
            allowed = f"the numbers of all items once, at most {_MAX_ANSWERS}"
            raise InputError("order", order, allowed, EXPORT_REMEDY)
        if len(scores) not in (0, size) or not all(map(isfinite, scores)):
            allowed = f"{size} finite numbers, or none"
            raise InputError("scores", scores, allowed, EXPORT_REMEDY)
        rows, values = question["rows"], question["estimator"]["values"]
        if len(rows) != size:
            raise InputError("rows", len(rows), f"one for each of {size} items", EXPORT_REMEDY)
        wanted = question["wanted"]
        if wanted == MEAN_OF_SCORES and not scores:
            raise InputError("scores", scores, f"given for {wanted!r}", EXPORT_REMEDY)
        require_shape(rows, values, numbers=1 if wanted == MEAN_OF_SCORES else size - 1)
        numbers = tuple(map(float, scores))
        return cls(levels, tuple(order), numbers, wanted, row_tuples(rows), row_tuples(values))

    @property
    def cells(self) -> int:
        return len(self.rows[0])

    @property
    def size(self) -> int:
        return REPORT_BYTES

    def verify(self) -> None:
        require_law(self.rows)
        for (i, j), ratio in self._realised().items():
            demanded = demanded_budget(self.levels.epsilons, self.levels.rule, i, j)
            kept = demanded == inf or ratio <= exp_lower_bound(demanded)
            if not (kept or self._alone(i, j)):
                names = self.levels.names
                reason = f"Levels {names[i]!r} and {names[j]!r} realise more than the promised"
                raise VerificationError(f"{reason} {demanded:.9f} nats")
        rank = [self.order.index(k) for k in range(self.levels.total)]
        shares = range(self.levels.total - 1)
        wanted = [[Fraction(place <= answer) for place in rank] for answer in shares]
        if self.wanted == MEAN_OF_SCORES:
            wanted = [[Fraction(self.scores[place]) for place in rank]]
        require_unbiased(self.rows, self.values, wanted)

    def pairs(self) -> list[PairBudget]:
        epsilons, rule = self.levels.epsilons, self.levels.rule
        return [
            PairBudget(i, j, log_upper_bound(ratio), demanded_budget(epsilons, rule, i, j))
            for (i, j), ratio in self._realised().items()
        ]

    def estimator(self) -> Estimator:
        return {"values": [list(row) for row in self.values]}

    def encoder(self) -> Encoder:
        return OrderedChannelEncoder(self)

    def _alone(self, i: int, j: int) -> bool:
        """Whether there is no other answer to tell it from."""
        return i == j and self.levels.item_counts[i] == 1

    def _realised(self) -> dict[tuple[int, int], Fraction]:
        """Largest ratio of two items of the levels in one report; 1 for an item alone."""
        ends = list(accumulate(self.levels.item_counts))
        starts = [0, *ends[:-1]]
        return largest_ratios([self.rows[i:j] for i, j in zip(starts, ends, strict=True)])


class OrderedChannelEncoder(ItemEncoder):
    """The report's number in two bytes, little-endian.

    Draws one word: the report is the first number whose probabilities of the item's row, added
    up to it, exceed the word.
    """

    def __init__(self, law: OrderedChannelLaw) -> None:
        super().__init__(law.levels)
        self._ends = [list(accumulate(row)) for row in law.rows]

    def draw(self, code: Any, source: Source) -> bytes:
        """The report."""
        word = words(source, 1)[0]
        return bisect_right(self._ends[code], word).to_bytes(REPORT_BYTES, "little")
