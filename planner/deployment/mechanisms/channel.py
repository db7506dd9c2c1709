"""Channels in the file, counted report by report, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.channel import MeanChannelLaw
from planner.deployment.client.mechanisms.ordered_channel import OrderedChannelLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.counting import CellTally, Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.deployment.mechanisms.numbers import described_range, number_rows
from planner.designs.channel import Channel
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.channel import MeanChannelMechanism
from planner.survey import Question
from planner.survey.numeric_domain import NumericDomain

__all__ = ["DeployedChannel", "DeployedMeanChannel"]

C = TypeVar("C", MeanChannelLaw, OrderedChannelLaw)


class DeployedChannel(Deployed[C]):
    """Reports are small numbers; each is looked at for poisoning."""

    def counter(self) -> Counter:
        return CellTally(self.law.cells, "<u2")

    def cells(self, round_number: int | None) -> Cells:
        del round_number
        chances = np.array(self.law.rows) / DENOMINATOR
        names = [f"report {y}" for y in range(self.law.cells)]
        return Cells(names, chances.min(axis=0), chances.max(axis=0))


class DeployedMeanChannel(DeployedChannel[MeanChannelLaw]):
    """A channel for a mean."""

    law_type = MeanChannelLaw
    sources = (Channel,)

    @classmethod
    def describe(cls, source: Channel, question: Question) -> dict[str, Any]:
        yes_no = question.numeric is not None and question.numeric.domain.yes_no
        mechanism = MeanChannelMechanism.of(source, yes_no)
        return {
            **described_range(mechanism, question),
            "rows": mechanism.integers.tolist(),
            "estimator": {"values": mechanism.values.tolist()},
            **_described_levels(source, question),
        }

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        law = self.law
        domain = NumericDomain(law.lower, law.upper, law.yes_no)
        rows, values = np.array(law.rows), np.array(law.values)
        mechanism = MeanChannelMechanism(law.epsilon, domain, rows, values)
        return number_rows(mechanism.estimate(rounds[0], confidence), domain)


def _described_levels(channel: Channel, question: Question) -> dict[str, Any]:
    """Levels of a question's answers, as the file has them; nothing where there are none.

    Raises
    ------
    InputError
        An answer has a larger budget than the question promises.
    """
    about = question.numeric
    if about is None or not about.levels:
        return {}
    rows = []
    for level in about.on_grid(channel.wanted[0, :-1]):
        symbols = list(level.symbols)
        used = float(channel.policy.epsilons[symbols].max())
        if used > level.epsilon:
            remedy = "Plan the channel with the promised budgets."
            allowed = f"at most {level.epsilon}, as promised"
            raise InputError(f"epsilon of level {level.name!r}", used, allowed, remedy)
        rows.append({"name": level.name, "epsilon": used, "rows": symbols})
    return {"levels": rows}
