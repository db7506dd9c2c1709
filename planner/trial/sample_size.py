"""Who of people that are known reports, where a plan asks some of them, or each in some rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from planner.arrays import Array, Whole
from planner.estimates.channel import ChannelEstimates
from planner.estimates.counts import DrawnEstimates
from planner.mechanisms.collected import Found
from planner.mechanisms.inputs import ItemSets
from planner.planning.question import QuestionPlan


@dataclass(frozen=True, slots=True)
class SampleSize:
    """How many people the data have, and how many of them report, drawn without replacement.

    These are one of so many ``rotation_groups`` of those who are asked: a round, or those who
    report one of their values, of whom each is drawn ``independently``.
    """

    people: int
    asked: int
    rotation_groups: int = 1
    independently: bool = False

    @classmethod
    def of(cls, people: int, planned: QuestionPlan) -> Self:
        """The share of the people that the plan asks, and of a round; at least one."""
        part = planned.part
        again = planned.question.rounds
        share = part.fraction / part.rotation_groups
        asked = round(share * people)
        return cls(
            people=people,
            asked=max(1, asked),
            rotation_groups=part.rotation_groups,
            independently=again is not None and again.times_open,
        )

    @property
    def whole(self) -> int:
        """How many are asked, in all rounds."""
        return self.asked * self.rotation_groups

    @property
    def fraction(self) -> float:
        """The share of the people who report."""
        return self.asked / self.people

    def scaled(self, estimates: Found) -> Found:
        """What a form of report has estimated, of all who are asked."""
        if self.rotation_groups == 1:
            return estimates
        if isinstance(estimates, ChannelEstimates):
            return estimates._replace(users=self.whole)
        if not self.independently:
            return DrawnEstimates.of(estimates, self.whole)
        # How many people are drawn independently varies, too.
        return DrawnEstimates.of(estimates, self.whole, self.rotation_groups)

    def of_sets(
        self, sets: ItemSets, rng: np.random.Generator
    ) -> tuple[ItemSets, ItemSets]:
        """The sets of those who are asked in any round, and of those who report."""
        everybody = np.arange(self.people)
        asked = everybody
        sets_of_asked = sets
        if self.whole < self.people:
            asked = self._sample(everybody, self.whole, rng)
            sets_of_asked = sets.some(asked)
        if self.rotation_groups == 1:  # nobody is left out: no second copy of the sets
            return sets_of_asked, sets_of_asked
        reporting = self._sample(asked, self.asked, rng)
        return sets_of_asked, sets.some(reporting)

    def _sample(self, people: Whole, size: int, rng: np.random.Generator) -> Whole:
        """Who is drawn: each with one chance, or so many without replacement."""
        if self.independently:
            # Poisson sampling: each person's own lot, as on the device, so that nobody
            # has to know how many take part.
            chance = min(1.0, size / people.size)
            is_drawn = rng.random(people.size) < chance
            return people[is_drawn]
        return rng.choice(people, size, replace=False)

    def of_counts(self, counts: Whole, rng: np.random.Generator) -> tuple[Whole, Whole]:
        """How many of those asked in any round, and of those who report, are of each kind."""
        asked = self._counts_of_sample(counts, self.whole, self.people, rng)
        people_asked = min(self.whole, self.people)
        reporting = self._counts_of_sample(asked, self.asked, people_asked, rng)
        return asked, reporting

    def _counts_of_sample(
        self, counts: Whole, size: int, people: int, rng: np.random.Generator
    ) -> Whole:
        """How many of each kind are drawn: binomial, or multivariate hypergeometric."""
        if size >= people:
            return counts
        if self.independently:
            return rng.binomial(counts, size / people)
        # The method by marginals needs time by the number of kinds, the other one
        # memory by the number of people.
        return rng.multivariate_hypergeometric(counts, size, method="marginals")

    def sampling_variance(self, sums: Array, squares: Array) -> Array:
        """Variance of a sum over the people who report, from the sums over all people.

        Without replacement ``n (1 - n/N) S^2``, ``S^2`` with ``N - 1`` below (Cochran, 1977,
        theorem 2.2).
        """
        deviations = squares - np.square(sums) / self.people
        # With one person the deviations are 0, and so is the quotient.
        variance_of_one = deviations / max(1, self.people - 1)
        variance = self.asked * (1 - self.fraction) * variance_of_one
        return np.asarray(variance)
