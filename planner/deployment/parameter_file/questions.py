"""The questions of a parameter file, one model for each mechanism (pydantic, strict)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.laws.output import Law
from planner.deployment.client.laws.reading import MAX_PADDING, read_law
from planner.deployment.parameter_file.parts import (
    Budget,
    Grid,
    LevelParameters,
    LinearEstimator,
    PairParameters,
    Predicted,
    Rule,
    SamplingEstimator,
    SamplingGuarantee,
    SignEstimator,
    Strict,
    Text,
    UnaryLevelParameters,
    derived,
    whole,
)
from planner.errors import VerificationError

__all__ = [
    "HashingQuestion",
    "ItemSetQuestion",
    "NumericQuestion",
    "QuestionParameters",
    "ResponseQuestion",
    "SamplingQuestionParameters",
    "SubsetQuestion",
    "UnaryQuestion",
]


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
            expected = derived(self.law)
            if self.estimator.model_dump() != expected["estimator"]:  # type: ignore[attr-defined]
                raise VerificationError("The estimator does not follow from the probabilities")
            if [entry.model_dump() for entry in self.pairs] != expected["pairs"]:
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
