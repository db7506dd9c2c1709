"""Channels: for every possible answer the probability of every report, and what a report means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.designs.table import Certificate
from planner.errors import InputError
from planner.frames import Framed
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
_UNBIASED = 1e-7  # of a report's largest value: below the noise of fewer than 10^14 people


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """An assumed population, and which error counts in it.

    With ``T_y`` what report ``y`` adds to each wanted number (shape ``(p,)``), the error
    per person is the variance of ``directions @ T_y``, summed over the rows.

    Attributes
    ----------
    name:
        What to call it.
    population:
        Share of people with each symbol, shape ``(symbols,)``: not negative, sum 1.
    directions:
        Which combinations of the wanted numbers count, shape ``(rows, p)``.
    drawn:
        Whether the people are drawn at random (the variance includes that drawing), or
        given (only the mechanism's noise counts).
    cap:
        A ceiling that a channel keeps in this scenario; ``None`` if its error is one of
        those whose largest is made small.

    Raises
    ------
    InputError
        Shares that are negative or do not sum to 1, or a cap that is not above 0.
    """

    name: str
    population: Array
    directions: Array
    drawn: bool = False
    cap: float | None = None

    def __post_init__(self) -> None:
        shares, directions = _frozen(self.population), _frozen(self.directions)
        total = float(shares.sum()) if shares.ndim == 1 else np.nan
        if not (abs(total - 1) <= 1e-9 and shares.min() >= 0):
            allowed = "a column of shares, none negative, that sum to 1"
            remedy = "Divide the numbers of people by their total."
            raise InputError("population", self.population, allowed, remedy)
        if directions.ndim != 2 or not np.isfinite(directions).all():
            allowed = "a matrix, one row a combination"
            remedy = "Give a list of rows, each with one finite weight per wanted number."
            raise InputError("directions", self.directions, allowed, remedy)
        if self.cap is not None and not 0 < self.cap < np.inf:
            remedy = "None means that this population's error has no limit."
            raise InputError("cap", self.cap, "above 0, or None", remedy)
        object.__setattr__(self, "population", shares)
        object.__setattr__(self, "directions", directions)

    def known(self, wanted: Array) -> float:
        """What is taken off the expected square to get the variance."""
        if self.drawn:
            return float(np.sum(np.square(self.directions @ (wanted @ self.population))))
        return float(np.square(self.directions @ wanted).sum(axis=0) @ self.population)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Channel(Framed):
    """A mechanism as a matrix: who has symbol ``x`` sends report ``y`` with ``matrix[x, y]``.

    Attributes
    ----------
    policy:
        One privacy level of one item per symbol; its names are the symbols.
    wanted:
        What each symbol adds to each wanted number, shape ``(p, symbols)``.
    wanted_names:
        What the wanted numbers are, ``p`` names.
    matrix:
        ``Pr[report | symbol]``, shape ``(symbols, outputs)``, rows sum to 1.
    estimator:
        What a report adds to the estimate of each wanted number, shape ``(p, outputs)``:
        ``matrix @ estimator.T == wanted.T``, so every estimate is unbiased.
    scenarios:
        For which populations the channel was made.
    certificate:
        No mechanism that keeps the policy has a smaller largest error over the scenarios
        without a cap (and keeps the caps) than ``lower_bound``, with any unbiased linear
        estimator; ``None`` for a channel that was not optimised.

    Raises
    ------
    InputError
        Shapes that do not fit, rows that do not sum to 1, or a biased estimator.
    """

    policy: PrivacyPolicy
    wanted: Array
    wanted_names: tuple[str, ...]
    matrix: Array
    estimator: Array
    scenarios: tuple[Scenario, ...] = ()
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        for name in ("wanted", "matrix", "estimator"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        object.__setattr__(self, "wanted_names", tuple(self.wanted_names))
        object.__setattr__(self, "scenarios", tuple(self.scenarios))
        p, outputs = len(self.wanted_names), self.matrix.shape[-1]
        for name, shape in (
            ("wanted", (p, self.policy.size)),
            ("matrix", (self.policy.size, outputs)),
            ("estimator", (p, outputs)),
        ):
            if getattr(self, name).shape != shape:
                remedy = "Rows and columns may be swapped: transpose it."
                raise InputError(name, getattr(self, name).shape, f"of shape {shape}", remedy)
        sums = self.matrix.sum(axis=1)
        if not (self.matrix.min() >= 0 and np.abs(sums - 1).max() <= 1e-12):
            allowed = "probabilities whose rows sum to 1"
            remedy = "Divide each row by its sum; Pr[report | symbol] belongs in row symbol."
            raise InputError("matrix", float(np.abs(sums - 1).max()), allowed, remedy)
        if self.bias > _UNBIASED * float(np.abs(self.estimator).max()):
            allowed = "unbiased: matrix @ estimator.T == wanted.T"
            remedy = "Recompute the estimator from this matrix."
            raise InputError("estimator", self.bias, allowed, remedy)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The possible answers, in the order of the matrix's rows."""
        return self.policy.names

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return int(self.matrix.shape[1])

    @property
    def bias(self) -> float:
        """Largest deviation of an estimate's expectation from what is wanted."""
        return float(np.abs(self.matrix @ self.estimator.T - self.wanted.T).max())

    @property
    def pair_losses(self) -> Array:
        """Largest log-ratio of a report between two symbols, in nats, either way round."""
        logs = np.log(self.matrix)
        losses = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
        return np.asarray(np.maximum(losses, losses.T))

    @property
    def max_violation(self) -> float:
        """Largest excess of a pair's log-ratio over its budget, in nats; 0.0 when none."""
        bounds = self.policy.bounds().copy()
        np.fill_diagonal(bounds, np.inf)
        return max(0.0, float((self.pair_losses - bounds).max()))

    def covariance(self, population: ArrayLike, *, drawn: bool = False) -> Array:
        """Covariance per person of the estimates of the wanted shares, shape ``(p, p)``.

        Divide by the number of people for the covariance of estimated shares.

        Parameters
        ----------
        population:
            Share of people with each symbol, shape ``(symbols,)``.
        drawn:
            Whether the people are drawn at random, or given.
        """
        shares = Scenario("population", np.asarray(population), np.eye(1)).population
        square = (self.estimator * (shares @ self.matrix)) @ self.estimator.T
        if drawn:
            mean = self.wanted @ shares
            return np.asarray(square - np.outer(mean, mean))
        return np.asarray(square - (self.wanted * shares) @ self.wanted.T)

    def error(self, scenario: Scenario) -> float:
        """Error per person in a scenario: the variance summed over its directions."""
        covariance = self.covariance(scenario.population, drawn=scenario.drawn)
        return float(np.sum((scenario.directions @ covariance) * scenario.directions))

    @property
    def errors(self) -> Array:
        """Error per person in each scenario."""
        return np.array([self.error(scenario) for scenario in self.scenarios])

    @property
    def worst_error(self) -> float:
        """Largest error per person over the scenarios without a cap."""
        return max(
            float(error)
            for scenario, error in zip(self.scenarios, self.errors, strict=True)
            if scenario.cap is None
        )

    @property
    def summary(self) -> str:
        """Its size, its error, and what is proven about it."""
        words = f"Channel from {self.policy.size} symbols to {self.outputs} reports"
        if not self.scenarios:
            return f"{words}."
        words += f": largest error {self.worst_error:.6g} per person"
        if self.certificate is None:
            return f"{words}."
        gap = self.certificate.relative_gap
        return f"{words}; proven within {gap:.1g} of the best of all mechanisms."

    def columns(self) -> dict[str, Any]:
        """One row a report: what it adds to each wanted number, and its probabilities.

        Columns: ``report``, the wanted names, then ``Pr[report | symbol]`` as ``p(symbol)``.
        """
        means = {name: self.estimator[j] for j, name in enumerate(self.wanted_names)}
        laws = {f"p({name})": self.matrix[x] for x, name in enumerate(self.symbols)}
        return {"report": np.arange(self.outputs), **means, **laws}


def _frozen(values: ArrayLike | Sequence[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
