"""A question for a number."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import pydantic

from planner.errors import InputError, mark
from planner.laws.answers import Number as NumberOrNone
from planner.laws.answers import WayOfAsking
from planner.policy.policy import PrivacyPolicy
from planner.survey import values
from planner.survey.assumed import AnyPreferences
from planner.survey.description import wrong
from planner.survey.levels import (
    Level,
    NumericDomain,
)
from planner.survey.question import BEST, BaseQuestion

MEAN: Literal["mean"] = "mean"
DISTRIBUTION: Literal["distribution"] = "distribution"
OF_A_MEAN = ("yes_no", "mean", "sd", "preferences")  # keys that a distribution has not

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
    of:
        What is wanted: the ``"mean"``, or the ``"distribution"``: the range is cut into cells of
        equal width, ordered answers, and there are shares, quantiles and a histogram.
    cells:
        How many for a distribution, 2 to 255; planning chooses if left out.

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
    of: Literal["mean", "distribution"] = MEAN
    cells: (
        Annotated[int, values.count(2, 255, "Leave it out to have it chosen.")] | None
    ) = None

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        _ = self.domain  # checks the range
        self._check_distribution()
        self._check_targets([])
        self._check_file()
        return self

    def _check_distribution(self) -> None:
        """Refuse what a distribution cannot have, and cells of a mean."""
        if self.of == MEAN:
            if self.cells is not None:
                remedy = f'Write of = "{DISTRIBUTION}", or delete it.'
                raise wrong(self.cells, "left out for a mean", remedy, "cells")
            return
        for key in OF_A_MEAN:
            if getattr(self, key) != type(self).model_fields[key].default:
                remedy = "The cells are planned for whatever numbers people have."
                allowed = f"left out for of = {DISTRIBUTION!r}"
                raise wrong("given", allowed, remedy, key)
        _ = self.policy  # which has a budget

    @property
    def of_mean(self) -> bool:
        """Whether the mean is wanted."""
        return self.of == MEAN

    @cached_property
    def domain(self) -> NumericDomain:
        """The range of the number."""
        return NumericDomain(self.lower, self.upper, self.yes_no)

    @cached_property
    def way_of_asking(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        epsilon = self.epsilon or 1.0  # which reading takes no notice of
        return NumberOrNone.of_range(self.lower, self.upper, self.yes_no, 2, epsilon)

    @property
    def radius(self) -> float:
        """Half the range of the number."""
        return self.domain.radius

    @property
    def refusing(self) -> float:
        """Share of people without an answer at any budget, as stated or assumed."""
        if self.refusals is not None:
            return self.refusals
        if self.preferences is not None:
            # Of those people it is known at which budget each answers.
            return 0.0
        return USUAL_MISSING

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
