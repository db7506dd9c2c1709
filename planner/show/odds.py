"""What a report says of its sender: odds in words, what is promised of them, what is not."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from planner.arrays import Array
from planner.laws.levels import Levels
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.choice import ByLevel
from planner.planning.question import QuestionPlan
from planner.planning.sets import Padded
from planner.policy.budget_text import magnitude_up
from planner.show.blocks import Column, numbers, texts
from planner.solvers.answers import Channel

NAMED_LEVELS = 4  # in a sentence
WHOEVER = "whoever looks and whatever they know"


def odds_sentence(plan: QuestionPlan, level: int) -> str:
    """What people send who have an answer of a level, and others.

    Examples
    --------
    >>> from planner import Level, Survey, plan_survey
    >>> from planner.survey.questions import Categorical
    >>> levels = Level("severe", "ln 4", ("HIV",)), Level("common", "ln 6", item_count=4)
    >>> asked = Categorical("diagnosis", levels, mechanism="opt0")
    >>> print(odds_sentence(plan_survey(Survey("s", 1000, (asked,))).questions[0], 0))
    Of 100 people whose answer about diagnosis is one of 'severe', 59 send a 1 for it; of 100
    with another answer, 33 do.
    """
    found, padded = plan.fact(ByLevel), plan.fact(Padded)
    assert found is not None  # noqa: S101 - asked of questions with levels
    name, sends = found.names[level], CATALOGUE[plan.deployed.mechanism].sends
    whose, other = f"whose answer about {plan.name} is one of {name!r}", "with another answer"
    if padded is not None:
        most = f"up to {padded.length} answers about {plan.name}"
        whose, other = f"with a certain one of {name!r} among {most}", "without it"
    least, others = (_of_hundred(column[level]) for column in (found.least_b, found.b))
    if least != others:
        others = f"{least} to {others}"
    having = _of_hundred(found.if_had[level])
    return f"Of 100 people {whose}, {having} {sends}; of 100 {other}, {others} do."


def drawn_by(plan: QuestionPlan) -> dict[str, Sequence[int]]:
    """The answers of a scale, or the points of a number, each with what its reports are drawn by.

    These are the whole numbers that are deployed; nothing of other kinds.
    """
    shape, about = cast("Any", plan.law.shape), cast("Any", plan.question)
    channel = plan.fact(Channel)
    if channel is None:
        ends = (f"{about.lower:g}", f"{about.upper:g}", "no answer") if about.of_mean else ()
        return dict(zip(ends, shape.rows if ends else (), strict=True))
    return dict(zip(channel.symbols, shape.rows, strict=True))


def apart_sentence(plan: QuestionPlan, first: str, second: str) -> tuple[str, float, float]:
    """How well a report tells two answers of a scale or a number apart, and the two shares.

    Reports that are likelier with the first answer speak for it: whoever guesses by them is right
    most often.

    Examples
    --------
    >>> from planner import plan_survey
    >>> plan = plan_survey("examples/hours.toml").questions[0]
    >>> print(apart_sentence(plan, "10+", "0")[0])
    Of 100 people whose answer about hours a week is '10+', 64 send a report that speaks for it
    against '0'; of 100 with '0', 23 do.
    """
    rows = drawn_by(plan)
    one, other = np.array(rows[first]), np.array(rows[second])
    shares = [float(row[one > other].sum() / row.sum()) for row in (one, other)]
    own, others = map(_of_hundred, shares)
    text = (
        f"Of 100 people whose answer about {plan.name} is {first!r}, {own} send a report that "
        f"speaks for it against {second!r}; of 100 with {second!r}, {others} do."
    )
    return text, shares[0], shares[1]


def _of_hundred(probability: float) -> str:
    shown = 100 * float(probability)
    if 1 <= shown <= 99:
        return f"{shown:.0f}"
    return f"{shown:.2g}" if shown < 1 else f"{shown:.4g}"


def beliefs_columns(names: Sequence[str], low: Array, high: Array) -> tuple[Column, ...]:
    """Between what an answer of each level may be held likely, rounded outwards."""
    return (
        texts("an answer of", names),
        numbers("then at least", low, lambda x: f"{math.floor(x * 1e4) / 1e2:.2f} %"),
        numbers("at most", high, lambda x: f"{math.ceil(x * 1e4) / 1e2:.2f} %"),
    )


def by_level(names: Sequence[str], budgets: Array, whose: str) -> str:
    """The factors of levels with a budget: all of few, else the least and the largest."""
    levels = [
        (budget, f"{factor_up(budget)}-fold {whose} {name!r}")
        for name, budget in zip(names, budgets.tolist(), strict=True)
        if budget > 0
    ]
    *others, last = [text for _, text in levels]
    if len({factor_up(budget) for budget, _ in levels}) == 1:
        return f"{factor_up(levels[0][0])}-fold"
    if len(levels) > NAMED_LEVELS:
        return f"from {min(levels)[1]} to {max(levels)[1]}, by its level"
    return f"{', '.join(others)} and {last}"


def unprotected(levels: Levels) -> str:
    """Which answers a report tells apart for certain; empty where every two have a budget."""
    groups = [", ".join(map(repr, one)) for one in levels.apart()]
    if len(groups) == 1:
        return ""
    few = groups if len(groups) <= NAMED_LEVELS else [*groups[:2], f"{len(groups) - 2} more"]
    return (
        f"NO BUDGET PROTECTS {' FROM '.join(few)}: every report tells for certain which of these "
        "its answer is from, to whoever sees it."
    )


def odds_change(between: str, most: str) -> str:
    """The promise of a question or of one view of it."""
    return f"No report changes the odds between {between} more than {most}, {WHOEVER}."


def factor_up(epsilon: float) -> str:
    """By how much odds change at most, rounded up."""
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.2f}" if factor < 1e6 else magnitude_up(factor)
