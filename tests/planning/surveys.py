"""Surveys to plan, policies of moderate budgets under each rule, and targets for them."""

import numpy as np

from planner import (
    AssumedSets,
    ItemSet,
    Level,
    PrivacyPolicy,
    Survey,
    Target,
    load_survey,
)
from tests.surveys import EXAMPLES


def with_tables(survey):
    """The survey planned with the papers' tables: quick, and their allocation is convex."""
    choices = ("categorical", "item-set")
    questions = (
        q.replacing(mechanism="opt0") if q.kind in choices else q
        for q in survey.questions
    )
    return survey.replacing(questions=tuple(questions))


HOUSEHOLD = with_tables(load_survey(EXAMPLES / "household.toml"))
SETS = AssumedSets([0, 40, 30, 20, 10])


def with_question(survey, name, **changes):
    """The survey with other ``targets``, ``levels`` ... of one question."""
    questions = (
        q.replacing(**changes) if q.name == name else q for q in survey.questions
    )
    return survey.replacing(questions=tuple(questions))


def with_numeric(survey, **changes):
    """The survey with other facts about the household's income."""
    return with_question(survey, "income", **changes)


def articles(sets=SETS, mechanism="opt0", **keys):
    """A question about the articles in a basket, most of which protect little."""
    levels = (Level("health", 2.0, item_count=2), Level("everyday", 4.0, item_count=40))
    return ItemSet("articles", levels, sets=sets, mechanism=mechanism, **keys)


def shop(*others, users=50_000, design="split", **keys):
    """A survey about baskets, and whatever other questions are given."""
    return Survey("shop", users, (articles(**keys), *others), design)


def total(error):
    """One target, about the total error."""
    return (Target(error=error),)


POLICIES = [
    PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90], names=["A", "B", "C"]),
    PrivacyPolicy([0.3, 3.0], [1, 40], rule="avg", names=["A", "B"]),
    PrivacyPolicy([1.0, 2.0], [3, 3], rule=[[1, 1.5], [1.5, 2]], names=["A", "B"]),
]
KINDS = [
    ("error", None),
    ("error", "A"),
    ("detect", None),
    ("detect", "B"),
]


def target(kind, level, value):
    return Target(**{kind: value, "level": level})


def moderate_policy(rng, rule):
    t = int(rng.integers(2, 6))
    epsilons = rng.uniform(0.5, 3, t)
    if rule == "matrix":
        rule = np.minimum.outer(epsilons, epsilons) * (1 + 0.3 * np.eye(t))
        rule[0, -1] = rule[-1, 0] = np.inf if t > 2 else rule[0, -1]
    return PrivacyPolicy(epsilons, rng.integers(2, 60, t), rule)
