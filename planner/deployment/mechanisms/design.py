"""Subset designs in the file, counted type by type, and estimated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from planner.deployment.client.drawing.entropy import Source
from planner.deployment.client.laws.exact import DENOMINATOR
from planner.deployment.client.mechanisms.design import DesignLaw
from planner.deployment.client.mechanisms.law import Law
from planner.deployment.mechanisms.answers import AnswerRows, item_rows
from planner.deployment.mechanisms.counting import Counter
from planner.deployment.mechanisms.deployed import Cells, Deployed, Rows
from planner.deployment.mechanisms.design_draws import draw_design
from planner.deployment.mechanisms.items import described_levels, described_rule
from planner.designs.level_groups import pooled
from planner.designs.set_design import SetDesign
from planner.designs.subset_design import SubsetDesign
from planner.errors import InputError
from planner.mechanisms.aggregate import Aggregate
from planner.mechanisms.subset_design import SubsetDesignMechanism
from planner.mechanisms.typed_counts import TypedCounter
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.survey import Question

Array = NDArray[np.float64]
L = TypeVar("L", bound=DesignLaw)


class DeployedDesign(Deployed[L]):
    """For every type its reports, and how many of them have each item on the high side."""

    law_type: ClassVar[type[Law]] = DesignLaw
    sources: ClassVar[tuple[type, ...]] = (SubsetDesign,)

    @classmethod
    def describe(cls, source: Any, question: Question) -> dict[str, Any]:
        if source.policy not in (question.policy, question.policy.with_changes(self_pairs=True)):
            reason = f"the design of question {question.name!r} is for another policy"
            remedy = "Solve a design for the policy of the question."
            raise InputError.because("design", reason, remedy)
        drawn = SubsetDesignMechanism.of(source)
        return described_design(source, drawn, question, drawn.worst_case_mse)

    def counter(self) -> Counter:
        return _TypedTally(self.law)

    def cells(self, round_number: int | None) -> Cells:
        """Bounds for every type's reports, and for those with an item on the high side."""
        del round_number
        law, counts = self.law, np.array(self.law.items)
        high = np.array(law.types)
        integers = np.array(law.groups) / DENOMINATOR
        sent = integers.sum(axis=2)
        # Another group's item is high with its share; one's own level leaves one place less.
        share = (high / counts).T
        chances = sent[None, :, :] * share[:, None, :]
        low_left = np.minimum(high / np.maximum(counts - 1, 1), 1).T
        high_left = np.maximum((high - 1) / np.maximum(counts - 1, 1), 0).T
        same = integers[:, :, 0] * low_left + integers[:, :, 1] * high_left
        alone = counts == 1
        same[alone] = integers[alone, :, 1]
        chances[np.arange(counts.size), np.arange(counts.size)] = same
        least = np.minimum(chances.min(axis=1), integers[:, :, 1])
        most = np.maximum(chances.max(axis=1), integers[:, :, 1])
        low = self._spread(sent.min(axis=0), least.T)
        return Cells(_CellNames(law), low, self._spread(sent.max(axis=0), most.T))

    def estimate(self, rounds: Sequence[Aggregate], confidence: float) -> AnswerRows:
        estimates = self._mechanism.estimate(self._by_type(rounds[0]))
        return item_rows(self.law.levels, estimates, estimates.on_simplex(), confidence)

    def draw(self, codes: Sequence[Any], source: Source) -> list[Rows]:
        return [draw_design(self.law, codes, source)]

    def _by_type(self, counted: Aggregate) -> Aggregate:
        """As the mechanism counts: a row a type."""
        return Aggregate(counted.users, counted.counts.reshape(len(self.law.types), -1))

    @cached_property
    def _mechanism(self) -> SubsetDesignMechanism:
        """The mechanism with exactly these integers and this estimator."""
        law = self.law
        groups, counts, epsilons = zip(*law.members, strict=True)
        policy = pooled(PrivacyPolicy(epsilons, counts, law.levels.rule), np.array(groups))
        level_of = np.repeat(groups, counts)
        parts = np.array(law.types), np.array(law.groups), np.array(law.values)
        return SubsetDesignMechanism(policy, *parts, level_of)

    def _spread(self, of_types: Array, of_groups: Array) -> Array:
        """One number a cell; there may be millions, so that nothing is held twice."""
        group = np.repeat(np.arange(len(self.law.items)), self.law.items)
        cells = np.empty((of_types.size, 1 + group.size))
        cells[:, 0] = of_types
        for row, numbers in zip(cells, of_groups, strict=True):
            row[1:] = numbers[group]
        return cells.reshape(-1)


class _TypedTally:
    """Counts by type, in one column: for each type its reports, then each item's."""

    def __init__(self, law: DesignLaw) -> None:
        self._counter = TypedCounter(np.array(law.items), np.array(law.types))
        self._users = 0

    def add(self, rows: Rows) -> None:
        """Count some reports."""
        self._counter.add(rows.view("<u8"))
        self._users += len(rows)

    def sums(self) -> Aggregate:
        """What was counted."""
        return Aggregate(self._users, self._counter.counts().ravel())


class _CellNames(Sequence[str]):
    """Made when asked for: there are as many as types times items."""

    def __init__(self, law: DesignLaw) -> None:
        self._law = law

    def __len__(self) -> int:
        return self._law.cells

    def __getitem__(self, cell: Any) -> str:
        kind, item = divmod(int(cell), 1 + len(self._items))
        if not item:
            return f"type {kind}"
        return f"{self._items[item - 1]} in type {kind}"

    @cached_property
    def _items(self) -> list[str]:
        """In the order of the bits."""
        groups, counts, _ = zip(*self._law.members, strict=True)
        of_items = np.repeat(groups, counts)
        names = [*self._law.levels.item_names(), "dummy"]
        return [names[k] for k in np.argsort(of_items, kind="stable").tolist()]


def described_design(
    design: SubsetDesign | SetDesign,
    mechanism: SubsetDesignMechanism,
    question: Question,
    error: float,
) -> dict[str, Any]:
    """The keys of a design's law, as JSON.

    Parameters
    ----------
    design:
        As it was solved.
    mechanism:
        As it is drawn.
    question:
        With the design's levels.
    error:
        Worst-case total squared error per user as it is drawn, of what is estimated.
    """
    proven = design.certificate
    bound = proven.lower_bound if proven and design.objective == Objective() else None
    gap = None if bound is None else max(0.0, (error - bound) / bound)
    levels = described_levels(question)
    groups = design.design.groups.tolist()  # a dummy's comes last
    for level, group in zip(levels, groups, strict=False):
        level["group"] = group
    return {
        "rule": described_rule(question.policy.rule.plain(question.policy.epsilons)),
        "levels": levels,
        "types": mechanism.high_counts.tolist(),
        "groups": mechanism.integers.tolist(),
        "predicted": {"worst_case_mse": error, "lower_bound": bound, "relative_gap": gap},
        "estimator": {"values": mechanism.estimator.tolist()},
    }
