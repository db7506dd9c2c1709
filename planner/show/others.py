"""What else is shown: comparisons, answer rates, what a plan relies on, simulations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import OrderedEstimates
from planner.estimates.cross_table import CrossTable
from planner.estimates.ordered_table import gamma_of_shares, ordered_association
from planner.laws.schema import Document
from planner.limits import SAME_ERROR
from planner.planning.by_level import ByLevel
from planner.planning.comparison import ComparedRow
from planner.planning.mean import AnswerRatePlan
from planner.planning.option import FLAT
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.policy.budget_text import rounded_up
from planner.show import kinds, two_rounds
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Sentence,
    Table,
    change,
    column,
    listed,
    lowered,
    people,
    percent,
    quantity,
    rows_table,
    said,
)
from planner.show.figures import (
    Chart,
    error_figure,
    error_units,
    one_survey_figure,
    ordered_figure,
)
from planner.show.plan import lots_sentence
from planner.trial.curves import W1
from planner.trial.simulate import OneSurvey, Simulated, Trial, true_association

_ROWS = 9  # budgets of a table, beside those that have a name
# levels, in a sentence
_MOST_MOVED = 6
_MOST_OTHERS = 8
_SEEN_LITTLE = 0.01  # of an error: less is no reason for a larger budget
_COMPARISON = (
    "Errors are in per cent of the people who answer (of half the range for a mean): total over "
    "all items, or of one rare item of a level; in a round, where it is asked again. Of errors "
    "and budgets the smaller is better."
)
_CURVES = (
    "W1 is the area between an estimated and the true curve of people up to a number, in per cent "
    "of the range: simulated, for numbers in a hump (beta(5, 2)) and for half of them at five "
    "spikes. Square Wave with EMS and the hierarchy of intervals are rivals, at the same budget."
)


def comparison_blocks(
    compared: Sequence[ComparedRow], names: tuple[str, str]
) -> list[Block]:
    """Two scenarios side by side; a name stands once over all its figures."""
    rows = []
    before = ("", "")
    for row in compared:
        key = (row.question, row.level)
        question = row.question
        level = row.level
        if row.question == before[0]:
            question = ""
        if key == before:
            level = ""
        difference = ""
        if (
            row.change is not None
        ):  # none where a figure is missing on one side, or is 0
            difference = change(row.change)
        # People asked are counted in full; of errors two digits are enough.
        written = "{:,.0f}".format if row.what == "people" else people
        first = written(row.first)
        second = written(row.second)
        rows.append((question, level, row.what, first, second, difference))
        before = key
    headings = ("question", "level", "figure", "A", "B", "B against A")
    table = rows_table(f"A: {names[0]}   B: {names[1]}", headings, rows, words=3)
    blocks: list[Block] = [table, Sentence(_COMPARISON)]
    if any(row.what.startswith(W1) for row in compared):
        blocks.append(Sentence(_CURVES))
    return blocks


def changed_sentence(plan: QuestionPlan, explored: QuestionPlan, unit: str) -> str:
    """What moved, against the survey as it is, in one sentence."""
    name = kinds.objective_name(plan)
    in_unit = people if unit == "people" else quantity
    # Each plan has units of its own: a share of its people, say, who may be others by now.
    now = in_unit(float(error_units(explored)[unit](explored.total_error)))
    if explored is plan:
        return f"As in the survey: {name} {now} {unit}."
    before = in_unit(float(error_units(plan)[unit](plan.total_error)))
    text = f"{name.capitalize()} from {before} to {now} {unit}"
    levels = plan.fact(ByLevel)
    explored_levels = explored.fact(ByLevel)
    if levels is None or explored_levels is None:
        return f"{text}."
    if len(levels.names) != len(explored_levels.names):
        return f"{text}."  # no level has its counterpart
    moved = []
    pairs = zip(
        levels.names,
        levels.standard_errors,
        explored_levels.standard_errors,
        strict=True,
    )
    for level, old, new in pairs:
        # Raising one budget moves the errors of others: these are the news.
        if abs(new / old - 1) > SAME_ERROR:
            moved.append(f"{level!r} from {people(old)} to {people(new)}")
    if not moved:
        return f"{text}; no level's error moved."
    rest = ""
    if len(moved) < len(levels.names):
        rest = "; nothing else moved"
    return f"{text}; one answer's error, in people: {listed(moved, _MOST_MOVED)}{rest}."


def others_sentence(plan: QuestionPlan) -> str:
    """The error of an answer's count, of the levels where it is below the headline's."""
    levels = plan.fact(ByLevel)
    if levels is None:
        return ""
    # Compared as they are shown: who reads the same figure twice would look for a difference.
    worst = people(levels.standard_errors.max())
    others = []
    for name, standard_error in zip(levels.names, levels.standard_errors, strict=True):
        error = people(standard_error)
        if error != worst:
            others.append(f"{error} for {name!r}")
    if not others:
        return ""
    few = listed(others, _MOST_OTHERS)
    in_round = kinds.in_round(plan)
    return f"Standard error of other answers' counts{in_round}, people: {few}."


def relied_on(plan: SurveyPlan) -> list[str]:
    """What nobody can prove, of this plan."""
    relied = [
        "Levels and budgets are right: the planner cannot know how sensitive an answer is.",
        "Every report is randomised on the person's own device, with the operating system's "
        "randomness, by the exported parameters and nothing else.",
    ]
    asked_once = False
    in_rounds = []
    in_two_rounds = []
    for question in plan.questions:
        sampling = question.fact(SamplingPlan)
        if sampling is not None:
            in_two_rounds.append(
                f"{question.name}: each person reports twice. "
                f"{two_rounds.reliance_sentence(sampling)}"
            )
        if question.question.rounds is not None:
            # Answers that change are drawn from a memory: without it a report is drawn anew.
            in_rounds.append(
                f"{question.name}: each person reports as said once, by a client that remembers "
                "it. One whose memory is lost may report again, and spend the budget again."
            )
        elif question.question.locally_private:
            asked_once = True
    if asked_once:
        relied.append(
            "Each person reports once. Asked again, a person spends the budget again."
        )
    lots = lots_sentence(plan)
    if lots:
        relied.append(lots)
    nothing = "Nothing else about the person travels with a report: no address, time or free text."
    return [*relied, *in_rounds, *in_two_rounds, nothing]


def answer_rate_blocks(name: str, plan: AnswerRatePlan) -> list[Block]:
    """The best budget, the curve around it, and what it rests on."""
    best = plan.best_planned
    whose = f"for {kinds.whose_answers(plan.model)}"
    facts = (
        Fact("best budget", f"epsilon {best.epsilon:.3f}"),
        Fact("who answer", percent(best.answer_rate)),
        Fact(
            "error of the mean",
            quantity(best.rmse),
            f"{whose} of people drawn at random",
        ),
    )
    blocks: list[Block] = [
        Heading(f"{name}: {plan.model.users:,} people asked", level=1),
        Facts(facts),
    ]
    blocks += said(_flat_sentences(plan))
    if not plan.best.reliable:
        # The mean of those who answer is a ratio, whose variance is one to first order alone: near
        # an answer rate of 0 that means nothing (docs/theory/answer-rates.md).
        hopeless = (
            "Too few people answer for this prediction: even the answer rate is hardly "
            "distinguishable from 0. Ask more people."
        )
        blocks += said([hopeless], "missed")
    blocks += _curves(plan)
    explained = (
        "Forced: those who would rather not answer must (Harmony), and send the largest value or a "
        "random one. 'missing' is the error of the missing rate."
    )
    if plan.model.sd is None:
        explained += " Its spread, left open, is 0.3 of half the range."
    blocks.append(Sentence(explained, "details"))
    alt = "Predicted error of the mean against the budget, with the best budget marked."
    draw = partial(error_figure, plan)
    blocks.append(Figure("Error of the mean", draw, alt, "rates", "page"))
    return blocks


def _flat_sentences(plan: AnswerRatePlan) -> list[str]:
    """Which budgets are about as good as the best, and what the least of them costs.

    A larger budget lowers the noise and loses answers, so that the error is flat around its least:
    the smallest of the range is recommended. Its ends are rounded inward.
    """
    best = plan.best_planned
    low = rounded_up(best.flat_lower, 2)
    high = lowered(best.flat_upper, 2)
    sentences = [
        f"Any epsilon in {low} to {high} is within {percent(FLAT)} of the best; the smallest of "
        "them protects people most."
    ]
    larger = plan.larger_offer
    if larger is not None and larger.saving > _SEEN_LITTLE:
        sentences.append(
            f"Offering {low} lowers the error by {percent(larger.saving)}; the odds of an answer "
            f"may then change {rounded_up(larger.odds, 2)} times as much."
        )
    return sentences


def _curves(plan: AnswerRatePlan) -> list[Table]:
    """The error of each rival at a few budgets, with the best ones and the one that is offered."""
    named = {plan.best.epsilon: "best for BiSample-MD"}
    channels = plan.channels
    if channels is not None:
        named[channels.best().epsilon] = "best channel"
    if plan.offered is not None:
        named[float(plan.offered.epsilon[0])] = "offered now"
    curve = plan.sampled(_ROWS, list(named))
    budgets = curve.epsilon
    names = [named.get(budget, "") for budget in budgets.tolist()]
    errors = []
    for error, reliable in zip(curve.mean_rmse, curve.reliable, strict=True):
        if reliable:
            errors.append(quantity(error))
        else:
            errors.append("unreliable")
    columns = [
        column("budget", names),
        column("epsilon", budgets, ".3f"),
        column("answer, %", 100 * curve.answer_rate, ".1f"),
        column("BiSample-MD", errors, str),
    ]
    if channels is not None:
        columns.append(column("channel", channels.channel_errors(budgets), quantity))
    # The other way of having an answer of everybody: what is sent by those who must is untrue.
    forced = (
        column("budget", names),
        column("epsilon", budgets, ".3f"),
        column("missing", curve.missing_rate_rmse, ".5f"),
        column("forced, at the top", curve.top_rmse, quantity),
        column("forced, at random", curve.random_rmse, quantity),
    )
    accent = budgets.tolist().index(plan.best_planned.epsilon)
    return [
        Table("Error of the mean, by budget", tuple(columns), "everybody", accent),
        Table("Of the missing rate, and if answers are forced", forced, accent=accent),
    ]


# Simulations


def simulation_json(trial: Trial, results: Sequence[Simulated]) -> Document:
    """A simulation for programs; the first mechanism is the deployed one."""
    padded = trial.planned.fact(Padded)
    padding_length = None
    if padded is not None:
        padding_length = padded.length
    return {
        "question": trial.planned.name,
        "people": trial.asked.people,
        "asked": trial.asked.asked,
        "missing": trial.missing,
        "padding_length": padding_length,
        "unit": trial.planned.question.unit,
        "mechanisms": results,
    }


def simulation_blocks(trial: Trial, results: Sequence[Simulated]) -> list[Block]:
    """Measured errors beside predicted ones.

    The measured are roots of means over few runs, and scatter: ± their standard error says how
    far from a prediction they may be without contradicting it.
    """
    plan = trial.planned
    best = min(results, key=lambda result: result.predicted)
    in_unit = kinds.error_text(plan)
    columns = [
        column("mechanism", [result.label for result in results]),
        column(
            plan.question.unit, [result.error for result in results], in_unit, bars=True
        ),
        column("±", [in_unit(result.spread) for result in results], str),
        column("predicted", [result.predicted for result in results], in_unit),
    ]
    error = kinds.objective_name(plan)
    text = (
        f"The first is what the plan deploys, its {error} in {plan.question.unit}, ± its "
        "standard error over the runs; the others could be deployed at the same budgets. "
        f"Smallest predicted error on these answers: {best.label}."
    )
    if results[0].covered is not None:
        columns.append(column("held", [result.covered for result in results], percent))
        text += (
            " Held: share of the runs whose 95 % intervals, all at once, hold the truth of those "
            "who are asked."
        )
    if plan.question.rounds is not None:
        text += " What is asked again is tried in one round."
    if not plan.question.levels:
        # A number's or a scale's error has the spread of a sample in it, which is none of these
        # people's: measured and planned errors differ by it.
        text += (
            " These people are given; the plan's error is of people drawn at random."
        )
    title = f"{error.capitalize()}, measured and predicted"
    return [
        Heading(f"{plan.name}: {about_trial(trial)}", level=1),
        Table(title, tuple(columns), "everybody", 0),
        Sentence(text),
    ]


def measured_facts(trial: Trial, deployed: Simulated) -> Facts:
    """What the plan's own mechanism has, and what was predicted of it."""
    in_unit = kinds.error_text(trial.planned)
    figure = in_unit(deployed.error)
    if deployed.spread is not None:  # a single run has none
        figure = f"{figure} ± {in_unit(deployed.spread)}"
    measured = Fact(f"measured {kinds.objective_name(trial.planned)}", figure)
    return Facts((measured, Fact("predicted", in_unit(deployed.predicted))))


def one_survey(
    trial: Trial, estimated: OneSurvey | OrderedEstimates
) -> tuple[Chart, str, str]:
    """One survey beside the truth: its picture, what it shows, and whether intervals hold it."""
    if isinstance(estimated, OneSurvey):
        alt = "The truth and one survey's estimates with their intervals."
        return one_survey_figure(estimated), alt, _intervals_hold(estimated)
    alt = "True and estimated shares of the people up to each answer, with their band."
    median = estimated.quantile()
    holds = "does not hold"
    if trial.inside(estimated.band):
        holds = "holds"
    limits = ""
    if median.lower != median.upper:
        limits = f", from {median.lower} to {median.upper}"
    sentence = (
        f"The band {holds} the truth. Median "
        f"{median.answer}{limits}; truly {estimated.answers[trial.median]}."
    )
    return ordered_figure(estimated, trial.shares_up_to), alt, sentence


def _intervals_hold(survey: OneSurvey) -> str:
    """How many intervals hold the truth, of one survey."""
    if len(survey.labels) > 1:
        sentence = f"{survey.held} of {len(survey.labels)} intervals hold the truth."
    elif survey.held:
        sentence = "The interval holds the truth."
    else:
        sentence = "The interval does not hold the truth."
    if not np.isfinite(survey.upper).all():
        # What is cut of a set may have been any of its answers, so that no count bounds it above.
        sentence += " Sets are cut: upper ends are open."
    return sentence


def about_trial(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked = trial.asked
    parts = [f"{asked.people:,} people"]
    if asked.asked < asked.people:
        how = "in a round"
        if asked.rotation_groups == 1:
            how = "asked"
        parts.append(f"{asked.asked:,} of them {how}")
    if trial.labels:
        parts.append(f"{len(trial.labels):,} answers")
    if trial.missing:
        parts.append(f"{trial.missing:,} without an answer")
    padded = trial.planned.fact(Padded)
    if padded is not None:
        parts.append(f"sets cut or padded to {padded.length}")
    return ", ".join(parts)


def beside_truth(table: CrossTable, truth: Array) -> list[Block]:
    """An estimated table with the true one, and how the two answers go together in both."""
    first, second = table.names
    # A standard error for each cell: a unit vector picks one cell of the table.
    errors = table.people_in(np.eye(truth.size)).standard_errors.reshape(truth.shape)
    rows = []
    for i, answer in enumerate(table.answers[0]):
        cells = [answer]
        for j in range(len(table.answers[1])):
            estimate = f"{table.counts[i, j]:,.0f} ± {errors[i, j]:,.0f}"
            cells.append(f"{estimate} ({truth[i, j]:,.0f})")
        rows.append(cells)
    title = f"{first} and {second}: people ± standard error (and truly)"
    headings = [first]
    for second_answer in table.answers[1]:
        headings.append(f"{second} = {second_answer}")
    sentences = [f"{table.summary} Truly V is {true_association(truth):.2f}."]
    # Cramér's V knows no direction. Where both answers have an order, gamma does.
    direction = ordered_association(table)
    if direction is not None:
        gamma = direction.gamma
        shown = "not told"
        if gamma.value is not None:
            shown = f"{gamma.value:.2f}"
        limits = f"({gamma.lower:.2f} to {gamma.upper:.2f})"
        true_gamma = gamma_of_shares(truth, table.in_order)
        sentences.append(
            f"Goodman and Kruskal's gamma {shown} {limits}, truly {true_gamma:.2f}."
        )
    return [rows_table(title, headings, rows, 1), *said(sentences)]
