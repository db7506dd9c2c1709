"""Which budgets and how many people make the mean of those who answer exact enough."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, isfinite

import numpy as np

from planner.errors import InputError
from planner.limits import MAX_COUNT
from planner.planning.answer_rate.model import AnswerRateModel

_STEPS = 40


@dataclass(frozen=True, slots=True)
class EnoughAnswers:
    """What an error of the mean takes.

    Attributes
    ----------
    reached:
        Root mean squared error at the best budget now, in the question's unit.
    epsilon:
        The smallest budget to offer that is enough, and whose prediction is reliable; ``None`` if
        there is none.
    users:
        The fewest people to ask, each at the best budget for their number, to 0.1 %; ``None`` if
        no number is enough, because those who answer differ from those who do not.
    """

    reached: float
    epsilon: float | None
    users: int | None


def enough_answers(model: AnswerRateModel, wanted: float) -> EnoughAnswers:
    """Search budgets for these people, and people at the best budget.

    Parameters
    ----------
    model:
        The people, and what they accept.
    wanted:
        Largest acceptable root mean squared error of the mean, in the question's unit, above 0.

    Raises
    ------
    InputError
        ``wanted`` is not a number above 0.

    Examples
    --------
    >>> from planner.survey.preferences import NormalPreferences
    >>> model = AnswerRateModel(NormalPreferences(5, 1.5), 100_000)
    >>> found = enough_answers(model, 0.005)
    >>> round(found.reached, 5), round(found.epsilon, 2), found.users
    (0.00383, 1.51, 58690)
    """
    if not (isfinite(wanted) and wanted > 0):
        remedy = "Write an error in the unit of the answer, such as 100."
        raise InputError("error of the mean", wanted, "a number above 0", remedy)
    return EnoughAnswers(model.best().rmse, _smallest_budget(model, wanted), _people(model, wanted))


def _smallest_budget(model: AnswerRateModel, wanted: float) -> float | None:
    curve = model.curve()
    enough = np.flatnonzero(curve.reliable & (curve.mean_rmse <= wanted))
    if enough.size:
        first = int(enough[0])
        high = float(curve.epsilon[first])
        low = float(curve.epsilon[first - 1]) if first else 0.0
    elif model.best().rmse <= wanted:  # between two budgets of the curve
        high = model.best().epsilon
        low = float(curve.epsilon[curve.epsilon < high].max(initial=0.0))
    else:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        one = model.curve([middle])
        good = bool(one.reliable[0]) and float(one.mean_rmse[0]) <= wanted
        low, high = (low, middle) if good else (middle, high)
    return high


def _people(model: AnswerRateModel, wanted: float) -> int | None:
    def short(users: float) -> bool:
        best = replace(model, users=ceil(users)).best()
        return best.rmse > wanted or not best.reliable

    low, high = 1.0, 1.0
    while short(high):
        if high >= MAX_COUNT:
            return None
        low, high = high, min(4 * high, MAX_COUNT)
    while high > 1.001 * low and high - low > 1:
        middle = (low * high) ** 0.5
        low, high = (middle, high) if short(middle) else (low, middle)
    return ceil(high)
