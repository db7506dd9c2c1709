"""A question for a number."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import pydantic

from planner.errors import InputError, mark
from planner.laws.answers import Asked as WayOfAsking
from planner.laws.answers import Number as NumberOrNone
from planner.policy.policy import PrivacyPolicy
from planner.survey import values
from planner.survey.assumed import AnyPreferences
from planner.survey.levels import (
    Level,
    NumericDomain,
)
from planner.survey.question import BEST, BaseQuestion

# Share of people without an answer to a question for a number that states none.
USUAL_MISSING = 0.1


class Numeric(BaseQuestion):
    """A question for a number from ``lower`` to ``upper`` (``yes_no``: one of these), or none.

    Attributes
    ----------
    epsilon:
        Budget that everybody is offered, in nats, above 0, at most 50; None while it is open.
    mean, sd:
        What is expected of all people's answers; planning checks their ranges.
    refusals:
        Share of people without an answer at any budget, below 1; a tenth if left out, or none
        beside ``preferences``.
    preferences:
        How much epsilon people tolerate; None if any.

    Examples
    --------
    >>> Numeric("age", 17, 90, epsilon=1.0).policy.names
    ('age',)
    """

    first: ClassVar[tuple[str, ...]] = ("name", "lower", "upper")
    levels: ClassVar[tuple[Level, ...]] = ()  # all numbers have one budget
    kind: Literal["numeric"] = "numeric"
    mechanism: str = BEST
    lower: values.Finite
    upper: values.Finite
    yes_no: bool = False
    epsilon: values.Budget | None = None
    mean: values.Finite | None = None
    sd: values.Finite | None = None
    refusals: Annotated[values.Share, pydantic.Field(lt=1)] | None = None
    preferences: AnyPreferences | None = None

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        _ = self.domain
        self._check_targets([])
        self._check_file()
        return self

    @property
    def of_mean(self) -> bool:
        """It is."""
        return True

    @cached_property
    def domain(self) -> NumericDomain:
        """The range."""
        return NumericDomain(self.lower, self.upper, self.yes_no)

    @cached_property
    def way(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return NumberOrNone.over(
            self.lower, self.upper, self.yes_no, 2, self.epsilon or 1.0
        )

    @property
    def radius(self) -> float:
        """Half the range."""
        return self.domain.radius

    @property
    def refusing(self) -> float:
        """Share of people without an answer at any budget, as stated or assumed."""
        usual = USUAL_MISSING if self.preferences is None else 0.0
        return usual if self.refusals is None else self.refusals

    @cached_property
    def policy(self) -> PrivacyPolicy:
        """One level with the question's name; an :class:`InputError` if it has no budget."""
        if self.epsilon is None:
            remedy = (
                f"Add {mark('epsilon')}, "
                f"or what people accept in {mark('[question.preferences]')}."
            )
            raise InputError(
                f"epsilon of question {self.name!r}", None, "given", remedy
            )
        return PrivacyPolicy([self.epsilon], [1], names=[self.name])
