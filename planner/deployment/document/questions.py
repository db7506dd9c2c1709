"""The questions of a parameter file, one model for each mechanism (pydantic, strict)."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, model_validator

from planner.deployment.laws.exact import DENOMINATOR
from planner.deployment.laws.output import Law
from planner.deployment.laws.pairs import PairBudget
from planner.deployment.laws.reading import MAX_PADDING, read_law
from planner.errors import VerificationError
from planner.policy import MAX_EPSILON

__all__ = [
    "AggregateGuarantee",
    "HashingQuestion",
    "ItemSetQuestion",
    "LevelParameters",
    "LinearEstimator",
    "NumericQuestion",
    "PairParameters",
    "Predicted",
    "QuestionParameters",
    "ResponseQuestion",
    "SamplingEstimator",
    "SamplingGuarantee",
    "SamplingQuestionParameters",
    "SignEstimator",
    "Strict",
    "SubsetQuestion",
    "Text",
    "UnaryLevelParameters",
    "UnaryQuestion",
    "listed",
    "whole",
]

Text = Annotated[str, Field(min_length=1)]
Grid = Annotated[int, Field(gt=0, lt=DENOMINATOR, description="A probability times 2^32.")]
Budget = Annotated[float, Field(gt=0, le=MAX_EPSILON, description="Nats.")]
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


class _Question(Strict):
    name: Text
    denominator: Annotated[Literal[4294967296], BeforeValidator(whole)]
    pairs: Annotated[list[PairParameters], Field(min_length=1)]
    _law: Law = PrivateAttr()

    @property
    def law(self) -> Law:
        """The output law, which knows how to verify itself."""
        return self._law

    @model_validator(mode="after")
    def _consistent(self) -> _Question:
        self._law = read_law(self.model_dump(mode="python"))
        return self

    def verify(self) -> None:
        """Prove from the integers alone that every pair keeps its budget.

        The listed pairs and the estimator's constants must follow from the integers.

        Raises
        ------
        VerificationError
            Names what does not hold.
        """
        try:
            self.law.verify()
            if self.estimator.model_dump() != self.law.estimator():  # type: ignore[attr-defined]
                raise VerificationError("The estimator does not follow from the probabilities")
            if [entry.model_dump() for entry in self.pairs] != listed(self.law.pairs()):
                raise VerificationError("The listed pairs do not follow from the probabilities")
        except VerificationError as error:
            raise VerificationError(f"Question {self.name!r}: {error.reason}") from error


class UnaryQuestion(_Question):
    """Unary encoding, one bit per item: IDUE (opt0, opt1, opt2), RAPPOR or OUE."""

    kind: Literal["categorical"]
    mechanism: Literal["idue"]
    model: Literal["opt0", "opt1", "opt2", "rappor", "oue"]
    rule: Rule
    levels: Annotated[list[UnaryLevelParameters], Field(min_length=1)]
    estimator: LinearEstimator
    predicted: Predicted


class ItemSetQuestion(_Question):
    """Item sets by padding and sampling, then unary encoding; dummy bits follow the items'."""

    kind: Literal["item-set"]
    mechanism: Literal["idue-ps"]
    model: Literal["opt0", "opt1", "opt2", "rappor", "oue"]
    rule: Literal["min"]
    padding_length: Annotated[int, Field(ge=1, le=MAX_PADDING)]
    levels: Annotated[list[UnaryLevelParameters], Field(min_length=1)]
    estimator: LinearEstimator
    predicted: Predicted


class ResponseQuestion(_Question):
    """Generalised randomised response: the truth with truth / 2^32, else any item alike."""

    kind: Literal["categorical"]
    mechanism: Literal["grr"]
    rule: Rule
    truth: Grid
    levels: Annotated[list[LevelParameters], Field(min_length=1)]
    estimator: LinearEstimator
    predicted: Predicted


class HashingQuestion(_Question):
    """Local hashing: XXH32 of the item under a random seed, modulo values, then as "grr"."""

    kind: Literal["categorical"]
    mechanism: Literal["olh"]
    rule: Rule
    hash_function: Literal["xxh32"]
    values: Annotated[int, Field(ge=2, lt=DENOMINATOR)]
    truth: Grid
    levels: Annotated[list[LevelParameters], Field(min_length=1)]
    estimator: LinearEstimator
    predicted: Predicted


class SubsetQuestion(_Question):
    """Subset selection: "size" items, the true one among them with held / 2^32."""

    kind: Literal["categorical"]
    mechanism: Literal["subset-selection"]
    rule: Rule
    size: Annotated[int, Field(ge=1)]
    held: Grid
    levels: Annotated[list[LevelParameters], Field(min_length=1)]
    estimator: LinearEstimator
    predicted: Predicted


class NumericQuestion(_Question):
    """BiSample-MD: a number from lower to upper, or no answer; the report has two bits."""

    kind: Literal["numeric"]
    mechanism: Literal["bisample-md"]
    epsilon: Budget
    lower: float
    upper: float
    yes_no: bool
    low: Grid
    estimator: SignEstimator


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


class SamplingQuestionParameters(_Question):
    """Sampling Privacy, asked in two rounds; each entry (i, i) of "pairs" is a round-two output.

    The entry after the levels is the output "none of the values".
    """

    kind: Literal["sampled-choice"]
    mechanism: Literal["sampling-privacy"]
    rule: Literal["min"]
    sampling: Grid
    zero: Annotated[int, Field(ge=0, lt=DENOMINATOR)]
    decoys: Annotated[list[Grid], Field(min_length=1)]
    none_epsilon: Budget
    everyone_has_value: bool
    levels: Annotated[list[LevelParameters], Field(min_length=1)]
    guarantee: SamplingGuarantee
    estimator: SamplingEstimator


QuestionParameters = Annotated[
    UnaryQuestion
    | ItemSetQuestion
    | ResponseQuestion
    | HashingQuestion
    | SubsetQuestion
    | NumericQuestion
    | SamplingQuestionParameters,
    Field(discriminator="mechanism"),
]


def listed(pairs: list[PairBudget]) -> list[dict[str, Any]]:
    """Pairs as in the file: ``null`` where no budget is demanded."""
    return [
        {
            "first": pair.first,
            "second": pair.second,
            "realised": pair.realised,
            "demanded": None if math.isinf(pair.demanded) else pair.demanded,
        }
        for pair in pairs
    ]
