"""Surveys to plan: three questions that share a budget, and a question about item sets."""

from planner import AssumedSets, Level, Survey, Target, load_survey
from planner.survey.questions import ItemSet
from tests.surveys import EXAMPLES


def with_tables(survey):
    """The survey planned with the papers' tables: quick, and their allocation is convex."""
    choices = ("categorical", "item-set")
    questions = (
        q.replacing(mechanism="opt0") if q.kind in choices else q for q in survey.questions
    )
    return survey.replacing(questions=tuple(questions))


HOUSEHOLD = with_tables(load_survey(EXAMPLES / "household.toml"))
SETS = AssumedSets([0, 40, 30, 20, 10])


def with_question(survey, name, **changes):
    """The survey with other ``targets``, ``levels`` ... of one question."""
    questions = (q.replacing(**changes) if q.name == name else q for q in survey.questions)
    return survey.replacing(questions=tuple(questions))


def with_numeric(survey, **changes):
    """The survey with other facts about the household's income."""
    return with_question(survey, "income", **changes)


def articles(sets=SETS, mechanism="opt0", **more):
    """A question about the articles in a basket, most of which protect little."""
    levels = (Level("health", 2.0, item_count=2), Level("everyday", 4.0, item_count=40))
    return ItemSet("articles", levels, sets=sets, mechanism=mechanism, **more)


def shop(*others, users=50_000, design="split", **more):
    """A survey about baskets, and whatever other questions are given."""
    return Survey("shop", users, (articles(**more), *others), design)


def total(error):
    """One target, about the total error."""
    return (Target(error=error),)
