"""Questions about ordered answers: the best channel for what is wanted, and its alternatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.rounding import drawn_channel
from planner.planning.option import ErrorLaw, Option, Part
from planner.planning.shares import Block, choice_block, mean_block
from planner.policy.policy import PrivacyPolicy
from planner.solvers.answers import Channel, Scenario
from planner.solvers.channel_search import MOST_ANSWERS, solve_channel
from planner.survey.questions import COUNTS, MEAN_OF_SCORES, SHARES_UP_TO, Ordinal

Array = NDArray[np.float64]
_LEAST_WEIGHT = 1e-4
_PROVABLE = 8.0  # nats that the solver can prove; noise is next to nothing above
_TOLERANCE, _TOLERANCE_FOR_COUNTS = 1e-5, 1e-3
_ADDED = {
    SHARES_UP_TO: "its counts added up",
    COUNTS: "",
    MEAN_OF_SCORES: "its counts times scores",
}


def best_ordered_channel(
    policy: PrivacyPolicy,
    wanted: str | ArrayLike = SHARES_UP_TO,
    *,
    weights: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> Channel:
    """The channel of least worst-case error for ordered answers, over all mechanisms.

    Minimises the variance that any one person can add, summed over the wanted numbers with
    their weights. Cumulative shares serve for quantiles too:
    :class:`~planner.estimates.channel.OrderedEstimates` reads off the median with an interval.

    Parameters
    ----------
    policy:
        One level of one item per answer, in order; its names are the answers.
    wanted:
        ``"shares up to"``: the share up to each answer but the last; ``"counts"``: the share of
        each answer; or scores, shape ``(answers,)``: the mean score.
    weights:
        Importance of each wanted number, shape ``(p,)``, not negative; equal when omitted. 0
        counts as one ten-thousandth of the largest: every number wanted can be estimated.
    tolerance:
        Proven relative distance from the optimum.

    Raises
    ------
    InputError
        Fewer than 2 or more than 16 answers, unknown wanted numbers, or bad weights.
    SolverError
        No channel could be proven near the best.

    Examples
    --------
    >>> policy = PrivacyPolicy([1.0] * 5, [1] * 5, names=["0", "1-2", "3-5", "6-9", "10+"])
    >>> channel = best_ordered_channel(policy)
    >>> round(channel.worst_error, 4), channel.wanted_names[:2]
    (9.6463, ('up to 0', 'up to 1-2'))
    >>> mean = best_ordered_channel(policy, wanted=[0, 1.5, 4, 7.5, 12])
    >>> round(mean.worst_error, 2), mean.wanted_names
    (143.09, ('mean score',))
    """
    if not 2 <= policy.size <= MOST_ANSWERS:
        remedy = "Group neighbouring answers."
        raise InputError("answers", policy.size, f"from 2 to {MOST_ANSWERS}", remedy)
    table, names = _wanted(policy, wanted)
    importance = _weights(weights, len(table))
    directions = np.diag(np.sqrt(importance))
    people = [
        Scenario(f"everybody has {name}", one, directions)
        for name, one in zip(policy.names, np.eye(policy.size), strict=True)
    ]
    return solve_channel(policy, table, people, names, tolerance=tolerance)


def _wanted(policy: PrivacyPolicy, wanted: str | ArrayLike) -> tuple[Array, Sequence[str]]:
    size = policy.size
    if isinstance(wanted, str):
        if wanted == SHARES_UP_TO:
            names = [f"up to {name}" for name in policy.names[:-1]]
            return np.tril(np.ones((size, size)))[:-1], names
        if wanted == COUNTS:
            return np.eye(size), policy.names
        remedy = "Choose one of them, or give a score for each answer."
        raise InputError("wanted", wanted, f"{SHARES_UP_TO!r}, {COUNTS!r} or scores", remedy)
    scores = number_column("wanted", wanted)
    if scores.size != size or np.ptp(scores) == 0:
        allowed = f"{size} scores, one an answer, not all the same"
        remedy = "Give each answer a score, two of them different."
        raise InputError("wanted", wanted, allowed, remedy)
    return scores[None, :], ["mean score"]


def _weights(weights: ArrayLike | None, size: int) -> Array:
    if weights is None:
        return np.ones(size)
    importance = number_column("weights", weights)
    if importance.size != size or importance.min() < 0 or importance.max() == 0:
        remedy = "Give each number wanted a weight; 0 for one that hardly matters."
        raise InputError("weights", weights, f"{size} numbers, none negative, not all 0", remedy)
    return np.maximum(importance, _LEAST_WEIGHT * importance.max())


def policy_of_answers(question: Ordinal) -> PrivacyPolicy:
    """A level for every answer of an ``"ordinal"`` question, in order."""
    policy = question.policy
    level_of = {item: k for k, level in enumerate(question.levels) for item in level.items}
    levels = np.array([level_of[answer] for answer in question.ordered])
    rule = policy.rule_name if policy.rule.by_level else policy.bounds()[np.ix_(levels, levels)]
    return PrivacyPolicy(policy.epsilons[levels], np.ones_like(levels), rule, question.ordered)


def channels(question: Ordinal) -> list[tuple[str, Channel, str]]:
    """The channel of least worst-case error of what is wanted, and rivals: name, channel, note.

    Rivals are the best of all mechanisms for counts, where these are not wanted, and generalised
    randomised response: both with their estimated counts added up.
    """
    asked = policy_of_answers(question)
    spent = _provable(asked)
    wanted = question.scores if question.of_mean else question.wanted
    best = drawn_channel(
        best_ordered_channel(spent, wanted, weights=_importance(question), tolerance=_TOLERANCE)
    )
    proof = best.certificate if spent is asked else None
    found = [("channel", replace(best, policy=asked, certificate=proof), "")]
    rivals = [("grr", *_response(asked))]
    if question.wanted != COUNTS:
        counts = best_ordered_channel(spent, COUNTS, tolerance=_TOLERANCE_FOR_COUNTS)
        rivals.insert(0, ("subset-design", counts.matrix, counts.estimator))
    for name, matrix, estimator in rivals:
        about = (asked, best.wanted, best.wanted_names, matrix, best.wanted @ estimator)
        found.append((name, Channel(*about, best.scenarios), _ADDED[question.wanted]))
    return found


def _importance(question: Ordinal) -> list[float] | None:
    """The importance of each answer's level, of all whose share or count is wanted."""
    if question.of_mean:
        return None
    importance = {item: level.importance for level in question.levels for item in level.items}
    answers = question.ordered if question.wanted == COUNTS else question.ordered[:-1]
    return [importance[answer] for answer in answers]


def _provable(policy: PrivacyPolicy) -> PrivacyPolicy:
    """The policy, with at most 8 nats between any two answers."""
    bounds = policy.bounds()
    if bounds[np.isfinite(bounds)].max(initial=0.0) <= _PROVABLE:
        return policy
    rule = policy.rule_name if policy.rule.by_level else np.minimum(bounds, _PROVABLE)
    epsilons = np.minimum(policy.epsilons, _PROVABLE)
    return PrivacyPolicy(epsilons, policy.item_counts, rule, policy.names)


def _response(policy: PrivacyPolicy) -> tuple[Array, Array]:
    """Generalised randomised response at the smallest budget: its matrix, and counts from it."""
    matrix = np.ones((policy.size, policy.size))
    np.fill_diagonal(matrix, np.exp(policy.bounds().min()))
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix, np.asarray(np.linalg.inv(matrix).T)


def errors_of(question: Ordinal) -> ErrorLaw:
    """The error law of what is wanted.

    Of one person ``sum_j C_j (1 - C_j)`` over the shares up to each answer is at most a quarter of
    their number, times the largest importance; a sample misses at most the square of half the
    range of a mean, 1.
    """
    if question.of_mean:
        return ErrorLaw(spread=1.0)
    largest = max(level.importance for level in question.levels)
    if question.wanted == COUNTS:
        return ErrorLaw(spread=largest * (1 - 1 / len(question.ordered)))
    return ErrorLaw(spread=largest * (len(question.ordered) - 1) / 4)


def block(question: Ordinal, _users: int) -> Block:
    """As shares are planned: a mean of scores with BiSample-MD, others with opt0's counts."""
    policy, weight = question.policy, question.weight
    if question.of_mean:
        return mean_block(question.name, min(float(policy.bounds().min()), MAX_EPSILON), weight)
    return choice_block(question.name, policy, weight, question.objective, errors_of(question))


def options(part: Part) -> list[Option]:
    """The best channel, and what is compared with it alone."""
    spent = part.deployed
    assert isinstance(spent, Ordinal)  # noqa: S101 - by its kind
    errors, unit = errors_of(spent), spent.radius**2 if spent.of_mean else 1.0
    found = []
    for name, channel, note in channels(spent):
        proof = channel.certificate
        bound = None if proof is None else proof.lower_bound / unit
        compared, value = name != "channel", channel.worst_error / unit
        found.append(Option(name, value, errors, channel, bound, note, compared=compared))
    return found


def total(part: Part, planned: Option) -> tuple[float, ErrorLaw]:
    """The value and the law of the unweighted error, whatever the importance of answers."""
    question, channel = part.asked, planned.law
    assert isinstance(question, Ordinal)  # noqa: S101 - by its kind
    if question.of_mean:
        return planned.value, planned.errors
    size, wanted = channel.policy.size, np.eye(len(channel.wanted_names))
    errors = [channel.error(Scenario("", one, wanted)) for one in np.eye(size)]
    alike = question.replacing(levels=tuple(x.replacing(importance=1.0) for x in question.levels))
    return max(map(float, errors)), errors_of(alike)
