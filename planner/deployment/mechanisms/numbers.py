"""What the mechanisms share whose answer is a number: their range in the file, and their rows."""

from __future__ import annotations

from typing import Any

from planner.deployment.mechanisms.answers import AnswerRows, quantity_rows
from planner.errors import InputError
from planner.estimates.means import NumericEstimates
from planner.mechanisms.numeric import NumericMechanism
from planner.survey import Question
from planner.survey.numeric_domain import NumericDomain

__all__ = ["described_range", "number_rows"]


def described_range(mechanism: NumericMechanism, question: Question) -> dict[str, Any]:
    """Budget and range, as the file has them.

    Raises
    ------
    InputError
        The question has another range, or promises a smaller budget.
    """
    domain = mechanism.domain
    if question.numeric is None or question.numeric.domain != domain:
        allowed = "that of a numeric question"
        remedy = "Plan the mechanism for this question's range."
        raise InputError(f"domain for {question.name!r}", domain, allowed, remedy)
    promised = question.numeric.largest_epsilon
    if promised is not None and mechanism.epsilon > promised:
        remedy = "Plan the mechanism with the promised budget."
        raise InputError("epsilon", mechanism.epsilon, f"at most {promised}, as promised", remedy)
    return {
        "epsilon": float(mechanism.epsilon),
        "lower": domain.lower,
        "upper": domain.upper,
        "yes_no": domain.yes_no,
    }


def number_rows(estimates: NumericEstimates, domain: NumericDomain) -> AnswerRows:
    """A row for the mean, the total, the missing rate and, of yes and no, the share of yes."""
    quantities = (
        ("mean", estimates.mean, (domain.lower, domain.upper)),
        ("total", estimates.total, None),
        ("missing rate", estimates.missing_rate, (0.0, 1.0)),
        ("frequency", estimates.frequency, (0.0, 1.0)),
    )
    wanted = [(name, one, possible) for name, one, possible in quantities if one is not None]
    return quantity_rows(estimates.users, wanted)
