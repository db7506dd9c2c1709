"""What the questions of a parameter file are made of: levels, pairs, estimators, guarantees."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.output import Law
from planner.deployment.client.laws.pairs import MAX_BUDGET

__all__ = [
    "AggregateGuarantee",
    "Budget",
    "Grid",
    "LevelParameters",
    "LinearEstimator",
    "PairParameters",
    "Predicted",
    "Rule",
    "SamplingEstimator",
    "SamplingGuarantee",
    "SignEstimator",
    "Strict",
    "Text",
    "UnaryLevelParameters",
    "derived",
    "whole",
]

Text = Annotated[str, Field(min_length=1)]
Grid = Annotated[int, Field(gt=0, lt=DENOMINATOR, description="A probability times 2^32.")]
Budget = Annotated[float, Field(gt=0, le=MAX_BUDGET, description="Nats.")]
Position = Annotated[int, Field(ge=0)]
Infinite = Literal["infinite"]
Rule = Annotated[
    Literal["min", "avg"] | list[list[Budget | None]],
    Field(description="Pair budgets: of both levels the smaller, the mean, or a symmetric matrix "
          "with null where none is demanded."),
]  # fmt: skip


def whole(value: object) -> object:
    """A literal compares by value alone, and 1.0 and true equal 1."""
    if type(value) is not int:
        raise ValueError("Input should be a whole number")
    return value


class Strict(BaseModel):
    """Exactly these keys, of exactly these types."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class LevelParameters(Strict):
    """One privacy level and its items; ``items`` is empty where only their number is known."""

    name: Text
    epsilon: Budget
    item_count: Annotated[int, Field(ge=1, le=10**12)]
    items: list[Text]


class UnaryLevelParameters(LevelParameters):
    """A level whose bits are 1 with probability a / 2^32 (the answer's) or b / 2^32 (others)."""

    a: Grid
    b: Grid


class PairParameters(Strict):
    """Budget of telling an item of one level from one of another; positions from 0, nats.

    ``realised`` is rounded up; ``demanded`` is null if the policy demands none. Up to 200
    levels all pairs are listed, beyond that each level's tightest ones only.
    """

    first: Position
    second: Position
    realised: Annotated[float, Field(ge=0)]
    demanded: Budget | None


class Predicted(Strict):
    """Worst-case total squared error per user, and the proof that no table does better.

    For item sets that of the sampled item, before the estimate is scaled. The proof is
    null for mechanisms with a closed form, which are not optimised.
    """

    worst_case_mse: Annotated[float, Field(gt=0)]
    lower_bound: float | None
    relative_gap: Annotated[float, Field(ge=0)] | None


class LinearEstimator(Strict):
    """People with an item: factor * (count - users * offset) / slope, constants per level."""

    factor: Annotated[int, Field(ge=1)]
    offsets: list[Annotated[float, Field(gt=0, lt=1)]]
    slopes: list[Annotated[float, Field(gt=0, lt=1)]]


class SignEstimator(Strict):
    """With f1, f0 the shares of 1 among reports by positive and by negative sampling:

    answer rate (f1 + f0 - 2 noise) / theta, mean (f1 - f0) / (f1 + f0 - 2 noise) on [-1, 1].
    """  # noqa: D400 - reads on

    noise: Annotated[float, Field(gt=0, lt=0.5)]
    theta: Annotated[float, Field(gt=0, lt=1)]


class SamplingEstimator(Strict):
    """People with a value: (its total in round two - that in round one) / sampling."""

    sampling: Annotated[float, Field(gt=0, lt=1)]


class AggregateGuarantee(Strict):
    """What released totals promise, (epsilon, delta)."""

    delta: Annotated[float, Field(gt=0, lt=1)]
    difference_epsilon: float | Infinite
    totals_epsilon: float | Infinite
    totals_are_exact: bool
    others_with_each_value: list[int]
    others_with_none: int


class SamplingGuarantee(Strict):
    """The three views; a deployment relies on one of the weaker two and says so."""

    relies_on: Literal["round-two", "aggregates-only"]
    acknowledged: Text
    round_two_epsilon: float | Infinite
    linkable_epsilon: Infinite
    aggregates: AggregateGuarantee


def derived(law: Law) -> dict[str, Any]:
    """What a question states although it follows from the integers: estimator and pairs.

    A pair's budget is ``null`` where none is demanded.
    """
    pairs = [
        {
            "first": pair.first,
            "second": pair.second,
            "realised": pair.realised,
            "demanded": None if math.isinf(pair.demanded) else pair.demanded,
        }
        for pair in law.pairs()
    ]
    return {"estimator": law.estimator(), "pairs": pairs}
