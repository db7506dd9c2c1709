"""Item sets by padding and sampling (IDUE-PS) in the file, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.item_sets import DesignSetLaw, SetLaw
from planner.deployment.mechanisms.answers import AnswerRows, item_rows
from planner.deployment.mechanisms.deployed import Deployed, Rows
from planner.deployment.mechanisms.design import DeployedDesign, described_design
from planner.deployment.mechanisms.unary import DeployedUnary
from planner.designs.set_design import SetDesign
from planner.designs.table import UnaryTable
from planner.errors import InputError
from planner.estimates.truncation import LongerSets, SetSizes, TruncatedEstimates
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.design_grid import as_drawn
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.policy.policy import PrivacyPolicy, require_set_budgets
from planner.survey import Question


class PaddedSets:
    """What the ways of reporting one item of a set have in common: some sets are cut."""

    law: Any
    sizes: SetSizes | None = None
    """Of the sets, if that was asked for."""

    def with_sizes(self, sizes: SetSizes | None) -> Self:
        known = type(self)(self.law)  # type: ignore[call-arg]
        known.sizes = sizes
        return known

    @property
    def longer(self) -> LongerSets | None:
        """Which sets are longer than the padding length: as asked, or else as stated."""
        length, stated = self.law.padding_length, self.law.longer_sets
        if self.sizes is not None:
            return self.sizes.longer_than(length)
        if stated is None:
            return None
        sizes, shares = zip(*stated, strict=True) if stated else ((), ())
        return LongerSets(length, sizes, shares)

    def rows(self, estimates: TruncatedEstimates, confidence: float) -> AnswerRows:
        """A row per item, with what is known of cut sets."""
        length, users, processed = self.law.padding_length, estimates.users, estimates.clipped()
        if self.sizes is not None:
            processed = estimates.put_back(self.sizes, length, confidence)
        rows = item_rows(self.law.levels, estimates, processed, confidence)
        remark = _cut_remark(self.longer, length, users)
        return replace(rows, remarks=[f"{one}{remark}" for one in rows.remarks])


class DeployedSets(PaddedSets, DeployedUnary[SetLaw]):
    """Unary encoding of one sampled item; dummies are counted, and left out of the estimates."""

    law_type = SetLaw
    sources = (PaddedUnaryMechanism,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        require_set_budgets(question.policy)
        unary = DeployedUnary.describe(source.unary, question)
        return unary | _described_padding(source.padding_length, source.longer)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        items = Aggregate(rounds[0].users, rounds[0].counts[: self.law.levels.total])
        return self.rows(self._mechanism().estimate(items), confidence)

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        return Deployed.draw(self, codes, source)

    def _mechanism(self) -> PaddedUnaryMechanism:
        """The mechanism with exactly these integers: doubles hold multiples of 2^-32 exactly."""
        law = self.law
        policy = PrivacyPolicy(law.levels.epsilons, law.levels.item_counts, "min")
        a, b = np.array(law.a) / DENOMINATOR, np.array(law.b) / DENOMINATOR
        table = UnaryTable(policy, a, b, "opt0", "deployed")
        return PaddedUnaryMechanism(UnaryMechanism(table), law.padding_length, self.longer)


class DeployedDesignSets(PaddedSets, DeployedDesign[DesignSetLaw]):
    """A subset design of one sampled item; the dummy is counted, and left out of the estimates."""

    law_type = DesignSetLaw
    sources = (PaddedDesignMechanism,)

    @classmethod
    def describe(cls, source: PaddedDesignMechanism, question: Question) -> dict[str, Any]:
        if source.solved is None or source.solved.policy != question.policy:
            reason = f"the design of question {question.name!r} is for another policy"
            remedy = "Solve a design for the policy of the question and a dummy."
            raise InputError.because("design", reason, remedy)
        solved = source.solved
        drawn = SetDesign(solved.policy, as_drawn(solved.design), solved.objective)
        described = described_design(solved, source.single, question, drawn.worst_case_mse)
        group = {"dummy_group": int(solved.design.groups[-1])}
        return described | group | _described_padding(source.padding_length, source.longer)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        padded = PaddedDesignMechanism(self._mechanism, self.law.padding_length, self.longer)
        return self.rows(padded.estimate(self._by_type(rounds[0])), confidence)


def _described_padding(length: int, longer: LongerSets | None) -> dict[str, Any]:
    """The padding length, and what is known of longer sets, as JSON."""
    if longer is None:
        return {"padding_length": length}
    stated = zip(longer.sizes, longer.shares, strict=True)
    rows = [{"size": size, "share": share} for size, share in stated]
    return {"padding_length": length, "longer_sets": rows}


def _cut_remark(longer: LongerSets | None, length: int, users: int) -> str:
    """What cutting long sets has done to the estimates, in people."""
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
