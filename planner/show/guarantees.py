"""What a plan promises to whom, and what outsiders learn: sentences a lawyer can read."""

from __future__ import annotations

import math

from planner.planning.choice import SetPromises
from planner.planning.outsiders import NOTHING_TO_SAY, OutsiderView, SurveyOutsiderView
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.policy.budget_text import magnitude_up, rounded_up
from planner.policy.policy import PrivacyPolicy
from planner.show.blocks import Block, Heading, Sentence, Table, numbers, texts

_MOST_LEVELS = 12
_NAMED_LEVELS = 4
_WHOEVER = "whoever looks and whatever they know"


def promises(plan: SurveyPlan) -> list[str]:
    """One sentence per level, question by question; numbers are rounded up."""
    return [f"{one.name}: {said}" for one in plan.questions for said in promises_of(one)]


def promises_of(planned: QuestionPlan) -> list[str]:
    """What one question promises: a sentence per level, or per view of its guarantee."""
    sampled = planned.sampling
    if sampled is not None:
        return list(sampled.sentences())
    if planned.question.kind == "numeric":
        spent = planned.spending[0].spent
        return [
            "a report changes the odds between any two numbers, or a number and no "
            f"answer, at most {_factor(spent)}-fold (epsilon {rounded_up(spent, 4)}), for any "
            "observer, whatever else the observer knows."
        ]
    if planned.set_promises is not None:
        return _of_sets(planned.set_promises)
    policy = planned.deployed.policy
    named = _largest(policy)
    sentences = [_promise(planned, *one, policy) for one in named[:_MOST_LEVELS]]
    if policy.size > _MOST_LEVELS:
        sentences.append(f"... and {policy.size - _MOST_LEVELS:,} more levels.")
    return sentences


def promise_in_short(planned: QuestionPlan) -> str:
    """The same in one sentence."""
    if planned.question.kind == "numeric":
        spent = planned.spending[0].spent
        return (
            "No report changes the odds between two numbers, or a number and no answer, more than "
            f"{_factor(spent)}-fold, {_WHOEVER}."
        )
    if planned.set_promises is not None:
        most = f"{_factor(planned.set_promises.cap)}-fold"
        between = "a set of answers and any other"
        return f"No report changes the odds between {between} more than {most}, {_WHOEVER}."
    policy = planned.deployed.policy
    budgets = [
        (budget, f"{_factor(budget)}-fold for {name!r}") for name, budget in _largest(policy)
    ]
    if len({budget for budget, _ in budgets}) == 1:
        most = f"{_factor(budgets[0][0])}-fold"
    elif len(budgets) <= _NAMED_LEVELS:
        *others, last = [text for _, text in budgets]
        most = f"{', '.join(others)} and {last}"
    else:
        most = f"from {min(budgets)[1]} to {max(budgets)[1]}, by its level"
    between = "an answer and any other"
    if planned.question.kind == "item-set":
        between = "a set of answers and any other"
    elif policy.rule.open_pairs:
        between = "two answers that are protected from each other"
    return f"No report changes the odds between {between} more than {most}, {_WHOEVER}."


def handout_blocks(plan: SurveyPlan, costs: list[str]) -> list[Block]:
    """One page for an ethics board: what people are told, what is promised, and what is not.

    ``costs`` are sentences about the errors, one a question.
    """
    most = max((row.spent for row in plan.spending), default=0.0)
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
        blocks.append(Heading(title, level=3))
        blocks += [Sentence(line, tone="item") for line in lines]
    return blocks


def outsider_blocks(view: SurveyOutsiderView | None) -> list[Block]:
    """What outsiders learn."""
    if view is None:
        return [Sentence(NOTHING_TO_SAY)]
    blocks: list[Block] = []
    for one in view.questions:
        blocks.append(Heading(one.question))
        blocks += [Sentence(said) for said in one.sentences]
        if len(one.shuffled.names) > 1:
            blocks.append(_pairs(one))
    if view.sentences:
        blocks.append(Heading("All questions together"))
        blocks += [Sentence(said) for said in view.sentences]
    return blocks


def _pairs(view: OutsiderView) -> Table:
    rows = view.shuffled.pairs
    columns = [
        texts("between", (row[0] for row in rows)),
        texts("and", (row[1] for row in rows)),
        numbers("one report", (row[2] for row in rows), lambda local: rounded_up(local, 4)),
        numbers("if shuffled", (row[3] for row in rows), lambda found: rounded_up(found, 5)),
    ]
    return Table("Epsilon, who is hidden among whom", tuple(columns))


def _largest(policy: PrivacyPolicy) -> list[tuple[str, float]]:
    """Each level with the largest budget of a protected pair that it is part of."""
    budgets = policy.rule.largest_pairs(policy.epsilons).tolist()
    return list(zip(policy.names, budgets, strict=True))


def _promise(planned: QuestionPlan, level: str, budget: float, policy: PrivacyPolicy) -> str:
    graph = policy.rule.open_pairs
    other = "any other answer that the policy graph protects it from" if graph else "any other"
    whose = f"whoever has an answer of level '{level}'"
    if planned.question.kind == "item-set":
        whose = f"whoever has a set of answers, none of them less protected than level '{level}'"
        other = "any other set"
    return (
        f"{whose}: a report changes the odds between it and {other} at most "
        f"{_factor(budget)}-fold (epsilon {rounded_up(budget, 4)}), for any observer, whatever "
        "else the observer knows."
    )


def _of_sets(sets: SetPromises) -> list[str]:
    """Two promises, or one where they are the same."""
    one, both = rounded_up(sets.epsilon, 4), rounded_up(sets.cap, 4)
    any_two = (
        f"any two sets of answers: a report changes the odds between them at most "
        f"{_factor(sets.cap)}-fold (epsilon {both}), for any observer, whatever else the observer "
        "knows."
    )
    if one == both:
        return [any_two]
    return [
        "whoever knows all of a person's answers but one: a report changes the odds of that one at "
        f"most {_factor(sets.epsilon)}-fold (epsilon {one}).",
        f"{any_two} Several sensitive answers together are protected by this alone.",
    ]


def _factor(epsilon: float) -> str:
    factor = math.exp(epsilon)
    return f"{math.ceil(factor * 100 - 1e-9) / 100:,.2f}" if factor < 1e6 else magnitude_up(factor)
