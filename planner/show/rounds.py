"""What is said of a question that is asked again."""

from __future__ import annotations

from planner.planning.question import QuestionPlan
from planner.planning.rounds import compared
from planner.show.blocks import Block, Heading, Sentence, Table, bars, people, percent, texts


def round_blocks(question: QuestionPlan) -> list[Block]:
    """Errors of a round, of the average and of a change, and other ways of asking again."""
    again = question.question.rounds
    if again is None:
        return []
    ways, bound = compared(question)
    own = ways[0]

    def error(squared: float | None) -> str:
        return "" if squared is None else people(question.part.total(squared))

    share = percent(question.part.total(own.errors.each) / question.part.whole)
    how = {
        "one report for all rounds": "a person's first report serves all rounds",
        "one report in one round": "each person reports in one round, drawn by lot",
        "one report of one value": "each person reports one of their values, drawn by lot, while "
        "it lasts, and blanks else: an observer may see when an answer changes",
    }[own.name]
    blocks: list[Block] = [
        Sentence(
            f"Asked {again.count} times: {how}. Error of a round {error(own.errors.each)} "
            f"{question.unit} ({share}), of the average over rounds {error(own.errors.average)}, "
            f"of a change of all since the last round {error(own.errors.change)}."
        ),
        Heading("Other ways of asking again", "details", 3),
        Table(
            f"Error, {question.unit}",
            (
                texts("way", (one.name for one in ways)),
                texts("times of changes", ("hidden" if one.hidden else "seen" for one in ways)),
                bars("a round", [question.part.total(one.errors.each) for one in ways], people),
                texts("average", (error(one.errors.average) for one in ways)),
                texts("change", (error(one.errors.change) for one in ways)),
            ),
            accent=0,
        ),
    ]
    if any(one.name == "L-OSUE" for one in ways):
        text = "L-OSUE, LOLOHA and RAPPOR are by their own accounting, at the smallest budget."
        blocks.append(Sentence(text, "details"))
    if bound is not None:
        text = (
            "Proven: no unbiased protocol that keeps the largest of these budgets between any two "
            f"such histories has an error of a round below {error(bound)} {question.unit}."
        )
        blocks.append(Sentence(text, "details", "proof"))
    return blocks
