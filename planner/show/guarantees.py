"""What a plan promises to whom, and what outsiders learn: sentences a lawyer can read."""

from __future__ import annotations

import math

from planner.planning.outsiders import NOTHING_TO_SAY, SurveyOutsiderView
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.policy.budget_text import magnitude_up, rounded_up
from planner.show.blocks import Block, Heading, Sentence, rows_table, said

_NAMED_LEVELS = 4


def promises(plan: SurveyPlan) -> list[str]:
    """What every question promises; numbers are rounded up."""
    return [f"{one.name}: {text}" for one in plan.questions for text in promises_of(one)]


def promises_of(planned: QuestionPlan) -> list[str]:
    """What one question promises: a sentence, or one for each view of its guarantee."""
    sampled, sets = planned.sampling, planned.set_promises
    if sampled is not None:
        return list(sampled.sentences())
    if planned.question.kind == "numeric":
        most = f"{_factor(planned.spending[0].spent)}-fold"
        return [_promise("two numbers, or a number and no answer,", most)]
    if sets is not None:
        found = [_promise("a set of answers and any other", f"{_factor(sets.cap)}-fold")]
        if sets.cap > sets.epsilon:
            found.append(
                "For whoever knows all of a person's answers but one, the odds of that one change "
                f"at most {_factor(sets.epsilon)}-fold; several sensitive answers together have "
                "the first promise alone."
            )
        return found
    policy, whose = planned.deployed.policy, "for"
    between = "an answer and any other"
    if planned.question.kind == "item-set":
        between, whose = "a set of answers and any other", "where the least protected is"
    elif policy.rule.open_pairs:
        between = "two answers that are protected from each other"
    # Each level with the largest budget of a protected pair that it is part of.
    budgets = policy.rule.largest_pairs(policy.epsilons).tolist()
    levels = [
        (budget, f"{_factor(budget)}-fold {whose} {name!r}")
        for name, budget in zip(policy.names, budgets, strict=True)
    ]
    *others, last = [text for _, text in levels]
    most = f"{', '.join(others)} and {last}"
    if len(set(budgets)) == 1:
        most = f"{_factor(budgets[0])}-fold"
    elif len(levels) > _NAMED_LEVELS:
        most = f"from {min(levels)[1]} to {max(levels)[1]}, by its level"
    return [_promise(between, most)]


def _promise(between: str, most: str) -> str:
    end = "whoever looks and whatever they know"
    return f"No report changes the odds between {between} more than {most}, {end}."


def handout_blocks(plan: SurveyPlan, costs: list[str]) -> list[Block]:
    """One page for an ethics board: what people are told, what is promised, and what is not.

    ``costs`` are sentences about the errors, one a question.
    """
    most = max(*(row.spent for row in plan.spending), *(one.cap for one in plan.questions), 0.0)
    odds = math.exp(most) / 9
    belief = math.ceil(1e3 * odds / (1 + odds)) / 10  # in per cent, rounded up
    told = [
        "Before your answer leaves your device, it is changed at random. We receive the changed "
        "answer and nothing else; your true answer is never sent or stored by us.",
        "From many changed answers we compute how many people gave each answer, about right, but "
        "nobody can be sure of yours.",
    ]
    if most:
        told.append(
            "Somebody who holds one of two answers of yours to be 10 % likely may, after seeing "
            f"your changed answer, hold it to be at most {belief:g} % likely."
        )
    never = [
        "Secrecy of results: what is found about many people may be believed of each of them.",
        "Anonymity: whoever collects may know who took part.",
        "Anything for a group: reports of people with the same answer add up.",
        f"More than one collection: budgets of the same people add up; this one spends epsilon "
        f"{rounded_up(plan.most_spent, 4)} of a person at most.",
        "Protection from the device itself, or from what people tell elsewhere.",
    ]
    open_ones = (
        "Who collects, and whom people can ask: ________",
        "Who agreed to the budgets, and when: ________",
        "How long changed answers are kept: ________",
    )
    asked = ", ".join(one.name for one in plan.questions)
    blocks: list[Block] = [
        Heading(f"{plan.survey.name}: for the ethics board", level=1),
        Sentence(f"{plan.survey.users:,} people are asked about: {asked}."),
    ]
    for title, lines in (
        ("What people are told", told),
        ("What is promised", promises(plan)),
        ("How exact the results will be", costs),
        ("What is not promised", never),
        ("To be filled in", open_ones),
    ):
        blocks += [Heading(title, level=3), *said(lines, "item")]
    return blocks


def outsider_blocks(view: SurveyOutsiderView | None) -> list[Block]:
    """What outsiders learn."""
    if view is None:
        return [Sentence(NOTHING_TO_SAY)]
    blocks: list[Block] = []
    headings = "between", "and", "one report", "if shuffled"
    for one in view.questions:
        blocks += [Heading(one.question, level=3), *said(one.sentences)]
        rows = [
            (first, second, rounded_up(local, 4), rounded_up(found, 5))
            for first, second, local, found in one.shuffled.pairs
        ]
        if len(rows) > 1:
            blocks.append(
                rows_table("Epsilon, who is hidden among whom", headings, rows, 2, "details")
            )
    if view.sentences:
        blocks += [Heading("All questions together", level=3), *said(view.sentences)]
    return blocks


def _factor(epsilon: float) -> str:
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.2f}" if factor < 1e6 else magnitude_up(factor)
