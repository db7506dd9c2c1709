"""Try a planned question on answers that are known: what is drawn is what the plan deploys.

A trial takes the question's plan: the mechanism that is deployed, at its share of the budgets, over
all answers that the question lists, of as many people as are asked, at the planned padding length.
Beside it stand the other mechanisms that the question could be deployed with, planned for the same
budgets. No report is made: counts of reports are drawn from their exact law given the true answers,
so that a million people and tens of thousands of items take a fraction of a second.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from math import isnan, nan, sqrt
from typing import NamedTuple, Self, cast

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array, Whole
from planner.errors import InputError, SolverError
from planner.estimates.channel import (
    ChannelEstimates,
    Estimate,
    OrderedEstimates,
    estimate_ordered,
    mean_of_scores,
    shares_up_to,
    wanted_estimates,
)
from planner.estimates.counts import DrawnEstimates, Estimates
from planner.estimates.cross_table import CrossTable, RelatedQuestion, pair_tables
from planner.estimates.report_law import ReportLaw
from planner.limits import CONFIDENCE, MAX_COUNT
from planner.mechanisms import inputs
from planner.mechanisms.asking import (
    CollectedLaw,
    ItemCollected,
    NumberCollected,
    People,
)
from planner.mechanisms.catalogue import CATALOGUE
from planner.mechanisms.collected import Found
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.inputs import ItemSets
from planner.mechanisms.words import seeded_words, spawn
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.datasets import AnswerCounts
from planner.planning.distribution import cell_of
from planner.planning.question import QuestionPlan
from planner.planning.sets import Padded
from planner.solvers.answers import Channel, Scenario
from planner.survey.levels import NumericDomain
from planner.survey.ordinal import NumberCells
from planner.survey.questions import Question

_MOST_REPORTS = 1_000_000  # reports, one by one


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


_LAST_DIGITS_OF_SHARES = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class OneSurvey:
    """The most frequent answers of one simulated survey, or its mean; shapes ``(k,)``.

    ``truth`` is how many of the people asked have each, as expected, or their mean; ``lower`` and
    ``upper`` are ends of each estimate's own 95 % interval; ``every`` is how many
    answers there are.
    """

    labels: tuple[str, ...]
    truth: Array
    estimates: Array
    lower: Array
    upper: Array
    unit: str = "people"
    every: int = 1

    @property
    def held(self) -> int:
        """How many of the intervals hold the truth."""
        return int(np.sum((self.lower <= self.truth) & (self.truth <= self.upper)))

    @classmethod
    def of_mean(cls, truth: float, mean: Estimate, unit: str) -> Self:
        """A mean beside the true one; without an estimate it has its interval alone."""
        value = np.nan if mean.value is None else mean.value
        return cls(
            labels=("mean",),
            truth=np.array([truth]),
            estimates=np.array([value]),
            lower=np.array([mean.lower]),
            upper=np.array([mean.upper]),
            unit=unit,
        )


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many people the data have, and how many of them report, drawn without replacement.

    These are one of so many ``parts`` of those who are asked: a round, or those who report one of
    their values, of whom each is drawn ``apart``.
    """

    people: int
    asked: int
    parts: int = 1
    apart: bool = False

    @classmethod
    def of(cls, people: int, planned: QuestionPlan) -> Self:
        """The share of the people that the plan asks, and of a round; at least one."""
        part = planned.part
        again = planned.question.rounds
        asked = max(1, round(part.fraction / part.rotation_groups * people))
        return cls(
            people, asked, part.rotation_groups, again is not None and again.times_open
        )

    @property
    def whole(self) -> int:
        """How many are asked, in all rounds."""
        return self.asked * self.parts

    def scaled(self, estimates: Found) -> Found:
        """What a form of report has estimated, of all who are asked."""
        if self.parts == 1:
            return estimates
        if isinstance(estimates, ChannelEstimates):
            return estimates._replace(users=self.whole)
        return DrawnEstimates.of(
            estimates, self.whole, self.parts if self.apart else None
        )

    @property
    def fraction(self) -> float:
        """The share of the people who report."""
        return self.asked / self.people

    def of_sets(
        self, sets: ItemSets, rng: np.random.Generator
    ) -> tuple[ItemSets, ItemSets]:
        """The sets of those who are asked in any round, and of those who report."""
        places = np.arange(self.people)
        whole = (
            places if self.whole >= self.people else self._lot(places, self.whole, rng)
        )
        reporting = whole if self.parts == 1 else self._lot(whole, self.asked, rng)
        every = sets if whole is places else sets.some(whole)
        if reporting is whole:  # nobody is left out: no second copy of the sets
            return every, every
        return every, sets.some(reporting)

    def _lot(self, places: Whole, many: int, rng: np.random.Generator) -> Whole:
        """Who is drawn of these: each with one chance, or so many without replacement."""
        if self.apart:
            return places[rng.random(places.size) < min(1.0, many / places.size)]
        return rng.choice(places, many, replace=False)

    def of_counts(self, counts: Whole, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """How many of those asked in any round, and of those who report, are of each kind."""

        def lot(some: Whole, many: int, people: int) -> Whole:
            """How many of each kind are drawn: binomial, or multivariate hypergeometric."""
            if many >= people:
                return some
            if self.apart:
                return rng.binomial(some, many / people)
            return rng.multivariate_hypergeometric(some, many, method="marginals")

        every = lot(counts, self.whole, self.people)
        return every, lot(every, self.asked, min(self.whole, self.people))

    def sampling_variance(self, sums: Array, squares: Array) -> Array:
        """Variance of a sum over the people asked, from the sums over all people."""
        # Drawing without replacement: n (1 - n/N) S^2, S^2 with N - 1 below (Cochran, 1977).
        spread = squares - np.square(sums) / self.people
        return np.asarray(
            self.asked * (1 - self.fraction) * spread / max(1, self.people - 1)
        )


class _Tried(NamedTuple):
    """A mechanism on given people.

    ``gap`` is the squared error of one survey and whether its 95 % intervals hold the truth, all at
    once (NaN if that is not asked), ``predicted`` the expected squared error; ``picture`` is what
    one survey shows.
    """

    predicted: float
    gap: Callable[[np.random.Generator], tuple[float, float]]
    picture: Callable[
        [np.random.Generator], OneSurvey | OrderedEstimates | tuple[Array, Estimates]
    ]


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
    _tried: dict[str, _Tried]

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
        if planned.question.apart:
            remedy = "Choose a question with a single round."
            raise InputError("kind", question.kind, "asked in a single round", remedy)
        model = planned.fact(AnswerRateModel)
        channel = planned.fact(Channel)
        if model is not None:
            values = model.domain.answers(answers)  # type: ignore[arg-type]
            asked = SampleSize.of(values.size, planned)
            tried = {n: _mean(law, values, asked) for n, law in _laws(planned).items()}
            nobody = np.zeros(0, dtype=np.int64)
            return cls(planned, asked, (), nobody, int(np.isnan(values).sum()), tried)
        if isinstance(question, NumberCells) and not isinstance(answers, AnswerCounts):
            answers = _in_cells(question, answers)
        if not isinstance(answers, AnswerCounts):
            remedy = "Give the people who have each answer."
            raise InputError(
                "answers", type(answers).__name__, "answers by their names", remedy
            )
        counted = _as_asked(planned, answers)
        asked = SampleSize.of(counted.users, planned)
        labels = counted.labels
        people = counted.counts
        if channel is not None:
            people = people[[labels.index(answer) for answer in channel.symbols]]
            labels = channel.symbols
            every = planned.options
            tried = {
                option.name: _ordered(option.law, question, people, asked)
                for option in every
            }
        else:
            tried = {
                n: _counts(law, question, counted, asked)
                for n, law in _laws(planned).items()
            }
        return cls(planned, asked, labels, people, 0, tried)

    @property
    def names(self) -> list[str]:
        """The mechanisms that are tried, the deployed one first."""
        return list(self._tried)

    def only(self, name: str) -> Self:
        """The same trial of one of its mechanisms alone, by its name."""
        return replace(self, _tried={name: self._tried[name]})

    @property
    def shares_up_to(self) -> Array:
        """The true shares of the people up to each ordered answer."""
        outside = getattr(self.planned.question, "no_answer", None) is not None
        answered = self.people[: self.people.size - outside]
        return np.asarray(np.cumsum(answered) / answered.sum())

    @property
    def median(self) -> int:
        """The place of the true median among the ordered answers."""
        return int(np.argmax(self.shares_up_to >= 0.5))

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
        whole_number(
            "repeats", repeats, 1, MAX_COUNT, remedy="Take 100 for a first look."
        )
        results = []
        children = spawn(inputs.generator(rng), len(self._tried))
        for (name, tried), child in zip(self._tried.items(), children, strict=True):
            gaps = np.empty((repeats, 2))
            for run in range(repeats):
                gaps[run] = tried.gap(child)
                progress()
            (square, held) = gaps.mean(axis=0).tolist()
            spread = None
            if repeats > 1:
                spread = float(gaps[:, 0].std(ddof=1)) / sqrt(repeats)
                spread /= max(2 * sqrt(square), 1e-300)
            covered = None if isnan(held) else held
            results.append(
                Simulated(name, sqrt(square), spread, sqrt(tried.predicted), covered)
            )
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
        if not isinstance(picture, tuple):
            return picture
        truth, estimates = picture
        chosen = np.argsort(-truth, kind="stable")[:most]
        columns = truth, estimates.values, *estimates.intervals()
        truth, values, lower, upper = (column[chosen] for column in columns)
        named = tuple(self.labels[k] for k in chosen)
        return OneSurvey(named, truth, values, lower, upper, every=len(self.labels))

    def tables(self, rng: np.random.Generator) -> list[tuple[CrossTable, Array]]:
        """Of a joint question the table of every two parts in one survey, and the true one.

        Every report is drawn, as what a report says of two cells goes together; none of more than
        a million people.
        """
        law = self.planned.law
        parts = self.planned.deployed.together
        if len(parts) < 2 or self.asked.asked > _MOST_REPORTS:
            return []
        questions = []
        for part in parts:
            questions.append(RelatedQuestion(part.name, part.answers, part.in_order))
        cells = np.repeat(
            np.arange(self.people.size), self.asked.of_counts(self.people, rng)[1]
        )
        counter = law.shape.counter()
        for reports in law.shape.draw_many(cells, seeded_words(rng)):
            counter.add(reports)
        counts = law.shape.estimate(counter.sums()).values
        truth = np.bincount(cells, minlength=self.people.size).astype(np.float64)
        moments = law.shape.second_moments
        estimated = pair_tables(questions, self.labels, counts, cells.size, moments)
        true = pair_tables(questions, self.labels, truth, cells.size, moments)
        pairs = zip(estimated, true, strict=True)
        return [(table, true_table.counts) for table, true_table in pairs]


def _counts(
    law: CollectedLaw, question: Question, answers: AnswerCounts, asked: SampleSize
) -> _Tried:
    """A law for one item or a set of each person."""
    fraction = asked.whole / asked.people
    sets = answers.sets
    data: People = answers.counts if sets is None else sets
    truth = fraction * answers.counts
    bias = fraction * law.bias(data)
    asking = cast("ItemCollected", law.asked)
    _, once, twice = asking.sums(data)
    once = asking.scale * once
    twice = asking.scale**2 * twice
    once *= not asked.apart  # how many report varies, too
    expected = asked.fraction * law.variance(data) + asked.sampling_variance(
        once, twice
    )
    # Of a round estimates are scaled up by the number of rounds, their variance by its square.
    expected = asked.parts**2 * expected + np.square(bias)
    levels = question.levels
    weights = np.repeat(
        [level.importance for level in levels], [level.item_count for level in levels]
    )
    if (
        getattr(question, "criterion", "total") == "minimax"
    ):  # the error of the item that is worst
        weights = np.where(
            np.arange(weights.size) == np.argmax(weights * expected), weights, 0.0
        )

    def draw(rng: np.random.Generator) -> tuple[Array, Estimates]:
        """How many there are of those whom limits are about, and how many are estimated."""
        some: People
        if sets is None:
            counts, some = asked.of_counts(answers.counts, rng)
        else:
            every, some = asked.of_sets(sets, rng)
            counts = every.counts()
        estimates = asked.scaled(law.shape.estimate(law.draw_aggregate(some, rng)))
        return counts.astype(np.float64), law.asked.estimates(estimates)

    def gap(rng: np.random.Generator) -> tuple[float, float]:
        return float(weights @ np.square(draw(rng)[1].values - truth)), nan

    return _Tried(float(weights @ expected), gap, draw)


def _ordered(
    channel: Channel, question: Question, people: Whole, asked: SampleSize
) -> _Tried:
    """A channel for ordered answers: shares or counts in people, a mean in scores."""
    shares = people / people.sum()
    truth = channel.wanted @ shares
    scenarios = channel.scenarios
    directions = scenarios[0].directions if scenarios else np.eye(truth.size)
    once = channel.error(Scenario(shares, directions)) / asked.asked
    contributions = (directions @ channel.wanted).T
    once += (
        float(
            asked.sampling_variance(
                people @ contributions, people @ contributions**2
            ).sum()
        )
        / asked.asked**2
    )
    scale = 1.0 if question.of_mean else float(asked.whole)
    shown = channel if question.of_mean else shares_up_to(channel)
    outside = getattr(question, "no_answer", None) is not None

    def shares_of(reports: Whole) -> OrderedEstimates:
        return estimate_ordered(shown, reports, people=asked.whole, no_answer=outside)

    def draw(rng: np.random.Generator) -> tuple[Whole, Whole]:
        """Whom limits are about, and reports."""
        every, some = asked.of_counts(people, rng)
        return every, np.asarray(rng.multinomial(some, channel.matrix).sum(axis=0))

    def estimates_of(reports: Whole) -> ChannelEstimates:
        estimates = wanted_estimates(channel.estimator, reports)
        return estimates._replace(
            law=ReportLaw(channel.matrix, channel.estimator, estimates.users)
        )

    def gap(rng: np.random.Generator) -> tuple[float, bool]:
        some, reports = draw(rng)
        estimates = estimates_of(reports)
        error = float(np.square(scale * directions @ (estimates.values - truth)).sum())
        if question.of_mean:
            mean = mean_of_scores(estimates, CONFIDENCE)
            total_score = channel.wanted[0] @ some
            return error, bool(mean.lower <= total_score / some.sum() <= mean.upper)
        # Limits are of the people asked, so the band is held against their own shares.
        reached = np.cumsum(some[: some.size - outside])
        return error, shares_of(reports).hold(reached[:-1] / max(1, reached[-1]))

    def picture(rng: np.random.Generator) -> OneSurvey | OrderedEstimates:
        if not question.of_mean:
            return shares_of(draw(rng)[1])
        mean = mean_of_scores(estimates_of(draw(rng)[1]), CONFIDENCE)
        return OneSurvey.of_mean(float(truth[0]), mean, "mean of scores")

    return _Tried(scale**2 * once, gap, picture)


def _mean(law: CollectedLaw, values: Array, asked: SampleSize) -> _Tried:
    """A law for a number; a run without an estimate counts as the middle of its interval."""
    distinct, sizes = np.unique(values, return_counts=True, equal_nan=True)
    output = cast("NumberCollected", law.asked).output_law(law.shape, distinct)
    answered = values[~np.isnan(values)]
    truth = float(answered.mean())
    predicted = law.variance(values).mean / asked.fraction
    # To first order the mean's sampling error is that of the deviations, over those who answer.
    off = answered - truth
    among = asked.fraction * answered.size
    predicted += (
        float(asked.sampling_variance(off.sum(), np.square(off).sum())) / among**2
    )

    def draw(rng: np.random.Generator) -> tuple[Whole, Estimate]:
        every, some = asked.of_counts(sizes, rng)
        counts = rng.multinomial(some, output).sum(axis=0)
        estimates = law.shape.estimate(Aggregate(int(counts.sum()), counts))
        return every, law.asked.estimates(asked.scaled(estimates)).mean

    def gap(rng: np.random.Generator) -> tuple[float, bool]:
        some, mean = draw(rng)
        value = (mean.lower + mean.upper) / 2 if mean.value is None else mean.value
        given = ~np.isnan(distinct)
        true_mean = float(distinct[given] @ some[given]) / max(
            1, int(some[given].sum())
        )
        return float((value - truth) ** 2), bool(mean.lower <= true_mean <= mean.upper)

    def picture(rng: np.random.Generator) -> OneSurvey:
        return OneSurvey.of_mean(truth, draw(rng)[1], "mean of the answers")

    return _Tried(predicted, gap, picture)


def true_association(table: Array) -> float:
    """Cramér's V of a true table of people: ``sqrt(chi^2 / (n (min(rows, columns) - 1)))``.

    Examples
    --------
    >>> true_association(np.array([[30.0, 0.0], [0.0, 10.0]]))
    1.0
    """
    people = table.sum()
    # The counts expected of independent answers with these margins.
    even = np.outer(table.sum(axis=1), table.sum(axis=0)) / people
    parts = np.zeros(table.shape)
    np.divide((table - even) ** 2, even, out=parts, where=even > 0)
    free = max(min(table.shape) - 1, 1)
    return float(np.sqrt(parts.sum() / people / free))


def _laws(planned: QuestionPlan) -> dict[str, CollectedLaw]:
    """What is deployed, and all else that the plan compares and that could be deployed."""
    question = planned.deployed
    laws = {planned.deployed.mechanism: planned.law}
    compared = {option.name: option for option in planned.options}
    for name in planned.kind.mechanisms(question):
        if name in compared and name not in laws:
            with suppress(SolverError):
                mechanism = planned.kind.deployed(planned.part, compared[name])
                laws[name] = planned.kind.law(
                    question.replacing(mechanism=name), mechanism
                )
    return laws


def _in_cells(question: NumberCells, answers: Array) -> AnswerCounts:
    """The people with each answer, of numbers that are put into cells."""
    refusals = question.no_answer is not None
    domain = NumericDomain(question.lower, question.upper)
    size = len(question.ordered)
    cells = cell_of(domain, size - refusals, answers, refusals=refusals)
    return AnswerCounts(question.ordered, np.bincount(cells, minlength=size))


def _as_asked(planned: QuestionPlan, answers: AnswerCounts) -> AnswerCounts:
    """The answers as the question asks for them: sets of one item, where it asks for sets."""
    question = planned.deployed
    of_sets = planned.fact(Padded) is not None
    if answers.sets is not None and not of_sets:
        remedy = "Keep the first item of each set, or ask with the kind item-set."
        raise InputError("answers", "sets", "one for each person", remedy)
    listed = [
        (name, bool(level.items)) for level in question.levels for name in level.labels
    ]
    pairs = zip(answers.labels, listed, strict=False)
    wrong = any(named and label != name for label, (name, named) in pairs)
    if wrong or len(listed) != len(answers.labels):
        allowed = "those of the question, level by level"
        raise InputError(
            "labels", answers.labels, allowed, "Give 0 where nobody has an answer."
        )
    if answers.sets is not None or not of_sets:
        return answers
    single = np.repeat(np.arange(answers.counts.size), answers.counts)
    sets = ItemSets(answers.counts.size, single, np.arange(answers.users + 1))
    return replace(answers, sets=sets)
