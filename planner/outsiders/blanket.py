"""What hides one person among shuffled reports: the part of a report that does not depend on it.

Let ``P_z`` be the law of a report of answer ``z`` and ``omega`` a measure with
``omega(y) <= P_z(y)`` for every answer ``z`` that others may have: the *privacy blanket*. Each
other report is then drawn from ``omega`` with probability ``omega(all y)``, whatever its answer.
Telling an observer which reports were not so drawn, the change of one person from ``x`` to
``x'`` among ``n`` shuffled reports keeps, for every epsilon,

    delta <= E[(W_1 + ... + W_n)+] / n,   W = (P_x(y) - e^epsilon P_x'(y)) / omega(y)

with probability ``omega(y)``, else ``W = 0``, the ``W_i`` independent (Balle, Bell, Gascon and
Nissim, CRYPTO 2019, lemma 5). With ``omega = P_z`` it is an equality: the exact delta of two data
sets in which all others have the answer ``z``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import finite, number_column
from planner.arrays import Array
from planner.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Blanket:
    """A privacy blanket seen by a pair of answers ``x``, ``x'``; outcomes that look alike merged.

    Attributes
    ----------
    masses:
        ``omega`` of each outcome, shape ``(k,)``, above 0, at most 1 in all.
    first, second:
        ``P_x / omega`` and ``P_x' / omega`` of each outcome, shape ``(k,)``, not negative.

    Raises
    ------
    InputError
        The masses exceed 1, or the ratios do not belong to two laws: ``masses @ first`` and
        ``masses @ second`` must be 1.

    Examples
    --------
    Randomised response of two answers with budget ln 3: both reports hide with mass 1/4.

    >>> blanket = Blanket([0.25, 0.25], [3.0, 1.0], [1.0, 3.0])
    >>> blanket.mass
    0.5
    >>> Blanket([0.5, 0.5], [3.0, 1.0], [1.0, 3.0])
    Traceback (most recent call last):
    ...
    planner.errors.InputError: masses @ first is 2.0 but must be 1: the law of a report. ...
    """

    masses: Array
    first: Array
    second: Array

    def __post_init__(self) -> None:
        for name in ("masses", "first", "second"):
            column = number_column(name, getattr(self, name))
            object.__setattr__(self, name, column)
            if column.shape != self.masses.shape:
                remedy = "Give masses, first and second one entry per report."
                raise InputError(
                    name, column.shape, f"of the shape {self.masses.shape}", remedy
                )
            least = float(column.min())
            allowed = "not negative"
            valid = least >= 0
            if name == "masses":
                allowed = "above 0"
                valid = least > 0
            if not valid:
                remedy = "Leave out reports that nobody's noise sends."
                raise InputError(name, least, allowed, remedy)
        if self.mass > 1 + 1e-9:
            remedy = "The numbers exclude each other: an upper bound is too small."
            raise InputError("total of masses", self.mass, "at most 1", remedy)
        for name in ("first", "second"):
            total = float(self.masses @ getattr(self, name))
            if abs(total - 1) > 1e-9:
                remedy = "Divide Pr[report | answer] by the masses, report by report."
                raise InputError(
                    f"masses @ {name}", total, "1: the law of a report", remedy
                )

    @classmethod
    def from_numbers(
        cls, ratio: float, variation: float, others_ratio: float
    ) -> Blanket:
        """The worst blanket of any mechanism with three numbers of a pair, or less of each.

        With ``omega = max(P_x, P_x') / q`` the law of W is, in convex order, at most that of
        three outcomes, ``W = q (1 - e/p)`` and ``-q (e - 1/p)`` with mass ``p alpha / q`` each and
        ``-q (e - 1)`` with mass ``gamma / q``, where ``e = e^epsilon``, ``alpha = beta / (p - 1)``
        and ``gamma = 1 - (p + 1) alpha``. Raising p, beta or q is a mean-preserving spread.

        ``ratio`` p is an upper bound of ``P_x(y) / P_x'(y)``, both ways, above 1; ``variation``
        beta of their total variation, above 0 and at most ``(p - 1) / (p + 1)``; ``others_ratio`` q
        of ``max(P_x(y), P_x'(y)) / P_z(y)`` over all answers ``z``, the pair's too, at least p.
        InputError for numbers that exclude each other.

        Examples
        --------
        >>> from math import e
        >>> round(Blanket.from_numbers(e, (e - 1) / (e + 1), e).mass, 6)
        0.537883
        """
        p = finite("ratio", ratio)
        beta = finite("variation", variation)
        q = finite("others_ratio", others_ratio)
        slack = 1 + 1e-12  # as the three are rounded
        most_variation = (p - 1) / (p + 1)  # of any two laws with such a ratio
        if not (1 < p <= q * slack and 0 < beta <= most_variation * slack):
            allowed = "a ratio above 1, a variation up to (p-1)/(p+1), and an others_ratio of p up"
            remedy = "Compute all three from the same pair of answers, which is among the others."
            names = "ratio, variation, others_ratio"
            raise InputError(names, (p, beta, q), allowed, remedy)
        largest_alpha = 1 / (p + 1)
        alpha = min(beta / (p - 1), largest_alpha)
        gamma = max(0.0, 1 - (p + 1) * alpha)
        likelier = p * alpha
        # Outcomes: likelier of x, likelier of x', alike of both.
        masses = np.array([likelier, likelier, gamma]) / q
        first = q * np.array([1, 1 / p, 1])
        second = q * np.array([1 / p, 1, 1])
        possible = masses > 0
        return cls(
            masses=masses[possible],
            first=first[possible],
            second=second[possible],
        )

    @classmethod
    def of_budget(cls, epsilon: float, worst: float | None = None) -> Blanket:
        """The blanket of any mechanism with this budget for the pair and ``worst`` for others.

        Examples
        --------
        >>> round(Blanket.of_budget(1.0).local_epsilon, 6)
        1.0
        """
        if worst is None:
            worst = epsilon
        if not np.isfinite(worst):
            remedy = "Shuffling hides nobody who is not connected to all others."
            raise InputError(
                "budget", worst, "finite pair budgets to all answers", remedy
            )
        # Rounded up, so that the ratio is an upper bound; others' stays above it.
        ratio = exp(min(epsilon, worst)) * (1 + 1e-12)
        most_variation = (ratio - 1) / (ratio + 1)
        others_ratio = exp(worst) * (1 + 2e-12)
        return cls.from_numbers(ratio, most_variation, others_ratio)

    @classmethod
    def from_laws(
        cls, first: ArrayLike, second: ArrayLike, others: ArrayLike
    ) -> Blanket:
        """The blanket that laws of others, shape ``(answers, reports)``, have in common.

        ``first`` and ``second`` are ``P_x`` and ``P_x'``. ``others`` are all that others may
        answer; one alone gives the exact delta of data sets in which everybody else has it.
        InputError for a report that the pair can make and one of the others cannot.
        """
        p_first = np.asarray(first, dtype=np.float64)
        p_second = np.asarray(second, dtype=np.float64)
        p_others = np.atleast_2d(np.asarray(others, dtype=np.float64))
        least = p_others.min(axis=0)  # omega, the largest measure below all
        possible = (p_first > 0) | (p_second > 0)
        bare = possible & (least <= 0)
        if bare.any():
            y = int(np.argmax(bare))
            remedy = "Nobody hides there: no epsilon holds without a delta of its own."
            raise InputError(f"others[:, {y}]", float(least[y]), "above 0", remedy)
        hides = least > 0
        omega = least[hides]
        first_ratios = p_first[hides] / omega
        second_ratios = p_second[hides] / omega
        return cls(omega, first_ratios, second_ratios).merged()

    @property
    def mass(self) -> float:
        """Probability that a report of another person hides this one, 0 to 1."""
        return float(self.masses.sum())

    @property
    def local_epsilon(self) -> float:
        """The pair's local budget, both ways, in nats; ``inf`` if only one can make a report."""
        possible = (self.first > 0) | (self.second > 0)
        first = self.first[possible]
        second = self.second[possible]
        if min(first.min(), second.min()) == 0:
            return inf
        ratios = first / second
        losses = np.abs(np.log(ratios))
        return float(losses.max())

    def reversed(self) -> Blanket:
        """The blanket with ``x`` and ``x'`` exchanged."""
        return Blanket(self.masses, self.second, self.first)

    def merged(self) -> Blanket:
        """Outcomes with the same two ratios as one."""
        ratios = np.column_stack([self.first, self.second])
        distinct, outcome = np.unique(ratios, axis=0, return_inverse=True)
        masses = np.bincount(outcome.ravel(), self.masses)
        first, second = distinct.T
        return Blanket(
            masses=masses.astype(np.float64),
            first=first,
            second=second,
        )
