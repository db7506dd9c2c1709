"""The best channels, with proof: for a mean of assumed answers, and for ordered answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from math import erfc, sqrt

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import finite, number_column, whole_number
from planner.arrays import Array
from planner.errors import InputError, SolverError
from planner.estimates.channel import ChannelEstimates, OrderedEstimates, shares_up_to
from planner.laws.answers import COUNTS, MEAN_OF_SCORES, SHARES_UP_TO
from planner.limits import MAX_EPSILON
from planner.mechanisms.rivals import bisample_variance
from planner.mechanisms.rounding import drawn_channel
from planner.planning.kind import Kind, PlanFacts
from planner.planning.option import (
    Curve,
    ErrorLaw,
    Option,
    Part,
    choice_curve,
    mean_curve,
)
from planner.planning.solve import FORGET, REMEMBERED
from planner.policy.objective import LEAST_WEIGHT
from planner.policy.pair_rule import PairRule
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import MatrixRule
from planner.solvers.answers import Channel, Scenario
from planner.solvers.channel_search import MOST_ANSWERS, solve_channel
from planner.solvers.ordered_search import MOST_ORDERED, solve_many_answers
from planner.survey.levels import NumericDomain
from planner.survey.ordinal import Ordinal

NO_ANSWER = "no answer"
WANTED_OF_MEAN = ("sum of answers", "number of answers")
USUAL_SPREAD = 0.3
_FIVE_MEANS = (-0.9, -0.5, 0.0, 0.5, 0.9)
_MOST_GRID_POINTS = MOST_ANSWERS - 1  # and no answer
# Nats, the first of which the solver can prove; at more, noise is next to nothing.
_PROVABLE = (8.0, 6.0)
_PROVABLE_ORDERED = 8.0
# Of BiSample's error: where it is optimal, its very error could not be kept to the last digit.
_CAP = 1.02
_TOLERANCE = 1e-5
_TOLERANCE_FOR_COUNTS = 1e-3  # these counts are compared alone, never deployed
_ADDED = {
    SHARES_UP_TO: "its counts added up",
    COUNTS: "",
    MEAN_OF_SCORES: "its counts times scores",
}


@dataclass(frozen=True, slots=True)
class AssumedAnswers:
    """Answers that are normal around a mean, those beyond an end moved to it; some refuse.

    Parameters
    ----------
    center, spread:
        Mean of the normal law, within the range, and its standard deviation, at least 0, in the
        question's unit. :attr:`mean` is nearer to the middle if many lie beyond an end.
    missing, domain:
        Share of people without an answer, below 1; range of the answers, ``[-1, 1]`` when omitted.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> assumed = AssumedAnswers(center=0.9, spread=0.3, missing=0.1)
    >>> round(assumed.mean, 4)
    0.8237
    >>> assumed.shares([-1, 0, 1]).round(4).tolist()
    [0.0001, 0.176, 0.8238]
    """

    center: float
    spread: float
    missing: float = 0.0
    domain: NumericDomain = NumericDomain()  # noqa: RUF009 - frozen

    def __post_init__(self) -> None:
        lower = self.domain.lower
        upper = self.domain.upper
        if not lower <= finite("center", self.center) <= upper:
            allowed = f"from {lower:g} to {upper:g}"
            remedy = "Give a center within the range of the answers."
            raise InputError("center", self.center, allowed, remedy)
        if finite("spread", self.spread) < 0:
            remedy = "Give a spread of 0 or more; 0 puts everybody at the center."
            raise InputError("spread", self.spread, "at least 0", remedy)
        if not 0 <= finite("missing", self.missing) < 1:
            allowed = "a share of at least 0 and below 1"
            remedy = "Give the share of people without an answer, such as 0.1 for 10 %."
            raise InputError("missing", self.missing, allowed, remedy)

    @property
    def mean(self) -> float:
        """Mean of the answers, in the question's unit."""
        lower = self.domain.lower
        (excess,) = self._beyond(np.array([lower]))
        return float(lower + excess)

    @property
    def moments(self) -> tuple[float, float]:
        """Mean of the answers, and of their squares, both on [-1, 1]."""
        domain = self.domain
        mean = (self.mean - domain.center) / domain.radius
        if domain.yes_no:  # answers are -1 and 1
            return mean, 1.0
        # The normal law has no closed form once its tails are moved to the ends. Rounding to a
        # grid of step h adds at most h^2 / 4 to a square: here 2.5e-7.
        fine = np.linspace(domain.lower, domain.upper, 2001)
        on_unit = (fine - domain.center) / domain.radius
        mean_square = self.shares(fine) @ on_unit**2
        return mean, float(mean_square)

    def shares(self, grid: ArrayLike) -> Array:
        """Share of answers at each grid point after unbiased rounding, shape ``(points,)``.

        A value between two points goes to either with the chance that keeps its mean.
        ``grid`` rises from the lower to the upper end, in the question's unit.
        """
        points = np.asarray(grid, dtype=np.float64)
        beyond = self._beyond(points)
        # E(X - x)^+ falls with the slope -P(X > x): in a cell this is the chance to be above,
        # averaged over it, which is the chance to be rounded to its upper end or beyond.
        chance_above = -np.diff(beyond) / np.diff(points)
        at_least = np.concatenate([[1.0], chance_above])
        at_least_next = np.append(chance_above, 0.0)
        # At a point are those at least there, less those at least at the next.
        shares: Array = at_least - at_least_next
        shares = np.maximum(shares, 0.0)  # rounding may leave a tiny negative one
        return shares / shares.sum()

    def scenario(self, grid: ArrayLike) -> Scenario:
        """The error of the estimated mean, per person, to first order; people drawn at random.

        The wanted numbers are the sum of the answers and their number; the mean's error is
        that of ``sum - mean * number``, over the share that answers.
        """
        rate = 1 - self.missing
        answering = rate * self.shares(grid)
        population = np.append(answering, self.missing)
        # The delta method for a ratio: (sum - mean number) / rate.
        direction = np.array([1.0, -self.mean]) / rate
        return Scenario(population, direction[None, :], drawn=True)

    def _beyond(self, points: Array) -> Array:
        """Expected excess of an answer over each point of the range, shape ``(points,)``.

        Of a normal ``X`` with mean ``c`` and standard deviation ``s``, with ``z = (c - x) / s``,
        ``E(X - x)^+ = s phi(z) + (c - x) Phi(z)``. Less that over the upper end, to which answers
        beyond are moved.
        """
        thresholds = np.append(points, self.domain.upper)
        excess = self.center - thresholds
        # Without a spread everybody is at the center, and nothing is averaged.
        if self.spread:
            z = excess / self.spread
            density = np.exp(-(z**2) / 2)
            density /= np.sqrt(2 * np.pi)
            # Phi(z) by erfc, which keeps its digits far below the center.
            cumulative = [erfc(-distance / sqrt(2)) / 2 for distance in z]
            excess = self.spread * density + excess * cumulative
        above = np.maximum(excess, 0.0)
        above_points = above[:-1]
        above_upper_end = above[-1]
        return np.asarray(above_points - above_upper_end)


def five_populations(
    domain: NumericDomain | None = None,
    missing: float = 0.1,
    spread: float | None = None,
) -> tuple[AssumedAnswers, ...]:
    """Five means over the range, -0.9, -0.5, 0, 0.5 and 0.9 of ``[-1, 1]``.

    The ``spread`` is 0.3 of half the range when omitted.

    Examples
    --------
    >>> [population.center for population in five_populations(NumericDomain(0, 100))]
    [5.0, 25.0, 50.0, 75.0, 95.0]
    """
    if domain is None:
        domain = NumericDomain()
    if spread is None:
        spread = USUAL_SPREAD * domain.radius
    populations = []
    for mean in _FIVE_MEANS:
        center = domain.center + domain.radius * mean
        populations.append(AssumedAnswers(center, spread, missing, domain))
    return tuple(populations)


def best_channel(
    epsilon: float | ArrayLike,
    populations: Sequence[AssumedAnswers] | None = None,
    *,
    points: int = 5,
    stated: AssumedAnswers | None = None,
    cap: float = 1.0,
    tolerance: float = 1e-6,
) -> Channel:
    """The channel of least error of the mean, over all mechanisms on a grid.

    Symbols are ``points`` even grid points of the range and "no answer"; an answer between
    two points is rounded to either at random, without bias. The estimated mean is the
    estimated sum over the estimated number of answers.

    Parameters
    ----------
    epsilon:
        One budget for all symbols, or one per symbol: the grid points, then "no answer".
        An answer between two points has the weaker protection of the two.
    populations:
        The largest of their errors is made small; those of :func:`five_populations` over
        ``[-1, 1]``, one in ten refusing, when omitted.
    points:
        Grid points, 2 to 15. More are better, and slower.
    stated, cap:
        One population whose error alone is made small; no other's may be larger than ``cap``, at
        least 1, times the error of BiSample at the smallest budget.
    tolerance:
        Proven relative distance from the optimum on this grid.

    Raises
    ------
    InputError, SolverError
        A number is out of range, or no channel could be proven near the best.

    Examples
    --------
    >>> channel = best_channel(2.0)
    >>> round(channel.worst_error, 4), channel.certificate.relative_gap < 1e-5
    (1.2401, True)
    """
    if cap < 1:
        allowed = "at least 1: BiSample itself is one of the channels"
        remedy = "Set cap to 1 or more."
        raise InputError("cap", cap, allowed, remedy)
    assumed = tuple(populations or five_populations())
    size = whole_number("points", points, 2, _MOST_GRID_POINTS)
    domain = assumed[0].domain
    for population in (*assumed, stated or assumed[0]):
        given = population.domain
        if given != domain:
            allowed = f"[{domain.lower:g}, {domain.upper:g}], the range of all"
            remedy = "Give all assumed answers the same range."
            raise InputError("domain", [given.lower, given.upper], allowed, remedy)
    grid = np.linspace(domain.lower, domain.upper, size)
    if np.size(epsilon) not in (1, size + 1):
        allowed = f"a number, or {size + 1} of them: one a grid point, then no answer"
        remedy = "Give one budget for all, or one for each."
        raise InputError("epsilon", epsilon, allowed, remedy)
    names = [f"{value:.12g}" for value in grid]
    names.append(NO_ANSWER)
    budgets = epsilon
    if np.ndim(epsilon) == 0:
        budgets = np.full(size + 1, epsilon)
    one_each = np.ones(size + 1, dtype=int)
    policy = PrivacyPolicy(budgets, one_each, names=names)
    smallest_budget = float(policy.bounds().min())
    # The stated people have no cap: theirs is the error that is made small.
    scenarios = []
    if stated is not None:
        scenarios.append(stated.scenario(grid))
    for population in assumed:
        scenario = population.scenario(grid)
        if stated is not None:
            # The last factor leaves the solver a digit where BiSample is itself the best.
            largest = cap * bisample_error(smallest_budget, population)
            scenario = replace(scenario, cap=largest * (1 + 1e-9))
        scenarios.append(scenario)
    return _solve(policy, grid, scenarios, tolerance)


@lru_cache(maxsize=REMEMBERED)
def proven_channel(
    epsilon: float,
    assumed: tuple[AssumedAnswers, ...],
    points: int,
    stated: AssumedAnswers | None = None,
    tolerance: float = 1e-5,
) -> Channel:
    """:func:`best_channel`, with as much of the budget as the solver can prove: 8 nats, or 6.

    More leaves next to no noise to lose. Of stated answers, others have at most 1.02 times the
    error of BiSample.
    """
    usual_most, sure_most = _PROVABLE
    solve = partial(
        best_channel, points=points, stated=stated, cap=_CAP, tolerance=tolerance
    )
    try:
        return solve(min(epsilon, usual_most), assumed)
    except SolverError:
        if epsilon <= sure_most:  # the second try would be the first again
            raise
        return solve(sure_most, assumed)


FORGET.append(proven_channel.cache_clear)


def bisample_error(epsilon: float, assumed: AssumedAnswers) -> float:
    """Error per person of BiSample-MD's mean, in squared units of the question, first order.

    The excess noise of a bit under randomised response is ``1 / sinh(epsilon / 2)^2``.
    """
    variance = bisample_variance(
        excess=1 / np.sinh(epsilon / 2) ** 2,
        rate=1 - assumed.missing,
        square=np.square(assumed.moments[0]),
    )
    return float(variance) * assumed.domain.radius**2


def _solve(
    policy: PrivacyPolicy, grid: Array, scenarios: Sequence[Scenario], tolerance: float
) -> Channel:
    """Solve on ``[-1, 1]``, where numbers are near 1, and bring the answer back."""
    center = (grid[-1] + grid[0]) / 2
    radius = (grid[-1] - grid[0]) / 2
    # An answer is radius x + center: wanted = turn @ (wanted on [-1, 1]). Errors are squared
    # numbers in the question's unit, so that there they are smaller by the radius squared.
    turn = np.array([[radius, center], [0.0, 1.0]])
    unit = []
    for scenario in scenarios:
        directions = scenario.directions @ turn / radius
        cap = scenario.cap
        if cap is not None:
            cap = cap / radius**2
        unit.append(replace(scenario, directions=directions, cap=cap))
    solved = solve_channel(
        policy,
        workload=_wanted((grid - center) / radius),
        scenarios=unit,
        wanted_names=WANTED_OF_MEAN,
        tolerance=tolerance,
    )
    certificate = solved.certificate
    assert certificate is not None  # noqa: S101 - solve_channel proves every answer
    lower_bound = certificate.lower_bound * radius**2
    return replace(
        solved,
        wanted=_wanted(grid),
        estimator=turn @ solved.estimator,
        scenarios=tuple(scenarios),
        certificate=replace(certificate, lower_bound=lower_bound),
    )


def _wanted(grid: Array) -> Array:
    """What each symbol adds to the sum of the answers, and to their number; none adds nothing."""
    of_points = np.array([grid, np.ones(grid.size)])
    no_answer = np.zeros((2, 1))
    return np.hstack([of_points, no_answer])


# Ordered answers


def best_ordered_channel(
    policy: PrivacyPolicy,
    wanted: str | ArrayLike = SHARES_UP_TO,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-6,
    no_answer: bool = False,
) -> Channel:
    """The channel of least worst-case error for ordered answers, over all mechanisms.

    Minimises the variance that any one person can add, summed over the wanted numbers with
    their weights. Cumulative shares serve for quantiles too:
    :class:`~planner.estimates.channel.OrderedEstimates` reads off the median with an interval.

    Parameters
    ----------
    policy:
        One level of one item per answer, 2 to 257, in order; its names are the answers. Of more
        than 16 the search looks at sets near those at hand, and the certificate says how near a
        bound it came; pair budgets of a matrix are refused.
    wanted:
        ``"shares up to"``: the share up to each answer but the last; ``"counts"``: the share of
        each answer; or scores, shape ``(answers,)``: the mean score.
    weights:
        Importance of each wanted number, shape ``(p,)``, not negative; equal when omitted. 0
        counts as a millionth of the largest: every number wanted can be estimated.
    tolerance:
        Proven relative distance from the optimum.
    no_answer:
        Whether the last answer is outside the order. Shares up to each other answer, ``C_j``, are
        then judged with the shares above it, half and half, whichever way the order goes: with the
        share ``C_m`` of people with another answer the variances of ``C_j`` and of ``C_m - C_j``
        have the mean ``Var(C_j - C_m / 2) + Var(C_m) / 4``. The last weight is that of ``C_m``.

    Raises
    ------
    InputError, SolverError
        A wrong argument, or no channel could be proven near the best.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 5, [1] * 5, names=["0", "1-2", "3-5", "6-9", "10+"])
    >>> channel = best_ordered_channel(policy)
    >>> round(channel.worst_error, 4), channel.wanted_names[:2]
    (9.6463, ('up to 0', 'up to 1-2'))
    """
    if not 2 <= policy.size <= MOST_ORDERED:
        remedy = "Group neighbouring answers."
        raise InputError("answers", policy.size, f"from 2 to {MOST_ORDERED}", remedy)
    table, names = _numbers_wanted(policy, wanted)
    asked = _weights(weights, len(table))
    around = no_answer and len(table) < policy.size
    least = LEAST_WEIGHT * asked.max()
    counting = np.maximum(asked, least)
    directions = _judged(counting, around=around)
    if policy.size > MOST_ANSWERS:
        return solve_many_answers(policy, table, tuple(names), directions)
    # The worst case of an error linear in people's answers: all of them give the same one.
    alike = np.eye(policy.size)
    people = [Scenario(population, directions) for population in alike]
    roots = _judged(asked, around=around)
    return solve_channel(policy, table, people, names, asked=roots, tolerance=tolerance)


def _judged(weights: Array, *, around: bool) -> Array:
    """The matrix that makes the numbers whose squares are added up of the wanted ones, ``(p, p)``.

    Each wanted number ``C_j``, times the root of its weight ``w_j``. ``around`` an answer outside
    the order the last is the share ``S`` that answers in order, and judged are
    ``sum_j w_j (C_j - S / 2)^2 + (w_S + sum_j w_j / 4) S^2``.
    """
    if not around:
        return np.diag(np.sqrt(weights))
    # The solver adds up squares of directions, so that a weight enters as its root.
    weights_in_order = weights[:-1]
    weight_of_sum = weights[-1] + weights_in_order.sum() / 4
    judged_weights = np.append(weights_in_order, weight_of_sum)
    roots = np.sqrt(judged_weights)
    directions = np.diag(roots)
    # Each share is judged less half of all who answer in order: sqrt(w_j) (C_j - S / 2).
    directions[:-1, -1] = -roots[:-1] / 2
    return directions


def _numbers_wanted(
    policy: PrivacyPolicy, wanted: str | ArrayLike
) -> tuple[Array, Sequence[str]]:
    """What each answer adds to the wanted numbers, ``(p, answers)``, and what these are called."""
    size = policy.size
    if isinstance(wanted, str):
        if wanted == SHARES_UP_TO:
            names = [f"up to {name}" for name in policy.names[:-1]]
            up_to = np.tril(np.ones((size, size)))
            return up_to[:-1], names
        if wanted == COUNTS:
            return np.eye(size), policy.names
        allowed = f"{SHARES_UP_TO!r}, {COUNTS!r} or scores"
        remedy = "Choose one of them, or give a score for each answer."
        raise InputError("wanted", wanted, allowed, remedy)
    scores = number_column("wanted", wanted)
    if scores.size != size or np.ptp(scores) == 0:
        allowed = f"{size} scores, one an answer, not all the same"
        remedy = "Give each answer a score, two of them different."
        raise InputError("wanted", wanted, allowed, remedy)
    return scores[None, :], ["mean score"]


def _weights(weights: ArrayLike | None, size: int) -> Array:
    """The weights of the wanted numbers, checked; all alike when omitted."""
    if weights is None:
        return np.ones(size)
    importance = number_column("weights", weights)
    right = importance.size == size and importance.min() >= 0
    if not right or importance.max() == 0:
        allowed = f"{size} numbers, none negative, not all 0"
        remedy = "Give each number wanted a weight; 0 for one that hardly matters."
        raise InputError("weights", weights, allowed, remedy)
    return importance


def _level_of_answer(question: Ordinal) -> dict[str, int]:
    """The number of the level that has each answer."""
    level_of = {}
    for number, level in enumerate(question.levels):
        for answer in level.items:
            level_of[answer] = number
    return level_of


def policy_of_answers(question: Ordinal) -> PrivacyPolicy:
    """A level for every answer of an ``"ordinal"`` question, in order."""
    policy = question.policy
    level_of = _level_of_answer(question)
    numbers = [level_of[answer] for answer in question.ordered]
    levels = np.array(numbers)
    rule: PairRule | Array = policy.rule.mapped(lambda budgets: budgets[levels])
    if not policy.rule.by_level:
        # Two answers of one level have the pair budget of that level with itself.
        rule = policy.bounds()[np.ix_(levels, levels)]
    return PrivacyPolicy(
        epsilons=policy.epsilons[levels],
        item_counts=np.ones_like(levels),
        rule=rule,
        names=question.ordered,
    )


def _importance(question: Ordinal) -> list[float] | None:
    """The importance of each answer's level, of all whose share or count is wanted."""
    weights = question.objective.weights
    if question.of_mean or weights is None:
        return None
    level_of = _level_of_answer(question)
    return [weights[level_of[answer]] for answer in question.judged]


def _at_most_provable(policy: PrivacyPolicy) -> PrivacyPolicy:
    """The policy, with at most 8 nats between any two answers."""
    bounds = policy.bounds()
    finite_bounds = bounds[np.isfinite(bounds)]
    if finite_bounds.max(initial=0.0) <= _PROVABLE_ORDERED:
        return policy
    rule = policy.rule
    if not rule.by_level:  # a matrix states the budget of every pair itself
        rule = MatrixRule(np.minimum(bounds, _PROVABLE_ORDERED))
    epsilons = np.minimum(policy.epsilons, _PROVABLE_ORDERED)
    return policy.with_changes(epsilons, rule=rule)


def _response(policy: PrivacyPolicy) -> tuple[Array, Array]:
    """Generalised randomised response at the smallest budget: its matrix, and counts from it."""
    smallest_budget = policy.bounds().min()
    # The true answer is exp(epsilon) times as likely to be reported as any other.
    matrix = np.ones((policy.size, policy.size))
    np.fill_diagonal(matrix, np.exp(smallest_budget))
    matrix /= matrix.sum(axis=1, keepdims=True)
    # Rows are answers and columns reports: a column of the estimator is a report's weights.
    estimator = np.linalg.inv(matrix).T
    return matrix, np.asarray(estimator)


def errors_of(question: Ordinal) -> ErrorLaw:
    """The error law of what is wanted.

    Of one person ``sum_j C_j (1 - C_j)`` over the shares up to each answer is at most a quarter of
    their number, times the largest importance; a sample misses at most the square of half the
    range of a mean, 1.
    """
    if question.of_mean:
        return ErrorLaw(spread=1.0)
    largest = max(question.objective.weights or (1.0,))
    answers = len(question.ordered)
    if question.wanted == COUNTS:
        # sum_j p_j (1 - p_j) is largest where all answers are as frequent.
        return ErrorLaw(spread=largest * (1 - 1 / answers))
    # C (1 - C) is at most 1/4, of each of the shares but the last, which is always 1.
    return ErrorLaw(spread=largest * (answers - 1) / 4)


def _squared_unit(question: Ordinal) -> float:
    """What squared errors are shares of: of a mean the square of half the range of its scores."""
    if question.of_mean:
        return question.radius**2
    return 1.0


class OrderedKind(Kind[Ordinal, Channel]):
    """A question with a few ordered answers: the best channel for what is wanted."""

    def shared(self, question: Ordinal, users: int) -> Curve:
        """A mean of scores with BiSample-MD, others with opt0's counts."""
        policy = question.policy
        weight = question.weight
        if question.of_mean:
            smallest = float(policy.bounds().min())
            epsilon = min(smallest, MAX_EPSILON)
            return mean_curve(question.name, epsilon, weight)
        errors = errors_of(question)
        objective = question.objective
        return choice_curve(question.name, policy, weight, objective, errors)

    def options(self, part: Part[Ordinal]) -> list[Option]:
        """The channel of least worst-case error of what is wanted."""
        question = part.deployed
        asked = policy_of_answers(question)
        errors = errors_of(question)
        spent = _at_most_provable(asked)
        unit = _squared_unit(question)
        wanted: str | tuple[float, ...] = question.wanted
        if question.of_mean:
            wanted = question.scores
        searched = best_ordered_channel(
            spent,
            wanted,
            weights=_importance(question),
            tolerance=_TOLERANCE,
            no_answer=question.no_answer is not None,
        )
        best = replace(drawn_channel(searched), policy=asked)
        if spent is not asked:  # the proof is of smaller budgets than are promised
            best = replace(best, certificate=None)
        bound = None
        if best.certificate is not None:
            bound = best.certificate.lower_bound / unit
        value = best.worst_error / unit
        return [Option("channel", value, errors, law=best, bound=bound)]

    def unsolved(
        self, part: Part[Ordinal], options: tuple[Option, ...]
    ) -> list[Option]:
        """What cannot be better, and is compared alone: counts that are estimated and added up.

        Those of the best of all mechanisms for counts, where these are not wanted and answers are
        at most sixteen, and those of generalised randomised response.
        """
        question = part.deployed
        (planned,) = options
        best = planned.law
        asked = policy_of_answers(question)
        # What a survey without this planner would take: each answer's count, added up.
        rivals = [("grr", *_response(asked))]
        if question.wanted != COUNTS and asked.size <= MOST_ANSWERS:
            spent = _at_most_provable(asked)
            counts = best_ordered_channel(
                spent, COUNTS, tolerance=_TOLERANCE_FOR_COUNTS
            )
            best_counts = ("subset-design", counts.matrix, counts.estimator)
            rivals.insert(0, best_counts)
        compared = []
        for name, matrix, counted in rivals:
            channel = replace(
                best,
                certificate=None,
                matrix=matrix,
                estimator=best.wanted @ counted,
            )
            option = Option(
                name,
                value=channel.worst_error / _squared_unit(question),
                errors=planned.errors,
                law=channel,
                note=_ADDED[question.wanted],
                compared=True,
            )
            compared.append(option)
        return compared

    def total(self, part: Part[Ordinal], planned: Option) -> Option:
        """The option with its total error, whatever the importance of answers."""
        question = part.asked
        channel = planned.law
        if question.of_mean:
            return planned
        size = channel.policy.size
        numbers = len(channel.wanted_names)
        around = question.no_answer is not None and numbers < size
        judged = _judged(np.ones(numbers), around=around)
        # The error is linear in the shares of answers, so that it is largest at a corner, where
        # all people give the same answer.
        worst = 0.0
        for everybody in np.eye(size):
            error = channel.error(Scenario(everybody, judged))
            worst = max(worst, float(error))
        largest = max(question.objective.weights or (1.0,))
        spread = planned.errors.spread / largest
        errors = replace(planned.errors, spread=spread)
        return replace(planned, value=worst, errors=errors)

    def facts(
        self, part: Part[Ordinal], planned: Option, mechanism: Channel
    ) -> PlanFacts:
        """The channel, and what estimates would be on average, were all answers alike."""
        if part.asked.of_mean:
            return (planned.law,)
        channel = shares_up_to(planned.law)
        size = len(planned.law.symbols)
        alike = np.full(size, 1 / size)
        covariance = channel.covariance(alike, drawn=True) / part.people
        average = channel.wanted @ alike
        expected = ChannelEstimates(average, covariance, part.people)
        answers = channel.symbols
        if part.asked.no_answer is not None:  # the last answer stands outside the order
            expected = expected.of_shares_up_to(no_answer=True)
            answers = channel.symbols[: size - 1]
        estimates = OrderedEstimates(
            answers,
            expected.values,
            expected.covariance,
            expected.users,
            expected.law,
        )
        return mechanism, estimates
