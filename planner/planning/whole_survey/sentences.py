"""A plan in sentences: the terminal, the app and the report say them word for word."""

from __future__ import annotations

import math

from planner.designs.channel import Channel
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.sampled import ACKNOWLEDGEMENTS, SamplingPlan
from planner.planning.whole_survey.plan import SurveyPlan
from planner.planning.whole_survey.question_plan import QuestionPlan
from planner.planning.whole_survey.target_answers import TargetAnswer
from planner.policy.budget_text import rounded_up

ALLOCATION_ERRORS = (
    "Errors are in per cent of the people, of a mean of half its range. "
    "Asking only some of the people adds what a sample misses; it is included as an upper bound."
)
_MOST_SHARES = 10


def design_sentence(plan: SurveyPlan) -> str:
    """Which design is planned, which is better, and how to change it."""
    found = plan.allocation
    if found is None:
        return ""
    better, split = found.better, plan.survey.design == "split"
    if split == (better == "split") and (split or found.some_each.asked == found.best_each.asked):
        return f"{found.reason} This plan does so."
    here = "splits the budgets" if split else f"asks everybody {found.some_each.in_words}"
    return (
        f"{found.reason} This plan {here} all the same: to change that, put "
        f'design = "{better}" under [survey].'
    )


def recommended_sentence(plan: SurveyPlan) -> str:
    """The better design in a few words."""
    if plan.allocation is None or plan.allocation.better == "split":
        return "Recommended: everything of everybody."
    return f"Recommended: {plan.allocation.best_each.in_words} each."


def shares_sentence(plan: SurveyPlan) -> str:
    """What is proven of the shares."""
    if plan.allocation is None:
        return ""
    gap = max(plan.allocation.relative_gap, 1e-9)  # the digits below are rounding noise
    proven = f"The shares are proven best to within {_within(gap)}"
    others = [one for one in plan.questions if one.shared_as not in (None, one.mechanism_label)]
    if not others:
        return f"{proven}."
    had = " and ".join(
        f"{', '.join(names)} had {label}" for label, names in _by_label(others).items()
    )
    return f"{proven} if {had}, whose errors they are planned with."


def _within(gap: float) -> str:
    """A relative gap in words; one that matters in per cent, rounded up."""
    return f"a factor of 1 + {gap:.0e}" if gap < 1e-3 else f"{math.ceil(100 * gap)} %"


def _by_label(questions: list[QuestionPlan]) -> dict[str | None, list[str]]:
    """Names of questions by the mechanism whose errors decide their shares."""
    found: dict[str | None, list[str]] = {}
    for one in questions:
        found.setdefault(one.shared_as, []).append(repr(one.name))
    return found


def objective_sentence(plan: SurveyPlan) -> str:
    """The survey's objective in both designs."""
    if plan.allocation is None:
        return ""
    found = plan.allocation
    name = "weighted sum of squared errors per person"
    if found.objective == "minimax":
        name = "largest squared error over its target"
    return (
        f"Objective, the {name}: {found.value:,.6g} if the budgets are split, at most "
        f"{found.some_each.value:,.6g} if everybody answers {found.some_each.in_words}."
    )


def spending_sentence(plan: SurveyPlan) -> str:
    """What a person spends who answers everything that is asked of them."""
    if plan.allocation is None:
        return "No question shares a budget with another."
    most = rounded_up(plan.most_spent, 4)
    if plan.survey.design == "split":
        return (
            f"A person who answers everything spends the sum over the questions of what their "
            f"answers' levels spend (sequential composition): at most {most} nats."
        )
    asked = plan.allocation.some_each.in_words
    return f"A person answers {asked} and spends at most {most} nats."


def asked_sentence(question: QuestionPlan) -> str:
    """Who answers, with which share of the budgets, by which mechanism."""
    people = f"{question.users:,} people answer it"
    part = "" if question.share == 1 else f", with {question.share:.1%} of its budgets"
    return f"{people}{part}. Mechanism: {question.mechanism_label}."


def error_sentence(question: QuestionPlan) -> str:
    """The predicted error, in its unit and as a share."""
    if question.sampling is not None:
        return f"Every count is within {question.total_error:,.1f} people, at 95 %."
    figure = f"{people(question.total_error)} {question.unit}"
    share = f"{percent(question.error_share)} of {question.share_of}"
    return f"{question.measure}: {figure}, {share}."


def report_sentence(question: QuestionPlan) -> str:
    """What a report says, and what the standard error is of; empty where there are no levels."""
    if question.levels is None:
        return ""
    whose, drawn = "it is the person's answer", ""
    if question.padding_length is not None:
        length = question.padding_length
        whose = f"it is the one drawn from the person's answers, padded or cut to {length}"
        drawn = f"One of a person's answers, padded or cut to {length}, is drawn as their own. "
    bits = f"A report has one bit per item: 1 with probability a if {whose}, else b."
    report = CATALOGUE[question.deployed.mechanism].report
    report = f"{drawn}{report}" if report else bits
    error = "The standard error is that of one rare item's estimated count, in people"
    if question.design is not None:
        error += ", for whatever answers the others have"
    return f"{report} {error}."


def types_sentence(question: QuestionPlan) -> str | None:
    """How many types of reports a design has, and how large they are; None for others."""
    design = question.design
    if design is None:
        return None
    items, types = int(design.policy.item_counts.sum()), design.types.size
    answers = f"{items:,} answers"
    if question.padding_length is not None:
        answers = f"{items - 1:,} answers and a dummy"
    merged = ""
    if design.merges_budgets:
        groups = design.types.item_counts.size - (question.padding_length is not None)
        merged = (
            f" Levels with similar budgets are treated as one of {groups}, with the smallest "
            "budget of each: to tell more apart would take long."
        )
    return (
        f"The design has {types} types of reports. Each says its type and the sides of all "
        f"{answers}, {CATALOGUE[question.deployed.mechanism].report_bytes(items):,} bytes.{merged}"
    )


def detectable_sentence(question: QuestionPlan) -> str | None:
    """From which share of the people an item is told apart; None for sets and means."""
    levels = question.levels
    if levels is None or levels.detectable is None:
        return None
    named = list(zip(levels.names, levels.detectable.tolist(), strict=True))
    shown = [f"{name} {100 * share:.3g} %" for name, share in named[:_MOST_SHARES]]
    more = ", ..." if len(named) > _MOST_SHARES else ""
    return (
        "Smallest share of the people at which an item is told apart from one that nobody has "
        f"(95 % confidence, power 80 %): {', '.join(shown)}{more}."
    )


def certificate_sentence(question: QuestionPlan) -> str | None:
    """What is proven of the error; None where nothing is."""
    bound, gap, table = question.lower_bound, question.proven_gap, question.table
    if question.channel is not None:
        if question.question.numeric is None:
            return _ordered_sentence(question.channel)
        return _channel_sentence(question.channel)
    if question.design is not None and bound is not None and gap is not None:
        return f"{_best_of_all(question, bound)} the plan's is within {_within(gap)} of it."
    if bound is None or gap is None or table is None:
        return None
    where = ""
    if question.padding_length is not None:
        where = f" at padding length {question.padding_length}"
    return (
        f"Proven: no {table.model} table that keeps these budgets has an error below "
        f"{people(bound)} people{where}; the plan's is within a factor of 1 + {gap:.0e} of it. "
        f"Found by the method {table.method!r}."
    )


def _channel_sentence(channel: Channel) -> str:
    points, proof = channel.policy.size - 1, channel.certificate
    size = (
        f"The channel has {channel.outputs} reports for {points} points of the range and no "
        "answer; an answer between two points is rounded to either at random."
    )
    if proof is None:
        return size
    return (
        f"{size} Proven: no mechanism of any kind for these points and no answer that keeps the "
        f"budget and answers once, with any {proof.estimates}, is better by more than a factor "
        f"of 1 + {max(proof.relative_gap, 1e-9) / 2:.0e}."
    )


def _ordered_sentence(channel: Channel) -> str:
    return (
        f"The channel has {channel.outputs} reports for {len(channel.symbols)} ordered answers; a "
        "report is one small number of two bytes."
    )


def band_sentence(question: QuestionPlan) -> str | None:
    """How wide the band around ordered answers will be about; None for other questions."""
    expected = question.expected
    if expected is None:
        return None
    lower, upper = expected.band
    reach = percent(float((upper - lower).max()) / 2)
    middle = expected.quantile()
    between = f"to be {middle.answer}"
    if middle.lower != middle.upper:
        between = f"to be from {middle.lower} to {middle.upper}"
    return (
        f"If all answers were alike, every share up to an answer would be known within {reach} of "
        f"the people ({100 * expected.confidence:g} % confidence, for all of them at once), and "
        f"the median {between}."
    )


def least_error_sentence(question: QuestionPlan) -> str | None:
    """What no mechanism of any kind can beat; None where that is not known.

    Of a subset design :func:`certificate_sentence` says it.
    """
    if question.least_error is None or question.design is not None:
        return None
    return f"{_best_of_all(question, question.least_error)[:-1]}."


def _best_of_all(question: QuestionPlan, least: float) -> str:
    name = question.objective_name
    article = "an" if name.startswith("error") else "a"
    once, estimate = "answers once,", "estimate"
    if question.padding_length is not None:
        once = f"reports one answer drawn of a set, padded or cut to {question.padding_length},"
        estimate = "estimate of what is drawn"
    return (
        f"Proven: no mechanism of any kind that keeps these budgets and {once} with "
        f"any unbiased {estimate}, has {article} {name} below {people(least)} {question.unit};"
    )


def saturation_sentence(question: QuestionPlan) -> str | None:
    """Where more budget buys nothing; None where that is not known."""
    if question.saturation_epsilon is None:
        return None
    return (
        f"Saturation: budget above {question.saturation_epsilon:.4f} buys nothing while the other "
        "levels stay as they are."
    )


def relaxation_sentences(question: QuestionPlan) -> list[str]:
    """What a little more of one level's budget would buy, best first."""
    return [
        f"Raising the budget of {one.level!r} by {one.amount:g} lowers the "
        f"{question.objective_name} by {one.saving:.1%}."
        for one in question.relaxations
    ]


def target_sentence(answer: TargetAnswer) -> str:
    """What becomes of a target, and what would meet it if it is missed."""
    verdict = "met" if answer.met else "MISSED"
    reached = percent(answer.reached) if answer.reached < 1e6 else "nothing"
    text = f"Target, {answer.wanted}: {verdict}, reached {reached}."
    if answer.met:
        return text
    instead = "no number of people would do, as truncated or missing answers bias the result"
    if answer.users is not None:
        instead = f"ask {answer.users:,} people"
    return f"{text} For this question alone: {answer.budgets} Or {instead}."


def reliance_sentence(plan: SamplingPlan) -> str:
    """What Sampling Privacy relies on, and whether somebody vouches for it."""
    needed = ACKNOWLEDGEMENTS[plan.relies_on]
    if plan.acknowledged:
        return f'Relies on {plan.relies_on}, acknowledged: "{needed}"'
    return (
        f"Relies on {plan.relies_on}, not acknowledged: parameters will not be written. If it is "
        f'true, add to [question.sampling]: acknowledged = "{needed}"'
    )


def people(number: float) -> str:
    """A number of people, or of a mean's units, with one digit after the point if it is small.

    Examples
    --------
    >>> people(4896.24), people(0.0123456)
    ('4,896.2', '0.01235')
    """
    return f"{number:,.1f}" if abs(number) >= 100 else f"{number:,.4g}"


def percent(share: float) -> str:
    """A share in per cent.

    Examples
    --------
    >>> percent(0.0489624), percent(math.inf)
    ('4.896 %', 'no share')
    """
    return f"{100 * share:.4g} %" if math.isfinite(share) else "no share"
