"""Counts of all people from reports of some, drawn by lot: what a round of a question can say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from planner.arrays import Array, Whole
from planner.estimates.counts import Estimates, exact_limits, tail_share


@dataclass(frozen=True, slots=True, eq=False)
class DrawnEstimates(Estimates):
    """Estimated counts of all people, from those of the people ``inside`` a round.

    So many of all people were drawn as reported; with ``parts`` each apart, one chance in so many.
    """

    inside: Estimates
    parts: int | None

    @classmethod
    def of(cls, inside: Estimates, people: int, parts: int | None = None) -> Self:
        """Scaled to so many people; the lot adds to the errors.

        Examples
        --------
        >>> half = DrawnEstimates.of(Estimates([50.0], [3.0], [2.0], users=500), people=1000)
        >>> half.values.tolist(), half.standard_errors.round(2).tolist()
        ([100.0], [11.22])
        """
        factor = parts or people / inside.users
        values = factor * inside.values
        errors = np.sqrt(
            np.square(factor * inside.standard_errors)
            + (factor - 1) * _spread(values, people, parts)
        )
        null = factor * inside.null_standard_errors
        return cls(values, errors, null, people, inside, parts)

    def spread(self, counts: Array) -> Array:
        """By how much estimates of such counts in two rounds vary together.

        Once it is ``N p (1 - p)`` of answers that stay, of one value ``N p^2`` of those drawn anew.
        """
        if self.parts is None:
            return _spread(counts, self.users)
        return np.square(np.clip(counts, 0, self.users)) / self.users

    def intervals(
        self, confidence: float = 0.95, simultaneous: bool = False
    ) -> tuple[Array, Array]:
        """Limits from 0 to all people; of few people or reports by their law.

        Of ``C`` people with an item as many are drawn as a hypergeometric law says. It is taken
        for the binomial one of the same mean and variance, and the reports follow theirs.
        """
        limits = super(DrawnEstimates, self).intervals(confidence, simultaneous)
        share = tail_share(confidence, self.values.size if simultaneous else 1)
        lower, upper = exact_limits(self, self.inside, limits, share, self._lot)
        if self.parts:  # a lot of its own for each person: how many report varies, too
            many = limits[1] > self.inside.users
            lower, upper = (
                np.where(many, *both) for both in zip(limits, (lower, upper), strict=True)
            )
        return lower, upper

    def _lot(self, count: Whole) -> tuple[Whole, Array]:
        """How many of those who report may have the item, and with what chance each."""
        people, reports = self.users, self.inside.users
        drawn = count * (1 / self.parts if self.parts else reports / people)
        chance = 1 - (1 - reports / people) * (people - np.maximum(count, 1)) / max(people - 1, 1)
        most = count if self.parts else np.ceil(drawn / chance - 1e-9).astype(np.int64)
        most = np.minimum(most, np.minimum(count, reports))
        return most, np.minimum(drawn / np.maximum(most, 1), 1.0)


def _spread(values: Array, people: int, parts: int | None = None) -> Array:
    """Of people who have an item or not, all with such a count; not known how many if ``parts``."""
    counts = np.clip(values, 0, people)
    return counts if parts else counts * (1 - counts / people)
