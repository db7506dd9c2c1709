"""Rows of a question weighted by a known group, so that they estimate a population."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from planner.deployment.parameters import Parameters
from planner.estimates.channel import ChannelEstimates, Estimate, weighted_channel
from planner.estimates.rows import (
    AnswerRow,
    AnswerRows,
    answer_rows,
    joined,
    weighted,
)
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.counting import Aggregate, stacked


@dataclass(frozen=True, slots=True)
class GroupWeights:
    """What the survey states of the values of a known group.

    Attributes
    ----------
    parts:
        Of each value the weight of a person, or how many of a population have it.
    of_population:
        Whether it is the population that is stated.
    """

    parts: dict[str, float]
    of_population: bool

    @classmethod
    def of(cls, parameters: Parameters, group: str) -> Self | None:
        """The weights of the group with this name; None where nothing is stated of it."""
        for document in parameters.document.get("groups", ()):
            if document["name"] != group:
                continue
            weights = document["weights"]
            stated = weights or document["population"]
            if stated:
                parts = dict(zip(document["values"], stated, strict=True))
                return cls(parts, of_population=not weights)
        return None

    def per_person(self, rows_of: Mapping[str, AnswerRows]) -> list[float]:
        """What a person of each value counts for.

        A population's part is shared by those of it who reported.
        """
        weights = []
        for value, rows in rows_of.items():
            weight = self.parts[value]
            if self.of_population:
                # Post-stratification: a person counts for N_h / n_h people of the
                # stratum (Cochran, 1977, section 5A.9).
                weight = weight / rows.users
            weights.append(weight)
        return weights

    def unseen(self, rows_of: Mapping[str, AnswerRows]) -> list[str]:
        """Values that count for something, and of which nobody reported."""
        values = []
        for value, part in self.parts.items():
            # A value of weight 0 is stated to be no part of the population; without
            # reports of it nothing is missing.
            if part and value not in rows_of:
                values.append(value)
        return values


def weighted_rows(
    law: CollectedLaw,
    weights: GroupWeights,
    rows_of: Mapping[str, AnswerRows],
    counted: Mapping[str, Sequence[Aggregate]],
    confidence: float,
) -> AnswerRows | None:
    """A question's rows weighted by group; None where no value that reported has a weight.

    Where a value that has a weight has no report, a row that says so and no number: nothing is
    known of these people. Means, of numbers and scores, weight what reports add up to: sum and
    number of answers, whose ratio the mean is.

    Parameters
    ----------
    law, weights:
        The question, and what is stated of the group.
    rows_of, counted:
        By the group's values the rows, and the sums of each round; no sums of a part of a question.
    confidence:
        Of the limits.
    """
    if not any(weights.parts.get(value, 0) for value in rows_of):
        return None
    unseen = weights.unseen(rows_of)
    # The other values could be weighted up in its place, but that takes its people to
    # be like the others, which nobody has asked for.
    if unseen:
        return _not_weighted(weights, unseen, rows_of)
    per_person = weights.per_person(rows_of)
    rows, effective = weighted(list(rows_of.values()), per_person, confidence)
    first = next(iter(rows_of.values()))
    # Shares and counts have a whole that they are of; a mean has none.
    is_mean = np.isnan(first.whole)
    if not counted or not is_mean.any():
        return rows
    estimates = []
    for value in rows_of:
        estimates.append(law.shape.estimate(stacked(counted[value])))
    # Only a channel's estimates have the covariance of sum and number that a ratio's
    # error needs.
    if not isinstance(estimates[0], ChannelEstimates):
        return rows
    note = f"weighted by group: as exact as {effective:,.0f} people"
    means = law.asked.rows(weighted_channel(estimates, per_person), confidence)
    processing = []
    for text, takes_mean in zip(means.processing, is_mean, strict=True):
        processing.append(text if takes_mean else "")
    return replace(
        rows,
        numbers=np.where(is_mean, means.numbers, rows.numbers),
        processing=processing,
        notes=[joined(note, text) for text in means.notes],
    )


def _not_weighted(
    weights: GroupWeights, unseen: Sequence[str], rows_of: Mapping[str, AnswerRows]
) -> AnswerRows:
    """A row without a number, that says of whom nothing is known."""
    unseen_part = sum(weights.parts[value] for value in unseen)
    share = unseen_part / sum(weights.parts.values())
    whole = "of the weights"
    if weights.of_population:
        whole = "of the population"
    reason = (
        f"not weighted: no report of {', '.join(unseen)}, {100 * share:.0f} % {whole}; "
        "nothing is known of these people"
    )
    users = sum(rows.users for rows in rows_of.values())
    nothing = Estimate(None, None, np.nan, np.nan, reason)
    return answer_rows(users, [AnswerRow("", nothing)])
