"""What a reader of a plan should be told before its figures are believed."""

from __future__ import annotations

from math import exp

from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.survey import Question
from planner.survey.kinds import CHANNEL, ORDINAL

_LARGE_EPSILON = 5.0
"""A budget above this lets a report say almost everything: odds change 148-fold."""
_FEW_PEOPLE = 100


def cautions(plan: QuestionPlan) -> tuple[str, ...]:
    """Sentences about large budgets, few people, and an error that drowns the counts.

    Examples
    --------
    >>> from planner.planning.whole_survey.plan import plan_survey
    >>> from planner.survey import Level, Survey
    >>> question = Question("ward", (Level("any", 6.0, item_count=4),))
    >>> for sentence in cautions(plan_survey(Survey("s", 10, (question,))).questions[0]):
    ...     print(sentence)
    'any' has a budget of 6: a report may change the odds between two answers 403-fold. ...
    Only 10 people are asked: ...
    """
    return tuple(filter(None, (_large_budgets(plan), _few_people(plan), _drowned(plan))))


def survey_cautions(plan: SurveyPlan) -> tuple[str, ...]:
    """The same for all questions, each with its name where there are several."""
    several = len(plan.questions) > 1
    found = [
        f"{one.name}: {sentence}" if several else sentence
        for one in plan.questions
        for sentence in cautions(one)
    ]
    if plan.several:
        found += [
            f"{one.name}: {sentence}"
            for one in plan.questions
            if (sentence := assumed_mean(one.question))
        ]
    return tuple(found)


def assumed_mean(question: Question) -> str | None:
    """Where a number's expected mean is left blank: what is assumed in its place."""
    about = question.numeric
    if about is None or about.mean is not None:
        return None
    if question.mechanism == CHANNEL and about.epsilon is not None:
        return (
            "The expected mean is blank, so the worst of five means over the range is planned for. "
            "Fill it in if you have an idea of it: the error is smaller if it is about right."
        )
    middle = (about.domain.lower + about.domain.upper) / 2
    return (
        f"The expected mean is blank, so {middle:,g}, the middle of the range, is assumed. The "
        "error and what is recommended depend on it: fill it in if you have an idea of it."
    )


def _large_budgets(plan: QuestionPlan) -> str | None:
    budgets = {level.name: level.epsilon for level in plan.question.levels}
    if plan.question.numeric is not None and plan.question.numeric.epsilon is not None:
        budgets[plan.name] = plan.question.numeric.epsilon
    large = {name: epsilon for name, epsilon in budgets.items() if epsilon > _LARGE_EPSILON}
    if not large:
        return None
    name, epsilon = max(large.items(), key=lambda item: item[1])
    more = "" if len(large) == 1 else f", and {len(large) - 1} more are above {_LARGE_EPSILON:g}"
    return (
        f"{name!r} has a budget of {epsilon:.4g}{more}: a report may change the odds between two "
        f"answers {exp(epsilon):,.0f}-fold. From even odds, that makes whoever sees it "
        f"{100 / (1 + exp(-epsilon)):.4g} % certain: next to no protection."
    )


def _few_people(plan: QuestionPlan) -> str | None:
    if plan.users >= _FEW_PEOPLE:
        return None
    return (
        f"Only {plan.users:,} people are asked: noise outweighs their answers, and intervals are "
        f"made for {_FEW_PEOPLE} people or more."
    )


def _drowned(plan: QuestionPlan) -> str | None:
    if plan.error_share < 1:
        return None
    if plan.question.kind == ORDINAL and not plan.question.of_mean:
        return (
            f"The {plan.objective_name} is larger than the number of people: most shares say "
            "nothing. Ask more people, raise budgets, or merge neighbouring answers."
        )
    if plan.levels is None:
        return (
            f"The {plan.objective_name} is larger than half the range: the estimate says nothing. "
            "Ask more people, or raise the budget."
        )
    return (
        f"The {plan.objective_name} is larger than the number of people: taken together, the "
        "counts say nothing, and only an item far above its standard error can be believed. Ask "
        "more people, raise budgets, or ask for fewer items."
    )
