"""The estimating equations of a regression on known covariates, by pattern of covariates.

``U``, ``A``, ``B``, ``h`` and ``v`` are those of :mod:`planner.estimates.regression`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError

Link = Literal["logit", "linear"]
_MOST_NEWTON_STEPS = 60
_MOST_HALVINGS = 30
# Newton's last step, in standard errors: of a solution, and of what a test is computed with.
_LAST_STEP = 1e-10
_LAST_STEP_OF_TESTS = 1e-5
# On the scale of the logarithm of odds: shares of 1e-7 and less are told from 0 by no survey.
_SEPARATED = 16.0
_SHARES_TO_START = (0.02, 0.98)  # beyond, Newton's first steps would be far too long
# Singular values of a design, its columns of length 1, below this share of the largest: the
# standard errors lose twice as many digits, and below it have fewer than three.
_COLLINEAR = 3e-6


@dataclass(frozen=True, slots=True, eq=False)
class PatternSums:
    """Sums over the people of each pattern of covariates, shape ``(k,)`` each.

    Attributes
    ----------
    people:
        How many reported.
    weight:
        ``sum T``, unbiased for how many of them have the answer, or for the sum of their numbers.
    base:
        ``sum S``: of an answer the people again; of numbers unbiased for how many answered.
    weight_square, product, base_square:
        ``sum T^2``, ``sum T S`` and ``sum S^2``.
    """

    people: Array
    weight: Array
    base: Array
    weight_square: Array
    product: Array
    base_square: Array

    @classmethod
    def of_answer(
        cls, people: Array, weight: Array, weight_square: Array
    ) -> PatternSums:
        """The sums of an answer that people have or not: everybody counts for 1."""
        return cls(people, weight, people, weight_square, weight, people)

    def among(self, patterns: Sequence[int], size: int) -> PatternSums:
        """These sums as those of some of ``size`` patterns, by number; the others have nobody."""

        def spread(sums: Array) -> Array:
            of_all = np.zeros(size)
            of_all[list(patterns)] = sums
            return of_all

        return PatternSums(
            people=spread(self.people),
            weight=spread(self.weight),
            base=spread(self.base),
            weight_square=spread(self.weight_square),
            product=spread(self.product),
            base_square=spread(self.base_square),
        )

    def residual(self, mean: Array) -> Array:
        """``sum (T - mean S)`` of each pattern."""
        return self.weight - mean * self.base

    def residual_square(self, mean: Array) -> Array:
        """``sum (T - mean S)^2`` of each pattern."""
        return (
            self.weight_square
            - 2 * mean * self.product
            + np.square(mean) * self.base_square
        )


class Score(NamedTuple):
    """``U`` and ``A`` at some coefficients, shapes ``(q,)`` and ``(q, q)``."""

    value: Array
    information: Array

    def length(self, information: Array) -> float:
        """``sqrt(U' A^-1 U)``, in standard errors by another ``A``; infinite where it is lost."""
        if not np.isfinite(self.value).all():
            return np.inf
        step = np.linalg.solve(information, self.value)
        square = float(self.value @ step)
        return float(np.sqrt(max(square, 0.0)))


@dataclass(frozen=True, slots=True, eq=False)
class Equations:
    """What the coefficients of a model solve: ``U(b) = 0``.

    Attributes
    ----------
    names:
        Of the columns of the design, the intercept among them, ``q``.
    design:
        Covariates of each pattern, ``(k, q)``.
    sums:
        What the people of each pattern reported.
    variance:
        ``v``: the variance of ``T`` at shares of shape ``(k,)``.
    link:
        ``"logit"``: ``h(x) = 1 / (1 + e^-x)``; ``"linear"``: ``h(x) = x``.
    weights:
        What a person of each pattern counts for, ``(k,)``.
    """

    names: tuple[str, ...]
    design: Array
    sums: PatternSums
    variance: Callable[[Array], Array]
    link: Link
    weights: Array

    def mean_and_slope(self, x: Array) -> tuple[Array, Array]:
        """``h(x)`` and ``h'(x)``."""
        if self.link == "linear":
            return x, np.ones_like(x)
        exponents = np.clip(-x, -700, 700)
        mean = 1 / (1 + np.exp(exponents))
        slope = mean * (1 - mean)
        return mean, slope

    def score(self, coefficients: Array) -> Score:
        """``U = sum w (h'/v) z (T - h S)`` and ``A = sum w (h'^2 / v) S z z'``, over patterns."""
        mean, slope = self.mean_and_slope(self.design @ coefficients)
        factors = self.weights * slope / self.variance(mean)
        residuals = factors * self.sums.residual(mean)
        squares = factors * slope * self.sums.base
        value = self.design.T @ residuals
        information = self._weighted_squares(squares)
        return Score(value, information)

    def middle(self, coefficients: Array) -> Array:
        """``B = sum w^2 (h'/v)^2 (T - h S)^2 z z'``, the variance of ``U``, ``(q, q)``."""
        mean, slope = self.mean_and_slope(self.design @ coefficients)
        factors = self.weights * slope / self.variance(mean)
        squares = np.square(factors)
        squares = squares * self.sums.residual_square(mean)
        return self._weighted_squares(squares)

    def _weighted_squares(self, weights: Array) -> Array:
        """``sum weight z z'`` over the patterns, ``(q, q)``."""
        weighted = self.design * weights[:, None]
        return weighted.T @ self.design

    def covariance(self, coefficients: Array) -> Array:
        """The sandwich ``A^-1 B A^-1`` at the solution, ``(q, q)``."""
        score = self.score(coefficients)
        inverse = np.linalg.inv(score.information)
        return inverse @ self.middle(coefficients) @ inverse.T

    def start(self) -> Array:
        """Coefficients that Newton's method starts from, ``(q,)``.

        Of a linear link weighted least squares of the patterns' means; of a logit link those that
        give everybody the share of all, where a column is constant.
        """
        if self.link == "linear":
            people = self.sums.people
            means = self.sums.weight / np.maximum(people, 1.0)
            # The square roots of the weights on both sides make the squares weighted.
            root = np.sqrt(self.weights * people)
            design = self.design * root[:, None]
            targets = means * root
        else:
            total = float(self.weights @ self.sums.weight)
            base = float(self.weights @ self.sums.base)
            least, most = _SHARES_TO_START
            share = min(max(total / base, least), most)
            odds = share / (1 - share)
            log_odds = np.log(odds)
            design = self.design
            targets = np.full(len(design), log_odds)
        solution, *_ = np.linalg.lstsq(design, targets)
        return np.asarray(solution, np.float64)

    def solve(self, start: Array, fixed: int | None = None) -> Array:
        """Newton's method, halving a step that does not help.

        With a ``fixed`` coefficient, by its number, the equations of the others are solved.

        Raises
        ------
        ConvergenceError
            No finite coefficients solve the equations: a column separates people with the answer
            from people without it, as far as the noise tells.
        """
        last_step = _LAST_STEP
        if fixed is not None:
            last_step = _LAST_STEP_OF_TESTS
        free = [k for k in range(start.size) if k != fixed]
        if not free:
            return start
        coefficients = start
        score = self._of(free, coefficients)
        for _ in range(_MOST_NEWTON_STEPS):
            step = np.linalg.solve(score.information, score.value)
            square = float(score.value @ step)
            size = float(np.sqrt(max(square, 0.0)))
            if size <= last_step:
                return coefficients
            for _ in range(_MOST_HALVINGS):
                tried = coefficients.copy()
                tried[free] += step
                score_of_tried = self._of(free, tried)
                if score_of_tried.length(score.information) < size:
                    break
                step = step / 2
            coefficients = tried
            score = score_of_tried
            if self._is_separated(coefficients):
                break
        raise self._separated(coefficients)

    def score_statistic(self, k: int, value: float, solution: Array) -> float:
        """How far from 0 the score is if coefficient ``k`` has this value, in standard errors.

        Boos (The American Statistician 1992): with ``b`` solving the other equations, ``U_k(b)``
        over its standard deviation ``sqrt(g' B g)``, ``g = (1, -A_ko A_oo^-1)``, where ``o`` are
        the others. It falls with the value, is 0 at the ``solution`` of all, and is nearer to a
        normal law than a coefficient over its standard error, which grows with the coefficient.
        NaN if nothing solves the others.
        """
        others = [j for j in range(solution.size) if j != k]
        information = self.score(solution).information
        # What the others move by, to first order, if this one does.
        slope = _from_others(information, k, others)
        start = solution.copy()
        start[k] = value
        start[others] += slope * (value - solution[k])
        try:
            coefficients = self.solve(start, fixed=k)
        except ConvergenceError:
            return np.nan
        score = self.score(coefficients)
        gradient = np.zeros(solution.size)
        gradient[k] = 1.0
        gradient[others] = _from_others(score.information, k, others)
        variance = float(gradient @ self.middle(coefficients) @ gradient)
        if variance <= 0:
            return np.nan
        return float(score.value[k] / np.sqrt(variance))

    def _of(self, columns: Sequence[int], coefficients: Array) -> Score:
        """``U`` and ``A`` of some columns."""
        score = self.score(coefficients)
        if len(columns) == coefficients.size:
            return score
        value = score.value[columns]
        information = score.information[np.ix_(columns, columns)]
        return Score(value, information)

    def _is_separated(self, coefficients: Array) -> bool:
        """Whether shares are so near to 0 or 1 that no survey tells them from it."""
        if self.link == "linear":
            return False
        log_odds = np.abs(self.design @ coefficients)
        return bool(log_odds.max() > _SEPARATED)

    def _separated(self, coefficients: Array) -> ConvergenceError:
        """The error that names the term whose people seem to have the answer never, or always."""
        ranges = np.ptp(self.design, axis=0)
        spans = np.abs(coefficients) * ranges
        name = self.names[int(np.argmax(spans))]
        reason = (
            f"no finite coefficients fit: by {name!r} people seem to have the answer all, "
            "or not at all"
        )
        remedy = (
            "Leave it out, join its values, model a more frequent answer, "
            "or use --link linear."
        )
        return ConvergenceError(reason, remedy)


def _from_others(information: Array, k: int, others: Sequence[int]) -> Array:
    """``-A_ko A_oo^-1``, shape ``(others,)``."""
    of_others = information[np.ix_(others, others)]
    solution = np.linalg.solve(of_others.T, information[k, others])
    return np.asarray(-solution, np.float64)


def require_apart(names: Sequence[str], design: Array) -> None:
    """InputError that names a column of a design, ``(k, q)``, that follows from those before it."""
    lengths = np.sqrt(np.square(design).sum(axis=0))
    lengths[lengths == 0] = 1.0
    columns = design / lengths
    for last, name in enumerate(names):
        values = np.linalg.svd(columns[:, : last + 1], compute_uv=False)
        if last >= len(design) or values[-1] <= _COLLINEAR * values[0]:
            reason = (
                f"{name!r} follows, or nearly, from the terms before it, among those who "
                "reported"
            )
            remedy = (
                "Leave it out; count a number from its middle, as I((age - 40)**2)."
            )
            raise InputError.because("model", reason, remedy)
