"""The channel for a question about ordered answers, beside the best mechanisms for counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Channel
from planner.mechanisms.channel_grid import as_drawn
from planner.mechanisms.direct import GeneralizedRandomizedResponse
from planner.planning.channels.ordered import best_ordered_channel
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import COUNTS, MEAN_OF_SCORES, SHARES_UP_TO, Ordinal

Array = NDArray[np.float64]
_PROVABLE = 8.0  # nats that the solver can prove; noise is next to nothing above
_TOLERANCE, _TOLERANCE_FOR_COUNTS = 1e-5, 1e-3
_ADDED = {
    SHARES_UP_TO: "its counts added up",
    COUNTS: "",
    MEAN_OF_SCORES: "its counts times scores",
}


@dataclass(frozen=True, slots=True)
class OrderedPlan:
    """The best channel for ordered answers, and what mechanisms for counts would do.

    Attributes
    ----------
    candidates:
        Name, channel and a note of each, the best channel first, as it is drawn; all have the same
        wanted numbers.
    lower_bound:
        Error per person that no mechanism which keeps the budgets is below; None where a
        budget is above 8 nats, of which only 8 are spent.
    """

    candidates: tuple[tuple[str, Channel, str], ...]
    lower_bound: float | None

    @property
    def channel(self) -> Channel:
        """The best channel, as it is drawn."""
        return self.candidates[0][1]

    @property
    def errors(self) -> tuple[tuple[str, float, str], ...]:
        """Name, error per person and a note of each candidate.

        The error is the total variance of what is wanted for the least favourable answers.
        """
        return tuple((name, channel.worst_error, note) for name, channel, note in self.candidates)


def policy_of_answers(question: Ordinal) -> PrivacyPolicy:
    """A level for every answer of an ``"ordinal"`` question, in order.

    Examples
    --------
    >>> from planner.survey.questions import Level
    >>> ends, middle = Level("ends", 1.0, ("never", "daily")), Level("middle", 2.0, ("weekly",))
    >>> question = Ordinal("q", (ends, middle), order=("never", "weekly", "daily"))
    >>> policy_of_answers(question).epsilons.tolist()
    [1.0, 2.0, 1.0]
    """
    policy = question.policy
    level_of = {item: k for k, level in enumerate(question.levels) for item in level.items}
    levels = np.array([level_of[answer] for answer in question.ordered])
    rule: str | Array
    if policy.rule_name in ("min", "avg"):
        rule = policy.rule_name
    else:
        rule = policy.with_changes(self_pairs=True).bounds()[np.ix_(levels, levels)]
    ones = np.ones(levels.size, dtype=np.int64)
    return PrivacyPolicy(policy.epsilons[levels], ones, rule, question.ordered)


def plan_ordered_channel(question: Ordinal) -> OrderedPlan:
    """Plan the channel of least worst-case error of what the question wants.

    Beside it stand generalised randomised response and, where not counts are wanted, the best of
    all mechanisms for counts: both with their estimated counts added up. For a mean there is
    Harmony too.

    Raises
    ------
    SolverError
        No channel could be proven near the best.

    Examples
    --------
    >>> from planner.survey.questions import Level
    >>> answers = ("0", "1-2", "3-5", "6-9", "10+")
    >>> question = Ordinal("hours", (Level("all", 1.0, answers),))
    >>> [(name, round(error, 2)) for name, error, _ in plan_ordered_channel(question).errors]
    [('channel', 9.65), ('subset-design', 12.59), ('grr', 12.59)]
    """
    asked = policy_of_answers(question)
    spent = _provable(asked)
    of_mean = question.wanted == MEAN_OF_SCORES
    wanted = question.scores if of_mean else question.wanted
    best = best_ordered_channel(spent, wanted, weights=_weights(question), tolerance=_TOLERANCE)
    channel, proof = as_drawn(best), best.certificate
    candidates = [("channel", replace(channel, policy=asked), "")]
    others = [("grr", *_response(asked))]
    if question.wanted != COUNTS:
        counts = best_ordered_channel(spent, COUNTS, tolerance=_TOLERANCE_FOR_COUNTS)
        others.insert(0, ("subset-design", counts.matrix, counts.estimator))
    for name, matrix, estimator in others:
        added = best.wanted @ estimator
        other = Channel(
            asked, best.wanted, best.wanted_names, matrix, added, scenarios=best.scenarios
        )
        candidates.append((name, other, _ADDED[question.wanted]))
    bound = None if proof is None or spent is not asked else proof.lower_bound
    if of_mean:
        candidates.append(("harmony", _harmony(best, asked), ""))
    return OrderedPlan(tuple(candidates), bound)


def _harmony(best: Channel, policy: PrivacyPolicy) -> Channel:
    """Harmony at the smallest budget: the sign of a score, rounded without bias, kept or not."""
    scores = best.wanted[0]
    middle, radius = (scores.max() + scores.min()) / 2, float(np.ptp(scores)) / 2
    theta = np.tanh(float(policy.bounds().min()) / 2)
    high = (1 + theta * (scores - middle) / radius) / 2
    matrix, values = (
        np.column_stack([1 - high, high]),
        middle + np.array([[-1, 1]]) * radius / theta,
    )
    about = (policy, best.wanted, best.wanted_names, matrix, values)
    return Channel(*about, scenarios=best.scenarios)


def _weights(question: Ordinal) -> list[float] | None:
    """The importance of each answer's level, of all whose share or count is wanted."""
    if question.wanted == MEAN_OF_SCORES:
        return None
    importance = {item: level.importance for level in question.levels for item in level.items}
    answers = question.ordered if question.wanted == COUNTS else question.ordered[:-1]
    return [importance[answer] for answer in answers]


def _provable(policy: PrivacyPolicy) -> PrivacyPolicy:
    """The policy, with at most 8 nats between any two answers."""
    bounds = policy.bounds()
    finite = bounds[np.isfinite(bounds)]
    if finite.size == 0 or finite.max() <= _PROVABLE:
        return policy
    epsilons = np.minimum(policy.epsilons, _PROVABLE)
    rule: str | Array = policy.rule_name
    if rule not in ("min", "avg"):
        rule = np.minimum(policy.with_changes(self_pairs=True).bounds(), _PROVABLE)
    return PrivacyPolicy(epsilons, policy.item_counts, rule, policy.names)


def _response(policy: PrivacyPolicy) -> tuple[Array, Array]:
    """Generalised randomised response at the smallest budget: its matrix, and counts from it."""
    bounds, size = policy.bounds(), policy.size
    mechanism = GeneralizedRandomizedResponse(float(bounds.min()), size)
    eye = np.eye(size)
    matrix = mechanism.q + (mechanism.p - mechanism.q) * eye
    matrix = matrix / matrix.sum(axis=1, keepdims=True)
    return matrix, np.linalg.inv(matrix).T
