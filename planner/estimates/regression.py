"""Regression of a private answer on what is known of people.

A report carries an unbiased weight ``T`` of what is asked, ``E[T | truth] = truth``: of an answer
it is 1 for people who have it and 0 for others, on average over the reports. With covariates ``z``
that nobody randomised and the model ``P(answer | z) = h(z'b)``, ``E[T | z] = h(z'b)`` whatever the
mechanism, so that ``b`` solves

    U(b) = sum_i w_i (h' / v) z_i (T_i - h(z_i'b)) = 0,

where ``w_i`` is the weight of the person in the survey and ``v`` the variance of ``T`` at the share
``h``. Any ``v`` gives a consistent ``b``; the right one gives the smallest error, and where a
mechanism has supports ``U`` is exactly the score of the binomial likelihood. Standard errors are
those of the sandwich ``A^-1 B A^-1`` with

    A = sum_i w_i (h'^2 / v) z_i z_i',        B = sum_i w_i^2 (h' / v)^2 (T_i - h)^2 z_i z_i',

and so hold for people drawn at random, whether ``v`` is right or not. Of numbers that people may
refuse ``T`` has two parts, the number's and 1 for having answered, and ``T_i - h`` is
``T_i - h(z_i'b) S_i``: the mean of those who answered is modelled.

Only sums over the people of one pattern of covariates are needed. Sources:
docs/theory/regression.md; White (Econometrica 1982) for the sandwich; Blair, Imai and Zhou
(JASA 2015) for randomised response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.estimates.counts import reach
from planner.limits import CONFIDENCE

Link = Literal["logit", "linear"]
_MOST_NEWTON_STEPS = 60
_MOST_HALVINGS = 30
_LAST_STEP = 1e-10  # Newton's last step, in standard errors
# On the scale of the logarithm of odds: shares of 1e-7 and less are told from 0 by no survey.
_SEPARATED = 16.0
_COLLINEAR = 1e-9  # singular values below this share of the largest


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
        """Of an answer that people have or not: everybody counts for 1."""
        return cls(people, weight, people, weight_square, weight, people)

    def among(self, patterns: Sequence[int], size: int) -> PatternSums:
        """The same as those of some of ``size`` patterns, by number; the others have nobody."""
        spread = np.zeros((6, size))
        spread[:, list(patterns)] = [getattr(self, name) for name in self.__slots__]
        return PatternSums(*spread)

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


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """An estimate with its standard error and limits.

    Attributes
    ----------
    name:
        Of what: a term, or the people whom a prediction is about.
    value, standard_error, lower, upper:
        In shares of people, in the unit of the numbers, or in logarithms of odds.
    p:
        Chance of an estimate at least as far from 0 if the truth is 0; NaN of predictions.
    """

    name: str
    value: float
    standard_error: float
    lower: float
    upper: float
    p: float


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """A fitted model.

    Attributes
    ----------
    names:
        Of the columns of the design, the intercept among them, ``q``.
    design, sums, weights:
        Covariates of each pattern, ``(k, q)``, what its people reported, and what one of them
        counts for, ``(k,)``.
    link:
        ``"logit"`` or ``"linear"``.
    coefficients, covariance:
        ``b``, ``(q,)``, and its sandwich covariance, ``(q, q)``.
    confidence:
        Of all limits.
    """

    names: tuple[str, ...]
    design: Array
    sums: PatternSums
    weights: Array
    link: Link
    coefficients: Array
    covariance: Array
    confidence: float

    def effects(self) -> list[Effect]:
        """The coefficients: of a logit link in logarithms of odds."""
        return [
            self._effect(name, self.coefficients[k], np.eye(len(self.names))[k])
            for k, name in enumerate(self.names)
        ]

    def predicted(self, name: str, design: Array) -> Effect:
        """The mean of ``h(z'b)`` over the people, whose patterns have these covariates, ``(k, q)``.

        Limits of a share are made on the scale of the logarithm of odds, where errors are nearer
        to a normal law, and stay from 0 to 1.
        """
        shares = self._people_shares()
        mean, slope = _mean_and_slope(self.link, design @ self.coefficients)
        value = float(shares @ mean)
        effect = self._effect(name, value, shares @ (slope[:, None] * design))
        if self.link == "linear" or not 0 < value < 1:
            return replace(effect, p=np.nan)
        odds = np.log(value / (1 - value))
        half = reach(self.confidence) * effect.standard_error / (value * (1 - value))
        lower = float(1 / (1 + np.exp(half - odds)))
        upper = float(1 / (1 + np.exp(-half - odds)))
        return replace(effect, lower=lower, upper=upper, p=np.nan)

    def average_effect(
        self, name: str, changed: Array, before: Array, per: float = 1.0
    ) -> Effect:
        """What a change of the covariates moves the prediction by, on average over the people.

        ``changed`` and ``before`` are the patterns' covariates, ``(k, q)``; the difference is
        divided by ``per``. The standard error is that of ``b`` alone (delta method).
        """
        shares = self._people_shares()
        mean_after, slope_after = _mean_and_slope(
            self.link, changed @ self.coefficients
        )
        mean, slope = _mean_and_slope(self.link, before @ self.coefficients)
        value = float(shares @ (mean_after - mean)) / per
        moved = slope_after[:, None] * changed - slope[:, None] * before
        return self._effect(name, value, shares @ moved / per)

    def _people_shares(self) -> Array:
        """The share of the people in each pattern, each person counting for its weight."""
        people = self.sums.people * self.weights
        return np.asarray(people / people.sum())

    def _effect(self, name: str, value: float, gradient: Array) -> Effect:
        """With normal limits, the standard error by the delta method."""
        from scipy.special import ndtr

        error = float(np.sqrt(max(float(gradient @ self.covariance @ gradient), 0.0)))
        half = float(reach(self.confidence)) * error
        value = float(value)
        p = float(2 * ndtr(-abs(value) / error)) if error > 0 else np.nan
        return Effect(name, value, error, value - half, value + half, p)


def fit(
    names: Sequence[str],
    design: Array,
    sums: PatternSums,
    variance: Callable[[Array], Array],
    link: Link = "logit",
    weights: Array | None = None,
    confidence: float = CONFIDENCE,
) -> Regression:
    """Solve the estimating equations by Newton's method, halving a step that does not help.

    Parameters
    ----------
    names, design:
        Columns of covariates, an intercept among them if one is wanted, and each pattern's values,
        shape ``(k, q)``.
    sums:
        What the people of each pattern reported.
    variance:
        ``v``: the variance of ``T`` at shares of shape ``(k,)``.
    link:
        ``"logit"``: ``h(x) = 1 / (1 + e^-x)``; ``"linear"``: ``h(x) = x``.
    weights:
        What a person of each pattern counts for, ``(k,)``; 1 when omitted.
    confidence:
        Of the limits, above 0 and below 1.

    Raises
    ------
    InputError
        Columns of the design follow from each other, or there are more than patterns.
    ConvergenceError
        No finite coefficients solve the equations: a column separates people with the answer from
        people without it, as far as the noise tells.

    Examples
    --------
    Forced response, 5/6 truthful: 400 of 1,000 reports are "yes" in the north, 250 in the south.

    >>> people, yes = np.array([1000.0, 1000.0]), np.array([400.0, 250.0])
    >>> a, b = 11 / 12, 1 / 12  # chances of a "yes" from those who have the answer, and from others
    >>> weight = (yes - b * people) / (a - b)
    >>> square = (yes * (1 - b) ** 2 + (people - yes) * b**2) / (a - b) ** 2
    >>> def variance(share):
    ...     chance = b + share * (a - b)
    ...     return chance * (1 - chance) / (a - b) ** 2
    >>> fitted = fit(["constant", "south"], np.array([[1.0, 0.0], [1.0, 1.0]]),
    ...              PatternSums.of_answer(people, weight, square), variance)
    >>> [round(share, 3) for share in (weight / people).tolist()]
    [0.38, 0.2]
    >>> [round(effect.value, 3) for effect in fitted.effects()]  # ln(.38/.62), ln(.2/.8) less that
    [-0.49, -0.897]
    """
    if weights is None:
        weights = np.ones(len(design))
    require_apart(names, design[sums.people > 0])
    coefficients = _start(design, sums, weights, link)
    score, information = _score(coefficients, design, sums, variance, link, weights)
    for _ in range(_MOST_NEWTON_STEPS):
        step = np.linalg.solve(information, score)
        size = float(np.sqrt(max(float(score @ step), 0.0)))
        if size <= _LAST_STEP:
            break
        for _ in range(_MOST_HALVINGS):
            tried = coefficients + step
            tried_score, tried_information = _score(
                tried, design, sums, variance, link, weights
            )
            if _length(tried_score, information) < size:
                break
            step = step / 2
        coefficients = tried
        score = tried_score
        information = tried_information
        if link == "logit" and np.abs(design @ coefficients).max() > _SEPARATED:
            raise _separated(names, design, coefficients)
    else:
        raise _separated(names, design, coefficients)
    covariance = _sandwich(
        coefficients, design, sums, variance, link, weights, information
    )
    return Regression(
        tuple(names), design, sums, weights, link, coefficients, covariance, confidence
    )


def _mean_and_slope(link: Link, x: Array) -> tuple[Array, Array]:
    """``h(x)`` and ``h'(x)``."""
    if link == "linear":
        return x, np.ones_like(x)
    mean = 1 / (1 + np.exp(-np.clip(x, -700, 700)))
    return mean, mean * (1 - mean)


def _score(
    coefficients: Array,
    design: Array,
    sums: PatternSums,
    variance: Callable[[Array], Array],
    link: Link,
    weights: Array,
) -> tuple[Array, Array]:
    """``U(b)`` and ``A``."""
    mean, slope = _mean_and_slope(link, design @ coefficients)
    by_variance = weights * slope / variance(mean)
    score = design.T @ (by_variance * sums.residual(mean))
    information = (design * (by_variance * slope * sums.base)[:, None]).T @ design
    return score, information


def _sandwich(
    coefficients: Array,
    design: Array,
    sums: PatternSums,
    variance: Callable[[Array], Array],
    link: Link,
    weights: Array,
    information: Array,
) -> Array:
    """``A^-1 B A^-1``."""
    mean, slope = _mean_and_slope(link, design @ coefficients)
    factor = np.square(weights * slope / variance(mean))
    middle = (design * (factor * sums.residual_square(mean))[:, None]).T @ design
    inverse = np.linalg.inv(information)
    return np.asarray(inverse @ middle @ inverse.T)


def _start(design: Array, sums: PatternSums, weights: Array, link: Link) -> Array:
    """Least squares; of a logit link a constant share of everybody, where a column is constant."""
    size = weights * sums.people
    if link == "linear":
        root = np.sqrt(size)
        means = sums.weight / np.maximum(sums.people, 1.0)
        solution = np.linalg.lstsq(design * root[:, None], means * root)[0]
        return np.asarray(solution, np.float64)
    share = float(weights @ sums.weight) / float(weights @ sums.base)
    share = min(max(share, 0.02), 0.98)
    target = np.full(len(design), np.log(share / (1 - share)))
    return np.asarray(np.linalg.lstsq(design, target)[0], np.float64)


def _length(score: Array, information: Array) -> float:
    """The score's length in standard errors, ``sqrt(U' A^-1 U)``; infinite where it is lost."""
    if not np.isfinite(score).all():
        return np.inf
    return float(np.sqrt(max(float(score @ np.linalg.solve(information, score)), 0.0)))


def require_apart(names: Sequence[str], design: Array) -> None:
    """InputError that names a column of a design, ``(k, q)``, that follows from those before it."""
    scale = np.sqrt(np.square(design).sum(axis=0))
    scale[scale == 0] = 1.0
    for size in range(1, len(names) + 1):
        values = np.linalg.svd(design[:, :size] / scale[:size], compute_uv=False)
        if size > len(design) or values[-1] <= _COLLINEAR * values[0]:
            name = names[size - 1]
            reason = (
                f"{name!r} follows from the terms before it, among those who reported"
            )
            raise InputError.because("model", reason, "Leave it out.")


def _separated(
    names: Sequence[str], design: Array, coefficients: Array
) -> ConvergenceError:
    """The error that names the term whose people seem to have the answer never, or always."""
    spans = np.abs(coefficients) * np.ptp(design, axis=0)
    name = names[int(np.argmax(spans))] if spans.any() else names[0]
    reason = (
        f"no finite coefficients fit: by {name!r} people seem to have the answer all, "
        "or not at all"
    )
    remedy = (
        "Leave it out, join its values, model a more frequent answer, "
        "or use --link linear."
    )
    return ConvergenceError(reason, remedy)
