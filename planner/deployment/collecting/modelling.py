"""Models of private answers: the patterns of covariates that reported, a fit, and a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from planner.arrays import Array, Whole
from planner.deployment.collecting.estimate_tables import ESTIMATE_COLUMNS, POPULATION
from planner.deployment.collecting.formulas import Formula, power_of
from planner.deployment.collecting.reports import Group, Key
from planner.deployment.collecting.weighting import GroupWeights
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.regression import Effect, Link, PatternSums, Regression, fit
from planner.limits import CONFIDENCE
from planner.mechanisms.anchored import counts_of_question
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.outcomes import Outcome, outcome_names, outcome_of

if TYPE_CHECKING:
    from pandas import DataFrame

MODEL = "model"
PREDICTED = "predicted"
EFFECT = "average effect"
COEFFICIENT = "coefficient"
CONSTANT = "constant"
# A derivative by a number is a difference over this share of the numbers that people have.
_SMALL_CHANGE = 1e-4
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One figure of a model.

    Attributes
    ----------
    question, outcome:
        What is modelled.
    kind:
        :data:`PREDICTED`, :data:`EFFECT` or :data:`COEFFICIENT`.
    is_share:
        Whether the figure is a share of people.
    effect:
        Its name, value and limits.
    people:
        How many reported.
    """

    question: str
    outcome: str
    kind: str
    is_share: bool
    effect: Effect
    people: int


def model_table(
    parameters: Parameters,
    by_group: Mapping[Group, Mapping[Key, Aggregate]],
    model: Formula,
    confidence: float = CONFIDENCE,
) -> pa.Table:
    """:func:`model_rows` as rows of a table of estimates.

    Of the group :data:`MODEL` each is ``of`` its kind; ``level`` has its name, and ``remark`` the
    formula. ``share`` repeats a figure that is a share of people.
    """
    rows = []
    for row in model_rows(parameters, by_group, model, confidence):
        effect = row.effect
        cells = {
            "question": row.question,
            "group": MODEL,
            "of": row.kind,
            "level": effect.name,
            "answer": row.outcome,
            "users": row.people,
            "estimate": effect.value,
            "standard_error": effect.standard_error,
            "lower": _finite(effect.lower),
            "upper": _finite(effect.upper),
            "p": _finite(effect.p),
            "limits_for": POPULATION,
            "remark": model.text,
        }
        if row.is_share:
            cells["share"] = cells["estimate"]
            cells["share_lower"] = cells["lower"]
            cells["share_upper"] = cells["upper"]
        if row.is_share or row.kind == COEFFICIENT:
            cells["remark"] = f"{model.text}, {model.link}"
        rows.append(cells)
    return pa.Table.from_pylist(rows, schema=ESTIMATE_COLUMNS)


def _finite(number: float) -> float | None:
    """An empty cell for an open limit, or a p of nothing that is tested."""
    if np.isfinite(number):
        return number
    return None


def model_rows(
    parameters: Parameters,
    by_group: Mapping[Group, Mapping[Key, Aggregate]],
    model: Formula,
    confidence: float = CONFIDENCE,
) -> list[ModelRow]:
    """Predictions and average effects of each outcome, then coefficients.

    Parameters
    ----------
    parameters, by_group:
        Verified parameters, and counts by question and round of each group that reported.
    model:
        What :func:`~planner.deployment.collecting.formulas.read_model` has read.
    confidence:
        Of the limits, above 0 and below 1.

    Raises
    ------
    InputError
        There are no reports of an outcome, or a term follows from others.
    ConvergenceError
        A term separates those with an answer from those without.
    """
    rows: list[ModelRow] = []
    for question, outcome_name in model.outcomes:
        law = parameters.question(question)
        counted = _by_pattern(parameters, by_group, model.pattern_groups, law)
        if not counted:
            reason = f"question {question!r} has no reports"
            raise InputError.because("model", reason, "Collect reports first.")
        design = ModelDesign(parameters, model, list(counted))
        aggregates = list(counted.values())
        outcome = outcome_of(law, outcome_name, rough_shares(law, aggregates))
        sums = outcome.pattern_sums(aggregates)
        fitted = design.fit(outcome, sums, confidence)
        rows += _rows_of(question, outcome, design, fitted)
    return rows


def _by_pattern(
    parameters: Parameters,
    by_group: Mapping[Group, Mapping[Key, Aggregate]],
    names: Sequence[str],
    law: CollectedLaw,
) -> dict[Group, Aggregate]:
    """Counts of the question of each pattern of these groups; those of one pattern together."""
    group_names = list(parameters.groups)
    positions = [group_names.index(name) for name in names]
    key = (law.name, None)
    by_pattern: dict[Group, Aggregate] = {}
    for group, sums in by_group.items():
        if key not in sums:
            continue
        pattern = tuple(group[position] for position in positions)
        counted = counts_of_question(law, sums[key])
        if pattern in by_pattern:
            counted = by_pattern[pattern] + counted
        by_pattern[pattern] = counted
    # In one order, whatever order the files had, as the last digits of a fit depend on
    # the order of its sums.
    return dict(sorted(by_pattern.items()))


def rough_shares(law: CollectedLaw, aggregates: Sequence[Aggregate]) -> Array | None:
    """Shares of the answers among all people, none negative; None of numbers."""
    if not outcome_names(law) or law.asked.in_order or law.kind == "numeric":
        return None
    total = aggregates[0]
    for counted in aggregates[1:]:
        total = total + counted
    shares = law.shape.estimate(total).values / total.users
    # Estimates below 0 are noise, and the variance of a report needs shares that people
    # can have.
    return np.clip(shares, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class _GroupChange:
    """A change of one group for everybody, as designs of shape ``(patterns, columns)``.

    ``per`` is the size of the change, by which the effect is divided.
    """

    title: str
    changed: Array
    before: Array
    per: float = 1.0


class ModelDesign:
    """The patterns of covariates of a model as a table, and what is computed of a fit to them.

    Parameters
    ----------
    parameters:
        Verified parameters: they say which groups are numbers, and what a person counts for.
    model:
        What :func:`~planner.deployment.collecting.formulas.read_model` has read.
    patterns:
        A value of each of ``model.pattern_groups``, of every pattern.

    Attributes
    ----------
    model:
        As given.
    names:
        Of the columns of the design, the constant among them.
    matrix:
        The design, shape ``(patterns, columns)``.
    """

    def __init__(
        self, parameters: Parameters, model: Formula, patterns: Sequence[Group]
    ) -> None:
        from formulaic import model_matrix
        from pandas import Categorical, DataFrame

        self.model = model
        # Of each group of names the values that somebody has; the first is what others are held to.
        self._values: dict[str, tuple[str, ...]] = {}
        columns: dict[str, Any] = {}
        for k, name in enumerate(model.pattern_groups):
            texts = [pattern[k] for pattern in patterns]
            if name in parameters.numbers:
                columns[name] = np.array(texts, dtype=np.float64)
                continue
            # Only values that somebody has: the column of another one would be all
            # zeros, and the design singular.
            values = tuple(value for value in parameters.groups[name] if value in texts)
            self._values[name] = values
            columns[name] = Categorical(texts, categories=values)
        rows = range(len(patterns))
        self._frame: DataFrame = DataFrame(columns, index=rows)
        matrix = model_matrix(model.covariates, self._frame)
        # The spec keeps how columns were coded here, so that a changed table gets the
        # same columns in the same order.
        self._spec = matrix.model_spec
        self.matrix = np.asarray(matrix, dtype=np.float64)
        self.names = tuple(_term(name) for name in matrix.columns)
        self._weighted = _PatternWeights.of(parameters, model, self._frame)

    def fit(
        self, outcome: Outcome, sums: PatternSums, confidence: float = CONFIDENCE
    ) -> Regression:
        """The model of an outcome; of numbers a linear one.

        Raises :class:`~planner.errors.InputError` or :class:`~planner.errors.ConvergenceError`
        where :func:`planner.estimates.regression.fit` does.
        """
        link: Link = self.model.link if outcome.is_share else "linear"
        return fit(
            names=self.names,
            design=self.matrix,
            sums=sums,
            variance=outcome.variance,
            link=link,
            weights=self._weighted.of_people(sums.people),
            confidence=confidence,
        )

    @property
    def effect_names(self) -> list[str]:
        """The names of the average effects, in their order."""
        return [change.title for change in self._changes]

    def average_effects(self, fitted: Regression) -> list[Effect]:
        """Average effects of each value against the first, or of one more of a number."""
        effects = []
        for change in self._changes:
            effect = fitted.average_effect(
                change.title, change.changed, change.before, change.per
            )
            effects.append(effect)
        return effects

    def predictions(self, fitted: Regression) -> list[Effect]:
        """What is predicted of everybody, as they are and if all had one value of a variable."""
        effects = [fitted.predicted("everybody", self.matrix)]
        for name in self.model.variables:
            values: Sequence[Any]
            if name in self._values:
                values = self._values[name]
            else:
                values = self._quartiles(name, fitted.sums.people)
            for value in values:
                text = value
                if name not in self._values:
                    text = f"{value:g}"
                design = self._with_value(name, value)
                effects.append(fitted.predicted(f"{name} = {text}", design))
        return effects

    @cached_property
    def _changes(self) -> list[_GroupChange]:
        """The changes whose average effects are stated, in the order of the formula's groups."""
        changes = []
        for name in self.model.variables:
            if name in self._values:
                first, *others = self._values[name]
                before = self._with_value(name, first)
                for value in others:
                    title = f"{name}: {value} against {first}"
                    changed = self._with_value(name, value)
                    changes.append(_GroupChange(title, changed, before))
                continue
            numbers = self._frame[name].to_numpy()
            width = float(np.ptp(numbers))
            step = _SMALL_CHANGE * max(width, 1e-6)
            # The design may have products of the number, so that its slope differs by pattern.
            # A central difference, whose error is of the order of the step's square.
            above = self._with_value(name, numbers + step)
            below = self._with_value(name, numbers - step)
            changes.append(_GroupChange(f"one more of {name}", above, below, 2 * step))
        return changes

    def _with_value(self, name: str, value: Any) -> Array:
        """The design if everybody had this value of a group, or these values."""
        from pandas import Categorical

        frame = self._frame.copy()
        if name in self._values:
            texts = [value] * len(frame)
            value = Categorical(texts, categories=self._values[name])
        frame[name] = value
        matrix = self._spec.get_model_matrix(frame)
        return np.asarray(matrix, dtype=np.float64)

    def _quartiles(self, name: str, people: Array) -> list[float]:
        """Quartiles of a number among the people who reported; each once."""
        numbers = self._frame[name].to_numpy()
        order = np.argsort(numbers)
        numbers_in_order = numbers[order]
        share_up_to = np.cumsum(people[order]) / people.sum()
        positions = np.searchsorted(share_up_to, _QUARTILES)
        quartiles = numbers_in_order[positions].tolist()
        return list(dict.fromkeys(quartiles))


@dataclass(frozen=True, slots=True, eq=False)
class _PatternWeights:
    """What the survey states of the values of one group, and which value each pattern has.

    Attributes
    ----------
    stated:
        The weight of a person of each value, or its part of the population, ``(values,)``.
    value_of:
        The number of each pattern's value, ``(patterns,)``.
    is_population:
        Whether parts of the population are stated.
    """

    stated: Array
    value_of: Whole
    is_population: bool

    @classmethod
    def of(cls, parameters: Parameters, model: Formula, frame: DataFrame) -> Self:
        """The weights of the model's weighting group; 1 for everybody without one."""
        weights = None
        if model.weighting is not None:
            weights = GroupWeights.of(parameters, model.weighting)
        if weights is None:
            everybody = np.zeros(len(frame), dtype=np.int64)
            return cls(np.ones(1), everybody, False)
        values = list(weights.parts)
        stated = np.array(list(weights.parts.values()), np.float64)
        positions = []
        for value in frame[model.weighting]:
            positions.append(values.index(_as_text(value)))
        return cls(stated, np.array(positions), weights.of_population)

    def of_people(self, people: Array) -> Array:
        """What a person of each pattern counts for, if so many of each pattern reported.

        A part of the population is shared by those of it who reported.
        """
        if not self.is_population:
            return self.stated[self.value_of]
        reported = np.bincount(self.value_of, people, minlength=self.stated.size)
        # Of all stated parts so many people, of whom each value has its part.
        represented = self.stated * people.sum() / self.stated.sum()
        # A value of which nobody reported has no pattern here; the 1 only keeps it from
        # dividing by zero.
        per_person = represented / np.maximum(reported, 1.0)
        return np.asarray(per_person[self.value_of])


def _as_text(value: object) -> str:
    """A value of a group as the survey writes it: numbers are whole."""
    if isinstance(value, float):
        return f"{value:.0f}"
    return str(value)


def _term(name: str) -> str:
    """The name of a design's column in words: ``region[T.south]:age`` is region = south x age."""
    parts = []
    for part in name.split(":"):
        power = power_of(part)
        if part == "Intercept":
            parts.append(CONSTANT)
        elif power is not None:
            parts.append(power.text)
        else:
            parts.append(re.sub(r"\[(?:T\.)?(.*)\]$", r" = \1", part))
    return " x ".join(parts)


def _rows_of(
    question: str, outcome: Outcome, design: ModelDesign, fitted: Regression
) -> Iterator[ModelRow]:
    """The rows of one outcome: what people read first."""
    people = int(fitted.sums.people.sum())
    kinds = (
        (PREDICTED, design.predictions(fitted), outcome.is_share),
        (EFFECT, design.average_effects(fitted), outcome.is_share),
        # A coefficient of a logit is a difference of log odds, and no share of people.
        (COEFFICIENT, fitted.effects(), False),
    )
    for kind, effects, is_share in kinds:
        for effect in effects:
            yield ModelRow(question, outcome.name, kind, is_share, effect, people)
