"""Channels in the file, counted report by report, and estimated: of means, of ordered answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.channel import MeanChannelLaw
from planner.deployment.client.mechanisms.ordered_channel import MEAN_OF_SCORES, OrderedChannelLaw
from planner.deployment.mechanisms.answers import AnswerRows, ordered_rows, quantity_rows
from planner.deployment.mechanisms.counting import CellTally, Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.deployment.mechanisms.items import described_levels, described_rule
from planner.deployment.mechanisms.numbers import described_range, number_rows
from planner.designs.channel import Channel
from planner.errors import InputError
from planner.estimates.channel import shares_up_to, wanted_estimates
from planner.estimates.means import large_sample
from planner.estimates.ordered import OrderedEstimates
from planner.estimates.truncation import SIZES_MISS, SetSizes
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.channel_grid import as_drawn, integers_of
from planner.mechanisms.means import MeanChannelMechanism
from planner.survey import Question
from planner.survey.numeric_domain import NumericDomain

C = TypeVar("C", MeanChannelLaw, OrderedChannelLaw)


class DeployedChannel(Deployed[C]):
    """Reports are small numbers."""

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
        }

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        law = self.law
        domain = NumericDomain(law.lower, law.upper, law.yes_no)
        rows, values = np.array(law.rows), np.array(law.values)
        mechanism = MeanChannelMechanism(law.epsilon, domain, rows, values)
        return number_rows(mechanism.estimate(rounds[0], confidence), domain)


class DeployedOrderedChannel(DeployedChannel[OrderedChannelLaw]):
    """A channel for the shares of people up to each of some ordered answers."""

    law_type = OrderedChannelLaw
    sources = (Channel,)

    @classmethod
    def describe(cls, source: Channel, question: Question) -> dict[str, Any]:
        answers = question.ordered
        if source.symbols != answers:
            allowed = f"one for the answers {', '.join(answers)}"
            remedy = "Take the mechanism that plan_survey chose for the question."
            raise InputError("channel", ", ".join(source.symbols), allowed, remedy)
        drawn = as_drawn(source)
        if question.wanted != MEAN_OF_SCORES:
            drawn = shares_up_to(drawn)
        elif not np.array_equal(drawn.wanted, [question.scores]):
            remedy = "Take the mechanism that plan_survey chose for the question."
            names = ", ".join(source.wanted_names)
            raise InputError("channel", names, "one for the mean of these scores", remedy)
        items = [item for level in question.levels for item in level.items]
        integers = integers_of(drawn)[[answers.index(item) for item in items]]
        return {
            "rule": described_rule(question.policy.rule.plain(question.policy.epsilons)),
            "levels": described_levels(question),
            "order": [items.index(answer) for answer in answers],
            "scores": list(question.scores),
            "wanted": question.wanted,
            "rows": integers.tolist(),
            "estimator": {"values": drawn.estimator.tolist()},
        }

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        law = self.law
        if law.wanted == MEAN_OF_SCORES:
            found = wanted_estimates(np.array(law.values), rounds[0].counts)
            (value,), ((variance,),) = found.values.tolist(), found.covariance.tolist()
            mean = large_sample(value, variance, confidence)
            possible = min(law.scores), max(law.scores)
            return quantity_rows(found.users, [("mean score", mean, possible)])
        return ordered_rows(law.levels, law.order, self.shares(rounds, confidence), law.scores)

    def size_reader(self) -> Callable[[Sequence[Aggregate]], SetSizes]:
        law = self.law
        whole = all(score.is_integer() for score in law.scores)
        if not (law.scores and whole) or law.wanted == MEAN_OF_SCORES:
            allowed = "whole numbers, and not the mean of them alone wanted"
            remedy = "Give each answer, as its score, the largest number of items it stands for."
            raise InputError("scores of set sizes", law.scores, allowed, remedy)

        def read(rounds: Sequence[Aggregate]) -> SetSizes:
            shares = self.shares(rounds, 1 - SIZES_MISS)
            longer = tuple((1 - shares.band[0]).tolist())
            return SetSizes(tuple(map(int, law.scores)), tuple(shares.shares.tolist()), longer)

        return read

    def shares(self, rounds: Sequence[Aggregate], confidence: float) -> OrderedEstimates:
        """The shares of people up to each answer, unless the mean of scores is wanted alone."""
        law, names = self.law, self.law.levels.item_names()
        found = wanted_estimates(np.array(law.values), rounds[0].counts)
        answers = tuple(names[k] for k in law.order)
        return OrderedEstimates(answers, found.values, found.covariance, found.users, confidence)
