"""The search for the shares of a budget, with what no shares can beat.

A question's error falls in its share, and of opt0 and a mean it is convex. So it is known from
below wherever it was solved at a few shares: between two of them by the lines through their
neighbours if it is convex, else by the error at the larger one. (Of a subset design it is not:
where the best subset size changes, the slope jumps down. But larger budgets help only so much:
docs/theory/surveys.md.) No shares beat the best for these bounds, by Lagrange's relaxation for a
sum. The shares tried next are those that would be best if errors were powers of the share between
those tried.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.patience import still_wanted
from planner.planning.option import Curve
from planner.planning.solve import DESIGN, ROUGH, TIGHT, crossing

# Relative gaps at which the search ends: with designs, and if all errors are convex.
_ENOUGH = 0.025
_CLOSE = 1e-8
# Where bounds are carried to, from one share to the next in logarithms.
_CARRIED_TO = np.linspace(0.01, 1, 100)
_HARDLY = 1e-3  # of a bound: what it must rise by once all designs are tried
# At how many shares a question is solved.
_MOST_POINTS = 60
_MOST_DESIGNS = 12
# A slope is seen from neighbours so near, and no nearer.
_ASIDE = 1e-5
_NEAR = 1e-8
_HALVINGS = 12  # of a step
_BEYOND = 3.0  # logarithm of by how much a share may be smaller than all tried
_LOG_PRICES = (-69.0, 69.0)


class _TriedShare(NamedTuple):
    """A share that was tried, with the question's part of the sum there and its lower bound."""

    share: float
    error: float
    bound: float


class _Trace:
    """What is known of one question's part of the sum: the shares tried so far, rising."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self._most = _MOST_DESIGNS if curve.mechanism == DESIGN else _MOST_POINTS
        self._points: list[_TriedShare] = []
        self._slope: tuple[float, float] | None = None

    @property
    def tried(self) -> int:
        """At how many shares it was solved."""
        return len(self._points)

    def error(self, share: float) -> float:
        """About what it is at ``share``."""
        log_shares, log_errors = self._logs
        return float(np.exp(np.interp(np.log(share), log_shares, log_errors)))

    def looseness(self, share: float, bound: float) -> float:
        """How far a bound lies below the error, if more trials may tell; far where none is near."""
        if self.tried >= self._most:
            return 0.0
        return self.error(share) - bound if share > 0 else np.inf

    def try_share(self, share: float, tolerance: float = ROUGH) -> None:
        """Solve the question at ``share``, unless it was (of convex errors, nearly there)."""
        aside = _NEAR * share if self.curve.convex else 0.0
        if any(abs(share - point.share) <= aside for point in self._points):
            return
        option = self.curve.at(share, tolerance=tolerance)
        weight = self.curve.weight
        error = weight * option.squared
        insort(self._points, _TriedShare(share, error, weight * option.squared_bound))

    def refine(self, guess: float, weakest: float) -> None:
        """Try what tells most: the slope at the best share, or the step that holds the bound.

        The bound rests on the share ``weakest``.
        """
        if self.curve.convex:
            self._refine_slope(guess, weakest)
        else:
            self._refine_step(weakest)

    def _refine_slope(self, guess: float, weakest: float) -> None:
        """Try either side of the guess, as far as makes least of the curve and of what is open.

        With a curvature of about 1 the slope is off by the step, and by the unproven share of the
        error over the step's square: both are alike at its cube root.
        """
        unproven = 0.0
        for point in self._points:
            unproven = max(unproven, 1 - point.bound / point.error)
        aside = max(_ASIDE, unproven ** (1 / 3))
        below = guess * (1 - aside)
        above = min(guess * (1 + aside), 1.0)
        self._slope = (below, above)
        smallest = self._points[0].share
        for share in (below, above, guess, weakest or smallest / 4):
            self.try_share(share)

    def _refine_step(self, weakest: float) -> None:
        """Try within the step on which the bound rests: there, or halfway in logarithms."""
        shares = [point.share for point in self._points]
        top = 1.0
        if weakest < 1:
            top = shares[bisect_left(shares, weakest * (1 + 1e-12))]
        if not weakest:
            self.try_share(top / 2)
        elif self.curve.carried and weakest not in shares:
            self.try_share(weakest)
        else:
            self.try_share((top * weakest) ** 0.5)

    @property
    def _logs(self) -> tuple[Array, Array]:
        """Logarithms of the shares tried, and of the errors there."""
        shares, errors, _ = np.array(self._points).T
        return np.log(shares), np.log(np.maximum(errors, np.finfo(float).tiny))

    def between(self) -> tuple[Array, Array]:
        """Shares and what the errors there may be, in logarithms: in between they are straight.

        If the error is convex all of it is as steep as at the last guess, else as between those
        tried.
        """
        log_shares, log_errors = self._logs
        if self._slope is None:
            return log_shares, log_errors
        near = np.log(self._slope)
        low, high = np.interp(near, log_shares, log_errors)
        ends = np.array([log_shares[0] - _BEYOND, 0.0])
        return ends, low + (high - low) * (ends - near[0]) / (near[1] - near[0])

    def best(self, log_price: float) -> float:
        """The share where error and the price of budget are least, by these lines.

        On each line the error is a power of the share, ``e (g / x)^-power``, and so the sum with
        ``price g`` is least where ``power e (g / x)^-power = price g``, or at an end.
        """
        x, e = self.between()
        with np.errstate(divide="ignore"):
            power = np.maximum((e[:-1] - e[1:]) / np.diff(x), 0.0)
            free = (np.log(power) + e[:-1] + power * x[:-1] - log_price) / (1 + power)
        log_shares = np.clip(free, x[:-1], x[1:])
        errors = np.exp(e[:-1] - power * (log_shares - x[:-1]))
        costs = errors + np.exp(log_shares + log_price)
        return float(np.exp(log_shares[costs.argmin()]))

    def below(self) -> tuple[Array, Array]:
        """Corners of a falling line that the error is nowhere below.

        Between two shares tried it is the bound at the larger one, carried to smaller ones where
        that is proven. A convex error lies above the lines that come in from both sides, each
        through an error (``*``) and the next bound (``o``), and they meet in a corner (``+``)::

            *
              `.            each line, beyond its bound, goes on
                `o`.        as steep as between the two
                    `+--__
                          ``o-__
                                ``*
        """
        x, error, bound = np.array(self._points).T
        if self.curve.carried is not None:
            x, bound = self._carried(x, bound)
        width = np.diff(x)
        # How steeply the lines fall that come in from before a share, and from after it.
        from_before = np.full(x.size, np.inf)
        from_after = np.zeros(x.size)
        if self.curve.convex:
            from_before[1:] = np.maximum((error[:-1] - bound[1:]) / width, 0.0)
            from_after[:-1] = np.maximum((bound[:-1] - error[1:]) / width, 0.0)
        # From the left end a line falls steeply, from the right end one rises gently.
        steep = from_before[:-1]
        gentle = np.where(from_after[1:] < steep, from_after[1:], 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            excess = bound[:-1] - bound[1:] - gentle * width
            distance = np.where(steep > gentle, excess / (steep - gentle), 0.0)
        meeting = np.clip(x[:-1] + distance, x[:-1], x[1:])
        lows_there = bound[1:] + gentle * (x[1:] - meeting)
        inside = np.arange(1, x.size)
        corners = np.insert(x, inside, meeting)
        lows = np.insert(bound, inside, lows_there)
        corners = np.append(0.0, corners)
        lows = np.append(bound[0] + from_after[0] * x[0], lows)
        return corners, np.minimum.accumulate(lows)

    def _carried(self, x: Array, bound: Array) -> tuple[Array, Array]:
        """More shares between those tried, with the bounds of the smaller ones carried there."""
        assert self.curve.carried is not None  # noqa: S101 - asked before
        ratio = (x[1:] / x[:-1])[:, None]
        shares = x[:-1, None] * ratio**_CARRIED_TO
        lows = self.curve.carried(bound[:-1, None], x[:-1, None], shares)
        bounds = np.maximum(lows, bound[1:, None])
        return np.append(x[0], shares), np.append(bound[0], bounds)


class _Bound(NamedTuple):
    """What no shares can beat, and the share and part of each question on which it rests."""

    value: float
    shares: list[float]
    parts: list[float]


def search_shares(curves: Sequence[Curve]) -> tuple[Array, Array, float]:
    """Shares with a small objective, the errors there, and a lower bound for all shares; proven.

    The search ends within 1e-9 of it if all errors are convex, else within 2.5 %, after a dozen
    designs a question, or where the bound stands still.
    """
    traces = [_Trace(curve) for curve in curves]
    shares = np.full(len(curves), 1 / len(curves))
    if len(curves) > 1:
        shares = _searched(traces, shares)
    errors = []
    for trace, share in zip(traces, shares.tolist(), strict=True):
        errors.append(trace.curve.at(share).squared)
        trace.try_share(share, TIGHT)  # a little more is known then
    return shares, np.array(errors), _bound(traces).value


def _searched(traces: Sequence[_Trace], shares: Array) -> Array:
    """The best shares, from equal ones on, until the bound is near or more trials tell nothing."""
    equal = float(shares[0])
    for trace in traces:
        trace.try_share(1.0, TIGHT)
        trace.try_share(equal)
        trace.try_share(equal / 1.5)
    of_designs = [not trace.curve.convex for trace in traces]
    enough = _ENOUGH if any(of_designs) else _CLOSE
    bound = _Bound(-np.inf, [], [])
    while True:
        still_wanted()
        shares, value = _lower(traces, shares)
        before = bound.value
        bound = _bound(traces)
        loose = _looseness(traces, bound)
        tried = sum(trace.tried for trace in traces)
        for k, trace in enumerate(traces):
            if trace.curve.convex or 0 < loose[k] == max(loose):
                trace.refine(float(shares[k]), bound.shares[k])
        close = value - bound.value <= enough * abs(bound.value)
        if any(of_designs) and not np.any(np.array(loose)[of_designs]):
            # What is left moves little.
            close |= bound.value - before <= _HARDLY * abs(bound.value)
        if close or tried == sum(trace.tried for trace in traces):
            return shares


def _looseness(traces: Sequence[_Trace], bound: _Bound) -> list[float]:
    """Of each question how far its bound lies below its error."""
    rows = zip(traces, bound.shares, bound.parts, strict=True)
    return [trace.looseness(share, part) for trace, share, part in rows]


def _objective(traces: Sequence[_Trace], shares: Array) -> float:
    """About what the sum is at these shares."""
    rows = zip(traces, shares.tolist(), strict=True)
    return sum(trace.error(share) for trace, share in rows)


def _lower(traces: Sequence[_Trace], here: Array) -> tuple[Array, float]:
    """Shares with a lower objective, and that: the best by what errors seem to be.

    If all are convex the step there is halved while the objective falls: they may bend more.
    """

    def at_price(log_price: float) -> Array:
        return np.array([trace.best(log_price) for trace in traces])

    def too_much(log_price: float) -> float:
        return float(at_price(log_price).sum()) - 1

    low, high = _LOG_PRICES
    aim = at_price(crossing(too_much, low, high))
    aim = aim / aim.sum()
    if not all(trace.curve.convex for trace in traces):
        return aim, _objective(traces, aim)
    best = here
    least = _objective(traces, here)
    for step in 0.5 ** np.arange(_HALVINGS):
        shares = here + step * (aim - here)
        for trace, share in zip(traces, shares.tolist(), strict=True):
            trace.try_share(share)
        value = _objective(traces, shares)
        if value < least:
            best = shares
            least = value
        elif best is not here:
            break
    return best, least


def _bound(traces: Sequence[_Trace]) -> _Bound:
    """The least objective by what errors are nowhere below, by Lagrange's relaxation.

    For any price of budget ``p``, no shares that sum to 1 have a sum of bounds below
    ``sum_j min_g (low_j(g) + p g) - p``. The best price is where the minimisers sum to 1.
    """
    lines = [trace.below() for trace in traces]

    def minimisers(log_price: float) -> tuple[list[float], list[float]]:
        """Of each question the share where its bound and the price are least, and its bound."""
        shares = []
        parts = []
        for corners, lows in lines:
            k = int((lows + np.exp(log_price) * corners).argmin())
            shares.append(float(corners[k]))
            parts.append(float(lows[k]))
        return shares, parts

    def too_much(log_price: float) -> float:
        shares, _ = minimisers(log_price)
        return sum(shares) - 1

    low, high = _LOG_PRICES
    log_price = crossing(too_much, low, high)
    shares, parts = minimisers(log_price)
    value = sum(parts) + float(np.exp(log_price)) * (sum(shares) - 1)
    return _Bound(value, shares, parts)
