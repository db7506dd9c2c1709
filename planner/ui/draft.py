"""A survey as it is being typed: text that may be wrong, and what is right about it.

A draft keeps exactly what was typed. :meth:`SurveyDraft.build` turns it into a frozen
:class:`~planner.survey.Survey` of everything that is right, and one sentence for every
cell that is not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from planner.errors import InputError
from planner.survey import Level, Question, Survey
from planner.ui import cells

__all__ = [
    "COLUMNS",
    "MOST_PAIR_LEVELS",
    "Built",
    "CategoricalDraft",
    "Pair",
    "PairChoice",
    "Row",
    "SurveyDraft",
    "follow_renames",
    "names_of",
]

Row = dict[str, str]
Pair = frozenset[str]
T = TypeVar("T")

COLUMNS = ("level", "epsilon", "items", "count", "weight", "share")
MOST_PAIR_LEVELS = 30


@dataclass(frozen=True, slots=True)
class Built:
    """What a draft amounts to.

    Attributes
    ----------
    survey:
        Of all that is right; ``None`` if nothing can be planned yet.
    problems:
        One sentence for each thing that is not.
    """

    survey: Survey | None
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the survey is all that was typed."""
        return self.survey is not None and not self.problems


class PairChoice(NamedTuple):
    """Whether a pair is protected, and its own budget as typed ("" for the usual one)."""

    protected: bool
    budget: str


@dataclass(slots=True)
class CategoricalDraft:
    """A categorical question as typed.

    Attributes
    ----------
    rows:
        One mapping of ``COLUMNS`` to text per level.
    rule:
        ``"min"``, ``"avg"`` or ``"pairs"`` (a policy graph).
    pairs:
        For ``"pairs"``: what was ticked and typed for pairs of level names (one name: two
        items of that level). A pair that is missing has the smaller of its levels' budgets.
    objective:
        A kind of :class:`~planner.objective.Objective`.
    included:
        Whether the question is part of the survey.
    """

    name: str
    rows: list[Row] = field(default_factory=list)
    rule: str = "min"
    pairs: dict[Pair, PairChoice] = field(default_factory=dict)
    objective: str = "worst-case"
    included: bool = True

    @classmethod
    def of(cls, question: Question) -> CategoricalDraft:
        """The draft that builds this question."""
        rows = [
            {
                "level": level.name,
                "epsilon": cells.budget_text(level.epsilon),
                "items": cells.items_text(level.items),
                "count": "" if level.items else str(level.item_count),
            }
            for level in question.levels
        ]
        if isinstance(question.rule, str):
            return cls(question.name, rows, question.rule)
        return cls(question.name, rows, "pairs", _pairs_of(question))

    def build(self) -> tuple[Question | None, list[str]]:
        """The question of all rows that are right, and a sentence for each that is not."""
        problems: list[str] = []
        levels = self._levels(problems)
        if not levels:
            if not problems:
                problems.append("The table has no level yet: add a row with a name and a budget.")
            return None, problems
        rule = self.rule if self.rule != "pairs" else self._matrix(levels, problems)
        try:
            return Question(self.name, levels, rule), problems
        except InputError as error:
            problems.append(str(error))
            return None, problems

    def pair_rows(self) -> list[tuple[str, str, bool, str]]:
        """Each pair of levels: the two names, whether it is protected, its own budget."""
        levels = self._levels([])
        names = [level.name for level in levels]
        rows = []
        for i, first in enumerate(names):
            for j in range(i, len(names)):
                if i == j and levels[i].item_count == 1:
                    continue  # one item has nothing else in its level to be told from
                pair = frozenset((first, names[j]))
                rows.append((first, names[j], *self.pairs.get(pair, PairChoice(True, ""))))
        return rows

    def _levels(self, problems: list[str]) -> tuple[Level, ...]:
        levels: list[Level] = []
        seen: set[str] = set()
        home: dict[str, str] = {}
        for place, row in enumerate(self.rows, start=1):
            if not any(row.get(column, "").strip() for column in COLUMNS):
                continue  # an added row in which nothing was typed yet
            name = row.get("level", "").strip()
            where = f"Row {place} ({name})" if name else f"Row {place}"
            found: list[str] = []
            level = _level(row, name, found)
            if name in seen:
                found.append("another row has this name already; give each level its own.")
            for item in level.items if level else ():
                if item in home:
                    found.append(f"the item {item!r} is in level {home[item]!r} already.")
            if level is not None and not found:
                seen.add(name)
                home |= dict.fromkeys(level.items, name)
                levels.append(level)
            problems += [f"{where}: {sentence}" for sentence in found]
        return tuple(levels)

    def _matrix(
        self, levels: tuple[Level, ...], problems: list[str]
    ) -> tuple[tuple[float, ...], ...]:
        place = {level.name: i for i, level in enumerate(levels)}
        matrix = [[min(a.epsilon, b.epsilon) for b in levels] for a in levels]
        for pair, (protected, typed) in self.pairs.items():
            if not pair <= place.keys() or (protected and not typed.strip()):
                continue
            where = sorted(place[name] for name in pair)
            first, last = where[0], where[-1]
            if not protected:
                matrix[first][last] = matrix[last][first] = math.inf
                continue
            try:
                matrix[first][last] = matrix[last][first] = cells.budget(typed)
            except InputError as error:
                names = f"{levels[first].name} and {levels[last].name}"
                problems.append(f"Pair {names}: {error} Until then it has the smaller budget.")
        return tuple(map(tuple, matrix))


@dataclass(slots=True)
class SurveyDraft:
    """A survey as typed: its name, the number of users and its questions."""

    name: str
    users: str
    questions: list[CategoricalDraft]

    @classmethod
    def of(cls, survey: Survey) -> SurveyDraft:
        """The draft that builds this survey."""
        questions = [CategoricalDraft.of(question) for question in survey.questions]
        return cls(survey.name, f"{survey.users:,}", questions)

    def build(self) -> Built:
        """All that is right, and one sentence for each thing that is not."""
        problems: list[str] = []
        name = self.name.strip()
        if not name:
            problems.append("The survey has no name yet.")
        users = _read(lambda: cells.whole_number(self.users, "users"), problems)
        included = [question for question in self.questions if question.included]
        questions = []
        for draft in included:
            question, found = draft.build()
            where = f"Question {draft.name!r}. " if len(included) > 1 else ""
            problems += [where + sentence for sentence in found]
            if question is not None:
                questions.append(question)
        if not name or users is None or not questions:
            return Built(None, tuple(problems))
        try:
            return Built(Survey(name, users, tuple(questions)), tuple(problems))
        except InputError as error:
            return Built(None, (*problems, str(error)))


def follow_renames(
    pairs: dict[Pair, T], before: Sequence[str], after: Sequence[str]
) -> dict[Pair, T]:
    """Pairs after levels were renamed in place; other changes leave them as they are.

    Examples
    --------
    >>> follow_renames({frozenset("ab"): 1}, ["a", "b"], ["a", "c"]) == {frozenset("ac"): 1}
    True
    """
    if len(before) != len(after):
        return pairs
    new = dict(zip(before, after, strict=True))
    return {frozenset(new.get(name, name) for name in pair): own for pair, own in pairs.items()}


def _level(row: Row, name: str, found: list[str]) -> Level | None:
    if not name:
        found.append("the level has no name yet.")
    epsilon_text, count_text = row.get("epsilon", "").strip(), row.get("count", "").strip()
    if not epsilon_text:
        found.append("the budget (epsilon) is still empty.")
        epsilon = None
    else:
        epsilon = _read(lambda: cells.budget(epsilon_text), found)
    items = cells.item_list(row.get("items", ""))
    count: int | None = 0
    if count_text:
        count = _read(lambda: cells.whole_number(count_text, "the number of items"), found)
    elif not items:
        found.append("list its items, or say how many there are.")
    if found or epsilon is None or count is None:
        return None
    try:
        level = Level(name, epsilon, items, count)
        _ = Question("question", (level,))  # the level is right by itself
    except InputError as error:
        found.append(f"{error}")
        return None
    return level


def _read(read: Callable[[], T], problems: list[str]) -> T | None:
    try:
        return read()
    except InputError as error:
        problems.append(str(error))
        return None


def _pairs_of(question: Question) -> dict[Pair, PairChoice]:
    levels, rule = question.levels, question.rule
    pairs = {}
    for i, first in enumerate(levels):
        for j in range(i, len(levels)):
            value, usual = float(rule[i][j]), min(first.epsilon, levels[j].epsilon)
            if value != usual:
                free = math.isinf(value)
                choice = PairChoice(not free, "" if free else cells.budget_text(value))
                pairs[frozenset((first.name, levels[j].name))] = choice
    return pairs


def names_of(rows: Iterable[Row]) -> list[str]:
    """The level names in a table, as typed."""
    return [row.get("level", "").strip() for row in rows]
