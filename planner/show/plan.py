"""A planned survey as blocks: all its sentences, tables and figures, and who needs which."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from planner.estimates.channel import OrderedEstimates
from planner.limits import FEW_PEOPLE, LARGE_EPSILON, SAME_ERROR, SMALL_GROUP
from planner.mechanisms.catalogue import CATALOGUE
from planner.planning.anchors import anchor_cost
from planner.planning.by_level import ByLevel
from planner.planning.groups import expected_groups
from planner.planning.option import Option
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan, budget_curve
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded
from planner.planning.shares import Allocation, SomeEach
from planner.planning.what_if import Relaxation
from planner.policy.budget_text import factor_up, rounded_up
from planner.show import kinds, two_rounds
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Table,
    Tone,
    change,
    column,
    listed,
    number,
    people,
    percent,
    probability,
    said,
)
from planner.show.figures import (
    Chart,
    explored_figure,
    ordered_figure,
    padding_figure,
    rounds_figure,
)
from planner.show.promises import (
    is_alike,
    moves_sentence,
    promises_of,
    reach_up,
    unused_sentence,
)
from planner.show.targets import MOST_NAMED, target_sentence

ALLOCATION_ERRORS = (
    "Errors are in per cent of the people, of a mean of half its range. "
    "Asking only some of the people adds what a sample misses; it is included as an upper bound."
)
_GROUPS_ARE_SEEN = (
    "Groups spend no budget and are not hidden: who sees a report sees of which group it is, and a "
    "person hides among the people of the group alone."
)
_USUAL = 0.01  # what the people are counted for where no target is stated


def plan_blocks(plan: SurveyPlan, *, details: bool = True) -> list[Block]:
    """The blocks of a planned survey: all, or those that everybody is shown."""
    several = len(plan.questions) > 1
    blocks = survey_blocks(plan)
    for question in plan.questions:
        blocks += question_blocks(question, several=several, details=details)
    return blocks


def survey_blocks(plan: SurveyPlan) -> list[Block]:
    """What the questions share, and what a person spends."""
    survey = plan.survey
    blocks: list[Block] = [Heading(f"{survey.name}: {survey.users:,} people", level=1)]
    if survey.ledger and not plan.ledger.collections:
        # A misspelt path opens an empty ledger, which must not pass in silence.
        blocks += said(
            [f"No collection is in {survey.ledger} yet: all budgets are left."], "note"
        )
    allocation = plan.allocation
    if allocation is not None:
        blocks += said([design_sentence(plan, allocation), lots_sentence(plan)])
        blocks += said(kinds.apart_sentences(plan))
        blocks.append(_sharing(plan, allocation))
        blocks += said(
            [ALLOCATION_ERRORS, shares_sentence(plan, allocation)], rank="details"
        )
    # One question with all its budget spends what its levels tolerate: no table is needed.
    if allocation is not None or _ledger_leaves_less(plan):
        blocks.append(_spending(plan))
    if plan.spending:
        blocks += said([spending_sentence(plan)], rank="details")
    if survey.groups:
        blocks += _groups(plan)
    return blocks


def _ledger_leaves_less(plan: SurveyPlan) -> bool:
    """Whether earlier collections spent some of a budget that people tolerate."""
    return any(row.left < row.tolerated for row in plan.spending)


def _groups(plan: SurveyPlan) -> list[Block]:
    """What is expected of each known group: its people, and the error of each question in it."""
    blocks: list[Block] = []
    for groups in expected_groups(plan):
        columns = [
            column(groups.name, [group.value for group in groups.values]),
            column("people", [group.people for group in groups.values], ","),
        ]
        for question in groups.values[0].errors:
            errors = [group.errors[question] for group in groups.values]
            columns.append(column(f"error of {question}", errors, percent))
        title = f"By {groups.name}, as expected"
        if groups.assumed:
            title = f"By {groups.name}, if as many people have each"
            assumed = (
                f"How many people each {groups.name} has is assumed, as no population of it "
                "is stated."
            )
            blocks += said([assumed], "note")
        blocks.append(Table(title, tuple(columns), "everybody"))
        small = []
        for group in groups.values:
            if group.small:
                small.append(repr(group.value))
        if small:
            expected = (
                f"Fewer than {SMALL_GROUP} people are expected in {', '.join(small)}."
            )
            blocks += said([expected], "note")
    blocks += said([_GROUPS_ARE_SEEN], "note")
    return blocks


def question_blocks(
    question: QuestionPlan, *, several: bool = False, details: bool = True
) -> list[Block]:
    """What is shown of a planned question; with its name if there are ``several``.

    Without ``details`` what takes time and is among them alone is left out.
    """
    blocks: list[Block] = []
    if several:
        blocks.append(Heading(question.name))
    sampling = question.fact(SamplingPlan)
    if sampling is not None:
        return blocks + two_rounds.sampled_blocks(question, sampling)
    # Who answers goes without saying where everybody spends all of the budgets on one question
    # of choices. A mean's people are said always: they are not the ones who send a value.
    if several or not kinds.is_asked_in_full(question) or question.question.of_mean:
        text = f"{asked_sentence(question)} {_how(question)}"
    else:
        text = _how(question)
    blocks += said([text, anchor_sentence(question)])
    blocks += [headline(question), *kinds.round_blocks(question, details=details)]
    blocks += said([kinds.words(question).assumed(question)])
    blocks += said(cautions(question), "note")
    blocks += [*kinds.set_blocks(question), *kinds.related_blocks(question)]
    # One target's people stand in the headline; of several it has the most alone.
    in_headline = len(question.targets) == 1
    for target in question.targets:
        tone: Tone = "met" if target.met else "missed"
        blocks += said(
            [target_sentence(question, target, in_headline=in_headline)], tone
        )
    advice = []
    if question.question.anchor_of is None:
        # An anchor is asked as its question is: what would help it is said there.
        advice = _advice(question)
    blocks += said([*promises_of(question), kinds.cap_sentence(question), *advice])
    if details:
        blocks += _details(question, advice)
    return blocks


def pictures(question: QuestionPlan) -> list[Block]:
    """What a page shows of a question before its details: mechanisms, and rounds over time."""
    if not question.question.locally_private:
        return []
    ranked = question.options
    planned = [option.name for option in ranked].index(question.deployed.mechanism)
    columns = (
        column("mechanism", [option.title for option in ranked]),
        column(
            question.question.unit,
            [option.error for option in ranked],
            kinds.error_text(question),
            bars=True,
        ),
        column("against the plan", [option.against for option in ranked], change),
        # The other side of a small error: a report that counts for much may lie for as much.
        column("one false report", map(_moved, question.most_moved), str),
    )
    blocks: list[Block] = [
        Heading("All mechanisms at these budgets", "page", 3),
        Table(kinds.measure(question), columns, "page", planned),
        *said(left_out(question), rank="details"),
    ]
    if question.again is not None:
        alt = (
            "Errors of a round, the average and a change against the number of rounds."
        )
        title = "If it were asked less or more often"
        draw = partial(rounds_figure, question.part, question.planned)
        blocks.append(Figure(title, draw, alt, "rounds", "page"))
    return blocks


def _details(question: QuestionPlan, advice: list[str]) -> list[Block]:
    """Tables, proofs, prices and figures, after what everybody is shown."""
    blocks = pictures(question)
    levels = question.fact(ByLevel)
    if levels is not None:
        blocks.append(Heading("Level by level", "details", 3))
        blocks.append(_levels(levels, kinds.in_round(question)))
    report = kinds.words(question).report(question)
    moved = moves_sentence(question.moves)
    blocks += said([*report, unused_sentence(question), moved], rank="details")
    blocks += said(kinds.certificate_sentences(question), "proof", "details")
    for price in _prices(question):
        if price not in advice:  # the best price may stand above as advice
            blocks += said([price], rank="details")
    blocks += said([_one_sided(question)], rank="details")
    return [*blocks, *_figures(question)]


def _moved(most: float | None) -> str:
    """How far one false report moves an estimate, in words; empty if unknown."""
    if most is None:
        return ""
    return reach_up(most)


def asked_sentence(question: QuestionPlan) -> str:
    """Who answers, and with which share of the budgets."""
    part = question.part
    of_all = " people"
    if part.people < part.everybody:
        of_all = f" of {part.everybody:,} people, drawn at random,"
    asked = "answer it"
    if question.answering < part.people:  # of a number, where some send none
        asked = f"are asked, and about {question.answering:,} answer"
    budgets = ""
    if part.share != 1:
        budgets = f", with {percent(part.share)} of its budgets"
    return f"{part.people:,}{of_all} {asked}{budgets}."


def anchor_sentence(question: QuestionPlan) -> str:
    """What an anchor is for, and how many people it costs; empty for other questions."""
    if question.question.anchor_of is None:
        return ""
    cost = anchor_cost(question)
    if cost is None:
        return ""
    whole, fewer = cost.as_exact_as.items()
    return (
        f"The anchor of {cost.question!r}: {cost.known!r} is true of everybody, so that it "
        "spends no budget and shows how many people attend. One report has both answers: it tells "
        "whether somebody seems to attend, and no more of the other answer. Corrected by it, rare "
        f"answers are as exact as {whole[1]:,} of {question.part.people:,} people would make them "
        f"if all attend, {fewer[1]:,} if {percent(fewer[0])} do, to both questions or to neither. "
        f"Who answers {cost.question!r} here by mistake reports it twice."
    )


def lots_sentence(plan: SurveyPlan) -> str:
    """Who is asked which question, with what chance; empty where everybody is asked all."""
    allocation = plan.allocation
    if allocation is None or plan.survey.design == "split":
        return ""
    drawn = (
        question for question in plan.questions if question.question.locally_private
    )
    chances = ", ".join(
        f"{question.name!r} {percent(question.part.fraction)}" for question in drawn
    )
    return (
        f"Each person gets {each_in_words(allocation.some_each)}, drawn at random on their "
        f"device whatever they would answer. The chances: {chances}."
    )


def error_sentence(question: QuestionPlan) -> str:
    """The predicted error, in its unit and as a share."""
    if question.fact(SamplingPlan) is not None:
        return f"Every count is within {people(question.total_error)} people, at 95 %."
    error, share, *others = _errors(question)
    text = f"{kinds.measure(question)}: {error.value}, {share.value} of {kinds.share_of(question)}"
    return "; ".join([text, *(f"{fact.name}: {fact.value}" for fact in others)]) + "."


def costs(plan: SurveyPlan) -> list[str]:
    """The predicted errors, a sentence a question."""
    return [
        f"{question.name}: {error_sentence(question)}" for question in plan.questions
    ]


def headline(question: QuestionPlan) -> Facts:
    """The figures that decide: the error, its share, the weakest level, people for the targets."""
    facts = _errors(question)
    levels = question.fact(ByLevel)
    # The error of one level alone is the headline's already.
    if levels is not None and len(levels.names) > 1:
        facts.append(_least_exact_level(levels, kinds.in_round(question)))
    facts.append(_people_needed(question))
    return Facts(tuple(facts))


def tiles(plan: SurveyPlan, alone: Sequence[QuestionPlan]) -> Facts:
    """The error of each question, beside what it would be if it were asked ``alone``."""
    facts = []
    for question, by_itself in zip(plan.questions, alone, strict=True):
        error = _errors(question)[0].value
        without = _errors(by_itself)[0].value
        meaning = f"{percent(question.error_share)} of {kinds.share_of(question)}"
        if without != error:
            meaning = f"{meaning}; asked alone {without}"
        facts.append(Fact(question.name, error, meaning=meaning))
    return Facts(tuple(facts))


def _least_exact_level(levels: ByLevel, in_round: str) -> Fact:
    """The largest error of a count, and from which share on such an answer is seen at all."""
    errors = levels.standard_errors
    name = f"least exact, an answer of {levels.names[errors.argmax()]!r}"
    if len(set(map(people, errors))) == 1:
        # No level is named where all errors are written alike.
        name = "error of each answer"
    meaning = ""
    if levels.detectable is not None:
        seen_from = percent(levels.detectable.max())
        meaning = f"seen from {seen_from}: rarer answers look absent"
    return Fact(f"{name}{in_round}", f"{people(errors.max())} people", meaning=meaning)


def _people_needed(question: QuestionPlan) -> Fact:
    """The most people that a target takes; where there is none, those for a usual error.

    Errors fall as one over the root of the people, but the bias of sets that are cut does not:
    where it is larger than a target, no number of people is enough.
    """
    if question.targets:
        for_what = "the targets"
        needed = [target.users for target in question.targets]
    else:
        for_what = f"an error of {percent(_USUAL)}{kinds.in_round(question)}"
        needed = [question.people_for(_USUAL)]
    if question.drawn_error is not None:
        for_what += " among those asked"
    most = 0
    for users in needed:
        if users is None:
            figure = "no number is enough, as long sets are cut"
            break
        most = max(most, users)
    else:
        figure = f"{most:,}"
    meaning = f"{question.part.everybody:,} are asked"
    return Fact(f"people needed for {for_what}", figure, meaning=meaning)


def _errors(question: QuestionPlan) -> list[Fact]:
    """The error and its share, of one round if it is asked again, and then of what else."""
    part = question.part
    in_round = kinds.in_round(question)
    in_unit = kinds.error_text(question)
    unit = " people"
    if question.question.of_mean:  # which the values of a mean have in them
        unit = ""
    facts = [
        Fact(
            f"{kinds.objective_name(question)}{in_round}",
            f"{in_unit(question.total_error)}{unit}",
            kinds.answers(question),
            f"how far {kinds.words(question).off(question.question)}, typically",
        ),
        Fact(
            f"as a share of {kinds.share_of(question)}",
            percent(question.error_share),
            meaning=f"the same, of {number(part.whole)}",
        ),
    ]
    # The headline is of rare answers. A common one's error is larger, as those who have an
    # answer add variance of their own.
    common = question.error_if_common
    if common is not None:
        name = f"of an answer that everybody has{in_round}"
        facts.append(Fact(name, f"{in_unit(common)}{unit}"))
    # What a sample misses is no error of these people's mean: it stands apart.
    drawn = question.drawn_error
    if drawn is not None:
        figure = f"{in_unit(drawn)} ({percent(drawn / part.whole)})"
        facts.append(Fact("of people drawn at random, at most", figure))
    again = question.again
    rounds = question.question.rounds
    if again is None or rounds is None:
        return facts
    # An average over rounds and a change between them depend on how many people change their
    # answers: the two extremes are shown. The second row need not spell them out again.
    whose = (f"if answers stay / {kinds.drawn_anew(rounds)}", "likewise")
    for (name, stays, anew), condition in zip(again.beside, whose, strict=True):
        if_stays = in_unit(part.total(stays))
        if_anew = in_unit(part.total(anew))
        facts.append(Fact(f"{name}, {condition}", f"{if_stays} / {if_anew}{unit}"))
    return facts


def cautions(question: QuestionPlan) -> list[str]:
    """What a reader should be told before the figures are believed."""
    sentences = []
    name, epsilon = question.least_protected
    if epsilon > LARGE_EPSILON:
        sentences.append(
            f"A report may change the odds of an answer of {name!r} against another "
            f"{factor_up(epsilon)}-fold, next to no protection."
        )
    # Intervals take estimates for normal, which sums of few reports are not.
    reporting = question.part.in_round(question.planned)[0].people
    if reporting < FEW_PEOPLE:
        sentences.append(
            f"Only {reporting:,} people are asked{kinds.in_round(question)}: noise outweighs their "
            f"answers, and intervals are made for {FEW_PEOPLE} people or more."
        )
    drowned = _drowned(question)
    if drowned:
        sentences.append(drowned)
    return sentences


def design_sentence(plan: SurveyPlan, allocation: Allocation) -> str:
    """Which design is planned, which is better, and how to change it."""
    better = better_design(allocation)
    if plan.better_design is None:
        return f"{better} This plan does so."
    if plan.survey.design == "split":
        return f"{better} This plan splits the budgets instead."
    asked = each_in_words(allocation.some_each)
    return f"{better} This plan asks everybody {asked} instead."


def better_design(allocation: Allocation) -> str:
    """Which design has the smaller error, and by how much.

    It "may be" so much larger, and is "at least" so much smaller, as the error of asking some of
    the people is an upper bound: ``S (1/f - 1)`` for what a sample misses (docs/theory/surveys.md).
    """
    split = allocation.value
    asked = allocation.best_each.value
    number = each_in_words(allocation.best_each)
    if allocation.better == "split":
        return (
            f"Ask everybody everything: squared errors, weighted, may be {asked / split:.3g} times "
            f"as large if each person answers {number}. At such budgets fewer answers cost more "
            "than splitting."
        )
    smaller = f"at least {split / asked:.3g} times smaller"
    return f"Ask each person {number}: squared errors, weighted, are {smaller}."


def each_in_words(some: SomeEach) -> str:
    """How many questions each person answers, such as ``"2 of 5 questions"``."""
    if some.asked == 1:
        return "one question"
    return f"{some.asked} of {len(some.errors)} questions"


def left_out(question: QuestionPlan) -> list[str]:
    """Why mechanisms have no error here, or are not deployed."""
    sentences = []
    for option in question.all_options:
        if option.refused:
            label = CATALOGUE[option.name].label
            sentences.append(f"{label} is left out: {option.refused}.")
    return sentences


def shares_sentence(plan: SurveyPlan, allocation: Allocation) -> str:
    """What is proven of the shares.

    Splitting is one convex program in the shares (docs/theory/surveys.md), for given mechanisms.
    A question may get another one at its share: the proof is of those that it was shared with.
    """
    gap = kinds.within(allocation.relative_gap)
    proven = f"The shares are proven best to within {gap}"
    shared_with = []
    for question in plan.questions:
        if not question.question.shares_budgets:
            continue
        label = CATALOGUE[question.shared.mechanism].label
        if label != question.mechanism_label:
            shared_with.append(f"{question.name!r} had {label}")
    if not shared_with:
        return f"{proven}."
    mechanisms = " and ".join(shared_with)
    return f"{proven} if {mechanisms}, whose errors they are planned with."


def spending_sentence(plan: SurveyPlan) -> str:
    """What a person spends who answers everything that is asked of them."""
    most = f"epsilon {rounded_up(plan.most_spent, 4)} at most"
    if plan.allocation is None:
        return f"A person who answers spends {most}."
    if plan.survey.design == "split":
        return f"A person who answers everything spends the sum over the questions, {most}."
    return f"A person answers {each_in_words(plan.allocation.some_each)} and spends {most}."


def _how(question: QuestionPlan) -> str:
    """The mechanism in a few words: what is proven of it, and what discriminating gains."""
    mechanism = kinds.short(question.mechanism_label)
    proven = kinds.proven_in_short(question)
    if proven:
        mechanism = f"{mechanism}, {proven}"
    text = f"Mechanism: {mechanism}."
    if question.fact(ByLevel) is None or not question.planned.by_level:
        return text
    # What levels of their own buy: the same plan with the smallest budget for all. Less than a
    # tenth of a per cent is no gain, and without a finite error there is nothing to compare.
    plain = question.best_plain_ldp
    if plain is None or not 0.001 <= plain.against < math.inf:
        return text
    return f"{text} Protecting all answers like the most sensitive: {_against(plain)} error."


def _advice(question: QuestionPlan) -> list[str]:
    """One recommendation: another mechanism that can be deployed, or more of one level's budget.

    Larger budgets are offered where the survey is about right already. Where a target is missed
    its sentence says what would meet it, and where noise drowns all a little more is no help.
    """
    for option in question.solved_options:  # the best first
        if option.against < -SAME_ERROR and not option.compared:
            return [f"{kinds.short(option.title)} would have {_against(option)} error."]
    met = all(answer.met for answer in question.targets)
    if not met or _drowned(question):
        return []
    relaxations = question.relaxations  # solved only here, as it takes time
    if not relaxations:
        return []
    return [_price(question, relaxations[0])]


def _prices(question: QuestionPlan) -> list[str]:
    """What a little more of one level's budget would buy, best first, and where it ends."""
    sentences = [_price(question, relaxation) for relaxation in question.relaxations]
    saturation = question.saturation_epsilon
    if saturation is None:
        return sentences
    # Budgets above the saturation point change neither the best table nor its error (the
    # corollary in docs/theory/reduction.md). The slack lets pass a budget that stands there.
    policy = question.deployed.policy
    over = np.flatnonzero(policy.epsilons > saturation * (1 + 1e-9))
    names = [repr(policy.names[i]) for i in over]
    if len(names) > 3:
        names = [*names[:2], f"{len(names) - 2} more levels"]
    if names:
        sentences.append(
            f"Saturation: budget above {saturation:.4f} buys {' and '.join(names)} nothing while "
            "the other levels stay as they are."
        )
    return sentences


def _price(question: QuestionPlan, relaxation: Relaxation) -> str:
    """What a little more of one level's budget would buy, and whose odds it costs."""
    error = kinds.objective_name(question)
    return (
        f"Raising {_raised(question, relaxation)} in the file by {relaxation.amount:g} lowers the "
        f"{error} by {100 * relaxation.saving:.1f} %{kinds.kept_shares(question)}; "
        f"{_more_odds(question, relaxation)}."
    )


def _raised(question: QuestionPlan, relaxation: Relaxation) -> str:
    """What the survey file raises: a level's budget, one of two, or entries of the matrix."""
    level = relaxation.level
    policy = question.deployed.policy
    if not policy.rule.by_level:
        return f"every entry in the matrix's row and column of {level!r}"
    if policy.against is None:
        return f"the budget of {level!r}"
    keys = question.raised_keys(relaxation)
    return f"{' and '.join(map(repr, keys))} of {level!r}"


def _more_odds(question: QuestionPlan, relaxation: Relaxation) -> str:
    """Which odds change more with a larger budget of one level, of all levels whose do.

    Where a report may say less against an answer than for it, or more, both are looked at.
    """
    before = question.realised
    after = question.realised_after(relaxation)
    whose = ["for ", "against "]
    if is_alike(before) and is_alike(after):
        whose = [""]
        before = before.max(axis=0, keepdims=True)
        after = after.max(axis=0, keepdims=True)
    names = question.deployed.policy.names
    rises = []
    for word, row_now, row_then in zip(whose, before, after, strict=True):
        pairs = zip(names, row_now.tolist(), row_then.tolist(), strict=True)
        for name, now, then in pairs:
            odds_now = factor_up(now)
            odds_then = factor_up(then)
            if then > now and odds_then != odds_now:
                rises.append(
                    f"{word}{name!r} {odds_then}-fold instead of {odds_now}-fold"
                )
    if not rises:
        return "no odds change more"
    return f"odds may then change more: {listed(rises, MOST_NAMED)}"


def _one_sided(question: QuestionPlan) -> str:
    """What budgets would have that let a report clear somebody, and when they are apt."""
    offer = question.one_sided
    if offer is None or offer.against > -SAME_ERROR:
        return ""
    return (
        f"One-sided budgets would have {_against(offer)} error: a report may then speak against an "
        "answer as clearly as it may speak for another. They are apt if it harms nobody to be "
        "known to be without an answer, which is not so of votes, say."
    )


def _against(option: Option) -> str:
    """How an option's error compares with the plan's, to stand before "error"."""
    if option.against >= 1:
        return f"{1 + option.against:.1f} times the"
    if option.against > 0:
        return f"{100 * option.against:.1f} % more"
    return f"{100 * -option.against:.1f} % less"


def _levels(levels: ByLevel, in_round: str) -> Table:
    """Levels with their budgets, the two probabilities of a bit, and the error of a rare answer."""
    columns = [
        column("level", levels.names),
        column("items", levels.items.tolist(), ","),
        column("epsilon", levels.epsilons, ".4f"),
        column("a", levels.a, probability),  # of a 1 for an answer that one has
        column("b", levels.b, probability),  # of a 1 for any other answer
        column("standard error, people", levels.standard_errors, people, bars=True),
    ]
    title = f"Standard error of a rare item's count{in_round}"
    if levels.detectable is not None:
        columns.append(column("seen from", levels.detectable, percent))
        title += "; seen from: told apart from nobody's, 95 % sure, power 80 %"
    return Table(title, tuple(columns))


def _sharing(plan: SurveyPlan, allocation: Allocation) -> Table:
    """The table of both designs: shares of the budgets, and shares of the people."""
    some = allocation.some_each
    users = plan.survey.users
    columns = (
        column("question", allocation.names),
        column("share if split, %", 100 * allocation.shares, ".1f"),
        column("its error", allocation.errors_of(users), percent, bars=True),
        column(f"asked {each_in_words(some)}, %", 100 * some.fractions, ".1f"),
        column("their error", some.errors_of(users), percent, bars=True),
    )
    return Table("One survey, one budget a person", columns, "page")


def _spending(plan: SurveyPlan) -> Table:
    """What each level tolerates and spends; columns that would repeat another are left out."""
    rows = plan.spending
    columns = [
        column("question", [row.question for row in rows]),
        column("level", [row.level for row in rows]),
        column("tolerated", [row.tolerated for row in rows], ".4f"),
    ]
    if _ledger_leaves_less(plan):
        columns.append(column("left by the ledger", [row.left for row in rows], ".4f"))
    columns.append(column("spent here", [row.spent for row in rows], ".4f"))
    if any(row.against for row in rows):  # one-sided budgets bound one direction only
        columns.append(column("said against", [row.against for row in rows], ".4f"))
    return Table("What an answer spends (epsilon)", tuple(columns))


def _figures(question: QuestionPlan) -> list[Block]:
    """Charts of the details; each is computed when it is drawn, as many are never looked at."""
    figures: list[Block] = []
    padded = question.fact(Padded)
    if padded is not None and padded.plan is not None:
        alt = "Expected error against the padding length, and its two parts."
        draw = partial(padding_figure, padded.plan)
        figures.append(Figure("The padding length", draw, alt, "padding"))
    expected = question.fact(OrderedEstimates)
    if expected is not None:
        title = "What the result would look like if all answers were alike"
        alt = (
            "Shares of the people up to each answer, in the band that covers them all."
        )
        figures.append(
            Figure(title, partial(ordered_figure, expected), alt, "expected")
        )
    title = "If all budgets were larger or smaller"
    alt = "Error falls as all budgets are scaled up; today's budgets are at factor 1."
    figures.append(Figure(title, partial(_scaled_figure, question), alt, "scale"))
    return figures


def _scaled_figure(question: QuestionPlan) -> Chart:
    """The error against a common factor on the budgets, which is planned here and now."""
    return explored_figure(question, budget_curve(question))


def _drowned(plan: QuestionPlan) -> str:
    """A warning of an error as large as what it is an error of; empty where it is smaller."""
    if plan.error_share < 1:
        return ""
    name = kinds.objective_name(plan)
    if plan.question.of_mean:
        return f"The {name} is larger than half the range: it says nothing."
    return (
        f"The {name} is larger than the number of people: {kinds.words(plan).drowned}."
    )
