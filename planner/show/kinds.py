"""What is said of one kind of question or one form of report alone."""

from __future__ import annotations

import math
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, cast

from planner.estimates.truncation import LongerSets
from planner.laws.die import ACKNOWLEDGEMENTS
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.choice import SetPromises
from planner.planning.question import QuestionPlan, budget_curve
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import PaddingPlan
from planner.planning.what_if import people_needed
from planner.policy.budget_text import rounded_up
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Sentence,
    Table,
    numbers,
    people,
    percent,
    texts,
)
from planner.show.figures import frontier_figure
from planner.solvers.answers import Channel

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from planner.planning.what_if import Frontier

_MOST_SHARES = 10


def within(gap: float) -> str:
    """A relative gap in words; one that matters in per cent, rounded up."""
    return f"a factor of 1 + {gap:.0e}" if gap < 1e-3 else f"{math.ceil(100 * gap)} %"


def budgets(question: QuestionPlan) -> dict[str, float]:
    """What is tolerated, by level, or by the question's name."""
    found = {level.name: level.epsilon for level in question.question.levels}
    if question.question.kind == "numeric":
        found[question.name] = question.question.epsilon or 0.0
    return found


def people_for(question: QuestionPlan, share: float) -> int | None:
    """How many people the survey would ask for an error of such a share; None if none do."""
    own = question.planned
    assert own is not None  # noqa: S101 - a question that shares budgets has one
    return people_needed(question.part, own.errors, own.value, share, question.padding)


def budget_figure(question: QuestionPlan) -> Figure:
    """Its error against a common scale of its budgets; solved when it is drawn."""
    return frontier_figure(cast("Frontier", budget_curve(question)))


# What is proven


def proven_in_short(question: QuestionPlan) -> str:
    """How good the plan is, and among which mechanisms; empty where nothing is proven."""
    gap, sets = question.proven_gap, question.set_promises
    if sets is not None:
        gap = sqrt(1 + sets.gap) - 1
        if not isfinite(gap):
            return ""
        return f"proven within {within(gap)} of the best for the worst set of {sets.length}"
    if question.channel is not None:
        proof = question.channel.certificate
        gap = None if proof is None else proof.relative_gap / 2
    if gap is None:
        return ""
    best = "proven best" if gap < 1e-6 else f"proven within {within(gap)} of the best"
    if question.table is not None:
        best += " of those with a bit for each answer"
    if question.padding_length is not None:
        return f"{best} at padding length {question.padding_length}"
    return best


def certificate_sentences(question: QuestionPlan) -> list[str]:
    """What is proven of the error; nothing where nothing is."""
    bound, gap, table = question.lower_bound, question.proven_gap, question.table
    if question.set_promises is not None:
        return [_of_whole_sets(question.set_promises)]
    if question.channel is not None and question.question.kind == "numeric":
        return [_channel_sentence(question.channel)]
    if question.design is not None and bound is not None and gap is not None:
        return [f"{_best_of_all(question, bound)} the plan's is within {within(gap)} of it."]
    found = [] if question.channel is None else [_ordered_sentence(question.channel)]
    if bound is not None and gap is not None and table is not None:
        where = ""
        if question.padding_length is not None:
            where = f" at padding length {question.padding_length}"
        found.append(
            f"Proven: no {table.model} table that keeps these budgets has an error below "
            f"{people(bound)} people{where}; the plan's is within a factor of 1 + {gap:.0e} of "
            f"it. Found by the method {table.method!r}."
        )
    if question.least_error:
        gap = max(question.total_error / question.least_error - 1, 1e-9)
        proven = _best_of_all(question, question.least_error)
        found.append(f"{proven} the plan's is within {within(gap)} of it.")
    return found


def _of_whole_sets(sets: SetPromises) -> str:
    if not isfinite(sets.gap):
        return ""
    return (
        "Proven: of all mechanisms of any kind that keep these budgets for all sets of "
        f"{sets.length} items, with any unbiased estimates, none has an error for its worst set "
        f"below that of this one divided by 1 + {max(sqrt(1 + sets.gap) - 1, 1e-9):.1e}."
    )


def cap_sentence(question: QuestionPlan) -> str:
    """What a cap of twice the budget for any two sets would buy, and what it gives up."""
    sets = question.set_promises
    if sets is None or sets.with_cap is None:
        return ""
    return (
        f"With cap = {2 * sets.epsilon:.4g}, twice the budget, for several answers together, the "
        f"error is {people(sets.with_cap)} people; one answer alone keeps its budget."
    )


def _best_of_all(question: QuestionPlan, least: float) -> str:
    name = question.objective_name
    article = "an" if name.startswith("error") else "a"
    return (
        "Proven: no mechanism of any kind that keeps these budgets and answers once, with any "
        f"unbiased estimate, has {article} {name} below {people(least)} {question.unit};"
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


# What a report is


def report_sentences(question: QuestionPlan) -> list[str]:
    """What a report says and how large it is, and how exact ordered answers will be."""
    found = (_report(question), _types(question), band_sentence(question))
    return [sentence for sentence in found if sentence]


def _report(question: QuestionPlan) -> str:
    if question.levels is None:
        return ""
    whose, drawn = "it is the person's answer", ""
    if question.padding_length is not None and question.set_promises is None:
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


def _types(question: QuestionPlan) -> str:
    design = question.design
    if design is None:
        return ""
    items, types = int(design.policy.item_counts.sum()), design.types.size
    merged = ""
    if design.merges_budgets:
        merged = (
            f" Levels with similar budgets are treated as one of {design.types.item_counts.size}, "
            "with the smallest "
            "budget of each: to tell more apart would take long."
        )
    size = CATALOGUE[question.deployed.mechanism].report_bytes(items)
    return (
        f"The design has {types} types of reports. Each says its type and the sides of all "
        f"{items:,} answers, {size:,} bytes.{merged}"
    )


def detectable_sentence(question: QuestionPlan) -> str:
    """From which share of the people an item is told apart; empty for sets and means."""
    levels = question.levels
    if levels is None or levels.detectable is None:
        return ""
    named = list(zip(levels.names, levels.detectable.tolist(), strict=True))
    shown = [f"{name} {100 * share:.3g} %" for name, share in named[:_MOST_SHARES]]
    more = ", ..." if len(named) > _MOST_SHARES else ""
    return (
        "Smallest share of the people at which an item is told apart from one that nobody has "
        f"(95 % confidence, power 80 %): {', '.join(shown)}{more}."
    )


def band_sentence(question: QuestionPlan) -> str:
    """How wide the band around ordered answers will be about; empty for other questions."""
    expected = question.expected
    if expected is None:
        return ""
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


# Sets


def set_blocks(question: QuestionPlan) -> list[Block]:
    """The padding length, what it cuts, and what that rests on; nothing for other questions."""
    length, plan = question.padding_length, question.padding
    if length is None:
        return []
    longer = question.mechanism.longer
    if longer is None:
        return [Sentence(_not_known(length))]
    if plan is None:
        return [Sentence(_nothing_cut(length))]
    shown = min(length, int(plan.lengths[-1]))  # beyond the largest set nothing changes
    blocks: list[Block] = [
        Sentence(_padding(question, plan)),
        Sentence(_truncation(question, plan, shown, longer)),
    ]
    if plan.lost[shown - 1] > 0:
        blocks.append(Sentence(_uncut(question, plan), "details"))
        if getattr(getattr(question.question, "sets", None), "sizes", ()):
            assumed = "Which items the long sets hold is assumed: a pilot tells more."
            blocks.append(Sentence(assumed, "details"))
    return blocks


def _padding(question: QuestionPlan, plan: PaddingPlan) -> str:
    """The padding length, where it comes from, and which others are about as good."""
    origin = "the best for these sets"
    if getattr(question.question, "padding_length", None) is not None:
        origin = "as set in the survey"
    elif question.padding_length != plan.length:
        origin = "found for these sets"
    low, high = plan.flat_lower, plan.flat_upper
    flat = f"any from {low} to {high}" if low < high else f"{low} alone"
    return (
        f"Padding length {question.padding_length}, {origin}; best {plan.length}, and {flat} is "
        "within 5 % of the best."
    )


def _not_known(length: int) -> str:
    return (
        f"Sets of more than {length} items are cut; how many people have such sets is not known, "
        "and the errors are for the others."
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
        f"To cut none of these sets, take a padding length of {plan.uncut}, with a total error of "
        f"{error} people: the estimates are unbiased then, unless somebody has a longer set."
    )


# Sampling Privacy


def sampled_error(question: QuestionPlan) -> str:
    """The largest error of a count."""
    return f"Every count is within {question.total_error:,.1f} people, at 95 %."


def reliance_sentence(plan: SamplingPlan) -> str:
    """What Sampling Privacy relies on, and whether somebody vouches for it."""
    needed = ACKNOWLEDGEMENTS[plan.relies_on]
    if plan.acknowledged:
        return f'Relies on {plan.relies_on}, acknowledged: "{needed}"'
    return (
        f"Relies on {plan.relies_on}, not acknowledged: parameters will not be written. If it is "
        f'true, say so: "{needed}"'
    )


def sampled_blocks(question: QuestionPlan, plan: SamplingPlan) -> list[Block]:
    """The parameters, the errors and all three views of the guarantee."""
    limit = {"cap": "the cap", "budgets": "the budgets"}[plan.limited_by]
    figures = (
        Fact("people asked, twice", f"{question.users:,}"),
        Fact("every count, at 95 %, within", f"{question.total_error:,.1f} people"),
    )
    parameters = (
        Fact(f"sampled, limited by {limit}", f"{plan.mechanism.sampling:.4f}"),
        Fact("staying at none", f"{plan.mechanism.zero:.4f}"),
    )
    views = zip(("round-two", "", "aggregates-only"), plan.sentences(), strict=True)
    return [
        Facts(figures),
        Sentence(reliance_sentence(plan), tone="met" if plan.acknowledged else "missed"),
        *(
            Sentence(said, "everybody" if name in {"", plan.relies_on} else "details", "item")
            for name, said in views
        ),
        Facts(parameters, "details"),
        _values(question, plan),
    ]


def _values(question: QuestionPlan, plan: SamplingPlan) -> Table:
    mechanism = plan.mechanism
    none, *losses = mechanism.output_losses.tolist()
    budget_none, *others = plan.budgets
    labels = [label for level in question.question.levels for label in level.labels]
    rows = [
        (
            name,
            f"{budget:.3f}",
            rounded_up(loss, 3),
            f"{decoy:.4f}",
            f"{count:,}",
            f"{error:.1f}",
            f"{100 * error / count:.0f}" if count else "-",
        )
        for name, budget, loss, decoy, count, error in zip(
            labels,
            others,
            losses,
            mechanism.decoys,
            plan.counts,
            plan.absolute_errors(),
            strict=True,
        )
    ]
    if not mechanism.everyone_has_value:
        first = "(none)", f"{budget_none:.3f}", rounded_up(none, 3), f"{mechanism.zero:.4f}"
        rows.insert(0, (*first, "", "", ""))
    headings = ("epsilon", "loss in round two", "decoy", "expected", "± people", "± %")
    names, *columns = zip(*rows, strict=True)
    found = [texts("value", names)]
    found += [numbers(one, cells, "") for one, cells in zip(headings, columns, strict=True)]
    return Table("Values: budget, loss in round two, error at 95 %", tuple(found))


def sampling_json(plan: SamplingPlan) -> dict[str, Any]:
    """The plan for programs; what a parameter file states only if it may be written."""
    said = zip(("round-two", "linkable", "aggregates-only"), plan.sentences(), strict=True)
    return {
        "limited_by": plan.limited_by,
        "expected_counts": list(plan.counts),
        "absolute_errors_95": plan.absolute_errors().tolist(),
        "sampling": plan.mechanism.sampling,
        "zero": plan.mechanism.zero,
        "decoys": list(plan.mechanism.decoys),
        "views": dict(said),
        "relies_on": plan.relies_on,
        "acknowledgement_needed": ACKNOWLEDGEMENTS[plan.relies_on],
        "acknowledged": plan.acknowledged,
    }
