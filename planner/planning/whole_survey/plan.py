"""Plan a whole survey: what every question gets, what everybody spends, and what else to know.

For one question this is its plan with the full budgets. For several questions asked of the
same people the budgets are split, or everybody answers one question, as the survey's
``design`` says; both are computed and the better one is recommended. What is planned
(and exported) never spends more than the levels tolerate.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from planner.errors import InputError
from planner.frames import Framed
from planner.planning.allocation.plan import Allocation, allocate
from planner.planning.ledger import Collection, Ledger
from planner.planning.whole_survey.left_open import (
    with_budget,
    with_padding,
)
from planner.planning.whole_survey.planned_question import Part, PlannedQuestion, plan_part
from planner.planning.whole_survey.question_blocks import block_of, target_error
from planner.planning.whole_survey.spending import Spending, spending_of, with_budget_left
from planner.survey import Question, Survey

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["WholePlan", "plan_whole_survey"]

_ROUNDS = 4  # of padding lengths and shares that fit each other; two are usually enough


@dataclass(frozen=True, slots=True, eq=False)
class WholePlan(Framed):
    """A survey, planned.

    Attributes
    ----------
    survey:
        As asked for.
    questions:
        Its questions, planned for the survey's design.
    allocation:
        The shares with their proof, and the alternative of one question each.
    spending:
        What every level tolerates, has left and spends.
    """

    survey: Survey
    questions: tuple[PlannedQuestion, ...]
    allocation: Allocation
    spending: tuple[Spending, ...]

    @property
    def several(self) -> bool:
        """Whether there is more than one question."""
        return len(self.questions) > 1

    @property
    def objective_value(self) -> float:
        """The survey's objective in its design."""
        found = self.allocation
        split = self.survey.design == "split" or not self.several
        return found.value if split else found.one_each.value

    @property
    def most_spent(self) -> float:
        """What a person spends at most, in nats: the largest level of every question they answer.

        By sequential composition the questions of a split add up; of one question each, only
        the costliest counts.
        """
        largest: dict[str, float] = {}
        for row in self.spending:
            largest[row.question] = max(largest.get(row.question, 0.0), row.spent)
        return sum(largest.values()) if self.survey.design == "split" else max(largest.values())

    def collection(self, day: datetime.date) -> Collection:
        """What this survey adds to a ledger, per level by its name.

        Of one question each a person spends one question's budget: the largest per level.
        """
        rules = {q.plan.table.policy.rule_name for q in self.questions if q.plan is not None}
        if len(rules) > 1:
            remedy = "One ledger keeps one pair rule: plan these questions as surveys of their own."
            raise InputError("rule", sorted(rules), "the same for all questions", remedy)
        spent: dict[str, float] = {}
        for row in self.spending:
            before = spent.get(row.level, 0.0)
            both = before + row.spent if self.survey.design == "split" else max(before, row.spent)
            spent[row.level] = both
        return Collection.model_validate(
            {
                "survey": self.survey.name,
                "day": day.isoformat(),
                "rule": rules.pop() if rules else "min",
                "spent": spent,
            }
        )

    @property
    def summary(self) -> str:
        """What is collected from how many people, and what a person spends at most."""
        asked = f"{self.survey.name}: {self.survey.users:,} people"
        return f"{asked}; nobody spends more than {self.most_spent:.6g} nats."

    def to_frame(self) -> DataFrame:
        """One row a question: who answers, its share of the budgets, its error per user."""
        from pandas import DataFrame

        return DataFrame(
            {
                "question": [one.question.name for one in self.questions],
                "kind": [one.question.kind for one in self.questions],
                "users": [one.users for one in self.questions],
                "share": [one.share for one in self.questions],
                "error": [one.error for one in self.questions],
                "best_mechanism": [one.choice.best.label for one in self.questions],
                "padding_length": [one.padding_length for one in self.questions],
            }
        )


def plan_whole_survey(
    survey: Survey, model: str = "opt0", ledger: Ledger | None = None
) -> WholePlan:
    """Plan every question of a survey and the budget they share.

    Parameters
    ----------
    survey:
        The questions with their weights and targets, the design and the objective.
    model:
        ``"opt0"``, ``"opt1"`` or ``"opt2"`` for the tables; shares are planned with opt0.
    ledger:
        Earlier collections from the same people; nothing was spent before when omitted.

    Raises
    ------
    InputError
        A question cannot be planned here, or has no budget left.
    SolverError
        No certified answer could be produced.

    Examples
    --------
    >>> from planner.survey import Level
    >>> levels = (Level("severe", 1.0, ("HIV",)), Level("common", 2.0, item_count=4))
    >>> survey = Survey("s", 1000, (Question("now", levels), Question("ever", levels)))
    >>> plan = plan_whole_survey(survey)
    >>> [round(question.share, 6) for question in plan.questions], plan.allocation.better
    ([0.5, 0.5], 'one-each')
    >>> [(row.question, row.level, round(row.spent, 6)) for row in plan.spending][:2]
    [('now', 'severe', 0.5), ('now', 'common', 1.0)]
    """
    settled = [with_budget(question, survey.users) for question in survey.questions]
    left = [with_budget_left(question, ledger or Ledger()) for question in settled]
    split, alone, found = _allocated(left, survey)
    whole = np.ones(len(left))
    if survey.design == "one-each":
        parts = zip(settled, alone, whole, found.one_each.fractions, strict=True)
    else:
        parts = zip(settled, split, found.shares, whole, strict=True)
    planned, spending = [], []
    for asked, (tolerated, question, share, fraction) in zip(survey.questions, parts, strict=True):
        part = Part(asked, question, float(share), float(fraction), survey.users)
        planned.append(plan_part(part, model))
        spending += spending_of(tolerated, question, part.share)
    return WholePlan(survey, tuple(planned), found, tuple(spending))


def _allocated(
    questions: Sequence[Question], survey: Survey
) -> tuple[list[Question], list[Question], Allocation]:
    """The questions as a split asks them, as they are asked alone, and the allocation.

    They have the padding lengths that fit; those depend on the shares, and the shares on them.
    """
    users, targets = survey.users, None
    if survey.objective == "minimax":
        targets = [target_error(question, users) for question in questions]
    split = alone = [with_padding(question, users) for question in questions]
    for _ in range(_ROUNDS):
        blocks, blocks_alone = ([block_of(q, users) for q in made] for made in (split, alone))
        found = allocate(blocks, survey.objective, targets, blocks_alone)
        made_for = split, alone
        shares, fractions = found.shares.tolist(), found.one_each.fractions.tolist()
        split = [with_padding(q, users, g) for q, g in zip(questions, shares, strict=True)]
        alone = [with_padding(q, f * users) for q, f in zip(questions, fractions, strict=True)]
        if (split, alone) == made_for:
            break
    return *made_for, found
