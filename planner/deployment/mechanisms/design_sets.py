"""Item sets by padding and sampling with a subset design, in the file, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.deployment.client.mechanisms.design_sets import DesignSetLaw
from planner.deployment.mechanisms.answers import AnswerRows
from planner.deployment.mechanisms.design import DeployedDesign, described_design
from planner.deployment.mechanisms.item_sets import PaddedSets, described_padding
from planner.designs.set_design import SetDesign
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.design_grid import as_drawn
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.survey import Question

__all__ = ["DeployedDesignSets"]


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
        return described | group | described_padding(source.padding_length, source.longer)

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        padded = PaddedDesignMechanism(self._mechanism, self.law.padding_length, self.longer)
        return self.rows(padded.estimate(self._by_type(rounds[0])), confidence)
