"""Two or three questions that one report answers together."""

from __future__ import annotations

from itertools import product
from typing import ClassVar, Literal, Self

import numpy as np
import pydantic

from planner.arrays import Array
from planner.laws.schema import Document
from planner.limits import JOINED, MAX_JOINT_CELLS
from planner.policy.pair_rule import ONE_SIDED
from planner.policy.rules import DEFAULT_RULE
from planner.survey import values
from planner.survey.choices import Categorical
from planner.survey.columns import AnswerColumn, Pairs
from planner.survey.description import wrong
from planner.survey.joining import Kinds, kinds_of_cells
from planner.survey.levels import Level
from planner.survey.ordinal import Ordinal

AskedInJoint = Categorical | Ordinal
"""A question of one answer that a joint one may be of."""

# An answer of a part with the name of its level; a cell has one of each part.
AnswerOfLevel = tuple[str, str]
AnswersOfCell = tuple[AnswerOfLevel, ...]

# What a joint question has from those that it is of.
_OF_THE_PARTS = {"levels", "rule", "label", "anchor", "known"}


class Joint(Categorical):
    """Two or three questions of one answer each, asked together: one report says both answers.

    In a survey it names them, and they become its ``parts``: no questions of their own. Its answers
    are the cells, up to 1,000, named as ``"HIV / yes"``: any two sheets are as hard to tell apart
    as the parts in which they differ promise. Its levels are the kinds of cells with the same
    budgets against all others, its rule the matrix of these; where there are too many kinds, or
    nothing is gained, the pairs of the parts' levels, each at the smaller budget.

    Examples
    --------
    >>> parts = (Categorical("diagnosis", (Level("severe", 1.0, ("HIV", "flu")),)),
    ...          Categorical("smokes", (Level("any", 2.0, ("yes", "no")),)))
    >>> joint = Joint("both", ("diagnosis", "smokes"), parts=parts)
    >>> joint.ordered, joint.rule  # who knows the diagnosis may learn more of smoking
    (('HIV / yes', 'HIV / no', 'flu / yes', 'flu / no'), ((2.0, 1.0), (1.0, 2.0)))
    """

    first: ClassVar[tuple[str, ...]] = ("name", "of")
    joins: ClassVar[bool] = False
    kind: Literal["joint"] = "joint"  # type: ignore[assignment]
    of: values.Several[values.Name]
    parts: values.Several[AskedInJoint] = ()
    levels: values.Several[Level] = pydantic.Field(default=(), alias="level")

    @pydantic.model_validator(mode="after")
    def _fits(self) -> Self:
        if not 2 <= len(self.of) <= 3:
            allowed = "two or three questions"
            raise wrong(self.of, allowed, "Name those of a table.", "of")
        if self.rounds is not None:
            raise wrong("given", "left out for 'joint'", "Ask it once.", "rounds")
        if not self.parts:  # until it is in a survey
            of_parts = _OF_THE_PARTS & self.model_fields_set
            for field in sorted(of_parts):
                key = field.replace("levels", "level")
                remedy = (
                    "Levels, their rule and labels are those of the questions it is of."
                )
                raise wrong("given", "left out for 'joint'", remedy, key)
            return self
        names = tuple(part.name for part in self.parts)
        if self.of != names:
            allowed = "the questions that it is of"
            raise wrong("given", allowed, "Leave them out.", "parts")
        for part in self.parts:
            if len(part.columns) > 1 and not self.columns:
                columns = list(part.answer_column.names)
                allowed = "one column for a part of a joint question"
                remedy = f"Name its own columns in {self.name!r}."
                raise wrong(columns, allowed, remedy, "of")
        # Fields of a frozen model are set past it, once, while it is made.
        if "rule" not in self.model_fields_set:
            self.__dict__["rule"] = self.parts[0].rule
        if not self.levels:
            self._join()
        return super()._fits()  # type: ignore[operator]

    def _join(self) -> None:
        """Set levels and rule: kinds of cells where these help, else pairs of the parts' levels."""
        rules = {part.rule for part in self.parts}
        if rules not in ({DEFAULT_RULE}, {ONE_SIDED}):
            remedy = "A pair of answers has the smaller budget: give both the rule min."
            allowed = f'of questions with one rule, "{DEFAULT_RULE}" or "{ONE_SIDED}"'
            raise wrong(self.of, allowed, remedy, "of")
        # Counted before they are listed: a level may have a million answers.
        cells = 1
        for part in self.parts:
            cells *= int(part.policy.item_counts.sum())
        if cells > MAX_JOINT_CELLS:
            allowed = f"of at most {MAX_JOINT_CELLS:,} pairs of answers, not {cells:,}"
            raise wrong(self.of, allowed, "Merge answers of one of them.", "of")
        # Under one-sided budgets a pair has two, one for each direction: kinds would need both.
        kinds = None
        if self.parts[0].rule == DEFAULT_RULE:
            budgets = [_budgets_of_answers(part) for part in self.parts]
            kinds = kinds_of_cells(budgets)
        if kinds is not None:
            matrix = kinds.budgets.tolist()
            self.__dict__["levels"] = self._levels_of_kinds(kinds)
            self.__dict__["rule"] = tuple(map(tuple, matrix))
            return
        levels_of_parts = [part.levels for part in self.parts]
        combinations = product(*levels_of_parts)
        self.__dict__["levels"] = tuple(map(_joined_level, combinations))

    def _levels_of_kinds(self, kinds: Kinds) -> tuple[Level, ...]:
        """One level for each kind of cells, named by the answers or levels that these share.

        Such as "HIV / any", of the cells "HIV / yes" and "HIV / no". Its budget is the one of two
        of its cells, or where it has one cell the largest of this beside any other.
        """
        cells = self._cells
        levels = []
        for kind, numbers in enumerate(kinds.cells):
            alike = [cells[number] for number in numbers]
            names_of_parts = []
            for part in range(len(self.parts)):
                answers = [cell[part] for cell in alike]
                names_of_parts.append(_shared_name(answers))
            name = JOINED.join(names_of_parts)
            budget = float(kinds.budgets[kind, kind])
            items = tuple(_cell_name(cell) for cell in alike)
            levels.append(Level(name=name, epsilon=budget, items=items))
        return tuple(levels)

    @property
    def _cells(self) -> list[AnswersOfCell]:
        """Every cell, in the order of the product of the parts' answers."""
        answers_of_parts = [_levels_of_answers(part) for part in self.parts]
        return list(product(*answers_of_parts))

    def spent_on(self, bounds: Array) -> list[dict[str, float]]:
        """What reports say of each part, by its levels, where they keep these pair budgets.

        Of a level of a part the largest of ``bounds``, ``(levels, levels)``, between two cells
        that differ in this part and one of which has an answer of that level.

        Examples
        --------
        >>> parts = (Categorical("diagnosis", (Level("severe", 1.0, ("HIV", "flu")),)),
        ...          Categorical("smokes", (Level("any", 2.0, ("yes", "no")),)))
        >>> joint = Joint("both", ("diagnosis", "smokes"), parts=parts)
        >>> joint.spent_on(joint.policy.bounds())
        [{'severe': 1.0}, {'any': 2.0}]
        """
        cells = {_cell_name(cell): cell for cell in self._cells}
        spent: list[dict[str, float]] = []
        for number, part in enumerate(self.parts):
            # The answers of this part that the cells of each level have.
            answers_of_levels = []
            for level in self.levels:
                answers = {cells[item][number] for item in level.items}
                answers_of_levels.append(answers)
            largest = {level.name: 0.0 for level in part.levels}
            for i, j in np.ndindex(bounds.shape):
                bound = float(bounds[i, j])
                others = answers_of_levels[j]
                for answer in answers_of_levels[i]:
                    _, level_name = answer
                    # Two cells differ in this part, unless the others have this answer alone.
                    if others != {answer}:
                        largest[level_name] = max(largest[level_name], bound)
            spent.append(largest)
        return spent

    @pydantic.model_serializer(mode="wrap")
    def _written(self, write: pydantic.SerializerFunctionWrapHandler) -> Document:
        written = dict(write(self))
        for derived in ("level", "rule", "label"):
            written.pop(derived, None)
        return {"name": self.name, "kind": self.kind, **written}

    @property
    def answer_column(self) -> AnswerColumn:
        """The question's own columns where it states them, else those of its parts, joined."""
        column = super().answer_column
        # One column a part, unless its own columns are the cells, ticked.
        columns = len(self.columns) or len(self.parts)
        if not self.parts or columns != len(self.parts):
            return column
        parts = [part.answer_column for part in self.parts]
        missing = list[str]()
        first_columns = list[str]()
        for part in parts:
            missing.extend(part.missing or ())
            first_columns.append(part.names[0])
        return column._replace(
            columns=column.columns or tuple(first_columns),
            missing=self.missing or tuple(missing) or None,
            joined=True,
            blanks=tuple(_blank_answer(part) for part in self.parts),
            recoded=tuple(map(_recoded, parts)),
        )

    @property
    def together(self) -> tuple[AskedInJoint, ...]:  # type: ignore[override]
        """The questions that are asked together: the parts."""
        return self.parts


def _joined_level(levels: tuple[Level, ...]) -> Level:
    """The cells with an answer of each of these levels: they have the smallest of the budgets."""
    names = [level.name for level in levels]
    budgets = [level.epsilon for level in levels]
    budgets_against = [level.against for level in levels if level.against]
    cells = product(*[level.labels for level in levels])
    return Level(
        name=JOINED.join(names),
        epsilon=min(budgets),
        items=tuple(map(JOINED.join, cells)),
        against=min(budgets_against, default=None),
    )


def _levels_of_answers(part: AskedInJoint) -> list[AnswerOfLevel]:
    """Each answer of a part with the name of its level."""
    answers = list[AnswerOfLevel]()
    for level in part.levels:
        for answer in level.labels:
            answers.append((answer, level.name))
    return answers


def _budgets_of_answers(part: AskedInJoint) -> list[float]:
    """The budget of each answer of a part."""
    budgets = list[float]()
    for level in part.levels:
        budgets.extend([level.epsilon] * len(level.labels))
    return budgets


def _cell_name(cell: AnswersOfCell) -> str:
    """What a cell is called: by its answers."""
    return JOINED.join([answer for answer, _ in cell])


def _shared_name(answers: list[AnswerOfLevel]) -> str:
    """The answer to one part that cells alike share, or the levels that their answers are of."""
    first, _ = answers[0]
    if all(answer == first for answer, _ in answers):
        return first
    levels = dict.fromkeys(level for _, level in answers)  # each once
    return " or ".join(levels)


def _blank_answer(part: AskedInJoint) -> str:
    """The answer that a blank cell of a part stands for; blank where it stands for none."""
    if isinstance(part, Ordinal):
        return part.no_answer or ""
    return ""


def _recoded(part: AnswerColumn) -> Pairs:
    """What cells of a part stand for: labels, too, as a joint answer is made of names."""
    pairs = dict[str, str]()
    for answer, label in part.labels:
        if part.asked.find(label) is None:
            pairs[label] = answer
    for table in part.recoded:
        pairs |= dict(table)
    return tuple(pairs.items())
