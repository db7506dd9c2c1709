"""What all questions have, and what those with levels have besides."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import inf
from typing import Annotated, ClassVar, Self

import pydantic

from planner.errors import InputError
from planner.laws.answers import Item, WayOfAsking
from planner.laws.levels import Levels
from planner.policy.objective import Objective
from planner.policy.pair_rule import ONE_SIDED
from planner.policy.policy import PrivacyPolicy
from planner.policy.rules import DEFAULT_RULE
from planner.survey import values
from planner.survey.asked_again import AskedAgain
from planner.survey.columns import AnswerColumn, Pairs
from planner.survey.description import Description, at, wrong
from planner.survey.levels import (
    Level,
    Target,
    check_items,
    listed_items,
    wrong_targets,
)

# Asks for whichever mechanism has the smallest error; planning says which one that is.
BEST = "best"


RuleOf = str | tuple[tuple[float, ...], ...]


class BaseQuestion(Description):
    """What questions of all kinds have.

    The ``name`` is distinct within the survey; ``mechanism`` is planned and deployed, the kind's
    usual one when left out; ``weight`` is the importance of the error among the survey's, above 0.
    ``targets`` are errors small enough; of a mean shares of half its range, without levels.
    ``ask`` is the question as people read it, the name when left out.

    In a file of answers they stand in ``columns``: one called like the question when left out;
    several, each called like an answer that is ticked; or a table of the column of each answer.
    ``missing`` are cells that stand for no answer; of its own the survey's, or a blank one.
    ``recode`` says of other cells what they stand for, ``ticks`` and ``unticked`` which cells are
    ticks, and which are none, where they are not as usual.
    """

    # Whether a person gives one of several answers, whose counts are wanted.
    draws_one: ClassVar[bool] = False
    # Whether its reports keep local differential privacy, whose budgets add up.
    locally_private: ClassVar[bool] = True
    # Whether it may be one of the parts of a joint question.
    joins: ClassVar[bool] = False
    name: values.Name
    mechanism: str = BEST
    weight: values.Positive = 1.0
    targets: values.Several[Target] = pydantic.Field(default=(), alias="target")
    rounds: AskedAgain | None = None
    ask: values.Name | None = None
    columns: values.ColumnNames = ()
    missing: values.Codes | None = None
    recode: values.Recoding = ()
    ticks: values.Codes | None = None
    unticked: values.Codes | None = None

    @property
    def way_of_asking(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        raise NotImplementedError

    @property
    def plain_levels(self) -> Levels:
        """The levels as laws have them."""
        return self.way_of_asking.levels

    @property
    def answer_column(self) -> AnswerColumn:
        """Where answers stand in a file, and what they mean."""
        return AnswerColumn(
            name=self.name,
            asked=self.way_of_asking,
            columns=self.columns,
            missing=self.missing,
            ticks=self.ticks,
            unticked=self.unticked,
            labels=self.cell_labels,
            recoded=(self.recode,) if self.recode else (),
        )

    @property
    def cell_labels(self) -> Pairs:
        """Labels of answers, which cells may have in place of their names."""
        return ()

    @property
    def of_mean(self) -> bool:
        """Whether its error is that of a mean, in a unit of its own."""
        return False

    @property
    def together(self) -> tuple[Self, ...]:
        """The questions that one report of it answers: itself, or the parts of a joint one."""
        return (self,)

    @property
    def answers(self) -> list[str]:
        """The names of all answers, in their order where they have one; none of a number."""
        return []

    @property
    def in_order(self) -> int:
        """How many of the answers, the first ones, have an order, the lowest first; 0 for none."""
        return 0

    @property
    def anchor_of(self) -> str | None:
        """The name of the question whose anchor it is: its true answer is known."""
        return None

    @property
    def shares_budgets(self) -> bool:
        """Whether it gets a share of the budgets: not if it has its own, or is an anchor."""
        return self.locally_private and self.anchor_of is None

    @property
    def unit(self) -> str:
        """The unit of its error: ``"people"``, or ``"units of the question"`` for a mean."""
        return "units of the question" if self.of_mean else "people"

    def _check_file(self) -> None:
        """Refuse what is said of files of answers and cannot be."""
        if not (self.columns or self.recode):
            return
        column = self.answer_column
        if column.ticked and self.way_of_asking.decimals:
            allowed = "one column for a number"
            remedy = "Name the column that holds it."
            raise wrong(list(column.names), allowed, remedy, "columns")
        for answer in column.stated_answers:
            if self.way_of_asking.find(answer) is None:
                raise at("columns", error=self._no_answer(answer, "columns"))
        for cell, text in self.recode:
            if not self._is_answer(text):
                raise at("recode", error=self._no_answer(text, "recode"))
            if self.way_of_asking.several and self.way_of_asking.find(cell) is not None:
                allowed = "of cells that are no answer already"
                raise wrong(cell, allowed, "Leave it out.", "recode")

    def _is_answer(self, text: str) -> bool:
        try:
            self.way_of_asking.read_cell(text)
        except InputError:
            return False
        return True

    def _no_answer(self, text: str, key: str) -> InputError:
        items = list[str]()
        for listed in self.plain_levels.items:
            items.extend(listed)
        if items and not self.of_mean:
            return InputError.unknown(key, text, items, "Name an answer of a level.")
        return InputError(key, text, "an answer to this question", "Correct it.")

    def _check_targets(self, levels: list[str]) -> None:
        for i, key, error in wrong_targets(self.targets, levels):
            raise at("target", i, key, error=error)


class Levelled(BaseQuestion):
    """A question with one or more levels of answers; no item is in two, no name given twice.

    ``rule`` is ``"min"``, ``"avg"``, ``"one-sided"`` or a matrix of pair budgets (see
    :class:`~planner.policy.policy.PrivacyPolicy`), in which ``""`` is the smaller of two levels'
    budgets and ``inf`` no protection. ``label`` has answers as people read them, where that is not
    their name.
    """

    first: ClassVar[tuple[str, ...]] = ("name", "levels", "rule")
    levels: values.Several[Level] = pydantic.Field(min_length=1, alias="level")
    rule: Annotated[RuleOf, pydantic.PlainValidator(values.read_rule)] = DEFAULT_RULE
    label: values.Labels = ()

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        check_items(self.levels)
        if isinstance(self.rule, tuple):
            # Once made, a matrix of budgets has no blank cells: files may leave the usual out.
            epsilons = [level.epsilon for level in self.levels]
            matrix = []
            for i, row in enumerate(self.rule):
                cells = []
                for j, cell in enumerate(row):
                    cells.append(_usual(cell, epsilons, i, j))
                matrix.append(tuple(cells))
            self.__dict__["rule"] = tuple(matrix)
        for i, level in enumerate(self.levels):
            if level.against is not None and self.rule != ONE_SIDED:
                remedy = f'Write rule = "{ONE_SIDED}", or delete it.'
                allowed = "left out: other rules limit both directions alike"
                raise wrong(level.against, allowed, remedy, "level", i, "against")
        _ = self.policy  # checks rule and matrix, once
        self._check_targets([level.name for level in self.levels])
        for i, level in enumerate(self.levels):
            if self.locally_private:
                expected_counts = 0
                allowed = "left out unless 'sampled-choice'"
            else:
                expected_counts = level.item_count
                allowed = "one count per item"
            if len(level.yes_counts) != expected_counts:
                remedy = "Sampling Privacy alone expects, per value, how many people have it."
                raise wrong(level.yes_counts, allowed, remedy, "level", i, "yes_counts")
        named = listed_items(self.levels)
        labelled = dict(self.label)
        for answer in sorted(labelled.keys() - set(named)):
            remedy = "Name the answer as its level does."
            raise at("label", error=InputError.unknown("label", answer, named, remedy))
        self._check()
        self._check_file()
        _ = self.objective
        return self

    @property
    def cell_labels(self) -> Pairs:
        """Labels of answers, which cells may have in place of their names."""
        return self.label

    def _check(self) -> None:
        """What a kind asks for besides."""

    @cached_property
    def plain_levels(self) -> Levels:
        """The levels as laws have them."""
        # The policy has their number, and the survey their names.
        names = tuple(level.items for level in self.levels)
        return replace(self.policy.plain(), items=names)

    @cached_property
    def way_of_asking(self) -> WayOfAsking:
        """The way of asking, by which answers are read."""
        return Item(self.plain_levels)

    @property
    def ordered(self) -> tuple[str, ...]:
        """The answers, as listed."""
        return tuple(listed_items(self.levels))

    @property
    def answers(self) -> list[str]:
        """The names of all answers, in their order where they have one."""
        return self.plain_levels.item_names()

    @cached_property
    def objective(self) -> Objective:
        """Worst-case error, the expected one where levels have priors, or the worst item's."""
        importance = [level.importance for level in self.levels]
        weights: list[float] | None = importance
        # Levels of one importance need no weights: what counts is one beside the others.
        alike = len(set(importance)) == 1
        if alike and importance[0] > 0:
            weights = None
        # For an expected error all shares have to be known, not some.
        priors = [level.prior for level in self.levels if level.prior is not None]
        if 0 < len(priors) < len(self.levels):
            allowed = "given for all levels of the question, or for none"
            remedy = "Give the missing priors, or delete them all to plan for the worst case."
            raise InputError("prior", priors, allowed, remedy)
        minimax = getattr(self, "criterion", "total") == "minimax"
        if minimax and priors:
            remedy = (
                "It keeps the worst answer's error small, whoever has which answer."
            )
            allowed = 'left out with criterion = "minimax"'
            raise InputError("prior", priors, allowed, remedy)
        if not any(importance):
            allowed = "above 0 for one level or more"
            remedy = "Raise those of levels that matter."
            raise InputError("importance", importance, allowed, remedy)
        kind = "worst-case"
        if minimax:
            kind = "minimax"
        elif priors:
            kind = "expected"
        objective = Objective(kind, weights, priors or None)
        _ = objective.coefficients(self.policy)  # checks both against the levels
        return objective

    @cached_property
    def policy(self) -> PrivacyPolicy:
        """The levels as a privacy policy."""
        against = None
        if self.rule == ONE_SIDED:
            # A level without such a limit may be told from all others.
            against = [level.against or inf for level in self.levels]
        return PrivacyPolicy(
            [level.epsilon for level in self.levels],
            [level.item_count for level in self.levels],
            self.rule,
            [level.name for level in self.levels],
            against,
        )


def _usual(cell: float | None, epsilons: list[float], i: int, j: int) -> float:
    """A cell of a matrix of budgets; a blank one has the smaller budget of its two levels."""
    if cell is not None:
        return cell
    # The policy says it if the matrix has more rows than there are levels.
    last = len(epsilons) - 1
    row = min(i, last)
    column = min(j, last)
    return min(epsilons[row], epsilons[column])
