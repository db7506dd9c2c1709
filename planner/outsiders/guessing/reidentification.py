"""Whose reports are these? Somebody who knows everybody's answers looks for one of ``n`` people.

They find one person's reports to all questions, under one pseudonym, and name whoever has the
likeliest answers; ties are broken at random. That is right with probability

    (1/n) sum over reports y of max over people u of Pr[y | answers of u]

Source: Arcolezi, Gambs, Couchot and Palamidessi, "On the Risks of Collecting Multidimensional Data
Under Local Differential Privacy" (VLDB 2023), who simulate it.

Whatever the people answer, the maximum over people is at most that over all answers, which is a
product over the questions: the success is at most ``prod lift_q / n``, where ``lift_q`` is
``sum over y of max_x Pr[y | x]``. It is reached if somebody has every combination of answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError

Array = NDArray[np.float64]
_CELLS = 2**20  # scores that are looked at: kinds of reports to all questions, by answers
_MOST_VALUES = 2**12  # different scores of answers to all questions, given their reports


@dataclass(frozen=True, slots=True, eq=False)
class Likelihoods:
    """How likely answers are after a report, if all of them were alike before.

    Reports after which the answers have the same likelihoods are of one kind.

    Attributes
    ----------
    chances:
        Probability of each kind of report, shape ``(kinds,)``; together 1.
    values:
        ``Pr[report | answer] / Pr[report]``, shape ``(kinds, values)``.
    shares:
        Share of the answers with it, shape ``(kinds, values)``; 1 in each row.
    """

    chances: Array
    values: Array
    shares: Array

    @classmethod
    def of(cls, weights: Array, likelihoods: Array, shares: Array) -> Likelihoods:
        """From likelihoods against any measure of the reports, with its ``weights``.

        Examples
        --------
        Randomised response of three answers, one of them twice as likely to be sent as each
        other: all reports are of one kind.

        >>> kinds = Likelihoods.of(np.ones(1), np.array([[1.5, 0.75]]), np.array([[1, 2]]) / 3)
        >>> kinds.values.tolist(), kinds.chances.tolist()
        ([[1.5, 0.75]], [1.0])
        """
        means = np.sum(likelihoods * shares, axis=1)
        chances = weights * means
        return cls(chances / chances.sum(), likelihoods / means[:, None], shares)


@dataclass(frozen=True, slots=True)
class Reidentification:
    """How often somebody who knows all answers finds the person that reports came from.

    Attributes
    ----------
    people:
        Among whom they look, ``n``.
    most:
        Largest probability, whatever the people answer.
    expected:
        The same on average over people whose answers are independent and all alike; None where
        that is not known.
    standard_error:
        Of ``expected``: 0 if all reports were listed, above if it is simulated, None without.
    """

    people: int
    most: float
    expected: float | None
    standard_error: float | None

    @property
    def blind(self) -> float:
        """The same without reports, ``1 / n``."""
        return 1 / self.people

    @property
    def lift(self) -> float:
        """``most / blind``, at least 1."""
        return self.most * self.people


def reidentification(
    lifts: Sequence[float],
    questions: Sequence[Likelihoods] | None,
    people: int,
    rng: np.random.Generator,
    cells: int = _CELLS,
) -> Reidentification:
    """Find a person among ``people`` by their reports to all questions.

    The average over people whose answers are independent and all alike: after reports ``y`` their
    scores ``Pr[y | answers] / Pr[y]`` are independent too, and the success is
    ``E_y[E[largest of n scores]] / n``, where ``E[largest] = sum_s s (F(s)^n - F(s-)^n)``. More
    than 4,096 different scores are rounded up, by a few percent at most.

    Parameters
    ----------
    lifts:
        ``sum over y of max_x Pr[y | x]`` of each question, at least 1.
    questions:
        Likelihoods of each; None where those of some question are not known.
    people:
        ``n``, at least 1.
    rng:
        Draws reports where there are too many kinds for all to be listed.
    cells:
        How much to look at: kinds of reports to all questions, times different scores.

    Raises
    ------
    InputError
        No question.

    Examples
    --------
    Two yes/no questions with budget ln 3 in a village and in a city:

    >>> kinds = Likelihoods.of(np.ones(1), np.array([[1.5, 0.5]]), np.array([[0.5, 0.5]]))
    >>> for people in (2, 20_000):
    ...     seen = reidentification([1.5] * 2, [kinds] * 2, people, np.random.default_rng(1))
    ...     print(f"{people * seen.most:.4f} {people * seen.expected:.4f} {seen.standard_error}")
    2.0000 1.3750 0.0
    2.2500 2.2500 0.0
    """
    if not lifts:
        raise InputError("lifts", lifts, "one or more", "Give that of each question.")
    whole_number("people", people)
    whole_number("cells", cells)
    most = min(1.0, prod(lifts) / people)
    if questions is None:
        return Reidentification(people, most, None, None)
    picks, chances = _reports(questions, rng, cells)
    scores = np.ones((chances.size, 1))
    shares = np.ones((chances.size, 1))
    for one, rows in zip(questions, picks, strict=True):
        scores = (scores[:, :, None] * one.values[rows][:, None]).reshape(chances.size, -1)
        shares = (shares[:, :, None] * one.shares[rows][:, None]).reshape(chances.size, -1)
        if scores.shape[1] > _MOST_VALUES:
            scores, shares = _rounded_up(scores, shares)
    success = _largest(scores, shares, people) / people
    mean = min(most, float(chances @ success))
    if prod(one.chances.size for one in questions) == chances.size:
        return Reidentification(people, most, mean, 0.0)
    return Reidentification(people, most, mean, float(success.std(ddof=1) / chances.size**0.5))


def _reports(
    questions: Sequence[Likelihoods], rng: np.random.Generator, cells: int
) -> tuple[list[NDArray[np.int64]], Array]:
    """Kinds of reports to all questions, by question, and their chances: all, or some drawn."""
    sizes = [one.chances.size for one in questions]
    width = min(prod(one.values.shape[1] for one in questions), _MOST_VALUES)
    rows = max(2, cells // width)
    if prod(sizes) <= rows:
        picks = list(np.indices(sizes).reshape(len(sizes), -1))
        each = [one.chances[kinds] for one, kinds in zip(questions, picks, strict=True)]
        return picks, np.prod(each, axis=0)
    picks = [rng.choice(one.chances.size, size=rows, p=one.chances) for one in questions]
    return picks, np.full(rows, 1 / rows)


def _rounded_up(scores: Array, shares: Array) -> tuple[Array, Array]:
    """Fewer different scores, evenly spaced by their logarithms, none smaller than before."""
    known = scores[(shares > 0) & (scores > 0)]
    low, high = np.log(known.min()), np.log(known.max())
    step = max((high - low) / (_MOST_VALUES - 1), 1e-300)
    logs = np.log(np.clip(scores, known.min(), known.max()))  # others that nobody has, or 0
    cells = np.minimum(np.ceil((logs - low) / step).astype(np.int64), _MOST_VALUES - 1)
    cells += _MOST_VALUES * np.arange(len(scores))[:, None]
    merged = np.bincount(cells.ravel(), shares.ravel(), _MOST_VALUES * len(scores))
    shape = len(scores), _MOST_VALUES
    grid = np.exp(low + step * np.arange(_MOST_VALUES))
    return np.broadcast_to(grid, shape), np.asarray(merged.reshape(shape), dtype=np.float64)


def _largest(scores: Array, shares: Array, people: int) -> Array:
    """Mean of the largest of so many independent scores, row by row, shape ``(rows,)``."""
    falling = np.argsort(-scores, axis=1)
    scores = np.take_along_axis(scores, falling, axis=1)
    tails = np.cumsum(np.take_along_axis(shares, falling, axis=1), axis=1)
    with np.errstate(divide="ignore"):  # nobody has less than the least score
        below = np.exp(people * np.log1p(-np.minimum(tails, 1.0)))
    before = np.hstack([np.ones((len(scores), 1)), below[:, :-1]])
    below[:, -1] = 0.0
    return np.asarray(np.sum(scores * (before - below), axis=1))
