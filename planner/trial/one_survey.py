"""One simulated survey: what its estimates would look like beside the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.planning.datasets import Answers
from planner.trial.simulate import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OneSurvey:
    """The most frequent items of one simulated survey.

    Attributes
    ----------
    labels:
        Names, the most frequent first, at most as many as were asked for.
    truth:
        How many people have each, shape ``(k,)``.
    estimates:
        What this survey would say, shape ``(k,)``.
    lower, upper:
        Ends of each estimate's own 95 % interval, shape ``(k,)``.
    """

    labels: tuple[str, ...]
    truth: NDArray[np.int64]
    estimates: Array
    lower: Array
    upper: Array


def one_survey(
    mechanism: Mechanism, answers: Answers, rng: np.random.Generator, most: int = 20
) -> OneSurvey:
    """Draw the reports' totals once from their exact law, and estimate.

    Parameters
    ----------
    mechanism:
        For item sets if the answers are sets, else for single items.
    answers:
        The truth.
    rng:
        Source of the draw.
    most:
        How many of the most frequent items to give, at least 1.

    Raises
    ------
    InputError
        ``most`` is less than 1.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> from planner.mechanisms.unary import UnaryMechanism
    >>> answers = Answers(("flu", "cold", "HIV"), np.array([300, 600, 100]))
    >>> mechanism = UnaryMechanism(solve(PrivacyPolicy([2.0], [3])))
    >>> found = one_survey(mechanism, answers, np.random.default_rng(1), most=2)
    >>> found.labels, found.truth.tolist()
    (('cold', 'flu'), [600, 300])
    """
    if most < 1:
        raise InputError("most", most, "at least 1", "Show 20 items for a first look.")
    data: Any = answers.counts if answers.sets is None else answers.sets
    estimates = mechanism.estimate(mechanism.draw_aggregate(data, rng))
    chosen = np.argsort(-answers.counts, kind="stable")[:most]
    lower, upper = estimates.intervals()
    return OneSurvey(
        tuple(answers.labels[k] for k in chosen),
        answers.counts[chosen],
        estimates.values[chosen],
        lower[chosen],
        upper[chosen],
    )
