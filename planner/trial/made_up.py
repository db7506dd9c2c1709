"""Made-up answers of many people, for a first look at what a survey could bring."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from planner.arrays import Array
from planner.planning.datasets import AnswerCounts
from planner.survey.numeric import USUAL_MISSING, Numeric
from planner.survey.ordinal import Ordinal
from planner.survey.questions import Question

_MIDDLE = "most in the middle"
_FREQUENT = "few frequent, many rare"
_EVEN = "all equally frequent"
_STEPS = 200  # over a range of numbers: people who are alike are drawn at once
_SPREAD = 0.3  # the standard deviation, in halves of the range, where none is expected


def shapes_of(question: Question) -> tuple[str, ...]:
    """How answers may be distributed, in words; the first is the usual one."""
    if isinstance(question, Ordinal):
        return _MIDDLE, _FREQUENT, _EVEN
    return _FREQUENT, _EVEN


def made_up_answers(
    question: Question, users: int, shape: str, rng: np.random.Generator
) -> AnswerCounts:
    """Answers of so many people, of a shape of :func:`shapes_of`.

    Which answers are the frequent ones is drawn; in the middle are those of a scale.

    Examples
    --------
    >>> from planner import Categorical, Level
    >>> question = Categorical("colour", (Level("all", 1.0, ["red", "green"]),))
    >>> counts = made_up_answers(question, 100, "all equally frequent", np.random.default_rng(1))
    >>> counts.labels, int(counts.counts.sum())
    (('red', 'green'), 100)
    """
    labels = question.plain_levels.item_names()
    if isinstance(question, Ordinal) and shape == _MIDDLE:
        share_of = dict(zip(question.ordered, _bell(question), strict=True))
        shares = np.array([share_of[label] for label in labels])
    else:
        weights = np.ones(len(labels))
        if shape == _FREQUENT:
            ranks = np.arange(1, len(labels) + 1)
            weights /= ranks  # Zipf's law
        shares = rng.permutation(weights / weights.sum())
    counts = rng.multinomial(users, shares)
    return AnswerCounts(tuple(labels), counts)


def _bell(question: Ordinal) -> Array:
    """Shares of the answers in their order, normal around the middle one.

    A tenth of the people have the answer outside the order, if there is one.
    """
    in_order = len(question.ordered) - (question.no_answer is not None)
    positions = np.linspace(-1, 1, in_order)
    deviations = positions / _SPREAD
    density = np.exp(-(deviations**2) / 2)
    shares = density / density.sum()
    if question.no_answer is None:
        return shares
    return np.append((1 - USUAL_MISSING) * shares, USUAL_MISSING)


def made_up_numbers(
    question: Numeric, users: int, missing: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Numbers around the expected mean, in steps; beyond the range at its ends, some missing.

    ``missing`` is the share of the people who have none; theirs is NaN.
    """
    domain = question.domain
    mean = question.mean
    if mean is None:
        mean = domain.center
    spread = question.sd
    if spread is None:
        spread = _SPREAD * domain.radius
    lower = domain.lower
    upper = domain.upper
    step = (upper - lower) / _STEPS
    drawn = rng.normal(mean, spread, users)
    steps = np.rint((drawn - lower) / step)
    values = np.clip(lower + step * steps, lower, upper)
    if domain.yes_no:
        share_of_yes = (mean - lower) / (upper - lower)
        values = np.where(rng.random(users) < share_of_yes, upper, lower)
    is_missing = rng.random(users) < missing
    values[is_missing] = np.nan
    return values
