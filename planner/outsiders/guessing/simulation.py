"""Guesses and re-identification by simulation, with exact intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.mechanisms import inputs
from planner.outsiders.statistics import share_limits

_MOST_OUTCOMES = 10**6
_CELLS = 2**24
Array = NDArray[np.float64]


class DrawnLaw(Protocol):
    """A guessing law whose reports can be read: which answers each of them supports."""

    @property
    def items(self) -> int:
        """Number of answers."""

    @property
    def high(self) -> Array:
        """Likelihood of each answer if a report supports it, up to a factor of the report."""

    @property
    def low(self) -> Array:
        """The same if it does not."""

    def supports(self, reports: Any) -> NDArray[np.bool_]:
        """Which answers each report supports, shape ``(n, items)``."""


class _Draws(Protocol):
    def perturb(self, values: ArrayLike, rng: np.random.Generator) -> Any:
        """One report per person."""


@dataclass(frozen=True, slots=True)
class SimulatedSuccess:
    """A share of successes with its exact interval (Clopper and Pearson).

    Attributes
    ----------
    successes, trials:
        What was counted.
    confidence:
        Probability that the interval holds the true share.
    """

    successes: int
    trials: int
    confidence: float

    @property
    def share(self) -> float:
        """Successes per trial."""
        return self.successes / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Lower and upper limit."""
        error = (1 - self.confidence) / 2
        return share_limits(self.successes, self.trials, error)


@dataclass(frozen=True, slots=True, eq=False)
class AskedQuestion:
    """A question that all people answer, for re-identification.

    Attributes
    ----------
    mechanism:
        Draws the reports.
    law:
        Reads them.
    answers:
        Everybody's true answer, shape ``(n,)``, known to the one who searches.
    """

    mechanism: _Draws
    law: DrawnLaw
    answers: NDArray[np.int64]


def simulate_guesses(
    mechanism: _Draws,
    law: DrawnLaw,
    prior: ArrayLike,
    trials: int,
    rng: np.random.Generator,
    confidence: float = 0.999999,
) -> SimulatedSuccess:
    """Draw answers by the prior and reports by the mechanism, and count the right best guesses.

    Examples
    --------
    >>> from planner import UnaryMechanism
    >>> from planner.outsiders import UnaryGuessing
    >>> mechanism = UnaryMechanism.rappor(1.0, items=3)
    >>> law, prior = UnaryGuessing.of(mechanism), np.full(3, 1 / 3)
    >>> seen = simulate_guesses(mechanism, law, prior, 20_000, np.random.default_rng(1))
    >>> low, high = seen.interval
    >>> low < law.success(prior) < high
    True
    """
    whole_number("trials", trials)
    chances = np.asarray(prior, dtype=np.float64)
    truth = inputs.generator(rng).choice(law.items, size=trials, p=chances)
    right = 0
    for part in _parts(trials, law.items):
        supported = law.supports(mechanism.perturb(truth[part], rng))
        values = chances * np.where(supported, law.high, law.low)
        right += int(np.sum(_best(values, rng) == truth[part]))
    return SimulatedSuccess(right, trials, confidence)


def simulate_reidentification(
    questions: Sequence[AskedQuestion],
    trials: int,
    rng: np.random.Generator,
    among: int = 1,
    confidence: float = 0.999999,
) -> SimulatedSuccess:
    """Whose reports are these? Rank all people by the likelihood of one person's reports.

    Somebody knows everybody's true answers and finds one person's reports to all questions, under
    one pseudonym. Ties are broken at random.

    Source: Arcolezi, Gambs, Couchot and Palamidessi, "On the Risks of Collecting Multidimensional
    Data Under Local Differential Privacy" (VLDB 2023).

    Parameters
    ----------
    questions:
        Each with the answers of the same ``n`` people.
    trials:
        Persons whose reports are drawn and searched for, each picked anew.
    rng:
        For picks, reports and ties.
    among:
        Success is to be among so many of the likeliest.
    """
    people = _people(questions)
    whole_number("trials", trials)
    whole_number("among", among, most=people)
    chosen = inputs.generator(rng).integers(people, size=trials)
    right = 0
    for part in _parts(trials, people + max(one.law.items for one in questions)):
        scores = np.zeros((chosen[part].size, people))
        for one in questions:
            reports = one.mechanism.perturb(one.answers[chosen[part]], rng)
            likelihood = np.where(one.law.supports(reports), one.law.high, one.law.low)
            scores += np.log(likelihood)[:, one.answers]
        own = scores[np.arange(len(scores)), chosen[part]][:, None]
        better = np.sum(scores > own + 1e-9, axis=1)
        level = np.sum(np.abs(scores - own) <= 1e-9, axis=1)
        right += int(np.sum(better + rng.integers(level) < among))
    return SimulatedSuccess(right, trials, confidence)


def exact_reidentification(laws: Sequence[Array], answers: Sequence[ArrayLike]) -> float:
    """The same exactly, for few people: ``sum over y of max_u Pr[y | answers of u] / n``.

    Parameters
    ----------
    laws:
        ``Pr[report | answer]`` per question, shape ``(answers, reports)``.
    answers:
        Everybody's answers per question, each of shape ``(n,)``.

    Raises
    ------
    InputError
        More than a million different sets of reports.

    Examples
    --------
    Two people who differ in one yes/no question with budget ln 3:

    >>> law = np.array([[0.75, 0.25], [0.25, 0.75]])
    >>> exact_reidentification([law], [[0, 1]])
    0.75
    """
    outcomes = prod(law.shape[1] for law in laws)
    if not laws or len(laws) != len(answers) or outcomes > _MOST_OUTCOMES:
        raise InputError("sets of reports", outcomes, f"at most {_MOST_OUTCOMES}", "Simulate it.")
    rows = [np.asarray(law)[np.asarray(one)] for law, one in zip(laws, answers, strict=True)]
    total = 0.0
    for reports in product(*(range(law.shape[1]) for law in laws)):
        total += float(np.prod([row[:, y] for row, y in zip(rows, reports, strict=True)], 0).max())
    return total / len(rows[0])


def _best(values: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Column of the largest value in each row, ties at random."""
    largest = values >= values.max(axis=1, keepdims=True) * (1 - 1e-12)
    return np.argmax(largest * rng.random(values.shape), axis=1)


def _people(questions: Sequence[AskedQuestion]) -> int:
    sizes = {one.answers.size for one in questions}
    if len(sizes) != 1:
        allowed = "the same in one question or more"
        remedy = "Give the answers of the same people to each question."
        raise InputError("people per question", sorted(sizes), allowed, remedy)
    return sizes.pop()


def _parts(trials: int, columns: int) -> list[slice]:
    chunk = max(1, _CELLS // columns)
    return [slice(start, min(start + chunk, trials)) for start in range(0, trials, chunk)]
