"""Questions of one answer each that are asked together: what one report tells of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil

import numpy as np

from planner.arrays import Array
from planner.estimates.cross_table import margin_matrix, people_for_association
from planner.mechanisms.asking import CollectedLaw
from planner.planning.choice import ChoiceKind, Deployed
from planner.planning.kind import PlanFacts
from planner.planning.option import AnyPart, Curve, Option, Part, at_scale
from planner.planning.shares import Allocation, allocate
from planner.planning.solve import ROUGH
from planner.policy.rules import DEFAULT_RULE
from planner.solvers.unequal_parts import least_table_error
from planner.survey.choices import Categorical
from planner.survey.joint import AskedInJoint, Joint

STRENGTH = 0.1
POWER = 0.8
"""The Cramér's V that people are counted for, and the chance to see it."""


@dataclass(frozen=True, eq=False)
class Related:
    """What the report of a joint question tells: errors are squared, per person who is asked.

    ``table`` is the total over all cells. :attr:`margins` and :attr:`people` follow from the law
    that is deployed; :attr:`separate` and :attr:`margins_separate` are what its parts would have if
    they were asked as questions of their own, with the same budgets. All for the least favourable
    answers.
    """

    part: Part[Joint]
    mechanism: Deployed
    table: float

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the parts."""
        return self.part.asked.of

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many answers each part has."""
        sizes = []
        for part in self.part.asked.parts:
            sizes.append(int(part.policy.item_counts.sum()))
        return tuple(sizes)

    def _table_error(self, kept: Sequence[int]) -> float:
        """Error of the table of some of the parts, for the worst cell.

        Levels treat cells alike, so that the first cell of each stands for all of them.
        """
        item_counts = self._law.levels.item_counts
        first_cells = np.cumsum([0, *item_counts[:-1]])
        everybody_in = np.eye(sum(item_counts))
        squares = []
        for cell in first_cells:
            squares.append(self._squared(kept, everybody_in[cell]))
        # Where all are in one cell the true table has the square 1, and the rest is error.
        return max(squares) - 1

    def _squared(self, kept: Sequence[int], shares: Array) -> float:
        """``E |T|^2`` of the table of some of the parts, of a person drawn from these cells."""
        asked = self.part.asked
        answers = [part.answers for part in asked.parts]
        merged = margin_matrix(asked.ordered, answers, kept)
        moments = self._law.shape.second_moments(shares, merged)
        return float(np.trace(moments))

    def _association_error(self, i: int, j: int) -> float:
        """What a report says of an association, as the error of a table of one budget.

        An association is a deviation whose margins are 0. With ``M`` of docs/theory/relating.md at
        even shares, its ``(d_i - 1)(d_j - 1)`` directions have the mean variance ``kappa``, where

            (d_i - 1)(d_j - 1) kappa = tr M - tr M_i / d_j - tr M_j / d_i + 1 / (d_i d_j)

        for the second moments ``M_i``, ``M_j`` of the margins, and a table of one budget has the
        error ``V`` with ``V + 1 = (d_i d_j - 1) kappa + 1 / (d_i d_j)``.
        """
        d_i = self.sizes[i]
        d_j = self.sizes[j]
        cells = d_i * d_j
        # Of three parts a sheet has more answers than these two; the others are added up.
        sheets = len(self.part.asked.ordered)
        even = np.full(sheets, 1 / sheets)
        trace = self._squared([i, j], even)  # tr M
        trace_i = self._squared([i], even)
        trace_j = self._squared([j], even)
        directions = (d_i - 1) * (d_j - 1)
        of_directions = trace + 1 / cells - trace_i / d_j - trace_j / d_i
        kappa = of_directions / directions
        return (cells - 1) * kappa + 1 / cells - 1

    @property
    def said_of_parts(self) -> tuple[float, ...] | None:
        """What a report says at most of each part, also to who knows the others, in nats.

        None where that is the same for all: at most what it says of a whole sheet.
        """
        policy = self.part.deployed.policy
        if policy.rule.by_level:  # no pair of sheets has a budget of its own
            return None
        spent = self.part.asked.spent_on(policy.bounds())
        # Of each part that of its level of which most is said.
        return tuple(max(levels.values()) for levels in spent)

    @cached_property
    def _law(self) -> CollectedLaw:
        return ChoiceKind().law(self.part.deployed, self.mechanism)

    @cached_property
    def margins(self) -> tuple[float, ...]:
        """Total error of the counts of each part alone."""
        errors = []
        for part in range(len(self.sizes)):
            errors.append(self._table_error([part]))
        return tuple(errors)

    @cached_property
    def people(self) -> dict[tuple[str, str], int]:
        """How many the survey needs to see, with 80 % chance, a Cramér's V of 0.1 of two parts."""
        people = {}
        parts = range(len(self.names))
        for i, j in combinations(parts, 2):
            sizes = (self.sizes[i], self.sizes[j])
            reporters = 0.0
            if min(sizes) > 1:
                error = self._association_error(i, j)
                reporters = people_for_association(error, sizes, STRENGTH, POWER)
            # The survey has to have more, of whom those who report are drawn.
            of_survey = reporters / self.part.fraction
            pair = (self.names[i], self.names[j])
            people[pair] = ceil(of_survey)
        return people

    @cached_property
    def _curves(self) -> list[Curve]:
        kind = ChoiceKind()
        curves = []
        for question in self.part.question.parts:
            spent = _as_choice(at_scale(question, self.part.share))
            curves.append(kind.shared(spent, self.part.people))
        return curves

    @cached_property
    def separate(self) -> float:
        """Error of the table if the parts are asked separately, with the shares best for it.

        Of independent reports ``prod(V_j + 1) - 1``. One question each tells no table at all.
        """
        from scipy.optimize import minimize

        def log_table_error(log_ratios: Array) -> float:
            weights = np.exp(np.append(log_ratios, 0.0))
            shares = weights / weights.sum()
            total = 0.0
            for curve, share in zip(self._curves, shares.tolist(), strict=True):
                error = curve.at(share, tolerance=ROUGH).squared
                total += np.log1p(error)
            return float(total)

        # Shares sum to 1: those of all parts but the last are free, by their ratio to the last.
        free = len(self.sizes) - 1
        # The errors are known to ROUGH alone: a search that takes no slopes, from even shares.
        even = np.zeros(free)
        simplex = np.vstack([even, np.eye(free) / 2])
        result = minimize(
            log_table_error,
            even,
            method="Nelder-Mead",
            options={"initial_simplex": simplex, "xatol": 1e-2, "fatol": 1e-5},
        )
        return float(np.expm1(result.fun))

    @cached_property
    def margins_separate(self) -> Allocation:
        """The parts alone, if split as is best for them, and if each person is asked one."""
        return allocate(self._curves, asked=1)

    @property
    def gains(self) -> tuple[float, float]:
        """How many times smaller the errors of table and margins are than asked separately."""
        separate = self.margins_separate
        # Separate questions may be split, or one be asked of each person: the better of these.
        margins_separate = min(separate.value, separate.some_each.value)
        of_table = self.separate / self.table
        of_margins = margins_separate / sum(self.margins)
        return of_table, of_margins

    @property
    def shares_of_people(self) -> RelatedShares:
        """The errors as shares of the people asked."""
        people = self.part.people
        separate = self.margins_separate
        # A table first, then its margins.
        together = np.array([self.table, *self.margins])
        split = np.array([self.separate, *separate.errors])
        return RelatedShares(
            together=np.sqrt(together / people),
            split=np.sqrt(split / people),
            one_each=np.sqrt(separate.some_each.errors / people),
        )

    @cached_property
    def least_table(self) -> float | None:
        """The least error of the table of all mechanisms that keep what two parts promise.

        None where it is not known: of three parts, of parts with several budgets, or under another
        rule than min. Where a part has one answer there is no table.
        """
        budgets = []
        for question in self.part.question.parts:
            different = set(question.policy.epsilons.tolist())
            if question.rule != DEFAULT_RULE or len(different) > 1:
                return None
            budgets.append(self.part.share * different.pop())
        if len(self.sizes) != 2 or min(self.sizes) < 2:
            return None
        # Sheets that differ in the stricter part have its budget, whatever else differs.
        stricter = int(np.argmin(budgets))
        return least_table_error(
            groups=self.sizes[stricter],
            cells=self.sizes[1 - stricter],
            within=max(budgets),
            across=min(budgets),
        )

    @property
    def unused_budgets(self) -> bool:
        """Whether some part promises more than any two cells may have.

        Where there are too many kinds of cells for a matrix of pair budgets, a cell has the smaller
        budget of its levels. Two cells that differ in one part alone are told apart by no more than
        that; where parts have different budgets, a mechanism that is best for the cells' budgets is
        not the best for what the parts promise.
        """
        if not self.part.question.policy.rule.by_level:
            return False
        budgets = set()
        for question in self.part.question.parts:
            budgets.update(question.policy.largest_pairs().tolist())
        return len(budgets) > 1


@dataclass(frozen=True, slots=True, eq=False)
class RelatedShares:
    """Errors of a table and then of its parts, as shares of the people asked.

    Asked ``together``, or as questions of their own with the budgets ``split``, or ``one_each``,
    which tells no table.
    """

    together: Array
    split: Array
    one_each: Array


class JointKind(ChoiceKind):
    """A choice of a pair of answers."""

    def facts(self, part: AnyPart, planned: Option, mechanism: Deployed) -> PlanFacts:
        """The facts of a choice, and what the plan says of the parts."""
        table = self.total(part, planned).value
        of_choice = super().facts(part, planned, mechanism)
        return *of_choice, Related(part, mechanism, table)


def joint_part(parts: Sequence[Part[AskedInJoint]]) -> Part[Joint]:
    """Questions of one answer each as one joint question of the same people and whole budgets.

    Raises
    ------
    InputError
        Their rules differ, or they have too many pairs of answers.
    """
    return Part(
        asked=_joint([part.asked for part in parts]),
        tolerated=_joint([part.tolerated for part in parts]),
        question=_joint([part.question for part in parts]),
        share=1.0,
        fraction=1.0,
        everybody=parts[0].everybody,
    )


def _joint(questions: Sequence[AskedInJoint]) -> Joint:
    """A joint question of these: of each its levels and their rule alone."""
    names = tuple(question.name for question in questions)
    choices = tuple(_as_choice(question) for question in questions)
    return Joint(name=" and ".join(names), of=names, parts=choices)


def _as_choice(question: AskedInJoint) -> Categorical:
    """The part as a choice: errors of a table do not depend on the order of its answers."""
    return Categorical(name=question.name, level=question.levels, rule=question.rule)
