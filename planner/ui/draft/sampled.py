"""A Sampling Privacy question as it is being typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from planner.errors import InputError
from planner.planning.sampled import ACKNOWLEDGEMENTS
from planner.survey import Level, Question, Sampling
from planner.ui.draft.parts import Aim, QuestionDraft, Row
from planner.ui.parts import cells

_VALUE_COLUMNS = ("level", "epsilon", "value", "expected")


@dataclass
class SampledDraft(QuestionDraft):
    """A ``"sampled-choice"`` question as typed; one row per value.

    See :class:`planner.survey.Sampling` for the other fields.
    """

    rows: list[Row] = field(default_factory=list)
    relies_on: str = "aggregates-only"
    acknowledged: str | None = None
    cap: str = "0.45"
    floor: str = "0.1"
    none_epsilon: str = ""
    everyone_has_value: bool = False

    @classmethod
    def of(cls, question: Question) -> SampledDraft:
        """The draft that builds this question."""
        about = question.sampling
        if about is None:
            raise InputError(
                "kind", question.kind, "sampled-choice", "Open it with the page of its kind."
            )
        rows = [
            {
                "level": level.name,
                "epsilon": cells.budget_text(level.epsilon),
                "value": level.items[k] if level.items else "",
                "expected": str(count),
            }
            for level in question.levels
            for k, count in enumerate(level.yes_counts)
        ]
        none = about.none_epsilon
        return cls(
            question.name,
            rows,
            about.relies_on,
            about.acknowledged,
            repr(about.cap),
            repr(about.floor),
            "" if none is None else cells.budget_text(none),
            about.everyone_has_value,
            aim=Aim.of(question),
        )

    @property
    def vouched(self) -> bool:
        """Whether somebody vouches for what the deployment relies on."""
        return self.acknowledged == ACKNOWLEDGEMENTS[self.relies_on]

    @vouched.setter
    def vouched(self, agreed: bool) -> None:
        self.acknowledged = ACKNOWLEDGEMENTS[self.relies_on] if agreed else None

    def _about(self, problems: list[str]) -> dict[str, Any] | None:
        levels = self._levels(problems)
        if not levels:
            if not problems:
                problems.append("The table has no value yet: add a row.")
            return None
        sampling = Sampling(
            self.relies_on,
            self.acknowledged,
            cells.probability(self.cap, "largest sampling probability"),
            cells.probability(self.floor, "smallest probability of staying at none"),
            cells.budget(self.none_epsilon) if self.none_epsilon.strip() else None,
            self.everyone_has_value,
        )
        return {"levels": levels, "kind": "sampled-choice", "sampling": sampling}

    def _levels(self, problems: list[str]) -> tuple[Level, ...]:
        """Rows with the same level and budget are values of one level."""
        grouped: dict[str, tuple[float, list[str], list[int]]] = {}
        values: set[str] = set()
        for place, row in enumerate(self.rows, start=1):
            typed = {column: row.get(column, "").strip() for column in _VALUE_COLUMNS}
            if not any(typed.values()):
                continue
            name = typed["level"] or typed["value"]
            try:
                if not name:
                    remedy = "Write what people answer in the column value."
                    raise InputError.because("value", "the value has no name", remedy)
                if typed["value"] in values:
                    remedy = "Delete one of the two rows, or rename its value."
                    raise InputError("value", typed["value"], "in one row only", remedy)
                epsilon = cells.budget(typed["epsilon"])
                count = cells.whole_number(typed["expected"], "expected people", least=0)
                known = grouped.setdefault(name, (epsilon, [], []))
                if known[0] != epsilon:
                    allowed = f"the level's budget, {cells.budget_text(known[0])}"
                    remedy = "Give values with another budget a level of their own."
                    raise InputError("epsilon", typed["epsilon"], allowed, remedy)
            except InputError as error:
                problems.append(f"Row {place}{f' ({name})' if name else ''}: {error}")
                continue
            values |= {typed["value"]} - {""}
            known[1].append(typed["value"])
            known[2].append(count)
        return tuple(
            _level(name, epsilon, values, counts)
            for name, (epsilon, values, counts) in grouped.items()
        )


def _level(name: str, epsilon: float, values: list[str], counts: list[int]) -> Level:
    if any(values):
        named = [value or f"{name} {k + 1}" for k, value in enumerate(values)]
        return Level(name, epsilon, tuple(named), yes_counts=tuple(counts))
    return Level(name, epsilon, item_count=len(counts), yes_counts=tuple(counts))
