"""What is expected of each known group: how many people, and how exact each question is there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, sqrt
from typing import TYPE_CHECKING

from planner.limits import SMALL_GROUP

if TYPE_CHECKING:
    from planner.planning.plan import SurveyPlan
    from planner.planning.question import QuestionPlan


@dataclass(frozen=True, slots=True)
class ExpectedGroup:
    """One value of a known group.

    ``people`` of the survey are expected to have it, rounded down; ``errors`` is by question the
    predicted error there, as a share of those of the group who answer (of a mean: of half its
    range), infinite where nobody is expected.
    """

    value: str
    people: int
    errors: Mapping[str, float]

    @property
    def small(self) -> bool:
        """Whether so few are expected that they hide badly among each other."""
        return self.people < SMALL_GROUP


@dataclass(frozen=True, slots=True)
class ExpectedGroups:
    """A known group, such as a region, with its values.

    ``assumed`` says that the survey states no population of it: all values are then taken to have
    as many people.
    """

    name: str
    values: tuple[ExpectedGroup, ...]
    assumed: bool


def expected_groups(plan: SurveyPlan) -> tuple[ExpectedGroups, ...]:
    """What is expected of every known group of a planned survey.

    Examples
    --------
    >>> from planner import Categorical, Level, Survey, plan_survey
    >>> asked = Categorical("a", (Level("low", 1.0, item_count=3),))
    >>> survey = Survey("s", 1000, (asked,), groups=(("sex", ("f", "m")),))
    >>> (sex,) = expected_groups(plan_survey(survey))
    >>> sex.assumed, [group.people for group in sex.values]
    (True, [500, 500])
    """
    survey = plan.survey
    shared = [
        question for question in plan.questions if question.question.shares_budgets
    ]
    expected = []
    for name, shares in survey.group_shares.items():
        values = []
        for value, share in shares.items():
            errors = {}
            for question in shared:
                errors[question.name] = error_in(question, share)
            # Rounded down, so that a small group is warned of.
            people = int(share * survey.users)
            values.append(ExpectedGroup(value, people, errors))
        assumed = {value for value, _ in survey.population} != set(shares)
        expected.append(ExpectedGroups(name, tuple(values), assumed))
    return tuple(expected)


def error_in(question: QuestionPlan, share: float) -> float:
    """The predicted error of a question among a ``share`` of its people, as a share of these.

    The noise of a sum grows as the root of the people, so that a share of fewer is less exact by
    it. A bias, such as of sets that are cut, is of each person, and stays the same share.
    """
    if share == 0:
        return inf
    part = question.part
    squared_bias = part.total(question.planned.errors.bias) ** 2
    noise = question.total_error**2 - squared_bias
    # Rounding may leave a tiny negative one where a bias is all there is.
    squared = max(noise, 0.0) / share + squared_bias
    return sqrt(squared) / part.whole
