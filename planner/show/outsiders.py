"""What outsiders learn, in sentences and tables.

People understand odds better than an epsilon (Nanayakkara, Smart, Cummings, Kaptchuk and Redmiles,
"What Are the Chances? Explaining the Epsilon Parameter in Differential Privacy", USENIX Security
2023, with 963 people): sentences are about guesses that are right for so many of 100 people.
Figures are exact, and rounded to the private side.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from math import exp, floor, log10

import numpy as np

from planner.outsiders.guarantee import CONDITION
from planner.planning.outsiders import OutsiderView, SurveyOutsiderView
from planner.policy.budget_text import delta_text, rounded_up
from planner.show.blocks import Block, Heading, Sentence, rows_table, said
from planner.show.kinds import WORDS

_UNHIDDEN = (
    "a question asked in two rounds, or with a pair of answers that no budget protects, is not "
    "hidden by shuffling"
)


def outsider_blocks(view: SurveyOutsiderView | None) -> list[Block]:
    """What outsiders learn."""
    if view is None:
        return [Sentence(f"{_UNHIDDEN.capitalize()}: what outsiders learn is what it promises.")]
    blocks: list[Block] = []
    headings = "between", "and", "one report", "if shuffled"
    for one in view.questions:
        blocks += [Heading(one.question, level=3), *said(view_sentences(one))]
        rows = [
            (first, second, rounded_up(local, 4), rounded_up(found, 5))
            for first, second, local, found in one.shuffled.pairs
        ]
        if len(rows) > 1:
            blocks.append(
                rows_table("Epsilon, who is hidden among whom", headings, rows, 2, "details")
            )
    together = together_sentence(view)
    if together:
        blocks += [Heading("All questions together", level=3), Sentence(together)]
    return blocks


def view_sentences(view: OutsiderView) -> list[str]:
    """What is said of one question, the local guarantee first."""
    return [*filter(None, (_local(view), _central(view), _guess(view), _false_reports(view)))]


def together_sentence(view: SurveyOutsiderView) -> str:
    """What holds for all questions together; nothing where there is only one in all."""
    if len(view.questions) + len(view.left_out) < 2:
        return ""
    if view.epsilon is None or view.delta is None:
        names = ", ".join(map(repr, view.left_out))
        nothing = f"Nothing is said here of {names}: {_UNHIDDEN}."
        return f"{nothing} So no epsilon is claimed for all questions together."
    each = "all their reports" if view.asked is None else "the reports of the questions they get"
    return (
        f"All questions together, each shuffled separately: {each} hide a person with epsilon "
        f"{rounded_up(view.epsilon, 5)} at delta {delta_text(view.delta)}. This second view "
        f"{CONDITION}."
    )


def _local(view: OutsiderView) -> str:
    local = view.shuffled.local_epsilon
    return (
        "After one report, seen with its sender, a guess between two answers, both as likely "
        f"before, is right for at most {_right_at_most(local)} of 100 people (epsilon "
        f"{rounded_up(local, 4)})."
    )


def _central(view: OutsiderView) -> str:
    found, among = view.shuffled, f"{view.shuffled.people:,} people"
    if view.drawn:
        among = f"at least {among} who report" + " in the same round" * bool(view.rounds)
    text = (
        f"After all reports without their senders it is right for at most "
        f"{_right_at_most(found.epsilon, found.delta)}, hidden among {among} "
        f"(epsilon {rounded_up(found.epsilon, 5)} at delta {delta_text(found.delta)}): this "
        f"second view {CONDITION}."
    )
    if view.rounds is None or view.rounds.changes is None:
        return text
    hidden = "Who changes hides only among those who change in the same rounds."
    return f"{text[:-1]}, and while answers stay. {hidden}"


def _guess(view: OutsiderView) -> str:
    if view.guess is None:
        return ""
    success = of_hundred(view.guess.success)
    blind = of_hundred(view.guess.blind, ROUND_FLOOR)  # so that no gain looks smaller
    return (
        f"Guessing {WORDS[view.kind].guessed(view)} is right for {success} of 100 people after one "
        f"report, and for {blind} without any."
    )


def _false_reports(view: OutsiderView) -> str:
    if view.swaying is None or view.reach is None:
        return ""
    weakest = int(np.argmin(view.swaying))
    count = "estimated count" if view.rounds is None else "estimated count of a round"
    return (
        f"A false report moves an {count} of {view.levels[weakest]!r} by at most "
        f"{reach_up(float(view.reach[weakest]))} people: {view.swaying[weakest]:,} of "
        "them may move it by as much as its standard error."
    )


def _right_at_most(epsilon: float, delta: float = 0.0) -> str:
    """How many of 100 guesses between two answers are right, at most.

    Whatever is seen, one answer is at most e^epsilon times as likely as the other, but for delta:
    as many as ``(e^epsilon + delta) / (1 + e^epsilon)`` are right.
    """
    return of_hundred(min(1.0, (1 + delta * exp(-epsilon)) / (1 + exp(-epsilon))))


def of_hundred(share: float, rounding: str = ROUND_CEILING) -> str:
    """Guesses that are right of 100: never fewer than there are, if they are not rounded down.

    Two digits behind the point, or two that are not zero where the share is below 1 %.

    Examples
    --------
    >>> of_hundred(0.88079), of_hundred(0.5), of_hundred(0.00123), of_hundred(1 / 3, ROUND_FLOOR)
    ('88.08', '50', '0.13', '33.33')
    """
    digits = 2 if share >= 0.01 else -floor(log10(share)) - 1
    return f"{_rounded(share, digits + 2, rounding).scaleb(2):f}".rstrip("0").rstrip(".")


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
