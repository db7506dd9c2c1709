"""What an outsider learns from planned questions: beside the local guarantee, never instead.

Computed when somebody asks for it, from the mechanism that is deployed. Whoever sees reports with
their senders has the local guarantee and nothing else; the second view needs a shuffler or a
secure sum, and every sentence about it says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import nlargest
from math import floor, log10

import numpy as np

from planner.arguments import finite
from planner.arrays import Array, Whole
from planner.laws.rounds import Rounds
from planner.mechanisms.making import law_of
from planner.outsiders.false_reports import FalseReports, false_reports
from planner.outsiders.guarantee import MOST_PEOPLE, ShuffledGuarantee, shuffled
from planner.outsiders.shapes import Guess, of_policy, seen_of
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Question

_MOST_PAIRED = 5  # beyond it all levels together: fifteen pairs take most of a second


@dataclass(frozen=True, slots=True, eq=False)
class OutsiderView:
    """What an outsider learns of one question, beside the local guarantee.

    A ``guess`` is of one of so many ``answers`` (points of its range, of a number), or of a person
    who has any ``set_size`` of them.
    A false report moves a level's count, of one round where there are ``rounds``, by ``reach``
    people at most in place of an honest one; ``reports_per_error`` of them may move it by its
    standard error.
    ``moves`` says the same of all kinds, a report counted alone. Of those who ``drawn``
    by lot report, the ``shuffled`` guarantee counts as many as there are but for a part of delta.
    Where the question is ``anchored`` it counts people who all say the same to its anchor.
    """

    question: str
    shuffled: ShuffledGuarantee
    guess: Guess | None
    kind: str
    answers: int
    set_size: int
    levels: tuple[str, ...]
    reach: Array | None
    reports_per_error: Whole | None
    moves: FalseReports | None
    drawn: bool
    rounds: Rounds | None
    anchored: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class SurveyOutsiderView:
    """What an outsider learns from all questions of a survey that share its budgets.

    Of those that are ``left_out``, which shuffling does not hide, ``moves_of_others`` says by their
    names what a false report does.
    """

    questions: tuple[OutsiderView, ...]
    asked: int | None
    left_out: tuple[str, ...] = ()
    moves_of_others: Mapping[str, FalseReports] = field(default_factory=dict)

    @property
    def epsilon(self) -> float | None:
        """Central epsilon of all reports of a person, each question shuffled separately; nats.

        They add up over the questions that a person answers. None where a question is left out: no
        epsilon holds for all of them.
        """
        return self._together([view.shuffled.epsilon for view in self.questions])

    @property
    def delta(self) -> float | None:
        """Delta that belongs to :attr:`epsilon`."""
        return self._together([view.shuffled.delta for view in self.questions])

    def _together(self, guarantees: list[float]) -> float | None:
        """The epsilon of all questions that a person answers, by basic composition."""
        if self.left_out:
            return None
        if self.asked is None:
            return sum(guarantees)
        # Who answers so many questions may have been asked the costliest.
        return sum(nlargest(self.asked, guarantees))


def negligible(people: int) -> float:
    """A delta far below one over the people: a power of ten, at most a hundredth of that."""
    power = log10(1 / (100 * people))
    return float(10.0 ** floor(power + 1e-12))


def outsider_view(
    question: Question,
    mechanism: object,
    people: int,
    standard_errors: Array | None,
    delta: float | None = None,
    fraction: float = 1.0,
) -> OutsiderView | None:
    """The view of a question's mechanism; None where its budgets leave some pair unprotected.

    A ``fraction`` of the people, drawn by lot, are asked it. Where it is asked again a report tells
    its round, or that it is of a later value, and a report that is repeated hides nobody else: it
    hides among one of ``groups`` rotation groups of those people, by lot.
    """
    policy = question.policy
    if not question.levels:  # one level for all numbers, and no answer
        policy = PrivacyPolicy(policy.epsilons, [2], names=["any answer"])
    if not np.isfinite(policy.ldp_epsilon):
        return None
    law = law_of(question, mechanism)
    seen = seen_of(law.shape)
    rounds = None
    groups = 1
    if question.rounds is not None:
        rounds = question.rounds.deployed
    if rounds is not None:
        groups = rounds.rotation_groups
    among = min(people, MOST_PEOPLE)
    if delta is None:
        delta = negligible(max(1, round(fraction * among)))
    drawn = fraction < groups
    delta_of_shuffling = delta
    if drawn and 0 < finite("delta", delta) < 1:
        from scipy.stats import binom

        # How many of the others report is binomial. Fewer than ``least`` do with a hundredth of
        # delta at most; the rest of it is left to the shuffling of these and of who hides.
        least = int(binom.ppf(delta / 100, among - 1, fraction / groups))
        among = 1 + max(0, least)
        delta_of_shuffling = 0.99 * delta
    # Among more pairs of levels the search for an epsilon would take seconds.
    hidden = seen
    if len(seen.names) > _MOST_PAIRED:
        items = int(policy.item_counts.sum())
        # One level with the largest budget of any pair: a bound on what they have.
        together = PrivacyPolicy([policy.ldp_epsilon], [items], names=["any answer"])
        hidden = of_policy(together)
    reach = None
    reports_per_error = None
    if standard_errors is not None and seen.reach is not None:
        reach = groups * seen.reach  # counts of a round are scaled to all people
        reports_per_error = np.ceil(standard_errors / reach).astype(np.int64)
    # Of a number the points of its range, without "no answer".
    answers = len(seen.names) - 1
    if question.levels:
        answers = int(question.policy.item_counts.sum())
    return OutsiderView(
        question=question.name,
        shuffled=replace(shuffled(hidden, among, delta_of_shuffling), delta=delta),
        guess=seen.guess(),
        kind=question.kind,
        answers=answers,
        set_size=seen.set_size,
        levels=policy.names,
        reach=reach,
        reports_per_error=reports_per_error,
        moves=false_reports(law),
        drawn=drawn,
        rounds=rounds,
    )
