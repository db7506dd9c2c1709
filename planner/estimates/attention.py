"""People who answer at random: how many, by a question whose true answer is known, and shares.

An anchor is a question with ``d`` answers whose true one is known to be the same for all. A share
``g`` of the people attends; the others give an answer drawn evenly, ``u = 1/d`` each. The unbiased
weights of the reports then have the means ``E[T*] = g + (1 - g) u`` of the known answer, and
``E[T_a] = g p_a + (1 - g) u`` of an answer to the question that it is the anchor of, so that

    g = (mean T* - u) / (1 - u),      p_a = (mean T_a - (1 - g) u) / g.

With ``dp_a / d(mean T_a) = 1 / g`` and ``dp_a / dg = (u - p_a) / g`` the delta method gives

    Var p_a = (Var(mean T_a) + (u - p_a)^2 Var g + 2 (u - p_a) Cov(mean T_a, g)) / g^2,

``Cov(mean T_a, g) = Cov(mean T_a, mean T*) / (1 - u)``. A report has both, so that this covariance
is seen, whatever it is: where each person attends to both questions or to neither it is
``g (1 - g) (p_a - u) / n``, and the last term is never above 0; where people attend to each on
their own it is 0. ``p_a - u`` is a ratio,
``(mean T_a - u) / g``: its limits are Fieller's (Fieller, J. R. Stat. Soc. B 1954). Source of the
correction: Atsusaka and Stevenson (Political Analysis 2023), for two answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from planner.arrays import Array
from planner.estimates.counts import reach
from planner.estimates.rows import ShareWithLimits


def attentive_share(known_share: float, answers: int) -> float:
    """``g = (p* - u) / (1 - u)``, where a share ``p*`` gives the known one of ``1/u`` answers."""
    even = 1 / answers  # u
    return (known_share - even) / (1 - even)


@dataclass(frozen=True, slots=True)
class Attention:
    """The share of people who attend, by an anchor question of people drawn at random.

    Attributes
    ----------
    share, standard_error:
        ``g`` as estimated, which noise may lift above 1, and its error.
    even:
        ``u``: the chance of each answer of who does not attend.
    """

    share: float
    standard_error: float
    even: float

    @classmethod
    def of_anchor(
        cls, known_share: float, standard_error: float, answers: int
    ) -> Attention:
        """Attention by the estimated share of the known answer, one of two or more ``answers``.

        Examples
        --------
        >>> Attention.of_anchor(0.8, 0.01, answers=2)
        Attention(share=0.6, standard_error=0.02, even=0.5)
        """
        even = 1 / answers
        share = attentive_share(known_share, answers)
        return cls(round(share, 12), standard_error / (1 - even), even)

    def limits(self, confidence: float) -> tuple[float, float]:
        """Normal limits of the share, within 0 and 1."""
        half = float(reach(confidence)) * self.standard_error
        lower = min(max(self.share - half, 0.0), 1.0)
        return lower, max(min(self.share + half, 1.0), 0.0)

    def is_seen(self, confidence: float) -> bool:
        """Whether the share is told apart from 0: else there is nothing to correct by."""
        return self.limits(confidence)[0] > 0

    def corrected(
        self, shares: Array, standard_errors: Array, covariances: Array
    ) -> tuple[Array, Array]:
        """Shares of the answers among people if all attended, and their errors.

        Parameters
        ----------
        shares, standard_errors:
            Of people drawn at random, as reported: ``mean T_a`` and its error.
        covariances:
            Of each ``mean T_a`` with ``mean T*``, the share of the known answer. One that these
            errors do not allow, as both are estimated, counts as the nearest that they do.

        A share of attention above 1 is noise, and corrects nothing.

        Examples
        --------
        The data of R's package cWise: 2,000 people, two crosswise questions at .15. 573 reports
        support the answer, 1,541 the known one, 425 both.

        >>> a, b = 0.85, 0.15
        >>> supporting = np.array([573, 1541]) / 2000
        >>> shares = (supporting - b) / (a - b)
        >>> errors = np.sqrt(supporting * (1 - supporting) / 2000) / (a - b)
        >>> covariance = (425 / 2000 - supporting.prod()) / 2000 / (a - b) ** 2
        >>> attention = Attention.of_anchor(shares[1], errors[1], answers=2)
        >>> corrected = attention.corrected(shares[:1], errors[:1], np.array([covariance]))
        >>> [numbers.round(4).tolist() for numbers in corrected]
        [[0.1054], [0.0227]]
        """
        g = min(self.share, 1.0)
        corrected = (shares - (1 - g) * self.even) / g
        correlations = self._correlations(standard_errors, covariances)
        gap = self.even - corrected  # u - p_a
        variance = np.square(standard_errors) + np.square(gap * self.standard_error)
        together = correlations * standard_errors * self.standard_error
        variance = variance + 2 * gap * together
        return corrected, np.sqrt(np.maximum(variance, 0.0)) / g

    def _correlations(self, standard_errors: Array, covariances: Array) -> Array:
        """The correlations of each ``mean T_a`` with ``g``, within -1 and 1."""
        of_both = standard_errors * self.standard_error * (1 - self.even)
        return np.clip(covariances / np.maximum(of_both, 1e-300), -1.0, 1.0)

    def corrected_limit(
        self,
        shares: ShareWithLimits,
        covariances: Array,
        confidence: float,
        side: Literal[-1, 1],
    ) -> Array:
        """The lower limits of the corrected shares (``side`` -1), or the upper ones, not cut.

        ``p_a - u`` is the ratio ``r`` of ``m = mean T_a - u`` and ``g``. By Fieller its limits are
        those ``r`` at which ``m - r g`` is as far from 0 as the confidence allows,

            (m - r g)^2 = x^2 - 2 r c x y + r^2 y^2,

        where ``x`` is how far the limit of ``mean T_a`` on that side is, so that rare answers keep
        their skewed limits (Zou and Donner, 2008), ``y`` how far those of ``g`` are, and ``c`` the
        correlation of the two. Only where the attention is told apart from 0.
        """
        g = min(self.share, 1.0)
        m = shares.value - self.even
        x = shares.above if side > 0 else shares.below
        y = float(reach(confidence)) * self.standard_error
        c = self._correlations(shares.error, covariances)
        square = g**2 - y**2  # of r in the quadratic equation, above 0
        half_linear = m * g - c * x * y
        constant = np.square(m) - np.square(x)
        root = np.sqrt(np.maximum(np.square(half_linear) - square * constant, 0.0))
        return np.asarray(self.even + (half_linear + side * root) / square)
