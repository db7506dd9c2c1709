"""What an anchor question costs: how many people's answers a correction for attention takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.planning.power import drawn_variance

if TYPE_CHECKING:
    from planner.planning.question import QuestionPlan

_ATTENTIVE = (1.0, 0.8)  # shares of people who attend, at which the cost is stated


@dataclass(frozen=True, slots=True)
class AnchorCost:
    """How exact corrected shares of rare answers are.

    Attributes
    ----------
    question, known:
        The question that it is the anchor of, and the answer that is true of everybody.
    as_exact_as:
        By the share of people who attend, to both questions or to neither: how many people, all
        attentive and without a correction, would make a rare answer as exact as the corrected one.
    """

    question: str
    known: str
    as_exact_as: dict[float, int]


def anchor_cost(plan: QuestionPlan) -> AnchorCost | None:
    """The cost of an anchor; None of other questions, and where its law is not known by level.

    For people who attend to both questions or to neither. With ``u = 1/d`` a corrected share of 0
    has the variance ``(v((1 - g) u) + u^2 v* - 2 u^2 g (1 - g)) / (n g^2)``, where
    ``v* = v(g + (1 - g) u) / (1 - u)^2`` is that of ``g``, and ``-g (1 - g) u`` the covariance of
    the two. Without a correction and all attentive it is ``v(0) / n``. See
    :mod:`planner.estimates.attention`.
    """
    question = plan.question
    law = plan.planned.law
    known = getattr(question, "known", None)
    noise = getattr(law, "noise", None)
    if question.anchor_of is None or known is None or noise is None:
        return None
    signal = law.signal
    level_of_known = 0
    for number, level in enumerate(question.levels):
        if known in level.items:
            level_of_known = number
    even = 1 / sum(level.item_count for level in question.levels)
    people = {}
    for attentive in _ATTENTIVE:
        # Who does not attend (1 - g) gives any of the answers, evenly.
        by_chance = (1 - attentive) * even
        of_answer = drawn_variance(noise, signal, by_chance)
        of_known = drawn_variance(
            noise[level_of_known], signal[level_of_known], attentive + by_chance
        )
        of_attention = of_known / (1 - even) ** 2  # v*
        covariance = -attentive * (1 - attentive) * even  # of both
        corrected = of_answer + even**2 * of_attention + 2 * even * covariance
        corrected = corrected / attentive**2
        # Of the level that loses the most, rounded down.
        least_exact = float((noise / corrected).min())
        people[attentive] = int(plan.part.people * least_exact)
    return AnchorCost(question.anchor_of, known, people)
