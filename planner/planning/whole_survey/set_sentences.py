"""What a plan says of item sets: the padding length, what it cuts, and what that rests on."""

from __future__ import annotations

from planner.estimates.truncation import LongerSets
from planner.planning.padding import PaddingPlan
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.sentences import people, percent


def set_sentences(question: QuestionPlan) -> list[str]:
    """All that is said of a question's sets; nothing for other questions."""
    length, plan = question.padding_length, question.padding
    if length is None:
        return []
    longer = question.mechanism.longer
    if longer is None:
        return [_not_known(length)]
    if plan is None:
        return [_nothing_cut(length)]
    shown = min(length, int(plan.lengths[-1]))  # beyond the largest set nothing changes
    sentences = [_padding(question, plan), _truncation(question, plan, shown, longer)]
    if plan.lost[shown - 1] > 0:
        sentences.append(_uncut(question, plan))
    least, most = plan.error_limits(shown)
    if most > 1.05 * least:
        sentences.append(_assumed(plan, least, most))
    return sentences


def _padding(question: QuestionPlan, plan: PaddingPlan) -> str:
    """The padding length, where it comes from, and which others are about as good."""
    origin = "the best for these sets"
    if question.question.padding_length is not None:
        origin = "as set in the survey"
    elif question.padding_length != plan.length:
        origin = "found for these sets"
    return (
        f"Padding length {question.padding_length}, {origin}; best {plan.length}, and any from "
        f"{plan.flat_lower} to {plan.flat_upper} is within 5 % of the best."
    )


def _not_known(length: int) -> str:
    return (
        f"Sets of more than {length} items are cut, and how many people have such sets is not "
        f"known: the errors are for sets of at most {length}, and estimates will have no upper "
        "limits. Say what is known of the sizes under [question.sets]."
    )


def _nothing_cut(length: int) -> str:
    return f"No set has more than {length} items: none is cut, and the estimates are unbiased."


def _truncation(question: QuestionPlan, plan: PaddingPlan, shown: int, longer: LongerSets) -> str:
    """What cutting long sets does to the estimates."""
    length = longer.padding_length
    if not longer.sizes:
        return _nothing_cut(length)
    most = people(longer.largest_bias(question.users))
    lost, total = plan.lost[shown - 1], plan.truncation_errors[shown - 1]
    if lost == 0:
        return (
            f"None of these sets has more than {length} items. Upper limits of the estimates allow "
            f"for people who may have more, by at most {most} people."
        )
    return (
        f"Sets of more than {length} items are cut, and {percent(lost)} of all answers are lost: "
        f"counts come out too small, {people(total)} people of the total error, and each by "
        f"{most} people at most. Upper limits of the estimates allow for that."
    )


def _uncut(question: QuestionPlan, plan: PaddingPlan) -> str:
    """What it costs to cut nothing."""
    errors = plan.errors if question.padding_errors is None else question.padding_errors
    error = people(errors[plan.uncut - 1])
    return (
        f"To cut none of these sets, put padding_length = {plan.uncut}, with a total error of "
        f"{error} people: the estimates are unbiased then, unless somebody has a longer set."
    )


def _assumed(plan: PaddingPlan, least: float, most: float) -> str:
    """How far the assumed popularity of the items decides the prediction."""
    low, high = plan.best_limits
    lengths = f"{low}" if low == high else f"anything from {low} to {high}"
    return (
        "Which items the long sets hold is assumed. By their sizes alone the total error is "
        f"between {people(least)} and {people(most)} people, and the best padding length "
        f"{lengths}. A pilot tells more than a histogram."
    )
