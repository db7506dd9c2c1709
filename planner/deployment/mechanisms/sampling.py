"""Sampling Privacy in the file, counted round by round, and estimated from both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.sampling import SamplingLaw
from planner.deployment.mechanisms.answers import AnswerRows, level_names
from planner.deployment.mechanisms.counting import CellTally, Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed
from planner.deployment.mechanisms.items import described_levels
from planner.errors import VerificationError
from planner.limits import MAX_EPSILON
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.planning.sampled import SamplingPlan
from planner.planning.sampled_views import ROUNDING, AggregateView
from planner.survey import Question


class DeployedSampling(Deployed[SamplingLaw]):
    """Reports are the outputs of a round: none of the values (0), or a value from 1."""

    law_type = SamplingLaw
    sources = (SamplingPlan,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        planned = source.to_document()  # refuses while the weak point is not acknowledged
        keys = ("sampling", "zero", "decoys", "everyone_has_value", "guarantee")
        added = {
            "rule": "min",
            "none_epsilon": source.design.question.none_epsilon,
            "levels": described_levels(question),
        }
        return {key: planned[key] for key in keys} | added

    def counter(self) -> Counter:
        return CellTally(self.law.levels.total + 1, "<u4")

    def cells(self, round_number: int | None) -> Cells:
        law = self.law
        stay = np.array([law.zero, *law.decoys]) / DENOMINATOR
        move = np.full(stay.size, law.sampling / DENOMINATOR)
        names = ["none of the values", *law.levels.item_names()]
        if round_number == 1:  # the sampled ones are at 0, whatever their answer
            move[1:] = 0
            return Cells(names, stay + move, stay + move)
        return Cells(names, stay, stay + move)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        mechanism, levels = self._mechanism(), self.law.levels
        aggregate = Aggregate(rounds[0].users, np.stack([one.counts for one in rounds]))
        estimates = mechanism.estimate(aggregate)
        processed = estimates.clipped()
        return AnswerRows(
            estimates.users,
            ["", *level_names(levels)],
            ["none of the values", *levels.item_names()],
            estimates.values,
            estimates.standard_errors,
            *mechanism.intervals(aggregate, confidence),
            *mechanism.intervals(aggregate, 1 - (1 - confidence) / mechanism.items),
            processed.values,
            [f"processed: {processed.method}"] * mechanism.items,
        )

    def verify(self) -> None:
        """Both (epsilon, delta) statements about released totals, by sums over binomial laws."""
        stated = self.law.guarantee
        if stated is None:
            return
        view = AggregateView(
            self._mechanism(), stated.others_with_each_value, stated.others_with_none
        )
        for what, epsilon, curve in (
            ("The estimates", stated.difference_epsilon, view.difference_delta),
            ("The totals of both rounds", stated.totals_epsilon, view.totals_delta),
        ):
            if epsilon is not None and epsilon > MAX_EPSILON:
                reason = f"{what} have epsilon {epsilon:.6g}, of which nothing can be proven"
                raise VerificationError(reason)
            realised = 0.0 if epsilon is None else curve(epsilon)
            if realised > stated.delta * (1 + ROUNDING):  # which is less than what was added
                reason = f"{what} have delta {realised:.3g} at epsilon {epsilon:.6g}"
                raise VerificationError(f"{reason} but {stated.delta:.3g} is promised")
        if stated.totals_are_exact and not view.totals_are_exact:
            raise VerificationError("The totals' epsilon is a bound, but is stated as exact")

    def _mechanism(self) -> SamplingPrivacy:
        law = self.law
        decoys = [decoy / DENOMINATOR for decoy in law.decoys]
        shares = law.sampling / DENOMINATOR, law.zero / DENOMINATOR, decoys
        return SamplingPrivacy(*shares, everyone_has_value=law.everyone_has_value)
