"""A question about listed answers as it is being typed: text that may be wrong, kept as it is."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from planner.errors import InputError
from planner.survey import Level, Question
from planner.survey.kinds import ORDINAL
from planner.survey.ordered_answers import SHARES_UP_TO
from planner.ui.draft.parts import Aim, QuestionDraft, Row, SetsDraft, columns_of, read
from planner.ui.parts import cells

Pair = frozenset[str]
T = TypeVar("T")

COLUMNS = ("level", "epsilon", "items", "count", "importance", "share")
MOST_PAIR_LEVELS = 30
_MOST_ROWS = 1000


class PairChoice(NamedTuple):
    """Whether a pair is protected, and its own budget as typed ("" for the usual one)."""

    protected: bool
    budget: str


@dataclass
class CategoricalDraft(QuestionDraft):
    """A question about one answer, answers in order or sets of answers, as typed.

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
        A kind of :class:`~planner.policy.objective.Objective`.
    several:
        Whether a person may have several of the answers, or none.
    sets:
        What is known of their number; kept while it is of no use.
    in_order:
        Whether the answers have an order, where a person has one of them.
    order, scores:
        The answers from the lowest to the highest, if the rows do not have them so, and what
        each counts for in a mean, if one is wanted.
    wanted:
        Of which the errors are made small, where the answers have an order.
    """

    rows: list[Row] = field(default_factory=list)
    rule: str = "min"
    pairs: dict[Pair, PairChoice] = field(default_factory=dict)
    objective: str = "worst-case"
    several: bool = False
    sets: SetsDraft = field(default_factory=SetsDraft)
    in_order: bool = False
    order: str = ""
    scores: str = ""
    wanted: str = SHARES_UP_TO

    @property
    def kind(self) -> str:
        """The kind of the question that is built."""
        if self.several:
            return "item-set"
        return ORDINAL if self.in_order else "categorical"

    @classmethod
    def of(cls, question: Question) -> CategoricalDraft:
        """The draft that builds this question."""
        rows = [
            {
                "level": level.name,
                "epsilon": cells.budget_text(level.epsilon),
                "items": cells.items_text(level.items),
                "count": "" if level.items else str(level.item_count),
                "importance": _unless(level.importance, 1.0),
                "share": _unless(level.prior or 0.0, 0.0),
            }
            for level in question.levels
        ]
        graph = not isinstance(question.rule, str)
        draft = cls(
            question.name,
            rows,
            "pairs" if graph else str(question.rule),
            _pairs_of(question) if graph else {},
            question.objective.kind,
            aim=Aim.of(question),
            mechanism=question.mechanism,
        )
        if question.kind == "item-set":
            draft.several, draft.sets = True, SetsDraft.of(question)
        if question.kind == ORDINAL:
            draft.in_order, draft.mechanism = True, ""
            draft.order = cells.items_text(question.order)
            draft.scores = ", ".join(map(cells.number_text, question.scores))
            draft.wanted = question.wanted
        return draft

    def _about(self, problems: list[str]) -> dict[str, Any] | None:
        if len(self.rows) > _MOST_ROWS:
            problems.append(
                f"There are {len(self.rows):,} levels, more than the {_MOST_ROWS:,} planned "
                "here: give items with the same budget one level."
            )
            return None
        typed = self._levels(problems)
        if not typed:
            if not problems:
                problems.append("The table has no level yet: add a row with a name and a budget.")
            return None
        rule = self.rule if self.rule != "pairs" else self._matrix(typed, problems)
        return {"levels": typed, "rule": rule, "kind": self.kind, **self._of_kind()}

    def _of_kind(self) -> dict[str, Any]:
        """What one kind of question alone has."""
        if self.kind == ORDINAL:
            scores = columns_of(self.scores, "scores") if self.scores.strip() else ()
            order = cells.item_list(self.order)
            return {"order": order, "scores": scores, "wanted": self.wanted}
        sets, length = self.sets.build() if self.several else (None, None)
        return {
            "padding_length": length,
            "sets": sets,
            "criterion": "minimax" if self.objective == "minimax" else "total",
            "mechanism": self.mechanism,
        }

    def take_rows(self, rows: list[Row]) -> None:
        """Put these rows in place; what was said of pairs follows a level's new name."""
        self.pairs = follow_renames(self.pairs, _names_of(self.rows), _names_of(rows))
        self.rows = rows

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
                choice = self.pairs.get(pair, PairChoice(True, ""))
                rows.append((first, names[j], choice.protected, choice.budget))
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
            level = self._level(row, name, found)
            if name in seen:
                found.append("another row has this name already; give each level its own.")
            items = level.items if level else ()
            found += [
                f"the item {x!r} is in level {home[x]!r} already." for x in items if x in home
            ]
            if level is not None and not found:
                seen.add(name)
                home |= dict.fromkeys(level.items, name)
                levels.append(level)
            problems += [f"{where}: {sentence}" for sentence in found]
        return tuple(levels)

    def _level(self, row: Row, name: str, found: list[str]) -> Level | None:
        if not name:
            found.append("the level has no name yet.")
        typed = {column: row.get(column, "").strip() for column in COLUMNS}
        if self.kind == ORDINAL:  # whose answers have names, and are planned for whatever they are
            typed |= dict.fromkeys(("count", "share"), "")
        if not typed["epsilon"]:
            found.append("the budget (epsilon) is still empty.")
        epsilon = read(lambda: cells.budget(typed["epsilon"]), found) if typed["epsilon"] else None
        items, count = read(lambda: cells.item_list(typed["items"]), found) or (), 0
        if typed["count"]:
            number = read(lambda: cells.whole_number(typed["count"], "number of items"), found)
            count = number or 0
        elif not items:
            found.append("list its items, or say how many there are.")
        if len(set(items)) < len(items):
            found.append("an item is listed twice already.")
        importance = _importance(typed["importance"], found)
        prior = self._prior(typed["share"], found)
        if found or epsilon is None:
            return None
        try:
            return Level(name, epsilon, items, count, prior=prior, importance=importance)
        except InputError as error:
            found.append(str(error))
            return None

    def _prior(self, share: str, found: list[str]) -> float | None:
        if self.objective != "expected" or self.kind == ORDINAL:
            return None
        if not share:
            return 0.0
        if not self.several:
            return read(lambda: cells.probability(share, "expected share"), found)
        return read(lambda: _not_negative(share, "expected answers"), found)

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


def _names_of(rows: Iterable[Row]) -> list[str]:
    """The level names in a table, as typed."""
    return [row.get("level", "").strip() for row in rows]


def _not_negative(text: str, argument: str) -> float:
    value = cells.number(text, argument)
    if value < 0:
        raise InputError(
            argument, text, "a number of at least 0", "Write 0 for what does not count."
        )
    return value


def _importance(text: str, found: list[str]) -> float:
    value = read(lambda: _not_negative(text, "importance"), found) if text else 1.0
    return 1.0 if value is None else value


def _unless(value: float, usual: float) -> str:
    return "" if value == usual else cells.number_text(value)
