"""What reports of a planned question really give away, pair by pair of levels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.designs.channel import Channel
from planner.designs.subset_design import SubsetDesign
from planner.mechanisms.design_grid import as_drawn
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.question import QuestionPlan
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey.questions import Question


def realised_budgets(question: QuestionPlan) -> NDArray[np.float64]:
    """Realised budget of every pair of levels, in nats, shape ``(t, t)``; of sets, of one item.

    The largest log-ratio of a report between an item of one level and an item of the other. NaN
    on the diagonal of a level with a single item, which has no pair.

    Examples
    --------
    >>> from planner import Level, Categorical, Survey, plan_survey
    >>> levels = (Level("low", 1.0, ("x",)), Level("high", 2.0, item_count=9))
    >>> (plan,) = plan_survey(Survey("s", 1000, (Categorical("q", levels),))).questions
    >>> realised_budgets(plan).round(3).tolist()
    [[nan, 1.0], [1.0, 2.0]]
    """
    policy = question.deployed.policy
    if question.design is not None:
        return _of_design(question.design)[: policy.size, : policy.size]  # without a dummy
    if question.channel is not None:
        return _of_channel(question.channel, question.deployed)
    if question.table is None:
        losses = np.full((policy.size, policy.size), question.mechanism.privacy_loss())
        return _nothing_alone(losses, policy)
    # Two items of each level tell all there is to tell about its pairs.
    small = policy.with_changes(item_counts=np.minimum(policy.item_counts, 2))
    table = replace(question.table, policy=small, objective=Objective())
    return UnaryMechanism(table).pair_losses()


def _of_channel(channel: Channel, question: Question) -> NDArray[np.float64]:
    """The largest of all answers of two levels."""
    answers = [list(map(channel.symbols.index, level.items)) for level in question.levels]
    pairs = channel.pair_losses
    losses = np.array([[pairs[np.ix_(a, b)].max() for b in answers] for a in answers])
    return _nothing_alone(losses, question.policy)


def _of_design(design: SubsetDesign) -> NDArray[np.float64]:
    """As it is drawn: its probabilities are rounded to the private side."""
    return _nothing_alone(as_drawn(design).pair_losses, design.policy)


def _nothing_alone(losses: NDArray[np.float64], policy: PrivacyPolicy) -> NDArray[np.float64]:
    """A level of a single item has no pair within."""
    alone = policy.item_counts == 1
    losses[np.diag_indices(alone.size)] = np.where(alone, np.nan, np.diag(losses))
    return losses
