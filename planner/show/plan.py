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
from planner.planning.targets import BudgetAnswer, FileBudget, TargetAnswer
from planner.planning.what_if import Relaxation
from planner.policy.budget_text import digits_up, factor_up, rounded_up
from planner.show import kinds
from planner.show.blocks import (
    Block,
    Fact,
    Facts,
    Figure,
    Heading,
    Table,
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
    explored_figure,
    ordered_figure,
    padding_figure,
    rounds_figure,
)
from planner.show.promises import (
    moves_sentence,
    promises_of,
    reach_up,
    unused_sentence,
)

ALLOCATION_ERRORS = (
    "Errors are in per cent of the people, of a mean of half its range. "
    "Asking only some of the people adds what a sample misses; it is included as an upper bound."
)
_GROUPS_ARE_SEEN = (
    "Groups spend no budget and are not hidden: who sees a report sees of which group it is, and a "
    "person hides among the people of the group alone."
)
_MOST_NAMED = 6  # levels, in a sentence
_USUAL = 0.01  # what the people are counted for where no target is stated


def plan_blocks(plan: SurveyPlan, *, details: bool = True) -> list[Block]:
    """Everything that is shown of a planned survey, or what everybody is shown at least."""
    several = len(plan.questions) > 1
    blocks = survey_blocks(plan)
    for question in plan.questions:
        blocks += question_blocks(question, several=several, details=details)
    return blocks


def survey_blocks(plan: SurveyPlan) -> list[Block]:
    """What the questions share, and what a person spends."""
    survey = plan.survey
    blocks: list[Block] = [Heading(f"{survey.name}: {survey.users:,} people", level=1)]
    if (
        survey.ledger and not plan.ledger.collections
    ):  # a misspelt name must not pass in silence
        blocks += said(
            [f"No collection is in {survey.ledger} yet: all budgets are left."], "note"
        )
    allocation = plan.allocation
    if allocation is not None:
        design = design_sentence(plan, allocation), lots_sentence(plan)
        blocks += [
            *said([*design, *kinds.apart_sentences(plan)]),
            _sharing(plan, allocation),
        ]
        blocks += said(
            [ALLOCATION_ERRORS, shares_sentence(plan, allocation)], rank="details"
        )
    if allocation is not None or any(row.left < row.tolerated for row in plan.spending):
        blocks += [_spending(plan)]
    if plan.spending:
        blocks += said([spending_sentence(plan)], rank="details")
    return blocks + (_groups(plan) if plan.survey.groups else [])


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
        few = ", ".join(repr(group.value) for group in groups.values if group.small)
        if few:
            expected = f"Fewer than {SMALL_GROUP} people are expected in {few}."
            blocks += said([expected], "note")
    return [*blocks, *said([_GROUPS_ARE_SEEN], "note")]


def question_blocks(
    question: QuestionPlan, *, several: bool = False, details: bool = True
) -> list[Block]:
    """What is shown of a planned question; with its name if there are ``several``.

    Without ``details`` what takes time and is among them alone is left out.
    """
    blocks: list[Block] = [Heading(question.name)] if several else []
    sampling = question.fact(SamplingPlan)
    if sampling is not None:
        return blocks + kinds.sampled_blocks(question, sampling)
    apart = (
        several
        or question.part.share < 1
        or question.part.fraction < 1
        or question.question.of_mean
    )
    asked = f"{asked_sentence(question)} " if apart else ""
    blocks += said([asked + _how(question)])
    blocks += said([anchor_sentence(question)])
    blocks += [headline(question), *kinds.round_blocks(question, details=details)]
    blocks += said([kinds.words(question).assumed(question)])
    blocks += said(cautions(question), "note")
    blocks += [*kinds.set_blocks(question), *kinds.related_blocks(question)]
    for target in question.targets:
        sentence = target_sentence(
            question, target, in_headline=len(question.targets) == 1
        )
        blocks += said([sentence], "met" if target.met else "missed")
    # An anchor is asked as its question is: what would help that one is said there.
    advice = [] if question.question.anchor_of is not None else _advice(question)
    blocks += said([*promises_of(question), kinds.cap_sentence(question), *advice])
    return blocks + _details(question, advice) if details else blocks


def pictures(question: QuestionPlan) -> list[Block]:
    """What a page shows of a question before its details: mechanisms, and rounds over time."""
    if question.question.apart:
        return []
    ranked = question.options
    planned = [option.name for option in ranked].index(question.deployed.mechanism)
    columns = (
        column("mechanism", (option.title for option in ranked)),
        column(
            question.question.unit,
            [option.error for option in ranked],
            kinds.error_text(question),
            bars=True,
        ),
        column("against the plan", (option.against for option in ranked), change),
        column("one false report", map(_moved, question.swayed), str),
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
    blocks = pictures(question)
    levels = question.fact(ByLevel)
    if levels is not None:
        in_round = kinds.in_round(question)
        blocks += [Heading("Level by level", "details", 3), _levels(levels, in_round)]
    report = kinds.words(question).report(question)
    moved = moves_sentence(question.moves)
    blocks += said([*report, unused_sentence(question), moved], rank="details")
    blocks += said(kinds.certificate_sentences(question), "proof", "details")
    prices = (price for price in _prices(question) if price not in advice)
    blocks += said([*prices, _one_sided(question)], rank="details")
    return [*blocks, *_figures(question)]


def _moved(most: float | None) -> str:
    """By how much one false report moves an estimate; empty if unknown."""
    return "" if most is None else reach_up(most)


def asked_sentence(question: QuestionPlan) -> str:
    """Who answers, and with which share of the budgets."""
    part = (
        ""
        if question.part.share == 1
        else f", with {percent(question.part.share)} of its budgets"
    )
    fewer = question.answering < question.part.people
    drawn = question.part.people < question.part.everybody
    asked = (
        f"are asked, and about {question.answering:,} answer" if fewer else "answer it"
    )
    of_all = (
        f" of {question.part.everybody:,} people, drawn at random,"
        if drawn
        else " people"
    )
    return f"{question.part.people:,}{of_all} {asked}{part}."


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
        "spends no budget and shows how many people attend. Corrected by it, rare answers are as "
        f"exact as {whole[1]:,} of {question.part.people:,} people would make them if "
        f"all attend, {fewer[1]:,} if {percent(fewer[0])} do. Who answers {cost.question!r} here "
        "by mistake reports it twice."
    )


def lots_sentence(plan: SurveyPlan) -> str:
    """Who is asked which question, with what chance; empty where everybody is asked all."""
    allocation = plan.allocation
    if allocation is None or plan.survey.design == "split":
        return ""
    drawn = (question for question in plan.questions if not question.question.apart)
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
    in_round = kinds.in_round(question)
    facts = _errors(question)
    levels = question.fact(ByLevel)
    if levels is not None and len(levels.names) > 1:
        errors = levels.standard_errors
        name = f"least exact, an answer of {levels.names[errors.argmax()]!r}"
        name = name if len({*map(people, errors)}) > 1 else "error of each answer"
        seen = levels.detectable
        absent = "rarer answers look absent"
        means = "" if seen is None else f"seen from {percent(seen.max())}: {absent}"
        facts.append(
            Fact(f"{name}{in_round}", f"{people(errors.max())} people", meaning=means)
        )
    needed = [people_needed.users for people_needed in question.targets] or [
        question.people_for(_USUAL)
    ]
    for_what = (
        "the targets"
        if question.targets
        else f"an error of {percent(_USUAL)}{in_round}"
    )
    for_what += "" if question.drawn_error is None else " among those asked"
    finite = [people_needed for people_needed in needed if people_needed is not None]
    never = "no number is enough, as long sets are cut"
    figure = f"{max(finite):,}" if len(finite) == len(needed) else never
    means = f"{question.part.everybody:,} are asked"
    return Facts((*facts, Fact(f"people needed for {for_what}", figure, meaning=means)))


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


def _errors(question: QuestionPlan) -> list[Fact]:
    """The error and its share, of one round if it is asked again, and then of what else."""
    again = question.again
    part = question.part
    in_round = kinds.in_round(question)
    unit = " people" * (not question.question.of_mean)
    name = f"{kinds.objective_name(question)}{in_round}"
    in_unit = kinds.error_text(question)
    error = in_unit(question.total_error) + unit
    typically = f"how far {kinds.words(question).off(question.question)}, typically"
    facts = [Fact(name, error, kinds.answers(question), typically)]
    share = percent(question.error_share)
    whole = f"the same, of {number(part.whole)}"
    facts.append(
        Fact(f"as a share of {kinds.share_of(question)}", share, meaning=whole)
    )
    common = question.error_if_common
    if common is not None:
        name = f"of an answer that everybody has{in_round}"
        facts.append(Fact(name, in_unit(common) + unit))
    if (drawn := question.drawn_error) is not None:
        of_half = percent(drawn / part.whole)
        facts.append(
            Fact("of people drawn at random, at most", f"{in_unit(drawn)} ({of_half})")
        )
    rounds = question.question.rounds
    if again is None or rounds is None:
        return facts
    which = f"if answers stay / {kinds.drawn_anew(rounds)}", "likewise"
    for (name, *both), said_of in zip(again.beside, which, strict=True):
        stays, anew = (in_unit(part.total(variance)) for variance in both)
        facts.append(Fact(f"{name}, {said_of}", f"{stays} / {anew}{unit}"))
    return facts


def cautions(question: QuestionPlan) -> list[str]:
    """What a reader should be told before the figures are believed."""
    sentences = list[str]()
    name, epsilon = question.least_protected
    if epsilon > LARGE_EPSILON:
        sentences.append(
            f"A report may change the odds of an answer of {name!r} against another "
            f"{factor_up(epsilon)}-fold, next to no protection."
        )
    reporting = question.part.in_round(question.planned)[0].people
    if reporting < FEW_PEOPLE:
        sentences.append(
            f"Only {reporting:,} people are asked{kinds.in_round(question)}: noise outweighs their "
            f"answers, and intervals are made for {FEW_PEOPLE} people or more."
        )
    return [*sentences, *filter(None, [_drowned(question)])]


def target_sentence(
    question: QuestionPlan, answer: TargetAnswer, *, in_headline: bool = False
) -> str:
    """What becomes of a target, and what would meet it if it is missed.

    The people needed are left out if they stand ``in_headline``.
    """
    verdict = "met" if answer.met else "MISSED"
    reached = percent(answer.reached) if answer.reached < 1e6 else "nothing"
    target = f"{_wanted(answer)}{kinds.in_round(question)}"
    text = f"Target, {target}: {verdict}, reached {reached}."
    if answer.power is not None and answer.groups is not None:
        groups = answer.groups
        text = (
            f"{text} The people asked show it with a power of {percent(answer.power)} "
            f"(5 %, two-sided; {groups.first!r} with {percent(groups.first_share)} of the "
            f"people, {groups.second!r} with {percent(groups.second_share)})."
        )
    if answer.met:
        return text
    instead = (
        "no number of people would do, as truncated or missing answers bias the result"
    )
    if answer.users is not None:
        instead = "ask more people" if in_headline else f"ask {answer.users:,} people"
    return f"{text} {budgets_sentence(question, answer)} Or {instead}."


def _wanted(answer: TargetAnswer) -> str:
    target = answer.target
    share = percent(answer.target.value)
    if answer.of_mean:
        return f"error of the mean at most {share} of half the range"
    of_level = "" if target.level is None else f" of {target.level!r}"
    if target.kind == "detect":
        return f"every item{of_level} detectable from {share} of the people"
    if target.kind == "difference":
        start = percent(target.from_share or 0.0)
        return (
            f"a difference of {share} between any two of {target.between!r} detected, from "
            f"a share of {start}{of_level}"
        )
    if target.of_all:
        return f"total error at most {share} of the people"
    return f"standard error of a rare item{of_level} at most {share}"


def budgets_sentence(question: QuestionPlan, answer: TargetAnswer) -> str:
    """Which budgets would meet a missed target, or why none do; empty for one that is met."""
    if answer.budgets is not None:
        kept = question.part.share < 1 or question.part.fraction < 1
        return smallest_sentence(answer.budgets, answer.in_file, kept=kept)
    nothing = (
        "Which budgets would be enough is not computed for questions like this one: plan with "
        "larger ones to see."
    )
    return "" if answer.met else nothing


def smallest_sentence(
    answer: BudgetAnswer,
    in_file: Sequence[FileBudget] | None = None,
    *,
    kept: bool = False,
) -> str:
    """The smallest budgets that meet targets, or why there are none.

    Those that the survey file would state, where they are given; ``kept`` says that they are so
    while shares of budgets and people stay as they are.

    Examples
    --------
    >>> from planner import PrivacyPolicy, Target, smallest_budgets
    >>> policy = PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"])
    >>> print(smallest_sentence(smallest_budgets(policy, 10_000, Target(error=0.02))))
    These are the smallest budgets in proportion that meet the targets with IDUE opt0: ...
    """
    option = answer.option
    if not answer.possible:
        reached = zip(answer.reached, answer.targets, strict=True)
        least, target = max(reached, key=lambda ratio: ratio[0] / ratio[1].value)
        cause = f"even at budgets up to {answer.policy.epsilons.max():.4g}"
        if answer.truncation >= target.value:
            cause = f"long sets are cut ({option.note}): whatever the budgets"
        elif answer.sampling >= target.value:
            cause = f"asking only some of the people leaves an error of {percent(answer.sampling)}"
            return f"Impossible, because {cause}."
        floor = percent(least) if least < 1 else "no share at all"
        return f"Impossible, because {cause}, the best is {floor}; wanted: {percent(target.value)}."
    opening = "These budgets meet the targets"
    if answer.lowest:
        opening = "The targets are met even with next to no budget"
    elif answer.proven:
        form = "" if option.of_all else f" with {_short(CATALOGUE[option.name].label)}"
        opening = (
            f"These are the smallest budgets in proportion that meet the targets{form}"
        )
    named = _named_budgets(answer, in_file)
    factor = f"a little {'more' if answer.scale > 1 else 'less'} than they are"
    if abs(answer.scale - 1) >= 0.0005:  # of four digits
        factor = f"{digits_up(answer.scale)} times what they are"
    if answer.saturated:
        factor += ", or where more buys nothing"
    note = f", {option.note}" if option.note else ""
    if in_file is not None:
        opening += ", as the survey file states them"
    shares = " while its shares of budgets and people stay as they are" if kept else ""
    return f"{opening}{shares}: {listed(named, _MOST_NAMED)} ({factor}){note}."


def _named_budgets(
    answer: BudgetAnswer, in_file: Sequence[FileBudget] | None
) -> list[str]:
    """Budgets with the names of their levels; of a joint question with those of its parts."""
    if in_file is None:
        pairs = zip(answer.policy.names, answer.policy.epsilons.tolist(), strict=True)
        return [f"{name} {digits_up(epsilon)}" for name, epsilon in pairs]
    if not in_file:
        return ["every budget of a pair of levels"]
    several = len({row.question for row in in_file}) > 1
    named = []
    for row in in_file:
        level = f"{row.level} of {row.question!r}" if several else row.level
        named.append(f"{level} {digits_up(row.epsilon)}")
    return named


def design_sentence(plan: SurveyPlan, allocation: Allocation) -> str:
    """Which design is planned, which is better, and how to change it."""
    if plan.better_design is None:
        return f"{better_design(allocation)} This plan does so."
    asked = f"asks everybody {each_in_words(allocation.some_each)}"
    here = "splits the budgets" if plan.survey.design == "split" else asked
    return f"{better_design(allocation)} This plan {here} instead."


def better_design(allocation: Allocation) -> str:
    """Which design has the smaller error, and by how much."""
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
    return (
        "one question"
        if some.asked == 1
        else f"{some.asked} of {len(some.errors)} questions"
    )


def left_out(question: QuestionPlan) -> list[str]:
    """Why mechanisms have no error here, or are not deployed."""
    refused = [option for option in question.every if option.refused]
    return [
        f"{CATALOGUE[option.name].label} is left out: {option.refused}."
        for option in refused
    ]


def shares_sentence(plan: SurveyPlan, allocation: Allocation) -> str:
    """What is proven of the shares."""
    proven = (
        f"The shares are proven best to within {kinds.within(allocation.relative_gap)}"
    )
    had = " and ".join(
        f"{question.name!r} had {label}"
        for question in plan.questions
        if question.question.shares_budgets
        and (label := CATALOGUE[question.shared.mechanism].label)
        != question.mechanism_label
    )
    return (
        f"{proven} if {had}, whose errors they are planned with."
        if had
        else f"{proven}."
    )


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
    proven = kinds.proven_in_short(question)
    planned = question.planned
    text = f"Mechanism: {_short(question.mechanism_label)}{f', {proven}' if proven else ''}."
    if question.fact(ByLevel) is None or not planned.by_level:
        return text
    plain = question.alike
    if plain is None or not 0.001 <= plain.against < math.inf:
        return text
    return f"{text} Protecting all answers like the most sensitive: {_against(plain)} error."


def _advice(question: QuestionPlan) -> list[str]:
    """One recommendation: another mechanism that can be deployed, or more of one level's budget."""
    for option in question.found:  # the best first
        if option.against < -SAME_ERROR and not option.compared:
            return [f"{_short(option.title)} would have {_against(option)} error."]
    if all(answer.met for answer in question.targets) and not _drowned(question):
        return [_price(question, best) for best in question.relaxations[:1]]
    return []


def _prices(question: QuestionPlan) -> list[str]:
    """What a little more of one level's budget would buy, best first, and where it ends."""
    sentences = [_price(question, relaxation) for relaxation in question.relaxations]
    policy = question.deployed.policy
    saturation = question.saturation_epsilon or np.inf
    over = np.flatnonzero(policy.epsilons > saturation * (1 + 1e-9))
    if len(over):
        names = [repr(policy.names[i]) for i in over]
        few = names if len(names) < 4 else [*names[:2], f"{len(names) - 2} more levels"]
        sentences.append(
            f"Saturation: budget above {saturation:.4f} buys {' and '.join(few)} nothing while "
            "the other levels stay as they are."
        )
    return sentences


def _price(question: QuestionPlan, relaxation: Relaxation) -> str:
    """What a little more of one level's budget would buy, and whose odds it costs."""
    error = kinds.objective_name(question)
    return (
        f"Raising the budget of {relaxation.level!r} in the file by {relaxation.amount:g} "
        f"lowers the {error} by {100 * relaxation.saving:.1f} %{_kept_shares(question)}; "
        f"{_more_odds(question, relaxation)}."
    )


def _kept_shares(question: QuestionPlan) -> str:
    """Which shares what is said rests on; empty where there is one question."""
    if question.part.share == 1 and question.part.fraction == 1:
        return ""
    return " while its shares of budgets and people stay as they are"


def _more_odds(question: QuestionPlan, relaxation: Relaxation) -> str:
    """Which odds change more with a larger budget of one level, of all levels whose do."""
    before = question.realised.max(axis=0)
    after = question.realised_after(relaxation).max(axis=0)
    names = question.deployed.policy.names
    rises = []
    for name, now, then in zip(names, before.tolist(), after.tolist(), strict=True):
        odds_now = factor_up(now)
        odds_then = factor_up(then)
        if odds_then != odds_now:
            rises.append(f"{name!r} {odds_then}-fold instead of {odds_now}-fold")
    if not rises:
        return "no odds change more"
    return f"odds may then change more: {listed(rises, _MOST_NAMED)}"


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
    if option.against >= 1:
        return f"{1 + option.against:.1f} times the"
    return (
        f"{100 * abs(option.against):.1f} % {'more' if option.against > 0 else 'less'}"
    )


def _short(label: str) -> str:
    return label.partition(",")[0]


def _levels(levels: ByLevel, in_round: str) -> Table:
    columns = [
        column("level", levels.names),
        column("items", levels.items.tolist(), ","),
        column("epsilon", levels.epsilons, ".4f"),
        column("a", levels.a, probability),
        column("b", levels.b, probability),
        column("standard error, people", levels.standard_errors, people, bars=True),
    ]
    if levels.detectable is not None:
        columns.append(column("seen from", levels.detectable, percent))
    seen = "; seen from: told apart from nobody's, 95 % sure, power 80 %"
    caption = f"Standard error of a rare item's count{in_round}"
    return Table(
        f"{caption}{seen if levels.detectable is not None else ''}", tuple(columns)
    )


def _sharing(plan: SurveyPlan, allocation: Allocation) -> Table:
    some = allocation.some_each
    users = plan.survey.users
    columns = (
        column("question", allocation.names),
        column("share if split, %", 100 * allocation.shares, ".1f"),
        column("its error", allocation.errors_of(users), percent, bars=True),
        column(f"asked {each_in_words(some)}, %", 100 * some.fractions, ".1f"),
        column(
            "their error",
            some.errors_of(users),
            percent,
            bars=True,
        ),
    )
    return Table("One survey, one budget a person", columns, "page")


def _spending(plan: SurveyPlan) -> Table:
    rows = plan.spending
    columns = [
        column("question", (row.question for row in rows)),
        column("level", (row.level for row in rows)),
        column("tolerated", (row.tolerated for row in rows), ".4f"),
    ]
    if any(row.left < row.tolerated for row in rows):
        columns.append(column("left by the ledger", (row.left for row in rows), ".4f"))
    columns.append(column("spent here", (row.spent for row in rows), ".4f"))
    if any(row.against for row in rows):
        columns.append(column("said against", (row.against for row in rows), ".4f"))
    return Table("What an answer spends (epsilon)", tuple(columns))


def _figures(question: QuestionPlan) -> list[Block]:
    padded = question.fact(Padded)
    expected = question.fact(OrderedEstimates)
    figures = []
    if padded is not None and padded.plan is not None:
        alt = "Expected error against the padding length, and its two parts."
        draw = partial(padding_figure, padded.plan)
        figures.append(Figure("The padding length", draw, alt, "padding"))
    if expected is not None:
        title = "What the result would look like if all answers were alike"
        alt = (
            "Shares of the people up to each answer, in the band that covers them all."
        )
        figures.append(
            Figure(title, partial(ordered_figure, expected), alt, "expected")
        )
    alt = "Error falls as all budgets are scaled up; today's budgets are at factor 1."
    title = "If all budgets were larger or smaller"
    figures.append(
        Figure(
            title,
            lambda: explored_figure(question, budget_curve(question)),
            alt,
            "scale",
        )
    )
    return [*figures]


def _drowned(plan: QuestionPlan) -> str:
    if plan.error_share < 1:
        return ""
    name = kinds.objective_name(plan)
    if plan.question.of_mean:
        return f"The {name} is larger than half the range: it says nothing."
    return (
        f"The {name} is larger than the number of people: {kinds.words(plan).drowned}."
    )
