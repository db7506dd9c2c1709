"""The best channel for ordered answers: brackets, ages, agreement from 1 to 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import number_column, positive, whole_number
from planner.designs.channel import Channel, Scenario
from planner.designs.table import Certificate
from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel.local import spectral_bound, worst_population
from planner.solvers.channel.pricing import MOST_LISTED
from planner.solvers.channel.solving import solve_channel
from planner.survey.ordered_answers import COUNTS, SHARES_UP_TO

Array = NDArray[np.float64]
_LEAST_WEIGHT = 1e-4
_LOOSE = 0.05  # relative gap from which another bound is looked for


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
    :class:`~planner.estimates.ordered.OrderedEstimates` reads off the median with an interval.

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
        Proven relative distance from the optimum. Up to 16 answers it is reached (all
        subsets are priced). From 17 to 128, local search finds the columns and the
        certificate says how far from the optimum the channel is at most: 1 to 3 % up to 24
        answers, where all subsets are priced at the end, and above at budgets up to 1; there, at
        larger budgets, the bound is from 24 of the answers: 9 to 27 % for 32 of them at budgets
        2 to 7, 56 % for 64 at budget 4.

    Raises
    ------
    InputError
        Fewer than 2 or more than 128 answers, unknown wanted numbers, or bad weights.
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
    table, names = _wanted(policy, wanted)
    importance = _weights(weights, len(table))
    directions = np.diag(np.sqrt(importance))
    people = [
        Scenario(f"everybody has {name}", one, directions)
        for name, one in zip(policy.names, np.eye(policy.size), strict=True)
    ]
    channel = solve_channel(policy, table, people, names, tolerance=tolerance)
    proof = channel.certificate
    if proof is None or policy.size <= MOST_LISTED or proof.relative_gap <= _LOOSE:
        return channel
    # Whoever collects all answers collects some: what is proven of these bounds the error, too.
    # (The rule is min or avg: a matrix of pair budgets has fewer answers.)
    some = np.unique(np.linspace(0, policy.size - 1, MOST_LISTED).round().astype(int))
    fewer = PrivacyPolicy(policy.epsilons[some], policy.item_counts[some], policy.rule_name)
    those = zip(some.tolist(), np.eye(some.size), strict=True)
    holding = [replace(people[x], population=one) for x, one in those]
    least = solve_channel(fewer, table[:, some], holding, names, tolerance=_LOOSE).certificate
    bound = max(proof.lower_bound, least.lower_bound if least else -np.inf)
    gap = channel.worst_error / bound - 1
    return replace(channel, certificate=Certificate(bound, gap, proof.max_violation))


def ordered_bound(answers: int, epsilon: float) -> float:
    """A worst-case error of all cumulative shares that no mechanism beats, for any size.

    Total variance per person, one budget for all answers. By singular values, so it needs
    no list of columns; within 3 % of the optimum at 12 answers and budget 1, weaker at few
    answers or large budgets. (The authors of the workload factorization mechanism, McKenna
    et al., VLDB 2020, count the same error: the largest over people of the summed variances,
    the last cumulative share free.)

    Parameters
    ----------
    answers:
        Number of ordered answers, 2 to 1000.
    epsilon:
        Budget in nats, above 0.

    Examples
    --------
    >>> round(ordered_bound(12, 1.0), 1)
    45.2
    """
    size = whole_number("answers", answers, 2, 1000)
    span = positive("epsilon", epsilon)
    wanted = np.tril(np.ones((size, size)))[:-1]
    population = worst_population(wanted, span)
    known = float(np.sum(wanted**2, axis=0) @ population)
    return spectral_bound(wanted, population, span) - known


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
