"""How surely a collection would show the effects of a model: collections drawn, and fitted.

People's answers and groups are known, from a file. A collection is drawn from the deployed law:
its counts by pattern of the groups, which are all that a model needs. Each is fitted as
``aggregate --model`` would fit it. The share in which an effect is told apart from 0 is the power
of the survey for it: of the people as they are, or of people drawn from them with replacement.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.deployment.bulk import column_of, group_column
from planner.deployment.collecting.formulas import Formula
from planner.deployment.collecting.modelling import (
    COEFFICIENT,
    CONSTANT,
    EFFECT,
    ModelDesign,
    rough_shares,
)
from planner.deployment.collecting.reports import Group
from planner.deployment.parameters import Parameters
from planner.errors import ConvergenceError, FileError, InputError
from planner.estimates.regression import PatternSums, require_apart
from planner.laws.answers import LEFT_OUT, Code
from planner.limits import CONFIDENCE, DENOMINATOR, MAX_COUNT
from planner.mechanisms import inputs
from planner.mechanisms.asking import (
    CollectedLaw,
    NumberCollected,
    OneOfSetCollected,
    People,
)
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.outcomes import Outcome, outcome_of
from planner.mechanisms.words import spawn
from planner.survey.reading import AnswerFile
from planner.survey.survey import Survey
from planner.survey.tables import Reading

COLLECTIONS = 1000
"""Drawn unless another number is asked for: a power of 80 % is then known to 1.3 points."""
LEVEL = round(1 - CONFIDENCE, 9)
"""An effect is told apart from 0 where its p is below this."""


@dataclass(frozen=True, slots=True)
class EffectPower:
    """What collections say of one effect.

    Attributes
    ----------
    question, outcome:
        What is modelled.
    kind, name:
        An average effect or a coefficient, and of what.
    is_share:
        Whether the effect is in shares of people.
    told_apart, monte_carlo_error:
        The share of the collections in which p is below :data:`LEVEL`, and its standard error,
        which is that of a few collections and not of the survey.
    mean, deviation:
        Of the effect over the collections with a fit; None if there is none.
    without_privacy, told_apart_without_privacy:
        The effect among the people of the file, fitted to their true answers; None if no finite
        one fits. And the share of the same collections in which true answers show it.
    """

    question: str
    outcome: str
    kind: str
    name: str
    is_share: bool
    told_apart: float
    monte_carlo_error: float
    mean: float | None
    deviation: float | None
    without_privacy: float | None
    told_apart_without_privacy: float


@dataclass(frozen=True, slots=True)
class ModelPower:
    """A model of collections that were drawn.

    Attributes
    ----------
    model:
        Its formula and link.
    collections:
        How many were drawn.
    people:
        In each collection, before questions are drawn where each person is asked some.
    are_drawn:
        Whether these are drawn from the people of the file, or are they.
    unfitted:
        By question and outcome the number of collections without a fit; they tell nothing apart.
    effects:
        In the order of the outcomes: average effects, then coefficients but the constant.
    read_as:
        As what the file was read.
    """

    model: Formula
    collections: int
    people: int
    are_drawn: bool
    unfitted: dict[tuple[str, str], int]
    effects: tuple[EffectPower, ...]
    read_as: str


class _Cells(NamedTuple):
    """People by pattern and answer: of cell ``k`` there are ``people[k]``, with ``codes[k]``."""

    patterns: tuple[Group, ...]
    pattern_of: Whole
    codes: tuple[Code, ...]
    people: Whole


@dataclass(frozen=True, slots=True, eq=False)
class KnownPeople:
    """People whose answers and groups are known, as a model needs them.

    Attributes
    ----------
    rows:
        How many people the file has, with or without an answer.
    read_as:
        As what the file was read.
    """

    rows: int
    read_as: str
    _cells: dict[str, _Cells]

    @property
    def questions(self) -> list[str]:
        """The questions of the model."""
        return list(self._cells)

    def cells(self, question: str) -> _Cells:
        """The people with an answer to a question, and with groups."""
        return self._cells[question]

    @classmethod
    def read(
        cls,
        parameters: Parameters,
        data: str | Path,
        model: Formula,
        survey: Survey | None = None,
        reading: Reading | None = None,
    ) -> Self:
        """Read a file with a row a person, and a column of each question and group of the model.

        Parameters
        ----------
        parameters:
            Of the planned survey: :func:`~planner.deployment.parameters.survey_parameters`.
        model:
            What :func:`~planner.deployment.collecting.formulas.read_model` has read.
        survey, reading:
            In which columns answers stand, and how the file is read.

        Raises
        ------
        FileError
            The file cannot be read, holds an answer that is none, or nobody who has an answer has
            the groups.
        """
        questions = dict.fromkeys(question for question, _ in model.outcomes)
        laws = [parameters.question(question) for question in questions]
        groups = {name: parameters.groups[name] for name in model.pattern_groups}
        columns = []
        for law in laws:
            parts = parameters.joint.get(law.name, ())
            columns.append(column_of(law, survey, parts))
        for name, values in groups.items():
            columns.append(group_column(name, values))
        file = AnswerFile(data, columns, reading)
        counters = [Counter[tuple[Group, Code]]() for _ in laws]
        group_values = list(groups.values())
        for block in file.blocks():
            of_groups = block[len(laws) :]
            patterns = _patterns(group_values, of_groups, len(block[0]))
            for law, counter, codes in zip(laws, counters, block, strict=False):
                _count(counter, patterns, codes, are_sets=law.asked.several)
        cells = {}
        for law, counter in zip(laws, counters, strict=True):
            if not counter:
                reason = (
                    f"nobody has an answer to {law.name!r} and the groups of the model"
                )
                raise FileError(data, reason, "Are these the right columns?")
            cells[law.name] = _cells(counter)
        return cls(file.people, file.read_as, cells)


def _count(
    counter: Counter[tuple[Group, Code]],
    patterns: Sequence[Group | None],
    codes: Sequence[Code],
    *,
    are_sets: bool,
) -> None:
    """Add the people of a block who have both a pattern and an answer."""
    for pattern, code in zip(patterns, codes, strict=True):
        if pattern is None or code is LEFT_OUT:
            continue
        # Sets are lists, which no dictionary takes as keys.
        answer = code
        if are_sets:
            answer = tuple(code)
        counter[pattern, answer] += 1


def effect_power(
    parameters: Parameters,
    known: KnownPeople,
    model: Formula,
    rng: np.random.Generator,
    *,
    collections: int = COLLECTIONS,
    people: int | None = None,
    progress: Callable[[], object] = lambda: None,
) -> ModelPower:
    r"""Draw collections of known people, and fit a model to each.

    Parameters
    ----------
    parameters, known, model:
        As :meth:`KnownPeople.read` takes them, and what it has read.
    rng:
        Seeds the collections.
    collections:
        How many, at least 2.
    people:
        Drawn from the rows of the file with replacement for each collection, at least 2. None:
        every collection has the people of the file, and only their reports are drawn.
    progress:
        Called after each collection of each question.

    Raises
    ------
    InputError
        A number is out of range, or a term of the model follows from others in these data.

    Examples
    --------
    >>> from tempfile import mkdtemp
    >>> from planner import Categorical, Level, Survey, plan_survey
    >>> from planner.deployment.collecting.formulas import read_model
    >>> from planner.deployment.parameters import survey_parameters
    >>> question = Categorical("ill", (Level("all", 2.0, ("yes", "no")),))
    >>> survey = Survey("s", 2000, (question,), groups=(("region", ("north", "south")),))
    >>> parameters = survey_parameters(plan_survey(survey))
    >>> path = Path(mkdtemp(), "people.csv")
    >>> north = "yes,north\n" * 200 + "no,north\n" * 800
    >>> south = "yes,south\n" * 300 + "no,south\n" * 700
    >>> size = path.write_text("ill,region\n" + north + south)
    >>> model = read_model("yes ~ region", "logit", parameters)
    >>> known = KnownPeople.read(parameters, path, model)
    >>> rng = np.random.default_rng(1)
    >>> power = effect_power(parameters, known, model, rng, collections=200)
    >>> effect = power.effects[0]
    >>> effect.name, round(effect.without_privacy, 3)
    ('region: south against north', 0.1)
    >>> 0.9 < effect.told_apart <= 1 and effect.told_apart_without_privacy == 1.0
    True
    """
    remedy = f"Take {COLLECTIONS} to begin with."
    whole_number("collections", collections, 2, MAX_COUNT, remedy=remedy)
    if people is not None:
        remedy = "Leave it out to take those of the file."
        whole_number("people", people, 2, MAX_COUNT, remedy=remedy)
    # A stream of its own for each collection, so that more of them leave the first ones
    # as they are.
    generators = spawn(inputs.generator(rng), collections)
    effects: list[EffectPower] = []
    unfitted: dict[tuple[str, str], int] = {}
    trials = [
        _QuestionTrial.of(parameters, model, question, known, people)
        for question in known.questions
    ]
    for trial in trials:
        fits = trial.fits(generators, progress)
        effects += _powers(trial, fits)
        for outcome, fit in fits.items():
            without_fit = np.isnan(fit.values[:, 0])
            unfitted[trial.law.name, outcome] = int(without_fit.sum())
    return ModelPower(
        model=model,
        collections=collections,
        people=people or known.rows,
        are_drawn=people is not None,
        unfitted=unfitted,
        effects=tuple(effects),
        read_as=known.read_as,
    )


def _patterns(
    values: Sequence[tuple[str, ...]], block: Sequence[Sequence[Code]], people: int
) -> list[Group | None]:
    """The pattern of each person of a block; None of who has no value of a group."""
    if not values:
        return [()] * people
    patterns: list[Group | None] = []
    for codes in zip(*block, strict=True):
        # Whoever has no group has no place in the model's sums, and is left out as the
        # collector would leave their report out.
        if LEFT_OUT in codes:
            patterns.append(None)
            continue
        texts = [listed[code] for listed, code in zip(values, codes, strict=True)]
        patterns.append(tuple(texts))
    return patterns


def _cells(counted: Mapping[tuple[Group, Code], int]) -> _Cells:
    """The cells by how many people have each pattern and answer."""
    # In one order, so that a seed draws the same collections whatever order the file's rows have.
    patterns = sorted({pattern for pattern, _ in counted})
    number_of = {pattern: number for number, pattern in enumerate(patterns)}
    pattern_of = []
    codes = []
    for pattern, code in counted:
        pattern_of.append(number_of[pattern])
        codes.append(code)
    return _Cells(
        patterns=tuple(patterns),
        pattern_of=np.array(pattern_of),
        codes=tuple(codes),
        people=np.array(list(counted.values())),
    )


def _share_asked(parameters: Parameters, question: str) -> float:
    """The share of the people who are asked a question, each by a draw of their device."""
    drawing = parameters.drawing
    if drawing is None:
        return 1.0
    position = drawing.names.index(question)
    return drawing.chances[position] / DENOMINATOR


class _Fits(NamedTuple):
    """What collections gave: estimates and p, shape ``(collections, effects)``, NaN without a fit.

    ``direct`` are the same of the same people's true answers.
    """

    values: Array
    p: Array
    direct_p: Array


@dataclass(frozen=True, slots=True, eq=False)
class _QuestionTrial:
    """A question whose collections are drawn, and the models that are fitted to each.

    Attributes
    ----------
    law, design:
        What draws a collection, and the covariates that are fitted.
    cells:
        The people of the file.
    share:
        Of the file's rows in each cell, ``(cells,)``; the rest have no answer or no group.
    people:
        Drawn from the file for each collection; None if those of the file stay.
    fraction:
        The share of the people who are asked this question.
    asked_directly:
        Each outcome, by name, with the variance of a true answer.
    truths:
        Of each outcome ``T`` and ``S`` of the people of each cell, ``(2, cells)``.
    """

    law: CollectedLaw
    design: ModelDesign
    cells: _Cells
    share: Array
    people: int | None
    fraction: float
    asked_directly: dict[str, Outcome]
    truths: dict[str, Array]

    @classmethod
    def of(
        cls,
        parameters: Parameters,
        model: Formula,
        question: str,
        known: KnownPeople,
        people: int | None,
    ) -> Self:
        """The trial of one question of the model."""
        law = parameters.question(question)
        cells = known.cells(question)
        outcomes = {}
        truths = {}
        for modelled, name in model.outcomes:
            if modelled != question:
                continue
            outcome = outcome_of(law, name)
            if outcome.is_share:
                # A true answer is exact, so that only the people's own draw varies; a
                # report's variance would bring in the mechanism's noise.
                outcome = replace(outcome, variance=_bernoulli_variance)
            outcomes[name] = outcome
            of_cells = [outcome.truth_of(code) for code in cells.codes]
            truths[name] = np.array(of_cells, np.float64).T
        design = ModelDesign(parameters, model, cells.patterns)
        # Found before anything is drawn, as each collection would fail in the same way.
        require_apart(design.names, design.matrix)
        if set(design.names) <= {CONSTANT}:
            reason = "no group of the model differs between the people of the file"
            raise InputError.because("model", reason, "Give people of every value.")
        return cls(
            law=law,
            design=design,
            cells=cells,
            share=cells.people / known.rows,
            people=people,
            fraction=_share_asked(parameters, question),
            asked_directly=outcomes,
            truths=truths,
        )

    @property
    def is_fixed(self) -> bool:
        """Whether every collection is of the same people."""
        return self.people is None and self.fraction == 1

    def effect_names(self) -> list[tuple[str, str]]:
        """Kind and name of each effect, in the order of the estimates."""
        effects = [(EFFECT, name) for name in self.design.effect_names]
        coefficients = [(COEFFICIENT, name) for name in self.design.names]
        return effects + coefficients

    def fits(
        self, collections: Sequence[np.random.Generator], progress: Callable[[], object]
    ) -> dict[str, _Fits]:
        """Each outcome's estimates over the collections."""
        shape = (len(collections), len(self.effect_names()))
        fits = {}
        for name in self.asked_directly:
            fits[name] = _Fits(*np.full((3, *shape), np.nan))
        for k, rng in enumerate(collections):
            people = self._asked(rng)
            counted = self._counted(people, rng)
            for name, fit in fits.items():
                fit.values[k], fit.p[k] = self._private(name, counted)
                # Fixed people have the same true answers in each collection, and so one fit.
                if k == 0 or not self.is_fixed:
                    _, fit.direct_p[k] = self.direct(name, people)
                else:
                    fit.direct_p[k] = fit.direct_p[0]
            progress()
        return fits

    def direct(self, name: str, people: Whole) -> Array:
        """Estimates and p of an outcome from so many true answers of each cell, ``(2, effects)``.

        A share is as exact as its binomial law: ``v(p) = p (1 - p)``.
        """
        t, s = self.truths[name]

        def by_pattern(values: Array) -> Array:
            """The sum over the people of each pattern."""
            size = len(self.cells.patterns)
            sums = np.bincount(self.cells.pattern_of, people * values, size)
            return sums.astype(np.float64)

        sums = PatternSums(
            people=by_pattern(np.ones_like(t)),
            weight=by_pattern(t),
            base=by_pattern(s),
            weight_square=by_pattern(np.square(t)),
            product=by_pattern(t * s),
            base_square=by_pattern(np.square(s)),
        )
        return self._estimates(self.asked_directly[name], sums)

    def _asked(self, rng: np.random.Generator) -> Whole:
        """How many people of each cell are asked, ``(cells,)``."""
        people = self.cells.people
        if self.people is not None:
            # The last of these is whoever has no answer, or no group.
            rest = max(0.0, 1 - float(self.share.sum()))
            drawn = rng.multinomial(self.people, [*self.share, rest])
            people = drawn[:-1]
        if self.fraction < 1:
            # Each device draws its questions by itself, so that how many are asked is binomial.
            people = rng.binomial(people, self.fraction)
        return people

    def _counted(self, people: Whole, rng: np.random.Generator) -> dict[int, Aggregate]:
        """Reports of each pattern of which somebody is asked, counted."""
        counted = {}
        for pattern in range(len(self.cells.patterns)):
            cells = np.flatnonzero(self.cells.pattern_of == pattern)
            people_of_cells = people[cells]
            if people_of_cells.any():  # no law draws reports of nobody
                answers = self._answers(cells, people_of_cells)
                counted[pattern] = self.law.draw_aggregate(answers, rng)
        return counted

    def _answers(self, cells: Whole, people: Whole) -> People:
        """The people of some cells as the law takes them."""
        codes = [self.cells.codes[cell] for cell in cells]
        asked = self.law.asked
        if isinstance(asked, NumberCollected):
            numbers = np.array(codes, np.float64)  # None becomes NaN
            return np.repeat(numbers, people)
        if isinstance(asked, OneOfSetCollected):
            sets = ItemSets.of(codes, asked.levels.total)
            set_of_person = np.repeat(np.arange(len(codes)), people)
            return sets.some(set_of_person)
        answers = np.zeros(asked.levels.total, np.int64)
        np.add.at(answers, codes, people)
        return answers

    def _private(self, name: str, counted: Mapping[int, Aggregate]) -> Array:
        """Estimates and p of an outcome from a collection, ``(2, effects)``."""
        aggregates = list(counted.values())
        if not aggregates:  # nobody was drawn
            return self._no_estimates()
        # From the drawn reports, as a collector has to: the true shares are not known to it.
        shares = rough_shares(self.law, aggregates)
        outcome = outcome_of(self.law, name, shares)
        reported = outcome.pattern_sums(aggregates)
        patterns = len(self.cells.patterns)
        sums = reported.among(list(counted), patterns)
        return self._estimates(outcome, sums)

    def _no_estimates(self) -> Array:
        """What a collection without a fit gives, ``(2, effects)``: NaN."""
        effects = len(self.effect_names())
        return np.full((2, effects), np.nan)

    def _estimates(self, outcome: Outcome, sums: PatternSums) -> Array:
        """Value and p of each effect, ``(2, effects)``; NaN where nothing finite fits."""
        try:
            fitted = self.design.fit(outcome, sums)
        except (ConvergenceError, InputError):
            # Counted as not told apart: leaving such collections out would flatter the power.
            return self._no_estimates()
        values = []
        tests = []
        for effect in self.design.average_effects(fitted):
            values.append(effect.value)
            tests.append(effect.p)
        values += fitted.coefficients.tolist()
        tests += fitted.coefficient_tests().tolist()
        return np.array([values, tests])


def _bernoulli_variance(share: Array) -> Array:
    """``p (1 - p)``; of a linear model, whose shares may leave 0 to 1, above 0 all the same."""
    return np.maximum(share * (1 - share), 1e-4)


def _powers(trial: _QuestionTrial, fits: Mapping[str, _Fits]) -> Iterator[EffectPower]:
    """The power of each effect of a question but the constant."""
    for outcome, fit in fits.items():
        in_file, _ = trial.direct(outcome, trial.cells.people)
        is_share = trial.asked_directly[outcome].is_share
        fitted = ~np.isnan(fit.values[:, 0])
        for k, (kind, name) in enumerate(trial.effect_names()):
            if name == CONSTANT:
                continue
            values = fit.values[fitted, k]
            mean = None
            if values.size:
                mean = float(values.mean())
            deviation = None
            if values.size > 1:
                deviation = float(values.std(ddof=1))
            without_privacy = None
            if not np.isnan(in_file[k]):
                without_privacy = float(in_file[k])
            # Where nothing fitted p is NaN, and below no level.
            told_apart = fit.p[:, k] < LEVEL
            told_apart_directly = fit.direct_p[:, k] < LEVEL
            yield EffectPower(
                question=trial.law.name,
                outcome=outcome,
                kind=kind,
                name=name,
                is_share=is_share and kind == EFFECT,
                told_apart=float(told_apart.mean()),
                monte_carlo_error=_error_of_share(int(told_apart.sum()), fitted.size),
                mean=mean,
                deviation=deviation,
                without_privacy=without_privacy,
                told_apart_without_privacy=float(told_apart_directly.mean()),
            )


def _error_of_share(successes: int, draws: int) -> float:
    """Standard error of a share of draws, at ``(k + 1) / (n + 2)``, which is never 0 or 1."""
    # The plain share k / n would give no error at all where every collection shows the effect.
    share = (successes + 1) / (draws + 2)
    return sqrt(share * (1 - share) / draws)
