"""Item sets by padding and sampling (IDUE-PS) in the file, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.item_sets import SetLaw
from planner.deployment.mechanisms.answers import AnswerRows, item_rows
from planner.deployment.mechanisms.deployed import Deployed, Rows
from planner.deployment.mechanisms.unary import DeployedUnary
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.estimates.truncation import LongerSets
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

__all__ = ["DeployedSets"]


class DeployedSets(DeployedUnary[SetLaw]):
    """Unary encoding of one sampled item; dummies are counted, and left out of the estimates."""

    law_type = SetLaw
    sources = (PaddedUnaryMechanism,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        if not question.policy.rule.covers_sets:
            allowed = '"min": eq. 16 defines set budgets'
            remedy = 'Choose the rule "min" for a question of item sets.'
            raise InputError("rule", question.policy.rule_name, allowed, remedy)
        unary = DeployedUnary.describe(source.unary, question)
        described = unary | {"padding_length": source.padding_length}
        if source.longer is None:
            return described
        longer = zip(source.longer.sizes, source.longer.shares, strict=True)
        stated = [{"size": size, "share": share} for size, share in longer]
        return described | {"longer_sets": stated}

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        levels = self.law.levels
        items = Aggregate(rounds[0].users, rounds[0].counts[: levels.total])
        estimates = self._mechanism().estimate(items)
        rows = item_rows(levels, estimates, estimates.clipped(), confidence)
        remark = self._remark(estimates.users)
        return replace(rows, remarks=[f"{one}{remark}" for one in rows.remarks])

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        return Deployed.draw(self, codes, source)

    def _mechanism(self) -> PaddedUnaryMechanism:
        """The mechanism with exactly these integers: doubles hold multiples of 2^-32 exactly."""
        law = self.law
        policy = PrivacyPolicy(law.levels.epsilons, law.levels.item_counts, "min")
        a, b = np.array(law.a) / DENOMINATOR, np.array(law.b) / DENOMINATOR
        table = UnaryTable(policy, a, b, "opt0", "deployed")
        longer = None
        if law.longer_sets is not None:
            sizes, shares = zip(*law.longer_sets, strict=True) if law.longer_sets else ((), ())
            longer = LongerSets(law.padding_length, sizes, shares)
        return PaddedUnaryMechanism(UnaryMechanism(table), law.padding_length, longer)

    def _remark(self, users: int) -> str:
        """What cutting long sets has done to the estimates, in people."""
        longer, length = self._mechanism().longer, self.law.padding_length
        if longer is None:
            return (
                f"; sets of more than {length} items were cut and their number is not stated: "
                "counts are too small by an unknown number of people, without upper limits"
            )
        if not longer.sizes:
            return ""
        return (
            f"; sets of more than {length} items were cut: on average a count is too small by up "
            f"to {longer.largest_bias(users):,.0f} people, which the limits allow for"
        )
