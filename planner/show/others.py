"""What else is shown: comparisons, answer rates, what a plan relies on, simulations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import OrderedEstimates
from planner.estimates.cross_table import CrossTable
from planner.estimates.ordered_table import gamma_of_shares, ordered_association
from planner.laws.schema import Document
from planner.limits import SAME_ERROR
from planner.planning.by_level import ByLevel
from planner.planning.mean import AnswerRatePlan
from planner.planning.option import FLAT
from planner.planning.plan import ComparedRow, SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.policy.budget_text import rounded_up
from planner.show import kinds
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

_ROWS = 9
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
        key = row.question, row.level
        question = "" if key[0] == before[0] else key[0]
        level = "" if key == before else key[1]
        difference = "" if row.change is None else change(row.change)
        written = "{:,.0f}".format if row.what == "people" else people
        two = map(written, (row.first, row.second))
        rows.append((question, level, row.what, *two, difference))
        before = key
    headings = ("question", "level", "figure", "A", "B", "B against A")
    table = rows_table(f"A: {names[0]}   B: {names[1]}", headings, rows, words=3)
    curves = any(row.what.startswith(W1) for row in compared)
    return [table, Sentence(_COMPARISON), *said([_CURVES if curves else ""])]


def changed_sentence(plan: QuestionPlan, explored: QuestionPlan, unit: str) -> str:
    """What moved, against the survey as it is, in one sentence."""
    written = error_units(plan)[unit]
    name = kinds.objective_name(plan)
    in_unit = people if unit == "people" else quantity
    now = in_unit(float(error_units(explored)[unit](explored.total_error)))
    if explored is plan:
        return f"As in the survey: {name} {now} {unit}."
    before_text = in_unit(float(written(plan.total_error)))
    text = f"{name.capitalize()} from {before_text} to {now} {unit}"
    before = plan.fact(ByLevel)
    after = explored.fact(ByLevel)
    if before is None or after is None or len(before.names) != len(after.names):
        return f"{text}."
    pairs = zip(
        before.names, before.standard_errors, after.standard_errors, strict=True
    )
    others = [
        (question_name, old, new)
        for question_name, old, new in pairs
        if abs(new / old - 1) > SAME_ERROR
    ]
    moved = []
    for question_name, old, new in others:
        moved.append(f"{question_name!r} from {people(old)} to {people(new)}")
    if not moved:
        return f"{text}; no level's error moved."
    rest = "" if len(moved) == len(before.names) else "; nothing else moved"
    return f"{text}; one answer's error, in people: {listed(moved, _MOST_MOVED)}{rest}."


def others_sentence(plan: QuestionPlan) -> str:
    """The error of an answer's count, of the levels where it is below the headline's."""
    levels = plan.fact(ByLevel)
    if levels is None:
        return ""
    worst = people(levels.standard_errors.max())
    errors = map(people, levels.standard_errors)
    pairs = zip(levels.names, errors, strict=True)
    others = [f"{error} for {name!r}" for name, error in pairs if error != worst]
    few = listed(others, _MOST_OTHERS)
    in_round = kinds.in_round(plan)
    return (
        f"Standard error of other answers' counts{in_round}, people: {few}."
        if others
        else ""
    )


def relied_on(plan: SurveyPlan) -> list[str]:
    """What nobody can prove, of this plan."""
    relied = [
        "Levels and budgets are right: the planner cannot know how sensitive an answer is.",
        "Every report is randomised on the person's own device, with the operating system's "
        "randomness, by the exported parameters and nothing else.",
    ]
    if any(
        not question.question.apart and question.question.rounds is None
        for question in plan.questions
    ):
        relied.append(
            "Each person reports once. Asked again, a person spends the budget again."
        )
    relied += filter(None, [lots_sentence(plan)])
    relied += [
        f"{question.name}: each person reports as said once, by a client that remembers it. "
        "One whose memory is lost may report again, and spend the budget again."
        for question in plan.questions
        if question.question.rounds is not None
    ]
    relied += [
        f"{question.name}: each person reports twice. {kinds.reliance_sentence(sampling)}"
        for question in plan.questions
        if (sampling := question.fact(SamplingPlan)) is not None
    ]
    nothing = "Nothing else about the person travels with a report: no address, time or free text."
    return [*relied, nothing]


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
    low = rounded_up(best.flat_lower, 2)
    high = lowered(best.flat_upper, 2)
    flat = (
        f"Any epsilon in {low} to {high} is within {percent(FLAT)} of the best; the smallest of "
        "them protects people most."
    )
    dearer = ""
    larger = plan.larger_offer
    if larger is not None and larger.saving > _SEEN_LITTLE:
        dearer = (
            f"Offering {low} lowers the error by {percent(larger.saving)}; the odds of an answer "
            f"may then change {rounded_up(larger.odds, 2)} times as much."
        )
    hopeless = (
        "Too few people answer for this prediction: even the answer rate is hardly "
        "distinguishable from 0. Ask more people."
    )
    usual = (
        ""
        if plan.model.sd is not None
        else " Its spread, left open, is 0.3 of half the range."
    )
    explained = (
        "Forced: those who would rather not answer must (Harmony), and send the largest value or a "
        f"random one. 'missing' is the error of the missing rate.{usual}"
    )
    alt = "Predicted error of the mean against the budget, with the best budget marked."
    return [
        Heading(f"{name}: {plan.model.users:,} people asked", level=1),
        Facts(facts),
        *said([flat, dearer]),
        *said([] if plan.best.reliable else [hopeless], "missed"),
        *_curves(plan),
        Sentence(explained, "details"),
        Figure("Error of the mean", lambda: error_figure(plan), alt, "rates", "page"),
    ]


def _curves(plan: AnswerRatePlan) -> list[Table]:
    named = {plan.best.epsilon: "best for BiSample-MD"}
    channels = plan.channels
    if channels is not None:
        named[channels.best().epsilon] = "best channel"
    if plan.offered is not None:
        named[float(plan.offered.epsilon[0])] = "offered now"
    curve = plan.sampled(_ROWS, list(named))
    budgets = curve.epsilon
    rated = zip(curve.mean_rmse, curve.reliable, strict=True)
    places = (
        column("budget", (named.get(budget, "") for budget in budgets.tolist())),
        column("epsilon", budgets, ".3f"),
    )
    columns = [
        *places,
        column("answer, %", 100 * curve.answer_rate, ".1f"),
        column(
            "BiSample-MD", (quantity(e) if ok else "unreliable" for e, ok in rated), str
        ),
    ]
    if channels is not None:
        columns.append(column("channel", channels.channel_errors(budgets), quantity))
    forced = (
        *places,
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
    return {
        "question": trial.planned.name,
        "people": trial.asked.people,
        "asked": trial.asked.asked,
        "missing": trial.missing,
        "padding_length": padded and padded.length,
        "unit": trial.planned.question.unit,
        "mechanisms": results,
    }


def simulation_blocks(trial: Trial, results: Sequence[Simulated]) -> list[Block]:
    """Measured errors beside predicted ones."""
    plan = trial.planned
    best = min(results, key=lambda result: result.predicted)
    in_unit = kinds.error_text(plan)
    columns = [
        column("mechanism", (result.label for result in results)),
        column(
            plan.question.unit, [result.error for result in results], in_unit, bars=True
        ),
        column("±", (in_unit(result.spread) for result in results), str),
        column("predicted", (result.predicted for result in results), in_unit),
    ]
    held = again = ""
    if results[0].covered is not None:
        held = " Held: share of the runs whose 95 % intervals, all at once, hold the truth "
        held += "of those who are asked."
        columns.append(column("held", (result.covered for result in results), percent))
    if plan.question.rounds is not None:
        again = " What is asked again is tried in one round."
    if not plan.question.levels:
        again += (
            " These people are given; the plan's error is of people drawn at random."
        )
    error = kinds.objective_name(plan)
    title = f"{error.capitalize()}, measured and predicted"
    return [
        Heading(f"{plan.name}: {about_trial(trial)}", level=1),
        Table(title, tuple(columns), "everybody", 0),
        Sentence(
            f"The first is what the plan deploys, its {error} in {plan.question.unit}, ± its "
            "standard error over the runs; the others could be deployed at the same budgets. "
            f"Smallest predicted error on these answers: {best.label}.{held}{again}"
        ),
    ]


def measured_facts(trial: Trial, deployed: Simulated) -> Facts:
    """What the plan's own mechanism has, and what was predicted of it."""
    in_unit = kinds.error_text(trial.planned)
    spread = "" if deployed.spread is None else f" ± {in_unit(deployed.spread)}"
    measured = Fact(
        f"measured {kinds.objective_name(trial.planned)}",
        in_unit(deployed.error) + spread,
    )
    return Facts((measured, Fact("predicted", in_unit(deployed.predicted))))


def one_survey(
    trial: Trial, estimated: OneSurvey | OrderedEstimates
) -> tuple[Chart, str, str]:
    """One survey beside the truth: its picture, what it shows, and whether intervals hold it."""
    if isinstance(estimated, OneSurvey):
        cut = (
            ""
            if np.isfinite(estimated.upper).all()
            else " Sets are cut: upper ends are open."
        )
        alt = "The truth and one survey's estimates with their intervals."
        held = estimated.held
        which = f"{held} of {len(estimated.labels)} intervals hold"
        if len(estimated.labels) == 1:
            which = f"The interval {'holds' if held else 'does not hold'}"
        return one_survey_figure(estimated), alt, f"{which} the truth.{cut}"
    truth = trial.shares_up_to
    median = estimated.quantile()
    alt = "True and estimated shares of the people up to each answer, with their band."
    inside = trial.inside(estimated.band)
    where = (
        ""
        if median.lower == median.upper
        else f", from {median.lower} to {median.upper}"
    )
    sentence = (
        f"The band {'holds' if inside else 'does not hold'} the truth. Median "
        f"{median.answer}{where}; truly {estimated.answers[trial.median]}."
    )
    return ordered_figure(estimated, truth), alt, sentence


def about_trial(trial: Trial) -> str:
    """How many people, items and answers there are."""
    asked = trial.asked
    parts = [f"{asked.people:,} people"]
    if asked.asked < asked.people:
        how = "asked" if asked.parts == 1 else "in a round"
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
    errors = table.people_in(np.eye(truth.size)).standard_errors.reshape(truth.shape)
    rows = []
    for i, answer in enumerate(table.answers[0]):
        cells = [answer]
        for j in range(len(table.answers[1])):
            estimate = f"{table.counts[i, j]:,.0f} ± {errors[i, j]:,.0f}"
            cells.append(f"{estimate} ({truth[i, j]:,.0f})")
        rows.append(cells)
    title = f"{first} and {second}: people ± standard error (and truly)"
    headings = (
        first,
        *(f"{second} = {second_answer}" for second_answer in table.answers[1]),
    )
    sentences = [f"{table.summary} Truly V is {true_association(truth):.2f}."]
    direction = ordered_association(table)
    if direction is not None:
        gamma = direction.gamma
        shown = "not told" if gamma.value is None else f"{gamma.value:.2f}"
        limits = f"({gamma.lower:.2f} to {gamma.upper:.2f})"
        true_gamma = gamma_of_shares(truth, table.in_order)
        sentences.append(
            f"Goodman and Kruskal's gamma {shown} {limits}, truly {true_gamma:.2f}."
        )
    return [rows_table(title, headings, rows, 1), *said(sentences)]
