"""Known groups beside each other: differences, and estimates weighted by group.

Groups are independent people. What is compared or weighted stands for more people than those who
were asked, so that, unlike in its own limits, who was asked is in the variance: of a count ``c``
of ``n`` people ``c (1 - c/n)`` more. Of what grows with the people, a total, differences say
nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.arrays import Array
from planner.estimates.counts import reach
from planner.estimates.rows import AnswerRows, joined


def differences(one: AnswerRows, other: AnswerRows, confidence: float) -> tuple[AnswerRows, Array]:
    """First less second, row by row, and the chance of a larger gap if there is none.

    Of counts the difference of their shares, ``whole`` being 1. Limits combine both groups' own
    ones by squares (Zou and Donner, 2008), so that rare answers keep their skewed limits.

    Examples
    --------
    >>> from planner.estimates.counts import Estimates
    >>> from planner.estimates.rows import item_rows
    >>> many, few = Estimates([300.0], [20.0], [18.0], 1000), Estimates([90.0], [9.0], [9.0], 600)
    >>> rows = [item_rows(["l"], ["a"], one, one.clipped(), 0.95) for one in (many, few)]
    >>> gap, p = differences(*rows, 0.95)
    >>> gap["estimate"].round(3).tolist(), p.round(6).tolist()
    ([0.15], [4e-06])
    """
    from scipy.special import ndtr

    z, parts = reach(confidence), []
    for rows in (one, other):
        unit = np.where(np.isnan(rows.whole), 1.0, rows.whole)
        value, error, lower, upper = rows.numbers[:4] / unit
        drawn = rows.drawn / unit**2
        below, above = (np.maximum(side, 0) for side in (value - lower, upper - value))
        parts.append((value, np.square(error) + drawn, *(
            np.sqrt(np.square(side) + z**2 * drawn) for side in (below, above)
        )))  # fmt: skip
    (first, spread, below, above), (second, more, under, over) = parts
    gap, error = first - second, np.sqrt(spread + more)
    four = gap, error, gap - np.hypot(below, over), gap + np.hypot(above, under)
    chance = 2 * ndtr(-np.abs(gap) / np.maximum(error, 1e-300))
    notes = [joined(*pair) for pair in zip(one.notes, other.notes, strict=True)]
    whole = np.where(np.isnan(one.whole), np.nan, 1.0)
    return one.stating(one.users + other.users, four, notes, whole), np.asarray(chance)


def weighted(
    groups: Sequence[AnswerRows], weights: Sequence[float], confidence: float
) -> tuple[AnswerRows, float]:
    """Counts of all groups, a person of each for its weight, and the effective number of people.

    Scaled to as many people as reported. The variance is that of the reports and of who was asked.
    As exact as that many people of one weight would be: ``(sum w n)^2 / sum w^2 n``.

    Examples
    --------
    >>> from planner.estimates.counts import Estimates
    >>> from planner.estimates.rows import item_rows
    >>> found = Estimates([300.0], [20.0], [18.0], 1000)
    >>> rows = item_rows(["l"], ["a"], found, found.clipped(), 0.95)
    >>> both, people = weighted([rows, rows], [3.0, 1.0], 0.95)
    >>> float(both["estimate"][0]), people
    (600.0, 1600.0)
    """
    sizes = np.array([rows.whole for rows in groups])
    per_person = np.array(weights, dtype=np.float64)[:, None]
    scale = sizes.sum(axis=0) / (per_person * sizes).sum(axis=0)
    counts = np.array([rows["estimate"] for rows in groups])
    errors = np.array([rows["standard_error"] for rows in groups])
    variance = np.square(errors) + np.array([rows.drawn for rows in groups])
    value = scale * (per_person * counts).sum(axis=0)
    error = scale * np.sqrt((np.square(per_person) * variance).sum(axis=0))
    half, first = reach(confidence) * error, groups[0]
    four = value, error, value - half, value + half
    reported = np.array([rows.users for rows in groups], dtype=np.float64)
    mass = per_person.ravel() * reported
    effective = float(mass.sum() ** 2 / (mass @ per_person.ravel()))
    notes = [f"weighted by group: as exact as {effective:,.0f} people"] * len(first.answers)
    return first.stating(int(reported.sum()), four, notes, sizes.sum(axis=0)), effective
