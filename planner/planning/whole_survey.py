"""Plan a whole survey: what every question gets, what everybody spends, and what else to know.

For one question this is its plan with the full budgets. For several questions asked of the
same people the budgets are split, or everybody answers one question, as the survey's
``design`` says; both are computed and the better one is recommended. What is planned
(and exported) never spends more than the levels tolerate.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace

from planner.errors import InputError
from planner.planning.allocation import Allocation, allocate
from planner.planning.answers import TargetAnswer, answer_mean_targets, answer_targets
from planner.planning.blocks import Block
from planner.planning.choice import (
    Choice,
    choose_for_choices,
    choose_for_mean,
    choose_for_sets,
)
from planner.planning.explain import LevelExplanation, explain
from planner.planning.frequency import QuestionPlan, plan_question
from planner.planning.ledger import Collection, Ledger
from planner.planning.padding import PaddingPlan
from planner.planning.pilot import set_model_of
from planner.planning.question_blocks import (
    answering,
    block_of,
    mean_model,
    padding_of,
    share_of_error,
)
from planner.planning.spending import Spending, at_share, spending_of, with_budget_left
from planner.survey import Question, Survey

__all__ = ["PlannedQuestion", "Spending", "WholePlan", "plan_whole_survey"]


@dataclass(frozen=True, slots=True, eq=False)
class PlannedQuestion:
    """One question of the survey, with the budgets that it really spends.

    Attributes
    ----------
    question:
        As asked for in the survey.
    share, fraction:
        Share of the budgets left that it gets; share of the people who are asked it.
    users:
        Number of people who answer it.
    error:
        Predicted error per user in the unit of the objective: total mean squared error
        (choices and sets), mean squared error on [-1, 1] (means).
    plan:
        The table and its alternatives at the budgets spent; None for a numeric question.
    choice:
        All mechanisms on one scale at these budgets.
    padding:
        For item sets with something known of the sets: the padding length's curve.
    padding_length:
        For item sets; else None.
    targets:
        What becomes of the question's targets.
    explanations:
        Levels in plain sentences, the first 40.
    """

    question: Question
    share: float
    fraction: float
    users: int
    error: float
    plan: QuestionPlan | None
    choice: Choice
    padding: PaddingPlan | None
    padding_length: int | None
    targets: tuple[TargetAnswer, ...]
    explanations: tuple[LevelExplanation, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WholePlan:
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
    left = [with_budget_left(question, ledger or Ledger()) for question in survey.questions]
    blocks: list[Block] = [block_of(question, survey.users) for question in left]
    goals = None
    if survey.objective == "minimax":
        goals = [share_of_error(q, survey.users) for q in survey.questions]
    found = allocate(blocks, survey.objective, goals)
    for _ in range(3):  # the best padding length depends on the share, and the share on it
        shares = found.shares.tolist()
        again = [block_of(q, survey.users, g) for q, g in zip(left, shares, strict=True)]
        if len(left) == 1 or again == blocks:
            break
        blocks = again
        found = allocate(blocks, survey.objective, goals)
    each = survey.design == "one-each" and len(left) > 1
    planned, spending = [], []
    for j, (asked, question) in enumerate(zip(survey.questions, left, strict=True)):
        share = 1.0 if each else float(found.shares[j])
        fraction = float(found.one_each.fractions[j]) if each else 1.0
        error = float(found.one_each.errors[j] if each else found.errors[j])
        people = max(1, round(fraction * survey.users))
        planned.append(_planned(asked, question, model, (share, fraction, people, error)))
        spending += spending_of(asked, question, share)
    return WholePlan(survey, tuple(planned), found, tuple(spending))


def _planned(
    asked: Question, left: Question, model: str, numbers: tuple[float, float, int, float]
) -> PlannedQuestion:
    share, fraction, users, error = numbers
    if left.numeric is not None:
        return _planned_mean(asked, left, numbers)
    spending = at_share(left, share)
    padding, length, objective = padding_of(spending, users)
    if left.kind == "item-set":
        settled, spending = spending.padding_length, replace(spending, padding_length=length)
    plan = plan_question(spending, model, objective=objective)
    if left.kind == "item-set":
        sets, tables = set_model_of(spending), plan.alternatives
        choice = choose_for_sets(tables, users, sets, settled, length)
    else:
        choice = choose_for_choices(spending.policy, plan.alternatives)
    apart = float(1 - 1 / spending.policy.item_counts.sum()) * (1 / fraction - 1)
    if left.kind == "categorical":  # the allocation's error is that of opt0
        error = plan.table.objective_value / fraction + apart
    fixed = block_of(spending, users).fixed
    set_error = (error, fixed) if left.kind == "item-set" else None
    return PlannedQuestion(
        asked,
        share,
        fraction,
        users,
        error,
        plan,
        choice,
        padding,
        spending.padding_length,
        answer_targets(asked, plan, users, fraction, set_error, apart),
        explain(plan.table, asked.name, spending.padding_length),
    )


def _planned_mean(
    asked: Question, left: Question, numbers: tuple[float, float, int, float]
) -> PlannedQuestion:
    share, fraction, users, error = numbers
    epsilon, model = mean_model(left, users)
    rate = answering(left, users)
    choice = choose_for_mean(model, share * epsilon, everybody_answers=rate is None, rate=rate)
    block = block_of(left, users)
    targets = answer_mean_targets(asked, block, error, users, fraction)
    return PlannedQuestion(
        asked, share, fraction, users, error, None, choice, None, None, targets, ()
    )
