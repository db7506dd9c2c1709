"""What becomes of a question's targets in a plan: met or not, and what would meet them."""

from __future__ import annotations

from dataclasses import dataclass
from math import atanh, ceil, sqrt

from planner.errors import InputError
from planner.planning.blocks import Block
from planner.planning.frequency import QuestionPlan
from planner.planning.targets import achieved, smallest_budgets, users_needed
from planner.policy import MAX_EPSILON
from planner.survey import Question
from planner.target import Target

__all__ = ["TargetAnswer", "answer_mean_targets", "answer_targets"]


@dataclass(frozen=True, slots=True)
class TargetAnswer:
    """One target: what the plan reaches, and what would reach it.

    Attributes
    ----------
    target:
        The requirement.
    reached:
        What the plan gives, in the target's unit.
    met:
        Whether that is enough.
    budgets:
        The smallest budgets that would be enough for these users, or why there are none.
    users:
        How many people the whole survey would have to ask with the budgets as they are; None if
        no number is enough, because a bias is larger than the target.
    of_mean:
        Whether it is about a mean, so that shares are of half the range.
    """

    target: Target
    reached: float
    met: bool
    budgets: str
    users: int | None
    of_mean: bool = False

    @property
    def wanted(self) -> str:
        """The requirement in words."""
        if self.of_mean:
            return f"error of the mean at most {100 * self.target.value:.4g} % of half the range"
        return self.target.text


def answer_targets(
    question: Question,
    plan: QuestionPlan,
    users: int,
    fraction: float,
    error: tuple[float, float] | None = None,
    apart: float = 0.0,
) -> tuple[TargetAnswer, ...]:
    """Answers for a choice or set question; ``users`` people answer it.

    ``error`` is, for item sets, the error per user, which the table alone does not tell, and
    the part of it that is a squared bias. Their budgets are not searched for. ``apart`` is
    what asking only some of the people adds to the total error per user of the survey.
    """
    found = []
    for target in question.targets:
        if error is not None:
            found.append(_of_sets(target, error, users, fraction))
            continue
        total = target.kind == "error" and target.level is None
        missing = apart * fraction / users if total else 0.0
        reached = sqrt(achieved(plan.table, users, target) ** 2 + missing)
        answer = smallest_budgets(plan.table.policy, users, target, plan.table.model)
        needed = users_needed(plan.table, target).exact / fraction
        needed += apart / target.value**2 if total else 0.0
        people = ceil(needed * (1 - 1e-12))
        found.append(TargetAnswer(target, reached, reached <= target.value, answer.reason, people))
    return tuple(found)


def answer_mean_targets(
    question: Question, block: Block, error: float, users: int, fraction: float
) -> tuple[TargetAnswer, ...]:
    """Answers for a mean; errors are shares of half the range."""
    found = []
    for target in question.targets:
        if target.kind != "error":
            remedy = "A mean has an error and no items to detect."
            raise InputError(f"target of question {question.name!r}", "detect", "error", remedy)
        asked = users / fraction
        reached = sqrt(error / asked)
        people = _people((error, block.fixed), asked, target)
        found.append(
            TargetAnswer(
                target,
                reached,
                reached <= target.value,
                _mean_budget(block, target, users),
                people,
                of_mean=True,
            )
        )
    return tuple(found)


def _mean_budget(block: Block, target: Target, users: int) -> str:
    """``scale / tanh^2(eps/2) + offset = users * target^2``, solved for eps."""
    room = users * target.value**2 - block.offset
    ratio = block.scale / room if room > 0 else 2.0
    epsilon = 2 * atanh(sqrt(ratio)) if ratio < 1 else float("inf")
    if epsilon > MAX_EPSILON:
        floor = sqrt(max(0.0, block.scale + block.offset) / users)
        return f"Impossible, because even without any noise the error is {100 * floor:.4g} %."
    return f"The smallest budget that meets the target: {epsilon:.4g}."


def _of_sets(
    target: Target, error: tuple[float, float], users: int, fraction: float
) -> TargetAnswer:
    if target.kind != "error" or target.level is not None:
        remedy = "For item sets give the total error alone."
        raise InputError("target", target.text, "a total error", remedy)
    asked = users / fraction
    reached = sqrt(error[0] / asked)
    return TargetAnswer(
        target,
        reached,
        reached <= target.value,
        "Not searched for item sets: the padding length changes with the budgets.",
        _people(error, asked, target),
    )


def _people(error: tuple[float, float], asked: float, target: Target) -> int | None:
    """Users for whom ``(error - fixed) / users + fixed / asked`` is the target squared."""
    total, fixed = error
    room = target.value**2 - fixed / asked
    return ceil((total - fixed) / room * (1 - 1e-12)) if room > 0 else None
