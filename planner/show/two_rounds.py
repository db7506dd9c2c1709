"""What is said of Sampling Privacy: what it relies on, its three views, its parameters."""

from __future__ import annotations

from planner.laws.die import ACKNOWLEDGEMENTS
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.policy.budget_text import delta_text, rounded_up
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Rank,
    Sentence,
    Table,
    Tone,
    column,
    people,
    percent,
)


def reliance_sentence(plan: SamplingPlan) -> str:
    """What Sampling Privacy relies on, and whether somebody vouches for it."""
    vouched = "Somebody vouches for it."
    if not plan.acknowledged:
        vouched = "Nobody vouches for it yet: until then no parameters are written."
    elif plan.nothing_promised:
        vouched = "It promises nothing: until rare values are merged, no parameters are written."
    return f'It relies on this: "{ACKNOWLEDGEMENTS[plan.relies_on]}" {vouched}'


def views_in_words(plan: SamplingPlan) -> tuple[str, str, str]:
    """The three views in plain words: round two, linkable, aggregates.

    Numbers are rounded to the pessimistic side.
    """
    mechanism = plan.mechanism
    likely = _up(mechanism.sampling / (mechanism.sampling + mechanism.zero))
    return (
        f"Round two alone: epsilon {_up(plan.round_two_epsilon)}. Holds only towards an "
        "observer who sees nothing of a person's round one.",
        "Both rounds of a person linkable: epsilon is INFINITE, there is no protection. "
        "Whoever moves from none to a value has that value, with certainty; who is seen at "
        f"none in round one is a sampled one with probability {likely}.",
        "Only the estimates released, by a trusted aggregator: epsilon "
        f"{_up(plan.released_epsilon)} at delta {delta_text(plan.delta)}, exact. Holds if at least "
        f"{min(plan.others)} other people have each value, and the estimates of all people are "
        "released one time, by no groups.",
    )


def _up(epsilon: float) -> str:
    return rounded_up(epsilon, 4, unlimited="INFINITE")


_LIMITS_OF_SAMPLING = {
    "cap": 'as many as the survey allows ("Sampled at most")',
    "budgets": "as many as the budgets allow",
}


def sampled_blocks(question: QuestionPlan, plan: SamplingPlan) -> list[Block]:
    """The parameters, the errors and all three views of the guarantee."""
    mechanism = plan.mechanism
    within_error = f"{people(question.total_error)} people"
    people_asked = Fact("people asked, twice", f"{question.part.people:,}")
    figures = people_asked, Fact("every count, at 95 %, within", within_error)
    sampled = Fact(
        "of the people, drawn to give their true answer",
        percent(mechanism.sampling),
        meaning=_LIMITS_OF_SAMPLING[plan.limited_by],
    )
    zero = "of the people, staying at none whatever their answer"
    parameters = sampled, Fact(zero, percent(mechanism.zero))
    alone, linkable, released = views_in_words(plan)
    # Everybody reads the view that the survey relies on, and the worst one; the third is a detail.
    rank_of_alone: Rank = "details"
    rank_of_released: Rank = "everybody"
    if plan.relies_on == "round-two":
        rank_of_alone = "everybody"
        rank_of_released = "details"
    deployable: Tone = "missed"
    if plan.deployable:
        deployable = "met"
    values = (
        column("value", question.question.plain_levels.item_names()),
        column("epsilon", plan.budgets[1:], ".3f"),
        column(
            "lost in round two",
            mechanism.output_losses[1:],
            lambda loss: rounded_up(loss, 3),
        ),
        column("decoy", mechanism.decoys, ".4f"),
        column("expected", plan.counts, ","),
        column("error, people", plan.absolute_errors(), people, bars=True),
    )
    return [
        Facts(figures),
        Sentence("A sampled few move to their true answer in round two.", "details"),
        Sentence(reliance_sentence(plan), tone=deployable),
        Sentence(linkable, tone="item"),
        Sentence(released, rank_of_released, "item"),
        Sentence(alone, rank_of_alone, "item"),
        Facts(parameters, "details"),
        Table("Values: budget, loss in round two, error at 95 %", values),
    ]
