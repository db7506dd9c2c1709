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

Limits and tests of the coefficients of a logit link are by the score, of all else normal: the
standard error of such a coefficient grows with it, so that its distance from the truth in standard
errors is skewed, and limits by it held 96.5 % where 95 % were meant.

Only sums over the people of one pattern of covariates are needed. Sources:
docs/theory/regression.md; White (Econometrica 1982) for the sandwich; Boos (The American
Statistician 1992) for the score; Blair, Imai and Zhou (JASA 2015) for randomised response.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.arrays import Array
from planner.estimates.counts import reach
from planner.estimates.estimating_equations import (
    Equations,
    Link,
    PatternSums,
    require_apart,
)
from planner.limits import CONFIDENCE

__all__ = ["Effect", "Link", "PatternSums", "Regression", "fit", "require_apart"]
# Standard errors from a coefficient, within which a limit is looked for.
_FARTHEST = 64.0
_LIMIT_DIGITS = 1e-4  # of a standard error


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """An estimate with its standard error and limits.

    Attributes
    ----------
    name:
        Of what: a term, or the people whom a prediction is about.
    value, standard_error, lower, upper:
        In shares of people, in the unit of the numbers, or in logarithms of odds. A limit is
        infinite where nothing on that side can be ruled out.
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
    equations:
        What was solved.
    coefficients, covariance:
        ``b``, ``(q,)``, and its sandwich covariance, ``(q, q)``.
    confidence:
        Of all limits.
    """

    equations: Equations
    coefficients: Array
    covariance: Array
    confidence: float

    @property
    def sums(self) -> PatternSums:
        """What the people of each pattern reported."""
        return self.equations.sums

    def effects(self) -> list[Effect]:
        """The coefficients: of a logit link in logarithms of odds."""
        tests = self.coefficient_tests()
        gradients = np.eye(self.coefficients.size)
        effects = []
        for k, name in enumerate(self.equations.names):
            effect = self._effect(name, self.coefficients[k], gradients[k])
            if self.equations.link == "logit":
                effect = replace(
                    effect,
                    lower=self._score_limit(k, effect, -1),
                    upper=self._score_limit(k, effect, 1),
                    p=float(tests[k]),
                )
            effects.append(effect)
        return effects

    def coefficient_tests(self) -> Array:
        """The chance of a coefficient at least as far from 0, if it is 0, for each, ``(q,)``.

        Of a logit link by the score at 0, NaN where the model without the term fits nobody.
        """
        from scipy.special import ndtr

        if self.equations.link == "linear":
            errors = np.sqrt(np.diag(self.covariance))
            errors[errors == 0] = np.nan
            distances = self.coefficients / errors
        else:
            distances = np.empty(self.coefficients.size)
            for k in range(distances.size):
                distances[k] = self.equations.score_statistic(k, 0.0, self.coefficients)
        return 2 * ndtr(-np.abs(distances))

    def _score_limit(self, k: int, effect: Effect, side: int) -> float:
        """Where the score of coefficient ``k`` is as far from 0 as the confidence allows.

        Looked for from the coefficient outwards, twice as far each time; infinite where no value
        is so far from what was reported.
        """
        from scipy.optimize import brentq

        allowed = float(reach(self.confidence))

        def beyond(value: float) -> float:
            distance = self.equations.score_statistic(k, value, self.coefficients)
            if np.isnan(distance):  # what cannot be tested is not ruled out
                return -allowed
            return abs(distance) - allowed

        error = effect.standard_error
        inside = effect.value
        steps = allowed
        while steps <= _FARTHEST:
            outside = effect.value + side * steps * error
            if beyond(outside) >= 0:
                tolerance = _LIMIT_DIGITS * error
                return float(brentq(beyond, inside, outside, xtol=tolerance))
            inside = outside
            steps = steps * 2
        return side * np.inf

    def predicted(self, name: str, design: Array) -> Effect:
        """The mean of ``h(z'b)`` over people whose patterns had these covariates, ``(k, q)``.

        They are the people's own, or such as one variable would have at a value for all. With the
        logit link limits are made on the scale of the logarithm of odds, where errors are nearer to
        a normal law, and stay from 0 to 1; with the linear link they are normal.
        """
        shares = self._people_shares()
        mean, slope = self.equations.mean_and_slope(design @ self.coefficients)
        value = float(shares @ mean)
        gradient = shares @ (slope[:, None] * design)
        effect = replace(self._effect(name, value, gradient), p=np.nan)
        if self.equations.link == "linear" or not 0 < value < 1:
            return effect
        log_odds = np.log(value / (1 - value))
        slope_of_share = value * (1 - value)  # by the logarithm of odds
        half = reach(self.confidence) * effect.standard_error / slope_of_share
        odds_against = np.exp(half - log_odds)
        least_odds_against = np.exp(-half - log_odds)
        return replace(
            effect,
            lower=float(1 / (1 + odds_against)),
            upper=float(1 / (1 + least_odds_against)),
        )

    def average_effect(
        self, name: str, changed: Array, before: Array, per: float = 1.0
    ) -> Effect:
        """What a change of the covariates moves the prediction by, on average over the people.

        ``changed`` and ``before`` are the patterns' covariates, ``(k, q)``; the difference is
        divided by ``per``. The standard error is that of ``b`` alone (delta method).
        """
        b = self.coefficients
        shares = self._people_shares()
        mean, slope = self.equations.mean_and_slope(before @ b)
        mean_after, slope_after = self.equations.mean_and_slope(changed @ b)
        value = float(shares @ (mean_after - mean)) / per
        gradients = slope_after[:, None] * changed - slope[:, None] * before
        gradient = shares @ gradients / per
        return self._effect(name, value, gradient)

    def _people_shares(self) -> Array:
        """The share of the people in each pattern, each person counting for its weight."""
        weighted_people = self.sums.people * self.equations.weights
        return weighted_people / weighted_people.sum()

    def _effect(self, name: str, value: float, gradient: Array) -> Effect:
        """An effect with normal limits, its standard error by the delta method."""
        from scipy.special import ndtr

        value = float(value)
        variance = float(gradient @ self.covariance @ gradient)
        error = float(np.sqrt(max(variance, 0.0)))
        half = float(reach(self.confidence)) * error
        p = np.nan
        if error > 0:
            p = float(2 * ndtr(-abs(value) / error))
        return Effect(
            name=name,
            value=value,
            standard_error=error,
            lower=value - half,
            upper=value + half,
            p=p,
        )


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
    equations = Equations(
        names=tuple(names),
        design=design,
        sums=sums,
        variance=variance,
        link=link,
        weights=weights,
    )
    coefficients = equations.solve(equations.start())
    covariance = equations.covariance(coefficients)
    return Regression(equations, coefficients, covariance, confidence)
