"""Limits of what a table says: of a share, of an odds ratio, of a squared distance.

Each holds all values under which what was seen is not too unlikely. Source:
docs/theory/relating.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import Estimate
from planner.estimates.counts import nearest_share, reach

_FAR_ODDS = 50.0  # of a log of odds
_SMALLEST_SHARE = 1e-12  # share that is tried
_EDGE_HALVINGS = 30  # of a search
_NEARLY_NORMAL = 1e4  # of noncentrality, relative to the scale


class CellShare(NamedTuple):
    """How near ``L = cell - rho margin`` is to 0, for a share ``rho`` of people in a margin.

    As Fieller's interval (1954), by a binomial law of the same variance in place of the normal one.

    Attributes
    ----------
    users:
        Number of reports.
    cell, margin:
        Estimated people in the cell, and in the margin that it is a share of, above 0.
    unit:
        What one report counts for, ``1 / (a - b)`` of the margin.
    moments:
        ``E[T T']`` of what a report adds to the cell and to the margin, 2 x 2: of people in the
        cell, of others in the margin, and of all others.
    """

    users: int
    cell: float
    margin: float
    unit: float
    moments: list[list[list[float]]]

    def variance(self, rho: float) -> float:
        """``n E[(T_cell - rho T_margin)^2]``, at this share."""
        in_margin = min(self.margin / self.users, 1.0)
        kinds = (in_margin * rho, in_margin * (1 - rho), 1 - in_margin)
        square = 0.0
        for share, moments in zip(kinds, self.moments, strict=True):
            (of_cell, product), (_, of_margin) = moments
            of_kind = of_cell - 2 * rho * product + rho**2 * of_margin
            square += share * of_kind
        return self.users * square

    def tails(self, rho: float) -> tuple[float, float]:
        """Chance of an ``L`` as large as seen, and of one as small, at this share."""
        rho = min(max(rho, _SMALLEST_SHARE), 1 - _SMALLEST_SHARE)
        # A binomial number of events of this size has the variance unit^2 trials rho (1 - rho).
        variance_of_trial = self.unit**2 * rho * (1 - rho)
        trials = self.variance(rho) / variance_of_trial
        # As far from its mean as the estimate is from 0.
        distance = self.cell - rho * self.margin
        expected = trials * rho
        events = distance / self.unit + expected
        return _binomial_tails(events, trials, rho)

    def estimate(self, miss: float) -> Estimate:
        """The share with limits that miss with this chance, half on each side."""
        value = self.cell / self.margin
        middle = nearest_share(value)
        variance = max(self.variance(middle), 0.0)

        def not_too_small(rho: float) -> bool:
            return self.tails(rho)[0] > miss / 2

        def not_too_large(rho: float) -> bool:
            return self.tails(rho)[1] > miss / 2

        return Estimate(
            value=value,
            standard_error=sqrt(variance) / self.margin,
            lower=_edge(not_too_small, middle, 0.0),
            upper=_edge(not_too_large, middle, 1.0),
        )


def _binomial_tails(events: float, trials: float, chance: float) -> tuple[float, float]:
    """Chances of so many or more, and of so many or less; numbers need not be whole."""
    from scipy.special import betainc

    # A binomial tail is an incomplete beta function, which takes any real numbers:
    # Pr[X >= s] = I_p(s, n - s + 1), Pr[X <= s] = 1 - I_p(s + 1, n - s).
    upper = 1.0
    if events > 0:
        failures = max(trials - events + 1, 1e-300)
        upper = float(betainc(events, failures, chance))
    lower = 1.0
    if events < trials:
        more = float(betainc(events + 1, trials - events, chance))
        lower = 1 - more
    return upper, lower


@dataclass(frozen=True, eq=False)
class TwoByTwo:
    """An estimated table of two by two, and how its counts vary.

    Attributes
    ----------
    users:
        Number of reports.
    counts:
        ``[N11, N12, N21, N22]``, unbiased.
    moments:
        ``E[T T']`` of what a report of somebody in each cell adds to the counts, ``(4, 4, 4)``.
    """

    users: int
    counts: Array
    moments: Array

    def covariance(self, shares: Array) -> Array:
        """The covariance of the four counts, for people drawn from such shares of the cells."""
        second_moments = np.tensordot(shares, self.moments, 1)
        of_report = second_moments - np.outer(shares, shares)
        return self.users * of_report

    @cached_property
    def products(self) -> tuple[float, float]:
        """``N11 N22`` and ``N12 N21``, from which the factors' covariance is taken off."""
        inside = np.maximum(self.counts, 0.0)
        noise = self.covariance(inside / inside.sum())
        n11, n12, n21, n22 = self.counts
        same = n11 * n22 - noise[0, 3]
        crossed = n12 * n21 - noise[1, 2]
        return same, crossed

    @cached_property
    def margins(self) -> tuple[float, float]:
        """Shares of the first row and of the first column, from 0 to 1."""
        row = float(self.counts[:2].sum())
        column = float(self.counts[::2].sum())
        return nearest_share(row / self.users), nearest_share(column / self.users)

    def distance(self, odds_ratio: float) -> float:
        """``L = N11 N22 - psi N12 N21`` over its standard deviation at odds ``psi``.

        ``L`` is quadratic in the counts: with gradient ``g``, Hessian ``H`` and normal counts of
        covariance ``S`` its variance is ``g' S g + tr((H S)^2) / 2``.
        """
        row_share, column_share = self.margins
        shares = table_with_odds(odds_ratio, row_share, column_share)
        signs = np.array([1.0, -odds_ratio, -odds_ratio, 1.0])
        gradient = self.users * shares[::-1] * signs
        hessian = np.diag(signs)[::-1]
        spread = self.covariance(shares)
        linear = gradient @ spread @ gradient
        curved = np.trace(spread @ hessian @ spread @ hessian) / 2
        variance = float(linear + curved)
        same, crossed = self.products
        seen = float(same - odds_ratio * crossed)
        return seen / sqrt(max(variance, 1e-300))

    def odds_ratio(self, confidence: float) -> Estimate:
        """All ``psi`` with ``L^2 <= z^2 Var L``; without an upper end where reports set none."""
        z = reach(confidence)
        same, crossed = self.products
        value = None
        middle = _FAR_ODDS
        if crossed > 0:
            middle = -_FAR_ODDS
        if same > 0 and crossed > 0:
            value = same / crossed
            middle = log(value)

        def not_too_small(log_odds: float) -> bool:
            return self.distance(exp(log_odds)) < z

        def not_too_large(log_odds: float) -> bool:
            return self.distance(exp(log_odds)) > -z

        low = _edge(not_too_small, middle, -_FAR_ODDS)
        high = _edge(not_too_large, middle, _FAR_ODDS)
        if same <= 0 and crossed <= 0:
            low = -_FAR_ODDS
            high = _FAR_ODDS
        # Odds are searched on the scale of their log, whose ends stand for 0 and infinity.
        lower = 0.0
        if low > -_FAR_ODDS:
            lower = exp(low)
        upper = inf
        if high < _FAR_ODDS:
            upper = exp(high)
        return Estimate(value, None, lower, upper)


def table_with_odds(odds_ratio: float, row_share: float, column_share: float) -> Array:
    """Shares of a 2 x 2 table with these margins and this odds ratio, ``[p11, p12, p21, p22]``.

    ``p11`` solves ``odds_ratio = p11 p22 / (p12 p21)``, a quadratic in ``p11`` (Plackett, 1965).

    Examples
    --------
    >>> table_with_odds(4.0, 0.5, 0.5).round(4).tolist()
    [0.3333, 0.1667, 0.1667, 0.3333]
    """
    quadratic = odds_ratio - 1
    linear = 1 + (row_share + column_share) * quadratic
    constant = odds_ratio * row_share * column_share
    discriminant = linear**2 - 4 * quadratic * constant
    root = sqrt(max(discriminant, 0.0))
    if linear > 0:  # the form without cancellation near independence
        corner = 2 * constant / (linear + root)
    else:
        corner = (linear - root) / (2 * quadratic)
    rest = 1 - row_share - column_share + corner
    table = np.array([corner, row_share - corner, column_share - corner, rest])
    return np.clip(table, 0.0, 1.0)


def _edge(holds: Callable[[float], bool], inside: float, end: float) -> float:
    """Where it holds no more, from ``inside`` towards an ``end``; the end if it holds there."""
    near_end = end + 1e-9 * (inside - end)
    if holds(near_end):
        return end
    near = inside
    far = end
    for _ in range(_EDGE_HALVINGS):
        middle = (near + far) / 2
        if holds(middle):
            near = middle
        else:
            far = middle
    return far


class SquaredDistance(NamedTuple):
    """The law of ``|x + e|^2``, ``e`` normal noise around 0 of a covariance ``W``.

    It has the mean ``tr W + s`` and the variance ``2 tr W^2 + 4 w s``, ``s = |x|^2``, and is near
    ``c`` times a noncentral chi-square of the same mean and variance.

    Attributes
    ----------
    seen:
        ``|x + e|^2``.
    trace, trace_of_square:
        ``tr W`` and ``tr W^2``.
    along:
        ``w``, the variance of the noise in the direction of ``x``.
    """

    seen: float
    trace: float
    trace_of_square: float
    along: float

    def variance(self, s: float) -> float:
        """The law's variance at ``|x|^2 = s``."""
        return 2 * self.trace_of_square + 4 * self.along * s

    def at_most_seen(self, s: float) -> float:
        """Chance of what was seen or less, at ``|x|^2 = s``."""
        from scipy.special import ndtr
        from scipy.stats import ncx2

        variance = self.variance(s)
        # c chi2(k, l) has the mean c (k + l) and the variance 2 c^2 (k + 2 l): c k = tr W and
        # c l = s give the scale c from both moments.
        scale = variance / (2 * self.trace + 4 * s)
        # Far out SciPy's series ends, and the law is normal.
        if s > _NEARLY_NORMAL * scale:
            distance = self.seen - self.trace - s
            return float(ndtr(distance / sqrt(variance)))
        degrees = self.trace / scale
        noncentrality = s / scale
        return float(ncx2.cdf(self.seen / scale, degrees, noncentrality))

    def limits(self, miss: float) -> tuple[float, float]:
        """The limits of ``s`` that miss with this chance, half on each side."""
        if self.trace <= 0 or self.trace_of_square <= 0:
            return self.seen, self.seen
        lower = self._end(1 - miss / 2)
        upper = self._end(miss / 2)
        return lower, upper

    def _end(self, chance: float) -> float:
        """The ``s`` at which what was seen or less has this chance; 0 if it has less there."""
        from scipy.optimize import brentq

        if self.at_most_seen(0.0) <= chance:
            return 0.0
        far = self.seen + self.trace
        while self.at_most_seen(far) > chance:
            far *= 2

        def excess(s: float) -> float:
            return self.at_most_seen(s) - chance

        return float(brentq(excess, 0.0, far, xtol=1e-12 * far))
