"""A mechanism on given people: the error that is expected, and surveys that are drawn.

Of counts, ordered answers and numbers each: the squared error of one survey, whether its limits
hold the truth, and what the survey shows. No report is made: counts of reports are drawn from
their exact law given the true answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import NamedTuple, Protocol, Self, cast

import numpy as np

from planner.arrays import Array, Whole
from planner.estimates.channel import (
    ChannelEstimates,
    Estimate,
    OrderedEstimates,
    estimate_ordered,
    mean_of_scores,
    wanted_estimates,
)
from planner.estimates.counts import Estimates
from planner.estimates.report_law import ReportLaw
from planner.limits import CONFIDENCE
from planner.mechanisms.asking import (
    CollectedLaw,
    ItemCollected,
    NumberCollected,
    People,
)
from planner.mechanisms.counting import Aggregate
from planner.planning.datasets import AnswerCounts
from planner.solvers.answers import Channel, Scenario
from planner.survey.questions import Question
from planner.trial.sample_size import SampleSize


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
        held = (self.lower <= self.truth) & (self.truth <= self.upper)
        return int(held.sum())

    @classmethod
    def of_mean(cls, truth: float, mean: Estimate, unit: str) -> Self:
        """A mean beside the true one; without an estimate it has its interval alone."""
        value = mean.value
        if value is None:
            value = nan
        return cls(
            labels=("mean",),
            truth=np.array([truth]),
            estimates=np.array([value]),
            lower=np.array([mean.lower]),
            upper=np.array([mean.upper]),
            unit=unit,
        )


class CountsOfSurvey(NamedTuple):
    """The people who have each answer, and how many one survey estimates."""

    truth: Array
    estimates: Estimates


class Gap(NamedTuple):
    """The squared error of one survey, and whether its 95 % intervals hold the truth.

    All at once; NaN if that is not asked.
    """

    square: float
    held: float


class Tried(Protocol):
    """A mechanism on given people."""

    @property
    def predicted(self) -> float:
        """The squared error that is expected."""
        ...

    def gap(self, rng: np.random.Generator) -> Gap:
        """The error of one survey."""
        ...

    def picture(
        self, rng: np.random.Generator
    ) -> OneSurvey | OrderedEstimates | CountsOfSurvey:
        """What one survey shows."""
        ...


@dataclass(frozen=True, eq=False)
class TriedCounts:
    """A law for one item or a set of each person.

    Attributes
    ----------
    law, question:
        The mechanism, and what it is for.
    answers, asked:
        Everybody's answers, and who of them reports.
    """

    law: CollectedLaw
    question: Question
    answers: AnswerCounts
    asked: SampleSize

    @cached_property
    def predicted(self) -> float:
        """The sum over the answers of the error that is expected, weighted."""
        return float(self._weights @ self._expected)

    def gap(self, rng: np.random.Generator) -> Gap:
        """The error of one survey."""
        estimates = self.picture(rng).estimates
        errors = estimates.values - self._truth
        square = float(self._weights @ np.square(errors))
        return Gap(square, nan)

    def picture(self, rng: np.random.Generator) -> CountsOfSurvey:
        """What one survey shows."""
        reporting: People
        if self.answers.sets is None:
            counts, reporting = self.asked.of_counts(self.answers.counts, rng)
        else:
            sets, reporting = self.asked.of_sets(self.answers.sets, rng)
            counts = sets.counts()
        counted = self.law.draw_aggregate(reporting, rng)
        of_reporting = self.law.shape.estimate(counted)
        of_asked = self.asked.scaled(of_reporting)
        estimates = self.law.asked.estimates(of_asked)
        return CountsOfSurvey(counts.astype(np.float64), estimates)

    @property
    def _share_asked(self) -> float:
        """The share of the people who are asked, in all rounds together."""
        return self.asked.whole / self.asked.people

    @cached_property
    def _truth(self) -> Array:
        """How many of those who are asked have each answer, as expected."""
        return np.asarray(self._share_asked * self.answers.counts)

    @cached_property
    def _expected(self) -> Array:
        """The squared error of each answer's count that is expected, ``(items,)``.

        Of a round estimates are scaled up by the number of rounds, their variance by its square.
        """
        people: People = self.answers.sets
        if people is None:
            people = self.answers.counts
        asking = cast("ItemCollected", self.law.asked)
        of_people = asking.own_sums(people)
        sums = asking.scale * of_people.chances
        squares = asking.scale**2 * of_people.squares
        if self.asked.independently:  # how many report varies, too
            sums = np.zeros_like(sums)
        sampling = self.asked.sampling_variance(sums, squares)
        noise = self.asked.fraction * self.law.variance(people)
        variance = self.asked.rotation_groups**2 * (noise + sampling)
        bias = self._share_asked * self.law.bias(people)
        return variance + np.square(bias)

    @cached_property
    def _weights(self) -> Array:
        """What the square of each answer counts for, ``(items,)``.

        Of the criterion minimax, the error of the item that is worst alone.
        """
        levels = self.question.levels
        importance = [level.importance for level in levels]
        sizes = [level.item_count for level in levels]
        weights = np.repeat(importance, sizes)
        if getattr(self.question, "criterion", "total") != "minimax":
            return weights
        errors = weights * self._expected
        worst = int(np.argmax(errors))
        of_worst = np.zeros(weights.size)
        of_worst[worst] = weights[worst]
        return of_worst


@dataclass(frozen=True, eq=False)
class TriedOrdered:
    """A channel for ordered answers: shares or counts in people, a mean in scores.

    Attributes
    ----------
    channel, question:
        The mechanism, and what it is for.
    people, asked:
        How many people have each answer, in the channel's order, and who of them reports.
    """

    channel: Channel
    question: Question
    people: Whole
    asked: SampleSize

    @cached_property
    def predicted(self) -> float:
        """That of the draws, and of who of the people is asked."""
        asked = self.asked.asked
        scenario = Scenario(self._shares, self._directions)
        noise = self.channel.error(scenario) / asked
        # What a person with each answer contributes to each direction.
        contributions = (self._directions @ self.channel.wanted).T
        sums = self.people @ contributions
        squares = self.people @ contributions**2
        sampling = self.asked.sampling_variance(sums, squares)
        per_person = noise + float(sampling.sum()) / asked**2
        return self._scale**2 * per_person

    def gap(self, rng: np.random.Generator) -> Gap:
        """The error of one survey."""
        everybody, reports = self._drawn(rng)
        estimates = self._estimates(reports)
        deviation = estimates.values - self._truth
        errors = self._scale * self._directions @ deviation
        square = float(np.square(errors).sum())
        if self.question.of_mean:
            mean = mean_of_scores(estimates, CONFIDENCE)
            scores = self.channel.wanted[0]
            true_mean = scores @ everybody / everybody.sum()
            return Gap(square, bool(mean.lower <= true_mean <= mean.upper))
        # Limits are of the people asked, so the band is held against their own shares.
        answers = everybody.size - self._has_refusals
        up_to = np.cumsum(everybody[:answers])
        answered = max(1, up_to[-1])
        true_shares = up_to[:-1] / answered
        shares = self._estimated_shares(reports)
        return Gap(square, shares.hold(true_shares))

    def picture(self, rng: np.random.Generator) -> OneSurvey | OrderedEstimates:
        """What one survey shows."""
        _, reports = self._drawn(rng)
        if not self.question.of_mean:
            return self._estimated_shares(reports)
        estimates = self._estimates(reports)
        mean = mean_of_scores(estimates, CONFIDENCE)
        true_mean = float(self._truth[0])
        return OneSurvey.of_mean(true_mean, mean, "mean of scores")

    def _drawn(self, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """How many of those whom limits are about have each answer, and counts of reports."""
        everybody, reporting = self.asked.of_counts(self.people, rng)
        by_answer = rng.multinomial(reporting, self.channel.matrix)
        return everybody, np.asarray(by_answer.sum(axis=0))

    def _estimated_shares(self, reports: Whole) -> OrderedEstimates:
        """The shares up to each answer, from a channel for these shares or for counts."""
        return estimate_ordered(
            self.channel,
            reports,
            people=self.asked.whole,
            no_answer=self._has_refusals,
        )

    def _estimates(self, reports: Whole) -> ChannelEstimates:
        """What the channel is for, with the law by which limits are found."""
        estimates = wanted_estimates(self.channel.estimator, reports)
        law = ReportLaw(self.channel.matrix, self.channel.estimator, estimates.users)
        return estimates._replace(law=law)

    @cached_property
    def _shares(self) -> Array:
        """The share of all people with each answer."""
        return self.people / self.people.sum()

    @cached_property
    def _truth(self) -> Array:
        """What the channel is for, of all people."""
        return self.channel.wanted @ self._shares

    @cached_property
    def _directions(self) -> Array:
        """The combinations of shares whose error is planned, shape ``(k, answers)``."""
        scenarios = self.channel.scenarios
        if not scenarios:
            return np.eye(self._truth.size)
        return scenarios[0].directions

    @property
    def _scale(self) -> float:
        """The factor from shares to people; 1 of means, which stay in scores."""
        if self.question.of_mean:
            return 1.0
        return float(self.asked.whole)

    @property
    def _has_refusals(self) -> bool:
        """Whether the last answer is outside the order."""
        return getattr(self.question, "no_answer", None) is not None


@dataclass(frozen=True, eq=False)
class TriedMean:
    """A law for a number; a survey without an estimate counts as the middle of its interval.

    Attributes
    ----------
    law:
        The mechanism.
    values, asked:
        Everybody's numbers, NaN for none, and who of them reports.
    """

    law: CollectedLaw
    values: Array
    asked: SampleSize

    @cached_property
    def predicted(self) -> float:
        """The squared error expected, where a mean's sampling error is that of the deviations."""
        fraction = self.asked.fraction
        deviations = self._answered - self._truth
        squares = np.square(deviations)
        total = deviations.sum()
        sampling = self.asked.sampling_variance(total, squares.sum())
        answering = fraction * self._answered.size
        noise = self.law.variance(self.values).mean / fraction
        return float(noise + float(sampling) / answering**2)

    def gap(self, rng: np.random.Generator) -> Gap:
        """The error of one survey."""
        everybody, mean = self._drawn(rng)
        value = mean.value
        if value is None:
            value = (mean.lower + mean.upper) / 2
        square = float((value - self._truth) ** 2)
        # Limits are of the people asked, so they are held against their own mean.
        numbers, _ = self._distinct
        is_given = ~np.isnan(numbers)
        answering = everybody[is_given]
        total = float(numbers[is_given] @ answering)
        true_mean = total / max(1, int(answering.sum()))
        return Gap(square, mean.lower <= true_mean <= mean.upper)

    def picture(self, rng: np.random.Generator) -> OneSurvey:
        """What one survey shows."""
        _, mean = self._drawn(rng)
        return OneSurvey.of_mean(self._truth, mean, "mean of the answers")

    def _drawn(self, rng: np.random.Generator) -> tuple[Whole, Estimate]:
        """Of one survey: how many of the people asked in any round have each number, and the mean.

        The mean is estimated from those who report in one round; its limits are about all who were
        asked.
        """
        _, people = self._distinct
        everybody, reporting = self.asked.of_counts(people, rng)
        reports_by_number = rng.multinomial(reporting, self._output_law)
        counts = reports_by_number.sum(axis=0)
        counted = Aggregate(int(counts.sum()), counts)
        of_reporting = self.law.shape.estimate(counted)
        of_asked = self.asked.scaled(of_reporting)
        estimates = self.law.asked.estimates(of_asked)
        return everybody, estimates.mean

    @cached_property
    def _distinct(self) -> tuple[Array, Whole]:
        """Each number, NaN among them, and how many people have it."""
        numbers, people = np.unique(self.values, return_counts=True, equal_nan=True)
        return numbers, people

    @cached_property
    def _output_law(self) -> Array:
        """``Pr[report | number]`` of each distinct one."""
        asking = cast("NumberCollected", self.law.asked)
        numbers, _ = self._distinct
        return asking.output_law(self.law.shape, numbers)

    @cached_property
    def _answered(self) -> Array:
        """The numbers of those who have one."""
        return self.values[~np.isnan(self.values)]

    @cached_property
    def _truth(self) -> float:
        """Their mean."""
        return float(self._answered.mean())
