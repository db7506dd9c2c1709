"""Questions for one answer each, for a set of answers, or for one asked twice."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, ClassVar, Literal, Self

import pydantic

from planner.errors import InputError
from planner.laws.answers import ItemOrNone, WayOfAsking
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.laws.item_sets import OneOfSet
from planner.laws.schema import Document
from planner.limits import MAX_PADDING_LENGTH
from planner.survey import values
from planner.survey.assumed import AssumedSets
from planner.survey.description import Description, wrong
from planner.survey.levels import Level
from planner.survey.question import Levelled

SET_DESIGN = "set-design"  # asks for one report about the whole set


Criterion = Literal["total", "minimax"]
_OF_NO_ANCHOR = {"targets": (), "rounds": None, "weight": 1.0}


class Categorical(Levelled):
    """A question to which every person holds exactly one answer.

    ``criterion``: ``"total"`` keeps the error of all items together small, ``"minimax"`` that of
    the worst single item, where few people have it.

    An ``anchor`` names another question of the survey, whose answers and mechanism it has, and the
    answer to it that is ``known`` to be true of everybody: it shows how many people attend. It
    spends no budget, as no two answers are to be told apart, and states nothing else but its text.

    Examples
    --------
    >>> from planner import Level
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=3))
    >>> Categorical("diagnosis", levels).policy.item_counts.tolist()
    [1, 3]
    """

    draws_one: ClassVar[bool] = True
    joins: ClassVar[bool] = True
    kind: Literal["categorical"] = "categorical"
    criterion: Criterion = "total"
    levels: values.Several[Level] = pydantic.Field(default=(), alias="level")
    anchor: values.Name | None = None
    known: values.Name | None = None

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.anchor is None) != (self.known is None):
            allowed = "given with the other, as a question's name and its known answer"
            remedy = 'Write anchor = "diagnosis" and known = "none of these".'
            raise wrong((self.anchor, self.known), allowed, remedy, "anchor")
        if self.anchor is None and not self.levels:
            remedy = "Add a table [[question.level]] with its answers and their budget."
            raise wrong(None, "one level or more", remedy, "level")
        for key, usual in _OF_NO_ANCHOR.items():
            if self.anchor is not None and getattr(self, key) != usual:
                remedy = "An anchor is asked as its question is: say it there."
                raise wrong(getattr(self, key), "left out", remedy, key)
        if not self.levels:  # until it is in a survey
            return self
        # Pydantic wraps the inherited check, which mypy does not see.
        return super()._fits()  # type: ignore[operator]

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> Document:
        document = super()._written(write)
        if self.anchor is None:
            return document
        # A file says it once: at the question that it is the anchor of.
        for derived in ("level", "rule", "label", "mechanism", "criterion"):
            document.pop(derived, None)
        return document

    @property
    def anchor_of(self) -> str | None:
        """The name of the question whose anchor it is: its true answer is known."""
        return self.anchor

    def _check(self) -> None:
        # Shares of people with an answer of a level; of sets these may sum to more.
        priors = [level.prior for level in self.levels if level.prior is not None]
        if len(priors) < len(self.levels):
            return
        total = sum(priors)
        if abs(total - 1) > 1e-6:
            allowed = f"of sum 1, not {total:g}"
            remedy = "Everybody has exactly one answer."
            raise InputError("prior", priors, allowed, remedy)


_LENGTH = "Leave it out to have the best one computed."


class ItemSet(Levelled):
    """A question to which every person holds a set of answers, which may be empty.

    ``criterion`` is as of :class:`Categorical`. ``padding_length`` is the size to which sets are
    padded or cut, 1 to 2^20; None to have the best one planned from what is known of the ``sets``.

    Examples
    --------
    >>> from planner import Level
    >>> asked = ItemSet("drinks", (Level("any", 2.0, ("tea", "beer", "water")),), padding_length=2)
    >>> asked.policy.item_counts.tolist(), asked.padding_length
    ([3], 2)
    """

    kind: Literal["item-set"] = "item-set"
    criterion: Criterion = "total"
    padding_length: (
        Annotated[int, values.count(1, MAX_PADDING_LENGTH, _LENGTH)] | None
    ) = None
    sets: AssumedSets | None = None

    def _check(self) -> None:
        if self.policy.rule.directed:
            remedy = (
                "A set design promises one budget for any two sets: state it both ways."
            )
            allowed = "one that protects both directions alike, for item sets"
            raise wrong(self.policy.rule_name, allowed, remedy, "rule")
        if not (
            self.policy.rule.covers_sets or self.mechanism in ("best", "set-design")
        ):
            remedy = (
                "Set budgets (eq. 16 of the IDUE paper) are defined for the rule min alone; "
                "a set design keeps the smallest budget of any rule."
            )
            allowed = f'"min" for {self.mechanism!r}'
            raise wrong(self.policy.rule_name, allowed, remedy, "rule")

    @cached_property
    def way_of_asking(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return OneOfSet(self.plain_levels, 1)

    @property
    def cap(self) -> float | None:
        """Budget of any two sets, in nats; None for the smallest pair budget."""
        if self.sets is None:
            return None
        return self.sets.cap


class Sampling(Description):
    """What a sampled choice needs beyond its levels.

    ``relies_on`` is the view of the guarantee that a deployment relies on, ``acknowledged`` the
    sentence about it, word for word, without which nothing is written. ``cap`` is the largest
    sampling probability, above 0 and below 1 (0.45 is the paper's), ``floor`` the smallest
    ``pi_0``, below 1: people who stay at 0 hide the sampled ones. ``none_epsilon`` is the budget of
    the answer "none of the values", the levels' smallest if omitted; with ``everyone_has_value``
    nobody gives it, and output 0 needs no budget.
    """

    relies_on: values.Name
    acknowledged: str | None = None
    cap: Annotated[values.Share, pydantic.Field(gt=0, lt=1)] = 0.45
    floor: Annotated[values.Share, pydantic.Field(lt=1)] = 0.0
    none_epsilon: values.Budget | None = None
    everyone_has_value: bool = False

    def require_acknowledged(self) -> None:
        """InputError if nobody vouches for what the deployment relies on."""
        needed = ACKNOWLEDGEMENTS[self.relies_on]
        if self.acknowledged != needed:
            remedy = (
                "The guarantee relied on needs it; if it is true, say so word for word. "
                "Until then the parameters are not written."
            )
            raise InputError("acknowledged", self.acknowledged, f'"{needed}"', remedy)


class SampledChoice(Levelled):
    """One answer or none, asked twice (Sampling Privacy); levels have ``yes_counts``."""

    locally_private: ClassVar[bool] = False
    kind: Literal["sampled-choice"] = "sampled-choice"
    mechanism: str = "sampling-privacy"
    rule: Literal["min"] = "min"
    rounds: None = None
    sampling: Sampling

    @cached_property
    def way_of_asking(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return ItemOrNone(self.plain_levels, self.sampling.everyone_has_value)
