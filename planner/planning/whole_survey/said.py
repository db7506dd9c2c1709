"""What is said of one question, in the order in which every face says it."""

from __future__ import annotations

from typing import NamedTuple

from planner.planning.whole_survey import sentences
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.set_sentences import set_sentences


class Said(NamedTuple):
    """The sentences of one question by what they are about.

    Attributes
    ----------
    answer:
        Who is asked, by which mechanism, the error, and what becomes of sets.
    targets:
        One a target.
    report:
        What a report says, and what can be told from all of them.
    proof:
        The strongest claim first.
    prices:
        What more budget buys, the best first.
    """

    answer: list[str]
    targets: list[str]
    report: list[str]
    proof: list[str]
    prices: list[str]


def said_of(question: QuestionPlan) -> Said:
    """All that is said of a question."""
    every = (
        [
            sentences.asked_sentence(question),
            sentences.error_sentence(question),
            *set_sentences(question),
        ],
        [sentences.target_sentence(target) for target in question.targets],
        [
            sentences.report_sentence(question),
            sentences.types_sentence(question),
            sentences.detectable_sentence(question),
            sentences.band_sentence(question),
        ],
        [sentences.least_error_sentence(question), sentences.certificate_sentence(question)],
        [
            *sentences.relaxation_sentences(question),
            sentences.saturation_sentence(question),
        ],
    )
    return Said(*([one for one in group if one] for group in every))
