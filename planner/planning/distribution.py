"""The distribution of a number: how many cells its range is cut into, and the channel for them."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import budget, whole_number
from planner.arrays import Array
from planner.errors import InputError
from planner.estimates.channel import ChannelEstimates, OrderedEstimates
from planner.estimates.distribution import (
    DistributionEstimates,
    estimate_distribution,
)
from planner.estimates.rows import end_names
from planner.limits import CONFIDENCE
from planner.mechanisms.rounding import drawn_channel
from planner.planning.channels import NO_ANSWER, best_ordered_channel
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Channel
from planner.survey.levels import Level, NumericDomain
from planner.survey.numeric import DISTRIBUTION, Numeric
from planner.survey.ordinal import CHANNEL, MAX_ORDERED_ANSWERS, NumberCells
from planner.survey.question import BEST
from planner.survey.questions import Question
from planner.survey.survey import Survey

CELL_COUNTS = (8, 16, 32, 64)
"""Numbers of cells among which the plan chooses; up to 256 may be asked for."""

# Standard errors of a share, below a cell's share of people alike. By the benchmark of
# distributions: at 3 smooth curves are up to a quarter farther, at 4 narrow spikes are.
_ERRORS_A_CELL = 4.0
_MOST_SPENT = 8.0  # nats: more leaves no noise to lose, and proofs run out of digits
_CHANNEL_GAP = 1e-4


@dataclass(frozen=True, eq=False)
class DistributionPlan:
    """A number's cells, their channel as it is drawn, and what its shares up to cells would be.

    Attributes
    ----------
    domain, epsilon, people:
        Range of the number; budget of any two answers, in nats; people who report.
    channel:
        For the shares up to each cell, with its rounded probabilities. The last answer is "no
        answer" where there are ``refusals``.
    refusals:
        Whether people may have no answer, which is protected like any other.
    reason:
        Why there are so many cells.
    """

    domain: NumericDomain
    epsilon: float
    people: int
    channel: Channel
    refusals: bool
    reason: str

    @property
    def cells(self) -> int:
        """Number of cells of equal width."""
        return self.channel.policy.size - self.refusals

    @property
    def edges(self) -> Array:
        """Ends of the cells, shape ``(cells + 1,)``."""
        domain = self.domain
        return np.linspace(domain.lower, domain.upper, self.cells + 1)

    @property
    def standard_error(self) -> float:
        """Root mean square error of a share up to a cell, for the least favourable people."""
        return _noise(self.channel, self.people, self.cells)

    def drawn_counts(self, answers: ArrayLike, rng: np.random.Generator) -> Array:
        """How many people of these answers would send each report: a simulation."""
        cells = cell_of(self.domain, self.cells, answers, refusals=self.refusals)
        people = np.bincount(cells, minlength=self.channel.policy.size)
        # One row for the people of each cell; their reports are added up.
        reports = rng.multinomial(people, self.channel.matrix)
        return np.asarray(reports.sum(axis=0))

    def estimate(
        self, counts: ArrayLike, confidence: float = CONFIDENCE
    ) -> DistributionEstimates:
        """The distribution from the number of people who sent each report."""
        edges = self.edges
        return estimate_distribution(
            self.channel, edges, counts, confidence, no_answer=self.refusals
        )

    def expected(
        self, center: float, spread: float, missing: float = 0.0
    ) -> OrderedEstimates:
        """What would be seen on average of people whose numbers are normal around a center.

        Those beyond an end of the range have that end; ``spread`` is the standard deviation above
        0, both in the number's unit, ``missing`` the share without an answer. Limits are those of
        a survey whose estimates happen to be right.
        """
        normal = NormalDist(center, spread)
        inner_edges = self.edges[1:-1].tolist()
        # Whoever is beyond an end of the range is in its first or last cell.
        up_to = [0.0, *map(normal.cdf, inner_edges), 1.0]
        shares = np.diff(up_to)
        if self.refusals:
            shares = np.append((1 - missing) * shares, missing)
        channel = self.channel
        covariance = channel.covariance(shares, drawn=True) / self.people
        average = ChannelEstimates(channel.wanted @ shares, covariance, self.people)
        up_to_ends = average.of_shares_up_to(no_answer=self.refusals)
        return OrderedEstimates(
            answers=tuple(end_names(self.edges)[1:]),
            values=up_to_ends.values,
            covariance=up_to_ends.covariance,
            users=up_to_ends.users,
            law=up_to_ends.law,
        )

    def question(self, name: str) -> NumberCells:
        """The cells as a question with ordered answers: numbers are put into them on the device."""
        ends = pairwise(end_names(self.edges))
        items = [f"{first} to {last}" for first, last in ends]
        no_answer = None
        if self.refusals:
            no_answer = NO_ANSWER
            items.append(NO_ANSWER)
        level = Level(name=name, epsilon=self.epsilon, items=tuple(items))
        return NumberCells(
            name=name,
            level=(level,),
            no_answer=no_answer,
            lower=self.domain.lower,
            upper=self.domain.upper,
            reason=self.reason,
        )


def plan_distribution(
    lower: float,
    upper: float,
    *,
    epsilon: float,
    people: int,
    refusals: bool = False,
    cells: int | None = None,
) -> DistributionPlan:
    """Plan a question for the distribution of a number.

    More cells show finer shapes and have noisier shares: the number is doubled as long as a cell
    that holds its even share of the people, ``1 / cells``, is at least four standard errors of a
    share up to it. Up to 16 cells the channel is proven to be the best; of more it is searched for,
    and its certificate says how near a bound it is.

    Parameters
    ----------
    lower, upper:
        Range of the number.
    epsilon:
        Budget of any two answers, in nats, of which at most 8 are spent.
    people:
        How many report.
    refusals:
        Whether people may have no answer.
    cells:
        A number of cells of one's own, 2 to 256 with "no answer"; chosen when omitted.

    Raises
    ------
    InputError
        A number out of range.

    Examples
    --------
    >>> plan = plan_distribution(0, 1, epsilon=1.0, people=100_000)
    >>> plan.cells
    16
    >>> plan.reason.partition(",")[0]
    '16 cells: a share up to one has a standard error of 0.71 %'
    """
    domain = NumericDomain(lower, upper)
    budget("epsilon", epsilon)
    whole_number("people", people)
    if cells is not None:
        most = MAX_ORDERED_ANSWERS - refusals
        if not 2 <= whole_number("cells", cells) <= most:
            remedy = "Leave cells out to have them chosen."
            raise InputError("cells", cells, f"from 2 to {most}", remedy)
        channel = _channel_of(cells, epsilon, refusals)
        return DistributionPlan(
            domain, epsilon, people, channel, refusals, f"{cells} cells, as asked."
        )
    # From the coarsest on, as finding a channel takes longer the more cells there are.
    chosen = CELL_COUNTS[0]
    channel = _channel_of(chosen, epsilon, refusals)
    error = _noise(channel, people, chosen)
    reason = (
        f"{CELL_COUNTS[-1]} cells, the most that are chosen: a finer file grows large."
    )
    for finer in CELL_COUNTS[1:]:
        next_channel = _channel_of(finer, epsilon, refusals)
        next_error = _noise(next_channel, people, finer)
        if _ERRORS_A_CELL * next_error > 1 / finer:
            reason = (
                f"{chosen} cells: a share up to one has a standard error of {100 * error:.2f} %, "
                f"with {finer} cells of {100 * next_error:.2f} %, more than a quarter of the "
                f"{100 / finer:.1f} % in a cell."
            ).replace("%", " %")
            break
        chosen = finer
        channel = next_channel
        error = next_error
    return DistributionPlan(domain, epsilon, people, channel, refusals, reason)


def cell_of(
    domain: NumericDomain, cells: int, answers: ArrayLike, *, refusals: bool
) -> Array:
    """The cell of each answer, from 0, of so many of equal width; NaN is one more than the last.

    A number on the end between two cells is in the upper one. InputError for an answer outside
    the range, or NaN where nobody may refuse.

    Examples
    --------
    >>> cell_of(NumericDomain(0, 80), 8, [0, 9.9, 10, 80, np.nan], refusals=True).tolist()
    [0, 0, 1, 7, 8]
    """
    values = domain.answers(answers)
    missing = np.isnan(values)  # NaN is no answer
    if missing.any() and not refusals:
        remedy = "Plan with refusals, or leave these people out."
        raise InputError("answers", "NaN", "a number for everybody", remedy)
    given = np.where(missing, domain.lower, values)
    width = domain.upper - domain.lower
    share = (given - domain.lower) / width
    whole = (share * cells).astype(np.int64)
    # The upper end of the range belongs to the last cell.
    last = cells - 1
    cell = np.minimum(whole, last)
    return np.where(missing, cells, cell)


def with_cells(survey: Survey) -> Survey:
    """The survey with cells in place of each number whose distribution is wanted.

    How many cells there are is chosen for the people who have a number and, where several
    questions share the budgets, for an even share of these: all of the budget of as many people
    as are asked each question, or its part of everybody's. Other surveys are returned as they are.

    Examples
    --------
    >>> age = Numeric("age", 0, 80, epsilon=2.0, of="distribution", refusals=0)
    >>> (cells,) = with_cells(Survey("s", 10_000, (age,))).questions
    >>> len(cells.ordered), cells.ordered[0], cells.ordered[-1]
    (16, '0 to 5', '75 to 80')
    """
    sharing = sum(question.shares_budgets for question in survey.questions)
    # How many questions a person answers: all of them share the budgets.
    asked = sharing
    if survey.design != "split":
        asked = survey.asked or 1
    questions: list[Question] = []
    for question in survey.questions:
        if isinstance(question, Numeric) and question.of == DISTRIBUTION:
            people_asked = survey.users * asked / sharing
            people = max(1, int(people_asked * (1 - question.refusing)))
            questions.append(_cells_of(question, people, asked))
        else:
            questions.append(question)
    # The very survey, so that what is remembered of it is found again.
    if all(map(operator.is_, questions, survey.questions)):
        return survey
    return survey.replacing(questions=tuple(questions))


def _cells_of(question: Numeric, people: int, asked: int) -> NumberCells:
    """The cells of a number that so many people have, who answer so many questions each."""
    epsilon = float(question.policy.epsilons[0])
    plan = _planned(
        question.lower,
        question.upper,
        epsilon=epsilon / asked,
        people=people,
        refusals=question.refusing > 0,
        cells=question.cells,
    )
    reason = f"{plan.reason} Planned for {people:,} people who have a number."
    mechanism = question.mechanism
    if mechanism == BEST:
        mechanism = CHANNEL
    stated = replace(plan, epsilon=epsilon, reason=reason)
    cells = stated.question(question.name)
    return cells.replacing(
        mechanism=mechanism,
        weight=question.weight,
        targets=question.targets,
        rounds=question.rounds,
        ask=question.ask,
        columns=question.columns,
        missing=question.missing,
        recode=question.recode,
    )


def expected_of_cells(
    cells: NumberCells, people: int, spread: float
) -> tuple[Array, OrderedEstimates]:
    """What would be seen of so many people whose numbers are around the middle of the range.

    The ends of the cells, ``(d + 1,)``, and the shares up to each but the first, with limits.
    ``spread`` is the standard deviation of the numbers as a share of half the range, above 0.

    Examples
    --------
    >>> age = Numeric("age", 0, 80, epsilon=2.0, of="distribution", refusals=0)
    >>> (cells,) = with_cells(Survey("s", 10_000, (age,))).questions
    >>> edges, expected = expected_of_cells(cells, 10_000, spread=0.3)
    >>> edges[:2].tolist(), expected.quantile().answer
    ([0.0, 5.0], '40')
    """
    no_answer = cells.no_answer is not None
    plan = _planned(
        cells.lower,
        cells.upper,
        epsilon=float(cells.policy.epsilons[0]),
        people=people,
        refusals=no_answer,
        cells=len(cells.ordered) - no_answer,
    )
    radius = (cells.upper - cells.lower) / 2
    center = cells.lower + radius
    return plan.edges, plan.expected(center, spread * radius)


# A survey is planned several times over.
_planned = lru_cache(maxsize=16)(plan_distribution)


def _channel_of(cells: int, epsilon: float, refusals: bool) -> Channel:
    answers = cells + refusals
    spent = min(epsilon, _MOST_SPENT)
    # Neighbouring cells are protected like distant ones: any two answers have one budget.
    policy = PrivacyPolicy([spent] * answers, [1] * answers)
    channel = best_ordered_channel(policy, no_answer=refusals, tolerance=_CHANNEL_GAP)
    return drawn_channel(channel)


def _noise(channel: Channel, people: int, cells: int) -> float:
    """Root mean square error of a share, of the least favourable people.

    The worst-case error adds up the variances of the shares up to each cell but the last.
    """
    return sqrt(channel.worst_error / (cells - 1) / people)
