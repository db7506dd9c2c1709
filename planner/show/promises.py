"""What a report says of its sender: odds, what is promised of them, and what outsiders learn.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
Figures are exact, and rounded to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
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
from planner.show.kinds import WORDS, words
from planner.show.two_rounds import views_in_words
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
    # Which other answer it is matters where tables differ by it: then both ends are said.
    others = _of_hundred(levels.b[level])
    least = _of_hundred(levels.least_b[level])
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
    if channel is not None:
        return dict(zip(channel.symbols, shape.rows, strict=True))
    if not question.of_mean:
        return {}
    # A number is rounded at random to a grid point, here an end of its range, before it is drawn.
    ends = (f"{question.lower:g}", f"{question.upper:g}", "no answer")
    return dict(zip(ends, shape.rows, strict=True))


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
    second_row = np.array(rows[second])
    speaks_for_first = first_row > second_row
    # Rows are whole numbers over a common denominator, which is their sum.
    with_first = float(first_row[speaks_for_first].sum() / first_row.sum())
    with_second = float(second_row[speaks_for_first].sum() / second_row.sum())
    text = (
        f"Of 100 people whose answer about {plan.name} is {first!r}, {_of_hundred(with_first)} "
        f"send a report that speaks for it against {second!r}; of 100 with {second!r}, "
        f"{_of_hundred(with_second)} do."
    )
    return text, with_first, with_second


def _of_hundred(probability: float) -> str:
    """How many of 100 people do something: whole, but near 0 and 100, where digits matter."""
    shown = 100 * float(probability)
    if shown < 1:
        return f"{shown:.2g}"
    if shown > 99:
        return f"{shown:.4g}"
    return f"{shown:.0f}"


def beliefs_columns(
    names: Sequence[str], low: Array, high: Array
) -> tuple[Column, ...]:
    """The columns of beliefs: how likely an answer of each level may be held, rounded outwards."""
    return (
        column("an answer of", names),
        column("then at least", low, lambda x: f"{math.floor(x * 1e4) / 1e2:.2f} %"),
        column("at most", high, lambda x: f"{math.ceil(x * 1e4) / 1e2:.2f} %"),
    )


def _by_level(names: Sequence[str], budgets: Array, whose: str) -> str:
    """The factors of levels with a budget: all of few, else the least and the largest."""
    factors = set()
    levels = []
    for name, budget in zip(names, budgets.tolist(), strict=True):
        if budget > 0:  # without one nothing is promised, which is said elsewhere
            factors.add(factor_up(budget))
            levels.append((budget, f"{factor_up(budget)}-fold {whose} {name!r}"))
    if len(factors) == 1:
        return f"{factors.pop()}-fold"
    if len(levels) > _NAMED_LEVELS:
        return f"from {min(levels)[1]} to {max(levels)[1]}, by its level"
    *others, last = [text for _, text in levels]
    return f"{', '.join(others)} and {last}"


def unprotected(levels: Levels) -> str:
    """Which answers a report tells apart for certain; empty where every two have a budget.

    Levels are connected by pairs with a budget, also over others: odds along such a chain
    multiply, so that between connected levels some factor holds.
    """
    groups = [", ".join(map(repr, members)) for members in levels.connected()]
    if len(groups) == 1:
        return ""
    if len(groups) > _NAMED_LEVELS:
        groups = [*groups[:2], f"{len(groups) - 2} more"]
    return (
        f"NO BUDGET PROTECTS {' FROM '.join(groups)}: every report tells for certain which of "
        "these its answer is from, to whoever sees it."
    )


def is_alike(realised: Array) -> bool:
    """Whether reports say as much against answers as for them, ``realised`` of both."""
    raised, lowered = realised
    return bool(np.allclose(raised, lowered, rtol=_ALIKE))


def _odds_change(between: str, most: str) -> str:
    """The promise of a question or of one view of it."""
    return f"No report changes the odds between {between} more than {most}, {_WHOEVER}."


def guessed_right(epsilon: float) -> int:
    """How many of 100 guesses between two answers with this budget are right at most.

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
    sentences = []
    for question in plan.questions:
        for promise in promises_of(question):
            sentences.append(f"{question.name}: {promise}")
    return sentences


def promises_of(plan: QuestionPlan) -> list[str]:
    """What one question promises, rounded up, and what it does not: in words for a lawyer.

    A sentence, or one for each view of its guarantee.
    """
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:
        return list(views_in_words(sampling))
    sets = plan.fact(SetPromises)
    if sets is not None:
        return _set_promises(plan, sets)
    policy = plan.deployed.policy
    between = words(plan).between
    openly = []
    if policy.rule.open_pairs:
        # What is not promised is said as loudly as what is.
        between = "two answers that are protected from each other"
        openly = [text for text in [unprotected(policy.plain())] if text]
    raised, lowered = plan.realised
    if not raised.any():
        return openly
    whose = words(plan).whose
    most = _by_level(policy.names, raised, whose)
    if is_alike(plan.realised):
        return [_odds_change(between, most), *openly]
    at_worst = _by_level(policy.names, lowered, whose)
    return [_one_sided_promise(most, at_worst, raised, lowered), *openly]


def _set_promises(plan: QuestionPlan, sets: SetPromises) -> list[str]:
    """What is promised of sets: of any two, and of two that differ in one answer alone.

    The second is the stronger one where the cap is above the budget (docs/theory/item-sets.md).
    """
    cap = f"{factor_up(sets.cap)}-fold"
    sentences = [_odds_change(words(plan).between, cap)]
    if sets.cap > sets.epsilon:
        sentences.append(
            "For whoever knows all of a person's answers but one, the odds of that one change "
            f"at most {factor_up(sets.epsilon)}-fold; several sensitive answers together have "
            "the first promise alone."
        )
    return sentences


def _one_sided_promise(most: str, at_worst: str, raised: Array, lowered: Array) -> str:
    """The promise where a report may lower odds by another factor than it may raise them.

    One-sided budgets bound how much a report speaks for an answer. Against one it may speak up to
    a bound of its own, or the largest budget of the others (docs/theory/one-sided.md).
    """
    if not at_worst.startswith("from"):  # "from a to b" says the range already
        at_worst = f"up to {at_worst}"
    without = ""
    if (lowered > raised * (1 + _ALIKE)).any():
        without = ": somebody may become known to be WITHOUT an answer"
    return (
        f"No report raises the odds of an answer against any other more than {most}, "
        f"{_WHOEVER}; it may lower them {at_worst}{without}."
    )


def unused_sentence(plan: QuestionPlan) -> str:
    """Which budgets are above what reports use of them; empty where none are.

    Less than 1 % is the rounding to integers, inward. Sets are left out: a report is about one of
    their answers, and uses less by padding. So are levels that nothing is realised of one way.
    """
    if plan.fact(Padded) is not None or not plan.question.locally_private:
        return ""
    policy = plan.deployed.policy
    used = plan.realised
    spent = policy.largest_each_way
    is_unused = (used < 0.99 * spent).any(axis=0) & (used > 0).all(axis=0)
    unused = []
    for i in np.flatnonzero(is_unused):
        most_used = rounded_up(used[:, i].max(), 4)
        most_spent = rounded_up(spent[:, i].max(), 4)
        unused.append(f"{most_used} of {most_spent} for {policy.names[i]!r}")
    if not unused:
        return ""
    return f"Reports use less than the budgets: {listed(unused, _NAMED_LEVELS)}."


def pair_rows(law: Law) -> list[Document]:
    """Each pair's realised and demanded budget; ``None`` where none is demanded."""
    names = law.shape.labels
    rows: list[Document] = []
    for pair in law.pairs:
        demanded = pair.demanded
        rows.append(
            {
                "level": names[pair.first],
                "against": names[pair.second],
                "realised": pair.realised,
                # JSON has no infinity, which stands for a pair without a budget.
                "demanded": demanded if math.isfinite(demanded) else None,
            }
        )
    return rows


def pairs_table(law: Law) -> Table:
    """What is proven of a law, pair by pair of levels.

    What is realised is rounded up and what is promised down: the table never looks better than
    the proof.
    """
    rows = []
    for pair in pair_rows(law):
        promised = "none"
        if pair["demanded"] is not None:
            promised = lowered(pair["demanded"], 12)
        realised = rounded_up(pair["realised"], 12)
        rows.append((pair["level"], pair["against"], realised, promised))
    headings = ("level", "against", "realised epsilon", "promised epsilon")
    return rows_table(law.name, headings, rows)


def verification_blocks(parameters: Parameters) -> list[Block]:
    """What is proven again of parameters, pair by pair."""
    title = f"{parameters.survey}: parameters for {parameters.users:,} people"
    blocks: list[Block] = [
        Heading(title, level=1),
        *map(pairs_table, parameters.questions),
    ]
    openly = [unprotected(question.shape.levels) for question in parameters.questions]
    blocks += said(openly, "note")
    if not any(question.pairs for question in parameters.questions):
        # No pair to prove anything of: "every pair keeps its budget" would be true, and a lie.
        proven = "No pair of answers has a budget: the file protects nothing."
    elif any(openly):
        proven = (
            "Every pair that has one keeps its promised budget, proven in exact integer "
            "arithmetic."
        )
    else:
        proven = (
            "Every pair keeps its promised budget, proven in exact integer arithmetic."
        )
    blocks.append(Sentence(proven, tone="proof"))
    return blocks


# What outsiders learn


def outsider_blocks(view: SurveyOutsiderView) -> list[Block]:
    """What outsiders learn."""
    blocks: list[Block] = []
    if not view.questions:
        promised = "what outsiders learn is what it promises."
        blocks.append(Sentence(f"{_UNHIDDEN.capitalize()}: {promised}"))
    for question_view in view.questions:
        blocks.append(Heading(question_view.question, level=3))
        blocks += said(view_sentences(question_view))
        pairs = question_view.shuffled.pairs
        if len(pairs) > 1:  # a single one stands in the sentences
            blocks.append(_shuffled_table(pairs))
    for name, moves in view.moves_of_others.items():
        blocks.append(Heading(name, level=3))
        blocks += said([moves_sentence(moves)])
    together = together_sentence(view)
    if together:
        blocks.append(Heading("All questions together", level=3))
        blocks.append(Sentence(together))
    return blocks


def _shuffled_table(pairs: Iterable[tuple[str, str, float, float]]) -> Table:
    """Who is hidden among whom, with one report and with all of them shuffled."""
    rows = []
    for first, second, local, central in pairs:
        rows.append((first, second, rounded_up(local, 4), rounded_up(central, 5)))
    title = "Epsilon, who is hidden among whom"
    headings = ("between", "and", "one report", "if shuffled")
    return rows_table(title, headings, rows, rank="details")


def view_sentences(view: OutsiderView) -> list[str]:
    """What is said of one question, the local guarantee first.

    The local one holds whatever happens. The second rests on who shuffles, and on the privacy
    blanket of the other people's reports (docs/theory/outsiders.md): its condition is said with it.
    """
    shuffled = view.shuffled
    rounds = view.rounds
    local = shuffled.local_epsilon
    central = shuffled.epsilon
    delta = shuffled.delta
    among = f"{shuffled.people:,} people"
    if view.drawn:  # how many report is drawn at random: the fewest are counted on
        among = f"at least {among} who report"
        if rounds:
            among = f"{among} in the same round"
    condition = f"this second view {CONDITION}."
    if rounds is not None and rounds.changes is not None:
        hidden = "Who changes hides only among those who change in the same rounds."
        condition = f"{condition[:-1]}, and while answers stay. {hidden}"
    if view.anchored:
        hidden = "Who attends hides only among those who do, as its anchor shows."
        condition = f"{condition} {hidden}"
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
        # Rounded down, so that what a report adds never looks smaller than it is.
        blind = of_hundred(view.guess.blind, ROUND_FLOOR)
        sentences.append(
            f"Guessing {WORDS[view.kind].guessed(view)} is right for {success} of 100 people after "
            f"one report, and for {blind} without any."
        )
    if view.reports_per_error is not None and view.reach is not None:
        # The level that the fewest false reports sway is the one to worry about.
        weakest = int(np.argmin(view.reports_per_error))
        count = "estimated count of a round"
        if rounds is None:
            count = "estimated count"
        sentences.append(
            f"A false report moves an {count} of {view.levels[weakest]!r} by at most "
            f"{reach_up(float(view.reach[weakest]))} people: "
            f"{view.reports_per_error[weakest]:,} of them may move it by as much as "
            "its standard error."
        )
    if view.moves is not None:
        sentences.append(moves_sentence(view.moves))
    return sentences


def _up_and_down(rise: float, fall: float) -> str:
    """How far a sum may move each way; a move that is not positive is one the other way."""
    if fall <= 0:
        return f"by up to {reach_up(rise)} up, and never down"
    if rise <= 0:
        return f"by up to {reach_up(fall)} down, and never up"
    return f"by up to {reach_up(rise)} up and {reach_up(fall)} down"


def moves_sentence(moves: FalseReports | None) -> str:
    """What one false report does to the estimates, counted alone; empty where it is unknown.

    It is said of the estimate that moves most: what a report may be is bounded by its law, so that
    nobody's report counts for more (docs/theory/outsiders.md, "False reports").
    """
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
        sums = _up_and_down(rise, fall)
        sentence = f"{sentence} The sum of the scores moves {sums}."
    if moves.of_answering is not None:
        sentence = f"{sentence} {_of_answering(moves.of_answering)}"
    # A report that names many answers of a level at once moves their sum by more than one count.
    if moves.together is None or not moves.sizes:
        return sentence
    answers = moves.sizes[most]
    if answers < 2:
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
    """What holds for all questions together; nothing where there is only one in all.

    Guarantees compose over all questions or over none: where one is not hidden by shuffling, a
    total of the others would be read as one of the survey.
    """
    if len(view.questions) + len(view.left_out) < 2:
        return ""
    if view.epsilon is None or view.delta is None:
        names = ", ".join(map(repr, view.left_out))
        nothing = f"Nothing is said here of {names}: {_UNHIDDEN}."
        return f"{nothing} So no epsilon is claimed for all questions together."
    reports = "the reports of the questions they get"
    if view.asked is None:
        reports = "all their reports"
    return (
        f"All questions together, each shuffled separately: {reports} hide a person with epsilon "
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
    digits = 2
    if share < 0.01:
        digits = -math.floor(math.log10(share)) - 1
    shown = f"{_rounded(share, digits + 2, rounding).scaleb(2):f}"
    return shown.rstrip("0").rstrip(".")


def reach_up(people: float) -> str:
    """The people by which a false report moves a count, as text: never smaller than it is.

    Examples
    --------
    >>> reach_up(2.111), reach_up(1234.5)
    ('2.12', '1,234.50')
    """
    return f"{_rounded(people, 2, ROUND_CEILING):,}"


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    """A number with so many decimals: by way of decimals, as floats would round it twice."""
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), rounding=rounding)
