"""A question for one of some answers that have an order."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Literal

from planner.errors import InputError
from planner.laws.answers import (
    MEAN_OF_SCORES,
    SHARES_UP_TO,
    Ordered,
)
from planner.survey import values
from planner.survey.description import at, wrong
from planner.survey.question import Levelled

# Asks for the best of all mechanisms for what is wanted: a mean, or shares of ordered answers.
CHANNEL = "channel"


MAX_ORDERED_ANSWERS = 256  # of more than 16 the best channel is not proven


class Ordinal(Levelled):
    """A question with exactly one answer of 2 to 256 named ones that have an order.

    ``order`` has all answers, the lowest first; empty if the levels list them so. ``scores`` say
    what each counts for in a mean, in this order; empty for no mean. ``wanted`` is what has a small
    total error: the ``"shares up to"`` each answer but the last, the ``"counts"`` of people with
    each, or the ``"mean of scores"`` alone, beside which nothing is estimated. ``no_answer`` is one
    of the answers, such as "don't know", outside the order and without a score: shares, quartiles
    and mean are of the others, and its own share is estimated.

    Examples
    --------
    >>> from planner import Level
    >>> Ordinal("how often", [Level("any", 1.0, ["no", "yes"])], order=["no", "maybe"])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: order is ('no', 'maybe') but must be each of 'no', 'yes' once. ...
    """

    joins: ClassVar[bool] = True
    kind: Literal["ordinal"] = "ordinal"
    mechanism: str = CHANNEL
    order: values.Answers = ()
    scores: values.Numbers = ()
    wanted: Literal["shares up to", "counts", "mean of scores"] = "shares up to"
    no_answer: values.Name | None = None

    @cached_property
    def way_of_asking(self) -> Ordered:
        """The way of asking, by which answers are read."""
        # Laws number items level by level; the order is one of these numbers.
        by_level = super().ordered
        order = tuple(by_level.index(answer) for answer in self.ordered)
        outside = self.no_answer is not None
        scores = self.scores
        if scores and outside:
            # What is outside the order counts for nothing in a mean.
            scores = (*scores, 0.0)
        return Ordered(self.plain_levels, order, scores, self.wanted, outside)

    @property
    def of_mean(self) -> bool:
        """Whether the mean of the scores is wanted, and nothing else."""
        return self.wanted == MEAN_OF_SCORES

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, the lowest first; last the one outside the order."""
        listed = self.order or super().ordered
        last = self.no_answer
        if not last:
            return listed
        return (*[answer for answer in listed if answer != last], last)

    @property
    def answers(self) -> list[str]:
        """The answers, the lowest first; last the one outside the order."""
        return list(self.ordered)

    @property
    def in_order(self) -> int:
        """How many of the answers have an order: all but the one outside it."""
        return len(self.ordered) - (self.no_answer is not None)

    @property
    def judged(self) -> list[str]:
        """The answers whose count is wanted, or the share up to them; of the last its own."""
        answers = list(self.ordered)
        if self.wanted == SHARES_UP_TO:
            # All are up to the highest of the order: nothing of it is to be found out.
            del answers[self.in_order - 1]
        return answers

    @property
    def radius(self) -> float:
        """Half the range of the scores."""
        return (max(self.scores) - min(self.scores)) / 2

    def _check(self) -> None:
        for i, level in enumerate(self.levels):
            if not level.items:
                remedy = "Name the answers: the lowest first."
                raise wrong((), "listed for 'ordinal'", remedy, "level", i, "items")
            if level.prior is not None:
                remedy = "Ordered answers are planned for whatever answers people have."
                raise wrong(
                    level.prior, "left out for 'ordinal'", remedy, "level", i, "prior"
                )
        answers = super().ordered
        if not 2 <= len(answers) <= MAX_ORDERED_ANSWERS:
            allowed = f"2 to {MAX_ORDERED_ANSWERS} for 'ordinal'"
            remedy = "Merge neighbouring brackets, or ask with the kind categorical."
            raise InputError("number of answers", len(answers), allowed, remedy)
        self._check_no_answer(answers)
        stated = list(self.order)
        if self.no_answer and self.no_answer not in stated:
            stated.append(self.no_answer)
        if self.order and sorted(stated) != sorted(answers):
            allowed = f"each of {', '.join(map(repr, answers))} once"
            remedy = "List the answers of all levels, the lowest first."
            raise wrong(self.order, allowed, remedy, "order")
        self._check_scores(self.in_order)
        judged = self.judged
        largest = 0.0
        for level in self.levels:
            if not set(level.items).isdisjoint(judged):
                largest = max(largest, level.importance)
        if not largest:
            remedy = (
                "The share up to the highest answer is known; "
                "give a lower one some importance."
            )
            allowed = f"above 0 for one of {len(judged)} answers"
            raise InputError("importance", 0.0, allowed, remedy)

    def _check_no_answer(self, answers: tuple[str, ...]) -> None:
        if self.no_answer is None:
            return
        if self.no_answer not in answers:
            remedy = "List it in a level, which has its budget."
            raise at(
                "no_answer",
                error=InputError.unknown("", self.no_answer, answers, remedy),
            )
        if self.of_mean or len(answers) < 3:
            allowed = (
                f"left out for {self.wanted!r} of {len(answers) - 1} other answers"
            )
            remedy = 'Ask with wanted = "shares up to" and scores: the mean is estimated, too.'
            raise wrong(self.no_answer, allowed, remedy, "no_answer")

    def _check_scores(self, answers: int) -> None:
        remedy = "Give a score for each answer, in their order."
        alike = len(set(self.scores)) == 1
        if self.scores and (alike or len(self.scores) != answers):
            allowed = f"{answers} finite numbers, two of them different"
            raise wrong(self.scores, allowed, remedy, "scores")
        if not self.of_mean:
            return
        if not self.scores:
            allowed = f"given for wanted = {self.wanted!r}"
            raise InputError("scores", (), allowed, remedy)
        for i, level in enumerate(self.levels):
            if level.importance != 1:
                remedy = (
                    "A mean is one number; its scores say what each answer counts for."
                )
                allowed = f"left out for {self.wanted!r}"
                raise wrong(level.importance, allowed, remedy, "level", i, "importance")


class NumberCells(Ordinal):
    """The cells of equal width into which planning cuts a number whose distribution is wanted.

    A person answers with a number from ``lower`` to ``upper``; their device puts it into its cell.
    ``reason`` says why there are so many. Survey files have the number, not the cells.
    """

    joins: ClassVar[bool] = False
    lower: values.Finite
    upper: values.Finite
    reason: str = ""

    @cached_property
    def way_of_asking(self) -> Ordered:
        """The way of asking, by which numbers are read."""
        return replace(super().way_of_asking, lower=self.lower, upper=self.upper)
