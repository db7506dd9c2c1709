"""A whole plan in sentences, for the terminal and the report alike."""

from __future__ import annotations

from planner.planning.misplacement import misplaced
from planner.planning.whole_survey.plan import WholePlan
from planner.planning.whole_survey.planned_question import PlannedQuestion
from planner.policy.budget_text import rounded_up

__all__ = ["design_sentence", "misplaced_sentence", "spending_sentence"]

_MISPLACED = 0.05


def design_sentence(plan: WholePlan) -> str:
    """Which design is planned, which is better, and how to change it."""
    text = plan.allocation.reason
    better, design = plan.allocation.better, plan.survey.design
    if better == design:
        return f"{text} This plan does so."
    words = {"split": "splits the budgets", "one-each": "asks everybody one question"}
    return (
        f'{text} This plan {words[design]} all the same: to change that, put design = "{better}" '
        "under [survey]."
    )


def spending_sentence(plan: WholePlan) -> str:
    """What a person spends who answers everything that is asked of them."""
    most = rounded_up(plan.most_spent, 4)
    if plan.survey.design == "split":
        return (
            f"A person who answers everything spends the sum over the questions of what their "
            f"answers' levels spend (sequential composition): at most {most} nats."
        )
    return f"A person answers one question and spends at most {most} nats."


def misplaced_sentence(question: PlannedQuestion, share: float = _MISPLACED) -> str | None:
    """What a share of items in the wrong level would do; None where there is one level."""
    if question.plan is None or not 2 <= question.plan.table.policy.size <= 1000:
        return None
    view = misplaced(question.plan.table, share)
    if view.exposed_items == 0:
        return f"If {share:.0%} of the items belong to another level, no promise is broken."
    effect = ""
    if abs(view.wasted_error) >= 0.001:
        size = "smaller" if view.wasted_error > 0 else "larger"
        effect = f"; in their right levels the error would be {abs(view.wasted_error):.1%} {size}"
    return (
        f"If {share:.0%} of the items belong to another level, any alike: "
        f"{view.exposed_items:,.3g} items are protected less than promised, by up to "
        f"{view.largest_excess:.3f} nats{effect}."
    )
