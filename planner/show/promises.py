"""What a report says of its sender: odds, what is promised of them, and what outsiders learn.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
Figures are exact, and rounded to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from planner.arrays import Array
from planner.laws.law import Law
from planner.laws.levels import Levels
from planner.laws.schema import Document
from planner.mechanisms.catalogue import CATALOGUE
from planner.outsiders.false_reports import FalseReports
from planner.outsiders.guarantee import CONDITION
from planner.planning.beliefs import guess_success
from planner.planning.by_level import ByLevel
from planner.planning.outsiders import OutsiderView, SurveyOutsiderView
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sampled import SamplingPlan
from planner.planning.sets import Padded, SetPromises
from planner.policy.budget_text import delta_text, factor_up, rounded_up
from planner.show.blocks import (
    Block,
    Column,
    Heading,
    Sentence,
    Table,
    column,
    listed,
    lowered,
    rows_table,
    said,
)
from planner.show.kinds import WORDS, views_in_words, words
from planner.solvers.answers import Channel

if TYPE_CHECKING:
    from planner.deployment.parameters import Parameters

_NAMED_LEVELS = 4  # in a sentence
_WHOEVER = "whoever looks and whatever they know"
_ALIKE = 1e-6  # relative: what rounding to integers may add to one direction
_UNHIDDEN = (
    "a question asked in two rounds, or with a pair of answers that no budget protects, is not "
    "hidden by shuffling"
)


def odds_sentence(plan: QuestionPlan, level: int) -> str:
    """What people send who have an answer of a level, and others.

    Examples
    --------
    >>> from planner import Level, Survey, plan_survey
    >>> from planner.survey.choices import Categorical
    >>> levels = Level("severe", "ln 4", ("HIV",)), Level("common", "ln 6", item_count=4)
    >>> asked = Categorical("diagnosis", levels, mechanism="opt0")
    >>> print(odds_sentence(plan_survey(Survey("s", 1000, (asked,))).questions[0], 0))
    Of 100 people whose answer about diagnosis is one of 'severe', 59 send a 1 for it; of 100
    with another answer, 33 do.
    """
    levels = plan.fact(ByLevel)
    padded = plan.fact(Padded)
    assert levels is not None  # noqa: S101 - asked of questions with levels
    name = levels.names[level]
    sends = CATALOGUE[plan.deployed.mechanism].sends
    whose = f"whose answer about {plan.name} is one of {name!r}"
    other = "with another answer"
    if padded is not None:
        most = f"up to {padded.length} answers about {plan.name}"
        whose = f"with a certain one of {name!r} among {most}"
        other = "without it"
    least, others = (_of_hundred(sent[level]) for sent in (levels.least_b, levels.b))
    if least != others:
        others = f"{least} to {others}"
    having = _of_hundred(levels.if_had[level])
    return f"Of 100 people {whose}, {having} {sends}; of 100 {other}, {others} do."


def drawn_by(plan: QuestionPlan) -> dict[str, Sequence[int]]:
    """The answers of a scale, or the points of a number, each with what its reports are drawn by.

    These are the whole numbers that are deployed; nothing of other kinds.
    """
    shape = cast("Any", plan.law.shape)
    question = cast("Any", plan.question)
    channel = plan.fact(Channel)
    if channel is None:
        ends = (
            (f"{question.lower:g}", f"{question.upper:g}", "no answer")
            if question.of_mean
            else ()
        )
        return dict(zip(ends, shape.rows if ends else (), strict=True))
    return dict(zip(channel.symbols, shape.rows, strict=True))


def apart_sentence(
    plan: QuestionPlan, first: str, second: str
) -> tuple[str, float, float]:
    """How well a report tells two answers of a scale or a number apart, and the two shares.

    Reports that are likelier with the first answer speak for it: whoever guesses by them is right
    most often.

    Examples
    --------
    >>> from planner import plan_survey
    >>> plan = plan_survey("examples/hours.toml").questions[0]
    >>> print(apart_sentence(plan, "10+", "0")[0])
    Of 100 people whose answer about hours a week is '10+', 64 send a report that speaks for it
    against '0'; of 100 with '0', 23 do.
    """
    rows = drawn_by(plan)
    first_row = np.array(rows[first])
    other = np.array(rows[second])
    shares = [
        float(row[first_row > other].sum() / row.sum()) for row in (first_row, other)
    ]
    own_share, others = map(_of_hundred, shares)
    text = (
        f"Of 100 people whose answer about {plan.name} is {first!r}, {own_share} send a report "
        f"that speaks for it against {second!r}; of 100 with {second!r}, {others} do."
    )
    return text, shares[0], shares[1]


def _of_hundred(probability: float) -> str:
    shown = 100 * float(probability)
    if 1 <= shown <= 99:
        return f"{shown:.0f}"
    return f"{shown:.2g}" if shown < 1 else f"{shown:.4g}"


def beliefs_columns(
    names: Sequence[str], low: Array, high: Array
) -> tuple[Column, ...]:
    """Between what an answer of each level may be held likely, rounded outwards."""
    return (
        column("an answer of", names),
        column("then at least", low, lambda x: f"{math.floor(x * 1e4) / 1e2:.2f} %"),
        column("at most", high, lambda x: f"{math.ceil(x * 1e4) / 1e2:.2f} %"),
    )


def _by_level(names: Sequence[str], budgets: Array, whose: str) -> str:
    """The factors of levels with a budget: all of few, else the least and the largest."""
    levels = [
        (budget, f"{factor_up(budget)}-fold {whose} {name!r}")
        for name, budget in zip(names, budgets.tolist(), strict=True)
        if budget > 0
    ]
    *others, last = [text for _, text in levels]
    if len({factor_up(budget) for budget, _ in levels}) == 1:
        return f"{factor_up(levels[0][0])}-fold"
    if len(levels) > _NAMED_LEVELS:
        return f"from {min(levels)[1]} to {max(levels)[1]}, by its level"
    return f"{', '.join(others)} and {last}"


def unprotected(levels: Levels) -> str:
    """Which answers a report tells apart for certain; empty where every two have a budget."""
    groups = [", ".join(map(repr, members)) for members in levels.connected()]
    if len(groups) == 1:
        return ""
    few = (
        groups
        if len(groups) <= _NAMED_LEVELS
        else [*groups[:2], f"{len(groups) - 2} more"]
    )
    return (
        f"NO BUDGET PROTECTS {' FROM '.join(few)}: every report tells for certain which of these "
        "its answer is from, to whoever sees it."
    )


def _odds_change(between: str, most: str) -> str:
    """The promise of a question or of one view of it."""
    return f"No report changes the odds between {between} more than {most}, {_WHOEVER}."


def guessed_right(epsilon: float) -> int:
    """Of 100 people, for how many a guess between two of a budget's answers is right at most.

    Whoever holds both for equally likely before a report, and odds of ``e^epsilon`` to 1 after it,
    is right with probability ``e^epsilon / (1 + e^epsilon)``; rounded up.

    Examples
    --------
    >>> guessed_right(0.0001), guessed_right(1.0), guessed_right(50.0)
    (51, 74, 100)
    """
    return math.ceil(100 * guess_success(epsilon))


def budget_in_words(epsilon: float) -> str:
    """What a budget means: how well somebody guesses who sees reports.

    Examples
    --------
    >>> budget_in_words(1.0)
    'at most 74 of 100 guessed right'
    """
    return f"at most {guessed_right(epsilon)} of 100 guessed right"


# What is promised


def promises(plan: SurveyPlan) -> list[str]:
    """What every question promises."""
    return [
        f"{question.name}: {text}"
        for question in plan.questions
        for text in promises_of(question)
    ]


def promises_of(plan: QuestionPlan) -> list[str]:
    """What one question promises, rounded up, and what it does not: in words for a lawyer.

    A sentence, or one for each view of its guarantee.
    """
    sampling = plan.fact(SamplingPlan)
    sets = plan.fact(SetPromises)
    if sampling is not None:
        return [*views_in_words(sampling)]
    policy = plan.deployed.policy
    between = words(plan).between
    openly = ""
    if sets is not None:
        sentences = [_odds_change(between, f"{factor_up(sets.cap)}-fold")]
        if sets.cap > sets.epsilon:
            sentences.append(
                "For whoever knows all of a person's answers but one, the odds of that one change "
                f"at most {factor_up(sets.epsilon)}-fold; several sensitive answers together have "
                "the first promise alone."
            )
        return sentences
    if policy.rule.open_pairs:
        between = "two answers that are protected from each other"
        openly = unprotected(policy.plain())
    raised, lowered = plan.realised
    if not raised.any():
        return [openly]
    most, at_worst = (
        _by_level(policy.names, odds, words(plan).whose) for odds in (raised, lowered)
    )
    promise = _odds_change(between, most)
    if not np.allclose(raised, lowered, rtol=_ALIKE):
        up_to = "" if at_worst.startswith("from") else "up to "
        without = ": somebody may become known to be WITHOUT an answer"
        promise = (
            f"No report raises the odds of an answer against any other more than {most}, "
            f"{_WHOEVER}; it may lower them {up_to}{at_worst}"
            f"{without if (lowered > raised * (1 + _ALIKE)).any() else ''}."
        )
    return [promise, *([openly] if openly else [])]


def unused_sentence(plan: QuestionPlan) -> str:
    """Which budgets are above what reports use of them; empty where none are."""
    if plan.fact(Padded) is not None or plan.question.apart:
        return ""
    policy = plan.deployed.policy
    used = plan.realised
    spent = np.array([policy.largest_pairs(), policy.largest_pairs(against=True)])
    unused = np.flatnonzero((used < 0.99 * spent).any(axis=0) & (used > 0).all(axis=0))

    def of_level(i: int) -> str:
        own_budget, all_of_it = (
            rounded_up(budgets[:, i].max(), 4) for budgets in (used, spent)
        )
        return f"{own_budget} of {all_of_it} for {policy.names[i]!r}"

    few = listed(unused.tolist(), _NAMED_LEVELS, of_level)
    return f"Reports use less than the budgets: {few}." if few else ""


def pair_rows(law: Law) -> list[Document]:
    """Each pair's realised and demanded budget; ``None`` where none is demanded."""
    names = law.shape.labels
    return [
        {
            "level": names[pair.first],
            "against": names[pair.second],
            "realised": pair.realised,
            "demanded": None if math.isinf(pair.demanded) else pair.demanded,
        }
        for pair in law.pairs
    ]


def pairs_table(law: Law) -> Table:
    """What is proven of a law, pair by pair of levels."""
    rows = [
        (
            level,
            against,
            rounded_up(realised, 12),
            "none" if most is None else lowered(most, 12),
        )
        for level, against, realised, most in (row.values() for row in pair_rows(law))
    ]
    return rows_table(
        law.name, ("level", "against", "realised epsilon", "promised epsilon"), rows
    )


def verification_blocks(parameters: Parameters) -> list[Block]:
    """What is proven again of parameters, pair by pair."""
    title = f"{parameters.survey}: parameters for {parameters.users:,} people"
    blocks: list[Block] = [
        Heading(title, level=1),
        *map(pairs_table, parameters.questions),
    ]
    openly = [unprotected(question.shape.levels) for question in parameters.questions]
    which = " that has one" if any(openly) else ""
    proven = f"Every pair{which} keeps its promised budget, proven in exact integer arithmetic."
    if not any(question.pairs for question in parameters.questions):
        proven = "No pair of answers has a budget: the file protects nothing."
    return [*blocks, *said(openly, "note"), Sentence(proven, tone="proof")]


# What outsiders learn


def outsider_blocks(view: SurveyOutsiderView) -> list[Block]:
    """What outsiders learn."""
    blocks: list[Block] = []
    if not view.questions:
        promised = "what outsiders learn is what it promises."
        blocks.append(Sentence(f"{_UNHIDDEN.capitalize()}: {promised}"))
    headings = "between", "and", "one report", "if shuffled"
    for question_view in view.questions:
        blocks += [
            Heading(question_view.question, level=3),
            *said(view_sentences(question_view)),
        ]
        rows = [
            (first, second, rounded_up(local, 4), rounded_up(central, 5))
            for first, second, local, central in question_view.shuffled.pairs
        ]
        if len(rows) > 1:
            title = "Epsilon, who is hidden among whom"
            blocks.append(rows_table(title, headings, rows, rank="details"))
    for name, moves in view.moves_of_others.items():
        blocks += [Heading(name, level=3), *said([moves_sentence(moves)])]
    if together := together_sentence(view):
        blocks += [Heading("All questions together", level=3), Sentence(together)]
    return blocks


def view_sentences(view: OutsiderView) -> list[str]:
    """What is said of one question, the local guarantee first."""
    shuffled = view.shuffled
    rounds = view.rounds
    among = f"{view.shuffled.people:,} people"
    local = shuffled.local_epsilon
    central = shuffled.epsilon
    delta = shuffled.delta
    if view.drawn:
        among = f"at least {among} who report" + " in the same round" * bool(rounds)
    condition = f"this second view {CONDITION}."
    if rounds is not None and rounds.changes is not None:
        hidden = "Who changes hides only among those who change in the same rounds."
        condition = f"{condition[:-1]}, and while answers stay. {hidden}"
    sentences = [
        "After one report, seen with its sender, a guess between two answers, both as likely "
        f"before, is right for at most {_right_at_most(local)} of 100 people (epsilon "
        f"{rounded_up(local, 4)}).",
        "After all reports without their senders it is right for at most "
        f"{_right_at_most(central, delta)}, hidden among {among} (epsilon "
        f"{rounded_up(central, 5)} at delta {delta_text(delta)}): {condition}",
    ]
    if view.guess is not None:
        success = of_hundred(view.guess.success)
        blind = of_hundred(
            view.guess.blind, ROUND_FLOOR
        )  # so that no gain looks smaller
        sentences.append(
            f"Guessing {WORDS[view.kind].guessed(view)} is right for {success} of 100 people after "
            f"one report, and for {blind} without any."
        )
    if view.swaying is not None and view.reach is not None:
        weakest = int(np.argmin(view.swaying))
        count = "estimated count" if rounds is None else "estimated count of a round"
        sentences.append(
            f"A false report moves an {count} of {view.levels[weakest]!r} by at most "
            f"{reach_up(float(view.reach[weakest]))} people: {view.swaying[weakest]:,} of "
            "them may move it by as much as its standard error."
        )
    return [*sentences, *filter(None, [moves_sentence(view.moves)])]


def moves_sentence(moves: FalseReports | None) -> str:
    """What one false report does to the estimates, counted alone; empty where it is unknown."""
    if moves is None:
        return ""
    most = moves.largest
    up = reach_up(float(moves.up[most]))
    down = reach_up(float(moves.down[most]))
    what = moves.moved[most]
    if moves.sizes:
        what = f"the count of an answer of {what!r}"
    elif moves.unit:
        what = f"the people {what}"
    if not moves.unit:
        sentence = f"One false report moves {what} by up to {up} up and {down} down."
    else:
        point = reach_up(float(moves.share_moved(1.0)[most]))
        sentence = (
            f"One false report moves {what} by up to {up} people up and {down} down; one per "
            f"cent of false reports its share by up to {point} points."
        )
    if moves.score_sum is not None:
        rise, fall = moves.score_sum
        sums = f"up to {reach_up(rise)} up and {reach_up(fall)} down"
        sentence = f"{sentence} The sum of the scores moves by {sums}."
    if moves.of_answering is not None:
        sentence = f"{sentence} {_of_answering(moves.of_answering)}"
    answers = moves.sizes[most] if moves.sizes else 0
    if moves.together is None or answers < 2:
        return sentence
    together = reach_up(moves.together(most, answers))
    return (
        f"{sentence} All {answers:,} of these answers together: {together} people up."
    )


def _of_answering(moves: FalseReports) -> str:
    """What one false report does to what is estimated for those who answer."""
    most = moves.largest
    up = reach_up(float(moves.up[most]))
    down = reach_up(float(moves.down[most]))
    what = moves.moved[most]
    return (
        f"Where N people answer, it moves {what} of these by up to {up} / N up and "
        f"{down} / N down."
    )


def together_sentence(view: SurveyOutsiderView) -> str:
    """What holds for all questions together; nothing where there is only one in all."""
    if len(view.questions) + len(view.left_out) < 2:
        return ""
    if view.epsilon is None or view.delta is None:
        names = ", ".join(map(repr, view.left_out))
        nothing = f"Nothing is said here of {names}: {_UNHIDDEN}."
        return f"{nothing} So no epsilon is claimed for all questions together."
    lists = (
        "all their reports"
        if view.asked is None
        else "the reports of the questions they get"
    )
    return (
        f"All questions together, each shuffled separately: {lists} hide a person with epsilon "
        f"{rounded_up(view.epsilon, 5)} at delta {delta_text(view.delta)}. This second view "
        f"{CONDITION}."
    )


def _right_at_most(epsilon: float, delta: float = 0.0) -> str:
    """How many of 100 guesses between two answers are right, at most."""
    return of_hundred(guess_success(epsilon, delta))


def of_hundred(share: float, rounding: str = ROUND_CEILING) -> str:
    """Guesses that are right of 100: never fewer than there are, if they are not rounded down.

    Two digits behind the point, or two that are not zero where the share is below 1 %.

    Examples
    --------
    >>> of_hundred(0.88079), of_hundred(0.5), of_hundred(0.00123), of_hundred(1 / 3, ROUND_FLOOR)
    ('88.08', '50', '0.13', '33.33')
    """
    digits = 2 if share >= 0.01 else -math.floor(math.log10(share)) - 1
    return f"{_rounded(share, digits + 2, rounding).scaleb(2):f}".rstrip("0").rstrip(
        "."
    )


def reach_up(people: float) -> str:
    """By how many people a false report moves a count: never shown smaller than it is.

    Examples
    --------
    >>> reach_up(2.111), reach_up(1234.5)
    ('2.12', '1,234.50')
    """
    return f"{_rounded(people, 2, ROUND_CEILING):,}"


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=rounding)
