"""Try a planned question on answers that are known: what is drawn is what the plan deploys.

A trial takes the question's plan: the mechanism that is deployed, at its share of the budgets, over
all answers that the question lists, of as many people as are asked, at the planned padding length.
Beside it stand the other mechanisms that the question could be deployed with, planned for the same
budgets. No report is made: counts of reports are drawn from their exact law given the true answers,
so that a million people and tens of thousands of items take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isnan, sqrt
from typing import Self, cast

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError, SolverError
from planner.estimates.channel import OrderedEstimates
from planner.estimates.cross_table import CrossTable, RelatedQuestion, pair_tables
from planner.limits import MAX_COUNT
from planner.mechanisms import inputs
from planner.mechanisms.asking import CollectedLaw, OneOfSetCollected
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.words import seeded_words, spawn
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.datasets import AnswerCounts
from planner.planning.distribution import cell_of
from planner.planning.question import QuestionPlan
from planner.planning.sets import Padded
from planner.solvers.answers import Channel
from planner.survey.levels import NumericDomain
from planner.survey.ordinal import NumberCells
from planner.survey.questions import Question
from planner.trial.sample_size import SampleSize
from planner.trial.tried import (
    CountsOfSurvey,
    OneSurvey,
    Tried,
    TriedCounts,
    TriedMean,
    TriedOrdered,
)

__all__ = ["OneSurvey", "Simulated", "Trial", "true_association"]
# Beyond this, drawing single reports takes too long for what is only a picture.
_MOST_REPORTS = 1_000_000  # reports, one by one
# The band's ends are sums of shares in floating point, and may differ from the truth in
# their last digits where they touch it.
_LAST_DIGITS_OF_SHARES = 1e-9


@dataclass(frozen=True, slots=True)
class Simulated:
    """One mechanism's errors over repeated runs, in the plan's unit, among the people asked.

    Attributes
    ----------
    name:
        The mechanism.
    error:
        Root of the mean squared error over the runs.
    spread:
        Its standard error; None with a single run.
    predicted:
        The same as expected for these people: exact, but of a mean to first order.
    covered:
        Of means and ordered answers: share of the runs whose 95 % intervals hold the truth, all at
        once, of those who are asked in any round; else None.
    """

    name: str
    error: float
    spread: float | None
    predicted: float
    covered: float | None = None

    @property
    def label(self) -> str:
        """The name that people know."""
        return CATALOGUE[self.name].label


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A planned question beside people whose answers are known.

    Attributes
    ----------
    planned:
        The plan; its deployed mechanism is the first that is tried.
    asked:
        How many people the data have, and how many of them are asked.
    labels, people:
        The names of all listed answers, of ordered ones in their order, and how many people have
        each; none for a number.
    missing:
        How many people have no answer.
    """

    planned: QuestionPlan
    asked: SampleSize
    labels: tuple[str, ...]
    people: Whole
    missing: int
    _tried: dict[str, Tried]

    @classmethod
    def of(cls, planned: QuestionPlan, answers: AnswerCounts | Array) -> Self:
        """Put the answers in the question's places, and plan what else it could be deployed with.

        Parameters
        ----------
        planned:
            Of a question with a single round.
        answers:
            The truth; of a question for a number one number a person, NaN for none.

        Raises
        ------
        InputError
            The answers do not fit the question.

        Examples
        --------
        >>> from planner import Categorical, Level, Survey, plan_survey
        >>> levels = (Level("rare", 1.0, ("HIV",)), Level("common", 2.0, ("flu", "cold")))
        >>> survey = Survey("s", 1000, (Categorical("now", levels),))
        >>> answers = AnswerCounts(("HIV", "flu", "cold"), np.array([100, 900, 0]))
        >>> trial = Trial.of(plan_survey(survey).question("now"), answers)
        >>> trial.labels, trial.names[:2]
        (('HIV', 'flu', 'cold'), ['subset-design', 'opt0'])
        >>> deployed, *_ = trial.run(400, np.random.default_rng(1))
        >>> abs(deployed.error / deployed.predicted - 1) < 0.2
        True
        """
        question = planned.deployed
        # A question in rounds has an error of each round and of their sum, and no
        # single one to compare.
        if not planned.question.locally_private:
            remedy = "Choose a question with a single round."
            raise InputError("kind", question.kind, "asked in a single round", remedy)
        model = planned.fact(AnswerRateModel)
        if model is not None:
            return cls._of_number(planned, model.domain.answers(answers))  # type: ignore[arg-type]
        if isinstance(question, NumberCells) and not isinstance(answers, AnswerCounts):
            answers = _in_cells(question, answers)
        if not isinstance(answers, AnswerCounts):
            given = type(answers).__name__
            remedy = "Give the people who have each answer."
            raise InputError("answers", given, "answers by their names", remedy)
        return cls._of_counts(planned, _as_asked(planned, answers))

    @classmethod
    def _of_number(cls, planned: QuestionPlan, values: Array) -> Self:
        """A trial on numbers, one a person, NaN for none."""
        asked = SampleSize.of(values.size, planned)
        tried: dict[str, Tried] = {}
        for name, law in _laws(planned).items():
            tried[name] = TriedMean(law, values, asked)
        return cls(
            planned=planned,
            asked=asked,
            labels=(),
            people=np.zeros(0, dtype=np.int64),
            missing=int(np.isnan(values).sum()),
            _tried=tried,
        )

    @classmethod
    def _of_counts(cls, planned: QuestionPlan, answers: AnswerCounts) -> Self:
        """A trial on answers that are listed."""
        question = planned.deployed
        asked = SampleSize.of(answers.users, planned)
        channel = planned.fact(Channel)
        labels = answers.labels
        people = answers.counts
        tried: dict[str, Tried] = {}
        if channel is not None:
            # The channel's order of the answers, lowest first, is not that of the
            # survey where levels are mixed.
            order = [labels.index(answer) for answer in channel.symbols]
            people = people[order]
            labels = channel.symbols
            for option in planned.options:
                tried[option.name] = TriedOrdered(option.law, question, people, asked)
        else:
            for name, law in _laws(planned).items():
                tried[name] = TriedCounts(law, question, answers, asked)
        return cls(
            planned=planned,
            asked=asked,
            labels=labels,
            people=people,
            missing=0,
            _tried=tried,
        )

    @property
    def names(self) -> list[str]:
        """The mechanisms that are tried, the deployed one first."""
        return list(self._tried)

    def only(self, name: str) -> Self:
        """The trial of one of its mechanisms alone, by its name."""
        return replace(self, _tried={name: self._tried[name]})

    @property
    def shares_up_to(self) -> Array:
        """The true shares of the people up to each ordered answer."""
        answered = self.people
        if getattr(self.planned.question, "no_answer", None) is not None:
            answered = self.people[:-1]
        return np.cumsum(answered) / answered.sum()

    @property
    def median(self) -> int:
        """The place of the true median among the ordered answers."""
        # The first answer up to which half of the people are: the lower median.
        reached = self.shares_up_to >= 0.5
        return int(np.argmax(reached))

    def inside(self, band: tuple[Array, Array]) -> bool:
        """Whether the true shares up to each answer are in a band, but for rounding."""
        lower, upper = band
        truth = self.shares_up_to
        above = lower <= truth + _LAST_DIGITS_OF_SHARES
        below = truth <= upper + _LAST_DIGITS_OF_SHARES
        return bool(np.all(above & below))

    def run(
        self,
        repeats: int,
        rng: np.random.Generator,
        progress: Callable[[], object] = lambda: None,
    ) -> list[Simulated]:
        """Run every mechanism ``repeats`` times; ``progress`` is called after every run.

        Parameters
        ----------
        repeats:
            Runs of each, at least 1 (else InputError).
        rng:
            Seeds every mechanism on its own.
        """
        remedy = "Take 100 for a first look."
        whole_number("repeats", repeats, 1, MAX_COUNT, remedy=remedy)
        results = []
        # Mechanisms draw from streams of their own, so that one more of them changes no
        # other's figures.
        children = spawn(inputs.generator(rng), len(self._tried))
        for name, child in zip(self._tried, children, strict=True):
            tried = self._tried[name]
            squares = np.empty(repeats)
            held = np.empty(repeats)
            for run in range(repeats):
                gap = tried.gap(child)
                squares[run] = gap.square
                held[run] = gap.held
                progress()
            results.append(_simulated(name, squares, held, tried.predicted))
        return results

    def one(
        self, name: str, rng: np.random.Generator, most: int = 20
    ) -> OneSurvey | OrderedEstimates:
        """What one survey with the mechanism called ``name`` would say.

        ``most`` is how many of the most frequent answers to give of counts, at least 1; an
        InputError if it is less.
        """
        whole_number("most", most, remedy="Show 20 items for a first look.")
        picture = self._tried[name].picture(rng)
        if not isinstance(picture, CountsOfSurvey):
            return picture
        lower, upper = picture.estimates.intervals()
        # Stable, so that equally frequent answers keep the order of the question.
        order = np.argsort(-picture.truth, kind="stable")
        chosen = order[:most]
        return OneSurvey(
            labels=tuple(self.labels[k] for k in chosen),
            truth=picture.truth[chosen],
            estimates=picture.estimates.values[chosen],
            lower=lower[chosen],
            upper=upper[chosen],
            every=len(self.labels),
        )

    def tables(self, rng: np.random.Generator) -> list[tuple[CrossTable, Array]]:
        """The table of every two parts of a joint question in one survey, and the true one.

        Every report is drawn, as what a report says of two cells goes together; none of more than
        a million people.
        """
        shape = self.planned.law.shape
        parts = self.planned.deployed.together
        if len(parts) < 2 or self.asked.asked > _MOST_REPORTS:
            return []
        questions = []
        for part in parts:
            question = RelatedQuestion(part.name, part.answers, part.in_order)
            questions.append(question)
        _, reporting = self.asked.of_counts(self.people, rng)
        answers = np.arange(self.people.size)
        cells = np.repeat(answers, reporting)
        counter = shape.counter()
        for reports in shape.draw_many(cells, seeded_words(rng)):
            counter.add(reports)

        def tables_of(counts: Array) -> list[CrossTable]:
            moments = shape.second_moments
            return pair_tables(questions, self.labels, counts, cells.size, moments)

        estimates = shape.estimate(counter.sums())
        true_tables = tables_of(reporting.astype(np.float64))
        tables = []
        for estimated, true in zip(
            tables_of(estimates.values), true_tables, strict=True
        ):
            tables.append((estimated, true.counts))
        return tables


def _simulated(name: str, squares: Array, held: Array, predicted: float) -> Simulated:
    """One mechanism, from the squared errors and the limits of its runs.

    The error is ``sqrt(mean square)``, its standard error by the delta method that of the mean
    over twice the error.
    """
    error = sqrt(float(squares.mean()))
    spread = None
    if squares.size > 1:
        deviation = float(squares.std(ddof=1))
        error_of_mean_square = deviation / sqrt(squares.size)
        # Where no run errs at all, the error is 0, and so is its spread.
        spread = error_of_mean_square / max(2 * error, 1e-300)
    share_held = float(held.mean())
    covered = None
    if not isnan(share_held):  # of counts it is not asked
        covered = share_held
    return Simulated(
        name=name,
        error=error,
        spread=spread,
        predicted=sqrt(predicted),
        covered=covered,
    )


def true_association(table: Array) -> float:
    """Cramér's V of a true table of people: ``sqrt(chi^2 / (n (min(rows, columns) - 1)))``.

    Examples
    --------
    >>> true_association(np.array([[30.0, 0.0], [0.0, 10.0]]))
    1.0
    """
    people = table.sum()
    rows = table.sum(axis=1)
    columns = table.sum(axis=0)
    # The counts expected of independent answers with these margins.
    expected = np.outer(rows, columns) / people
    # A row or a column without people adds nothing to chi-square.
    possible = expected > 0
    squares = (table[possible] - expected[possible]) ** 2
    chi_square = (squares / expected[possible]).sum()
    degrees = max(min(table.shape) - 1, 1)
    return float(np.sqrt(chi_square / people / degrees))


def _laws(planned: QuestionPlan) -> dict[str, CollectedLaw]:
    """What is deployed, and all else that the plan compares and that could be deployed."""
    question = planned.deployed
    kind = planned.kind
    laws = {question.mechanism: planned.law}
    compared = {option.name: option for option in planned.options}
    for name in kind.mechanisms(question):
        if name in laws or name not in compared:
            continue
        with suppress(SolverError):  # it cannot be deployed with these budgets
            mechanism = kind.deployed(planned.part, compared[name])
            with_mechanism = question.replacing(mechanism=name)
            laws[name] = kind.law(with_mechanism, mechanism)
    return laws


def _in_cells(question: NumberCells, answers: Array) -> AnswerCounts:
    """The people with each answer, of numbers that are put into cells."""
    has_refusals = question.no_answer is not None
    domain = NumericDomain(question.lower, question.upper)
    size = len(question.ordered)
    # The last answer is no cell where it is for those who give no number.
    cells = size - has_refusals
    cell_of_person = cell_of(domain, cells, answers, refusals=has_refusals)
    counts = np.bincount(cell_of_person, minlength=size)
    return AnswerCounts(question.ordered, counts)


def _as_asked(planned: QuestionPlan, answers: AnswerCounts) -> AnswerCounts:
    """The answers as the question asks for them: sets of one item, where it asks for sets."""
    question = planned.deployed
    of_sets = planned.fact(Padded) is not None
    if answers.sets is not None and not of_sets:
        remedy = "Keep the first item of each set, or ask with the kind item-set."
        raise InputError("answers", "sets", "one for each person", remedy)
    if not _fits(question, answers.labels):
        allowed = "those of the question, level by level"
        # Zeros are asked for in words: a missing answer may as well be a misspelt one.
        remedy = "Give 0 where nobody has an answer."
        raise InputError("labels", answers.labels, allowed, remedy)
    if answers.sets is not None:
        _check_sizes(planned, answers.sets)
        return answers
    if not of_sets:
        return answers
    # One item for each person: the start of person k in the flat list is k.
    items = answers.counts.size
    item_of_person = np.repeat(np.arange(items), answers.counts)
    starts = np.arange(answers.users + 1)
    return replace(answers, sets=ItemSets(items, item_of_person, starts))


def _check_sizes(planned: QuestionPlan, sets: ItemSets) -> None:
    """Refuse sets that the deployed clients refuse: a trial of them would be of another survey."""
    law = cast("OneOfSetCollected", planned.law.asked)
    largest = int(sets.sizes.max())
    if largest > law.largest_set:
        allowed = f"sets of at most {law.largest_set} items, the largest size stated"
        remedy = "State the sizes of sets as they are, and plan again."
        raise InputError("answers", f"a set of {largest}", allowed, remedy)


def _fits(question: Question, labels: Sequence[str]) -> bool:
    """Whether these are the question's answers, level by level; those without names may be any."""
    answers = []
    for level in question.levels:
        for name in level.labels:
            answers.append((name, bool(level.items)))
    if len(answers) != len(labels):
        return False
    for label, (name, is_named) in zip(labels, answers, strict=True):
        if is_named and label != name:
            return False
    return True
