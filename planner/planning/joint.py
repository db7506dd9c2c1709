"""Two answers in one report: what a joint question can tell, beside asking its parts apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from planner.arrays import Array
from planner.estimates.cross_table import merged_cells, people_for_association
from planner.mechanisms.asking import CollectedLaw
from planner.planning.choice import ChoiceKind, Deployed
from planner.planning.kind import PlanFacts
from planner.planning.option import AnyPart, Curve, Option, Part, at_scale
from planner.planning.shares import Allocation, allocate
from planner.planning.solve import ROUGH
from planner.survey.questions import Categorical, Joint

STRENGTH, POWER = 0.1, 0.8
"""The Cramér's V that people are counted for, and the chance to see it."""


@dataclass(frozen=True, eq=False)
class Related:
    """What the report of a joint question tells: errors are squared, per person who is asked.

    ``table`` is the total over all cells. :attr:`margins` and :attr:`people` follow from the law
    that is deployed; :attr:`apart` and :attr:`margins_apart` are what its parts would have with the
    same budgets. All for the least favourable answers.
    """

    part: Part[Joint]
    mechanism: Deployed
    table: float

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parts."""
        return self.part.asked.of

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers each has."""
        return tuple(int(one.policy.item_counts.sum()) for one in self.part.asked.parts)

    def _merged(self, kept: Sequence[int]) -> float:
        """Error of the table of some of the parts, for the worst cell: levels treat cells alike."""
        law, asked = self._law, self.part.asked
        answers = [one.plain_levels.item_names() for one in asked.parts]
        merged = merged_cells(asked.ordered, answers, kept)
        firsts = np.cumsum([0, *law.levels.item_counts[:-1]])
        return max(
            float(np.trace(law.shape.second_moments(own, merged))) - 1
            for own in np.eye(len(asked.ordered))[firsts]
        )

    @cached_property
    def _law(self) -> CollectedLaw:
        return ChoiceKind().law(self.part.deployed, self.mechanism)

    @cached_property
    def margins(self) -> tuple[float, ...]:
        """Total error of the counts of each part alone."""
        return tuple(self._merged([k]) for k in range(len(self.sizes)))

    @cached_property
    def people(self) -> dict[tuple[str, str], int]:
        """How many the survey needs to see, with 80 % chance, a Cramér's V of 0.1 of two parts."""
        found = {}
        for i, j in combinations(range(len(self.sizes)), 2):
            error = self.table if len(self.sizes) == 2 else self._merged([i, j])
            sizes = self.sizes[i], self.sizes[j]
            needed = people_for_association(error, sizes, STRENGTH, POWER) if min(sizes) > 1 else 0
            found[self.names[i], self.names[j]] = int(np.ceil(needed / self.part.fraction))
        return found

    @cached_property
    def _curves(self) -> list[Curve]:
        kind, share = ChoiceKind(), self.part.share
        parts = (at_scale(one, share) for one in self.part.question.parts)
        return [kind.shared(one, self.part.people) for one in parts]

    @cached_property
    def apart(self) -> float:
        """Error of the table if the parts are asked apart, with the shares best for it.

        Of independent reports ``prod(V_j + 1) - 1``. One question each tells no table at all.
        """
        from scipy.optimize import minimize

        def table(logs: Array) -> float:
            weights = np.exp(np.append(logs, 0.0))
            shares = (weights / weights.sum()).tolist()
            about = zip(self._curves, shares, strict=True)
            return float(
                sum(np.log1p(curve.at(share, tolerance=ROUGH).squared) for curve, share in about)
            )

        start = np.vstack([np.zeros(len(self.sizes) - 1), np.eye(len(self.sizes) - 1)]) / 2
        options = {"initial_simplex": start, "xatol": 1e-2, "fatol": 1e-5}
        found = minimize(table, start[0], method="Nelder-Mead", options=options)
        return float(np.expm1(found.fun))

    @cached_property
    def margins_apart(self) -> Allocation:
        """The parts alone, if split as is best for them, and if each person is asked one."""
        return allocate(self._curves, asked=1)

    @property
    def gains(self) -> tuple[float, float]:
        """How many times smaller the errors of the table and of the margins are than apart."""
        found = self.margins_apart
        alone = min(found.value, found.some_each.value)
        return self.apart / self.table, alone / sum(self.margins)


class JointKind(ChoiceKind):
    """A choice of a pair of answers."""

    def facts(self, part: AnyPart, planned: Option, mechanism: Deployed) -> PlanFacts:
        """Those of a choice, and what it says of its parts."""
        table = self.total(part, planned).value
        return *super().facts(part, planned, mechanism), Related(part, mechanism, table)


def joined(parts: Sequence[Part[Categorical]]) -> Part[Joint]:
    """Questions of one answer each as one joint question of the same people and whole budgets.

    Raises
    ------
    InputError
        Their rules differ, or they have too many pairs of answers.
    """
    names = tuple(part.asked.name for part in parts)
    kept = ("name", "levels", "rule")
    columns = (
        tuple(Categorical(**{key: getattr(one, key) for key in kept}) for one in column)
        for column in zip(*((p.asked, p.tolerated, p.question) for p in parts), strict=True)
    )
    asked, tolerated, left = (
        Joint(name=" and ".join(names), of=names, parts=one) for one in columns
    )
    return Part(asked, tolerated, left, 1.0, 1.0, parts[0].everybody)
