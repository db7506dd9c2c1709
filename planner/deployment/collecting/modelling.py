"""Models of private answers: a formula, the patterns of covariates that reported, and a table.

A formula names what is modelled, ``~``, and covariates: declared groups, which are known of people
and were not randomised. It is read by formulaic (Wilkinson's notation); it names variables and
joins them by ``+``, ``:``, ``*`` and brackets, and runs no code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np
import pyarrow as pa

from planner.arrays import Array
from planner.deployment.collecting.collector import summed
from planner.deployment.collecting.estimating import ESTIMATE_COLUMNS, POPULATION
from planner.deployment.collecting.reports import Group, Key
from planner.deployment.parameters import Parameters
from planner.errors import InputError
from planner.estimates.regression import Effect, Link, PatternSums, Regression, fit
from planner.laws.schema import Document
from planner.limits import CONFIDENCE
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.outcomes import Outcome, outcome_names, outcome_of

if TYPE_CHECKING:
    from pandas import DataFrame

MODEL = "model"
PREDICTED = "predicted"
EFFECT = "average effect"
COEFFICIENT = "coefficient"
# The word that stands for every answer of every question.
EVERY_ANSWER = "answer"
_FORMULA_FIX = 'Write it as "answer ~ age + region", with groups of the survey.'
# A derivative by a number is a difference over this share of the numbers that people have.
_SMALL_CHANGE = 1e-4
_QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, slots=True)
class Formula:
    """A formula that fits the parameters; see :func:`read_model`.

    Attributes
    ----------
    text:
        As it was written.
    covariates:
        The right side.
    variables:
        The groups that it names, in the order of the parameters.
    outcomes:
        Question and answer, or number, of each model.
    link:
        ``"logit"`` or ``"linear"``; numbers are linear always.
    """

    text: str
    covariates: str
    variables: tuple[str, ...]
    outcomes: tuple[tuple[str, str], ...]
    link: Link


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


def read_model(text: str, link: str, parameters: Parameters) -> Formula:
    """A formula such as ``"diagnosis[HIV] ~ age + region"``, checked before anything is counted.

    The left side is a question, for all its answers, ``question[answer]``, an answer that one
    question alone has, or ``answer``: every answer of every question.

    Raises
    ------
    InputError
        ``link`` is not logit or linear; the formula cannot be read, or names what is no group; what
        is on its left is neither question nor answer.
    """
    if link not in get_args(Link):
        allowed = " or ".join(get_args(Link))
        remedy = "Leave it out for shares between 0 and 1."
        raise InputError("link", link, allowed, remedy)
    left, tilde, covariates = text.partition("~")
    if not tilde or not left.strip():
        raise InputError("model", text, "what is modelled, ~, and groups", _FORMULA_FIX)
    variables = _variables(covariates, parameters)
    outcomes = tuple(_outcomes(left.strip().strip("`"), parameters))
    return Formula(
        text.strip(), covariates.strip(), variables, outcomes, cast("Link", link)
    )


def _variables(covariates: str, parameters: Parameters) -> tuple[str, ...]:
    """The groups that the right side names."""
    from formulaic import Formula as Wilkinson
    from formulaic.errors import FormulaicError
    from formulaic.parser.types import Factor

    try:
        terms = list(cast("Any", Wilkinson(covariates)))
    except (FormulaicError, SyntaxError, ValueError, TypeError) as error:
        # Their first line is in words; the others mark a place in colours of a terminal.
        what, *_ = str(error).splitlines()
        reason = (
            f"the formula {covariates.strip()!r} cannot be read: {what.rstrip('.')}"
        )
        raise InputError.because("model", reason, _FORMULA_FIX) from None
    names: set[str] = set()
    for term in terms:
        for factor in term.factors:
            if factor.eval_method is Factor.EvalMethod.LITERAL:
                continue
            # A factor of any other kind is code, which no formula of ours may run.
            if factor.eval_method is not Factor.EvalMethod.LOOKUP:
                allowed = "names of groups, joined by +, : and *"
                raise InputError("model", factor.expr, allowed, _FORMULA_FIX)
            names.add(factor.expr)
    group_names = list(parameters.groups)
    for name in sorted(names - set(group_names)):
        remedy = (
            "Declare groups in the survey: reports carry those of their parameters."
        )
        raise InputError.unknown("model", name, group_names, remedy)
    return tuple(name for name in group_names if name in names)


def _outcomes(left: str, parameters: Parameters) -> Iterator[tuple[str, str]]:
    """Question and answer of everything that the left side means."""
    questions = {law.name: law for law in parameters.questions}
    if left in questions:
        yield from ((left, name) for name in outcome_names(questions[left]))
        return
    within = re.fullmatch(r"(.+)\[(.+)\]", left)
    if within and within[1] in questions:
        names = outcome_names(questions[within[1]])
        if within[2] not in names:
            raise InputError.unknown("model", within[2], names, "Name one of them.")
        yield within[1], within[2]
        return
    having = []
    for name, law in questions.items():
        if law.again is None and len(law.rounds) == 1 and left in outcome_names(law):
            having.append(name)
    if len(having) > 1:
        reason = f"{left!r} is an answer of {' and '.join(map(repr, having))}"
        remedy = f"Write {having[0]}[{left}]."
        raise InputError.because("model", reason, remedy)
    if having:
        yield having[0], left
        return
    if left != EVERY_ANSWER:
        remedy = (
            "Name a question, question[answer], an answer, or write answer for all."
        )
        raise InputError.unknown("model", left, list(questions), remedy)
    for name, law in questions.items():
        yield from ((name, answer) for answer in outcome_names(law))


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
        limits = [effect.value, effect.lower, effect.upper]
        share = limits if row.is_share else [None, None, None]
        link = f", {model.link}" if row.is_share or row.kind == COEFFICIENT else ""
        rows.append(
            {
                "question": row.question,
                "group": MODEL,
                "of": row.kind,
                "level": effect.name,
                "answer": row.outcome,
                "users": row.people,
                "estimate": effect.value,
                "standard_error": effect.standard_error,
                "lower": effect.lower,
                "upper": effect.upper,
                "share": share[0],
                "share_lower": share[1],
                "share_upper": share[2],
                "p": None if np.isnan(effect.p) else effect.p,
                "limits_for": POPULATION,
                "remark": f"{model.text}{link}",
            }
        )
    return pa.Table.from_pylist(rows, schema=ESTIMATE_COLUMNS)


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
        What :func:`read_model` has read.
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
        counted = _by_pattern(parameters, by_group, model.variables, question)
        if not counted:
            reason = f"question {question!r} has no reports"
            raise InputError.because("model", reason, "Collect reports first.")
        patterns = _Patterns(parameters, model, list(counted))
        aggregates = list(counted.values())
        outcome = outcome_of(law, outcome_name, _rough_shares(law, aggregates))
        sums = outcome.pattern_sums(aggregates)
        rows += _rows_of(question, outcome, model, patterns, sums, confidence)
    return rows


def _by_pattern(
    parameters: Parameters,
    by_group: Mapping[Group, Mapping[Key, Aggregate]],
    variables: Sequence[str],
    question: str,
) -> dict[Group, Aggregate]:
    """Counts of the question of each pattern of these variables, groups of one pattern together."""
    positions = [list(parameters.groups).index(name) for name in variables]
    key = (question, None)
    joined: dict[Group, list[Mapping[Key, Aggregate]]] = {}
    for group, sums in by_group.items():
        if key in sums:
            pattern = tuple(group[position] for position in positions)
            joined.setdefault(pattern, []).append({key: sums[key]})
    return {pattern: summed(parts)[key] for pattern, parts in sorted(joined.items())}


def _rough_shares(law: CollectedLaw, aggregates: Sequence[Aggregate]) -> Array | None:
    """Shares of the answers among all people, none negative; None of numbers."""
    if not outcome_names(law) or law.asked.in_order or law.kind == "numeric":
        return None
    total = aggregates[0]
    for counted in aggregates[1:]:
        total = total + counted
    return np.clip(law.shape.estimate(total).values / total.users, 0.0, 1.0)


class _Patterns:
    """The patterns of covariates as a table, and designs of it with a variable changed."""

    def __init__(
        self, parameters: Parameters, model: Formula, patterns: Sequence[Group]
    ) -> None:
        from formulaic import model_matrix
        from pandas import Categorical, DataFrame

        self._values: dict[str, tuple[str, ...]] = {}
        columns: dict[str, Any] = {}
        for k, name in enumerate(model.variables):
            texts = [pattern[k] for pattern in patterns]
            if name in parameters.numbers:
                columns[name] = np.array([float(text) for text in texts])
                continue
            seen = tuple(text for text in parameters.groups[name] if text in texts)
            self._values[name] = seen
            columns[name] = Categorical(texts, categories=list(seen))
        self.frame: DataFrame = DataFrame(columns, index=range(len(patterns)))
        matrix = model_matrix(model.covariates, self.frame)
        self._spec = matrix.model_spec
        self.design = np.asarray(matrix, dtype=np.float64)
        self.names = tuple(_term(name) for name in matrix.columns)
        self.weights = _weights(parameters, self.frame)

    def changed(self, name: str, value: Any) -> Array:
        """The design if everybody had this value of a variable, or these values."""
        from pandas import Categorical

        frame = self.frame.copy()
        if name in self._values:
            texts = [value] * len(frame)
            frame[name] = Categorical(texts, categories=list(self._values[name]))
        else:
            frame[name] = value
        return np.asarray(self._spec.get_model_matrix(frame), dtype=np.float64)

    def values(self, name: str) -> tuple[str, ...]:
        """Values of a named group that reported, in their order; none of a number."""
        return self._values.get(name, ())


def _term(name: str) -> str:
    """The name of a design's column in words: ``region[T.south]:age`` is region = south x age."""
    parts = [re.sub(r"\[(?:T\.)?(.*)\]$", r" = \1", part) for part in name.split(":")]
    return " x ".join("constant" if part == "Intercept" else part for part in parts)


def _weights(parameters: Parameters, frame: DataFrame) -> Array:
    """What a person of each pattern counts for by the survey's ``weights``; 1 without any."""
    groups: Sequence[Document] = parameters.document.get("groups", ())
    for group in groups:
        if group["weights"] and group["name"] in frame:
            weight_of = dict(zip(group["values"], group["weights"], strict=True))
            return np.array([weight_of[value] for value in frame[group["name"]]], float)
    return np.ones(len(frame))


def _rows_of(
    question: str,
    outcome: Outcome,
    model: Formula,
    patterns: _Patterns,
    sums: PatternSums,
    confidence: float,
) -> Iterator[ModelRow]:
    """The rows of one outcome: what people read first."""
    link: Link = model.link if outcome.is_share else "linear"
    fitted = fit(
        patterns.names,
        patterns.design,
        sums,
        outcome.variance,
        link,
        patterns.weights,
        confidence,
    )
    people = int(sums.people.sum())

    def row(kind: str, is_share: bool, effect: Effect) -> ModelRow:
        return ModelRow(question, outcome.name, kind, is_share, effect, people)

    everybody = fitted.predicted("everybody", patterns.design)
    yield row(PREDICTED, outcome.is_share, everybody)
    for name in model.variables:
        for effect in _predictions(fitted, patterns, name):
            yield row(PREDICTED, outcome.is_share, effect)
    for name in model.variables:
        for effect in _effects(fitted, patterns, name):
            yield row(EFFECT, outcome.is_share, effect)
    for effect in fitted.effects():
        yield row(COEFFICIENT, False, effect)


def _predictions(
    fitted: Regression, patterns: _Patterns, name: str
) -> Iterator[Effect]:
    """If everybody had one value of a variable: each name, or the quartiles of a number."""
    if values := patterns.values(name):
        for value in values:
            yield fitted.predicted(f"{name} = {value}", patterns.changed(name, value))
        return
    numbers = patterns.frame[name].to_numpy()
    order = np.argsort(numbers)
    reached = np.cumsum(fitted.sums.people[order]) / fitted.sums.people.sum()
    at_quartiles = numbers[order][np.searchsorted(reached, _QUARTILES)]
    for number in dict.fromkeys(at_quartiles.tolist()):
        design = patterns.changed(name, number)
        yield fitted.predicted(f"{name} = {number:g}", design)


def _effects(fitted: Regression, patterns: _Patterns, name: str) -> Iterator[Effect]:
    """Of each value against the first, or of one more of a number (the mean of ``h' b``)."""
    if values := patterns.values(name):
        first = patterns.changed(name, values[0])
        for value in values[1:]:
            title = f"{name}: {value} against {values[0]}"
            design = patterns.changed(name, value)
            yield fitted.average_effect(title, design, first)
        return
    numbers = patterns.frame[name].to_numpy()
    change = _SMALL_CHANGE * max(float(np.ptp(numbers)), 1e-6)
    above = patterns.changed(name, numbers + change)
    below = patterns.changed(name, numbers - change)
    yield fitted.average_effect(f"one more of {name}", above, below, 2 * change)
