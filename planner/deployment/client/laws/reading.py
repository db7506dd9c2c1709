"""Read one question's law from a parameter document, strictly; standard library only."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from planner.deployment.client.json_fields import Fields
from planner.deployment.client.laws.exact import DENOMINATOR as D
from planner.deployment.client.laws.levels import Levels
from planner.deployment.client.laws.output import (
    HashingLaw,
    Law,
    ResponseLaw,
    SamplingLaw,
    SignLaw,
    SubsetLaw,
    UnaryLaw,
)
from planner.deployment.client.laws.pairs import MAX_BUDGET

__all__ = ["ACKNOWLEDGEMENTS", "MAX_PADDING", "MECHANISMS", "read_law"]

MAX_PADDING = 2**20
ACKNOWLEDGEMENTS = {
    "round-two": "Nobody who sees a person's round two can see that person's round one.",
    "aggregates-only": "A trusted aggregator releases totals only.",
}


def read_law(question: Mapping[str, Any]) -> Law:
    """The law of one question of a parameter document, not verified yet.

    Raises
    ------
    InputError
        A field is missing or not as it must be.

    Examples
    --------
    >>> level = {"name": "all", "epsilon": 1.1, "item_count": 3, "items": []}
    >>> law = read_law({"name": "q", "mechanism": "grr", "denominator": 2**32, "rule": "min",
    ...                 "levels": [level], "truth": 2**30})
    >>> law.verify()
    >>> round(law.pairs()[0].realised, 6)  # ln 2
    0.693147
    """
    fields = Fields("a question", question)
    fields = Fields(f"question {fields.text('name')!r}", question)
    reader = _READERS[fields.choice("mechanism", MECHANISMS)]
    fields.whole("denominator", D, D)
    return reader(fields)


def _read_unary(fields: Fields) -> UnaryLaw:
    return UnaryLaw(Levels.read(fields), *_bit_probabilities(fields))


def _read_padded(fields: Fields) -> UnaryLaw:
    length = fields.whole("padding_length", 1, MAX_PADDING)
    return UnaryLaw(Levels.read(fields), *_bit_probabilities(fields), length)


def _bit_probabilities(fields: Fields) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows = [Fields("a level", row) for row in fields.list("levels")]
    a = tuple(row.whole("a", 1, D - 1) for row in rows)
    b = tuple(row.whole("b", 1, D - 1) for row in rows)
    for row, top, bottom in zip(rows, a, b, strict=True):
        if bottom >= top:
            raise row.wrong("b", bottom, f"below a = {top}")
    return a, b


def _read_response(fields: Fields) -> ResponseLaw:
    return ResponseLaw(Levels.read(fields, least=2), fields.whole("truth", 1, D - 1))


def _read_hashing(fields: Fields) -> HashingLaw:
    levels = Levels.read(fields, least=2)
    fields.choice("hash_function", ("xxh32",))
    return HashingLaw(levels, fields.whole("truth", 1, D - 1), fields.whole("values", 2, D - 1))


def _read_subset(fields: Fields) -> SubsetLaw:
    levels = Levels.read(fields, least=2)
    size = fields.whole("size", 1, levels.total - 1)
    return SubsetLaw(levels, fields.whole("held", 1, D - 1), size)


def _read_sign(fields: Fields) -> SignLaw:
    largest = sys.float_info.max
    lower, upper = (fields.number(key, -largest, largest) for key in ("lower", "upper"))
    if not lower < upper or not math.isfinite(upper - lower):
        raise fields.wrong("upper", upper, f"above lower, which is {lower!r}, by a finite amount")
    epsilon = fields.number("epsilon", math.ulp(0), MAX_BUDGET)
    low = fields.whole("low", 1, D // 2 - 1)
    return SignLaw(epsilon, low, lower, upper, fields.flag("yes_no"))


def _read_sampling(fields: Fields) -> SamplingLaw:
    levels = Levels.read(fields)
    guarantee = Fields("the guarantee", fields.value("guarantee"))
    needed = ACKNOWLEDGEMENTS[guarantee.choice("relies_on", tuple(ACKNOWLEDGEMENTS))]
    if guarantee.text("acknowledged") != needed:
        raise guarantee.wrong("acknowledged", guarantee.text("acknowledged"), repr(needed))
    return SamplingLaw(
        levels,
        fields.whole("sampling", 1, D - 1),
        fields.whole("zero", 0, D - 1),
        tuple(fields.wholes("decoys", 1, D - 1)),
        fields.number("none_epsilon", math.ulp(0), MAX_BUDGET),
        fields.flag("everyone_has_value"),
    )


_READERS: dict[str, Callable[[Fields], Law]] = {
    "idue": _read_unary,
    "idue-ps": _read_padded,
    "grr": _read_response,
    "olh": _read_hashing,
    "subset-selection": _read_subset,
    "bisample-md": _read_sign,
    "sampling-privacy": _read_sampling,
}
MECHANISMS = tuple(_READERS)
