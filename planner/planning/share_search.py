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
from collections.abc import Callable, Sequence
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
# Share of a bound by which it must rise once all designs are tried.
_HARDLY = 1e-3
# At how many shares a question is solved.
_MOST_POINTS = 60
_MOST_DESIGNS = 12
# A slope is seen from neighbours so near, and no nearer.
_ASIDE = 1e-5
_NEAR = 1e-8
# How often a step is halved before the search gives it up.
_HALVINGS = 12
# Logarithm of the factor by which a share may be smaller than all tried.
_BEYOND = 3.0
# Between these logarithms the price of budget is sought: 1e-30 to 1e30.
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
        """The number of shares at which it was solved."""
        return len(self._points)

    def error(self, share: float) -> float:
        """About what it is at ``share``."""
        log_shares, log_errors = self._logs
        log_error = np.interp(np.log(share), log_shares, log_errors)
        return float(np.exp(log_error))

    def looseness(self, share: float, bound: float) -> float:
        """How far a bound lies below the error, if more trials may tell; far where none is near."""
        if self.tried >= self._most:
            return 0.0
        if share > 0:
            return self.error(share) - bound
        return np.inf

    def try_share(self, share: float, tolerance: float = ROUGH) -> None:
        """Solve the question at ``share``, unless it was (of convex errors, nearly there)."""
        aside = 0.0
        if self.curve.convex:
            aside = _NEAR * share
        for point in self._points:
            if abs(share - point.share) <= aside:
                return
        option = self.curve.at(share, tolerance=tolerance)
        weight = self.curve.weight
        error = weight * option.squared
        bound = weight * option.squared_bound
        insort(self._points, _TriedShare(share, error, bound))

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
        if not weakest:  # the bound rests on no share at all: below all that were tried
            weakest = smallest / 4
        for share in (below, above, guess, weakest):
            self.try_share(share)

    def _refine_step(self, weakest: float) -> None:
        """Try within the step on which the bound rests: there, or halfway in logarithms."""
        shares = [point.share for point in self._points]
        top = 1.0
        if weakest < 1:
            # The step ends at the next larger share; rounding must not take it for that.
            beyond = weakest * (1 + 1e-12)
            top = shares[bisect_left(shares, beyond)]
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
        # An error that underflows to 0 has a logarithm all the same.
        above_zero = np.maximum(errors, np.finfo(float).tiny)
        return np.log(shares), np.log(above_zero)

    def between(self) -> tuple[Array, Array]:
        """Shares and what the errors there may be, in logarithms: in between they are straight.

        If the error is convex all of it is as steep as at the last guess, else as between those
        tried.
        """
        log_shares, log_errors = self._logs
        if self._slope is None:
            return log_shares, log_errors
        left, right = np.log(self._slope)
        at_left, at_right = np.interp([left, right], log_shares, log_errors)
        ends = np.array([log_shares[0] - _BEYOND, 0.0])
        rise = at_right - at_left
        errors_at_ends = at_left + rise * (ends - left) / (right - left)
        return ends, errors_at_ends

    def best(self, log_price: float) -> float:
        """The share where error and the price of budget are least, by these lines.

        On the line that begins at share ``x`` with error ``e`` the error at share ``g`` is a
        power, ``e (g / x)^-k``. The sum with ``price g`` is least where its derivative times ``g``
        is 0, ``k e (g / x)^-k = price g``, or at an end of the line. In logarithms

            (1 + k) log g = log k + log e + k log x - log price
        """
        log_shares, log_errors = self.between()
        log_x = log_shares[:-1]
        log_e = log_errors[:-1]
        fall = log_e - log_errors[1:]
        k = np.maximum(fall / np.diff(log_shares), 0.0)
        # A line that falls nowhere has the power 0 and its minimum at the left end.
        with np.errstate(divide="ignore"):
            log_k = np.log(k)
        log_g = (log_k + log_e + k * log_x - log_price) / (1 + k)
        right_ends = log_shares[1:]
        log_g = np.clip(log_g, log_x, right_ends)
        errors = np.exp(log_e - k * (log_g - log_x))
        prices = np.exp(log_g + log_price)
        cheapest = (errors + prices).argmin()
        return float(np.exp(log_g[cheapest]))

    def below(self) -> tuple[Array, Array]:
        """Corners of a falling line that the error is nowhere below.

        Between two shares tried it is the bound at the larger one, as the error falls, or what is
        carried up from the smaller one where that is proven and larger. A convex error lies above
        the lines that come in from both sides, each through an error (``*``) and the next bound
        (``o``), and they meet in a corner (``+``)::

            *
              `.            each line, beyond its bound, goes on
                `o`.        as steep as between the two
                    `+--__
                          ``o-__
                                ``*
        """
        x, error, bound = np.array(self._points).T
        if self.curve.carried is not None:
            x, bound = _carried(self.curve.carried, x, bound)
        from_before = np.full(x.size, np.inf)
        from_after = np.zeros(x.size)
        if self.curve.convex:
            from_before, from_after = _steepness(x, error, bound)
        meeting, low_there = _corners(x, bound, from_before, from_after)

        # The corners stand between the shares tried, and before all of them the share 0.
        inside = np.arange(1, x.size)
        shares = np.insert(x, inside, meeting)
        lows = np.insert(bound, inside, low_there)
        at_zero = bound[0] + from_after[0] * x[0]
        falling = np.minimum.accumulate(np.append(at_zero, lows))
        return np.append(0.0, shares), falling


def _carried(
    carried: Callable[[Array, Array, Array], Array], x: Array, bound: Array
) -> tuple[Array, Array]:
    """More shares between those tried, with the bounds of the smaller ones carried there.

    In logarithms they are even steps from one share that was tried to the next.
    """
    smaller = x[:-1, None]
    larger = x[1:, None]
    shares = smaller * (larger / smaller) ** _CARRIED_TO
    bound_at_smaller = bound[:-1, None]
    bound_at_larger = bound[1:, None]
    lows = carried(bound_at_smaller, smaller, shares)
    # The error falls: the bound at the larger share holds as well.
    bounds = np.maximum(lows, bound_at_larger)
    all_shares = np.append(x[0], shares)
    all_bounds = np.append(bound[0], bounds)
    return all_shares, all_bounds


def _steepness(x: Array, error: Array, bound: Array) -> tuple[Array, Array]:
    """Slopes, as falls, of the lines that a convex error lies above, beyond each share.

    ``from_before``: of the line through the error at the share before and the bound at this one,
    which holds to the right of it; ``from_after``: through the error at the share after, to the
    left. A chord of a convex function, carried on beyond an end, lies below it; the bound in place
    of the error at that end only lowers it. Infinite before the first share and 0 after the last:
    no line there.
    """
    width = np.diff(x)
    fall_to_bound = error[:-1] - bound[1:]
    fall_from_bound = bound[:-1] - error[1:]
    from_before = np.full(x.size, np.inf)
    from_before[1:] = np.maximum(fall_to_bound / width, 0.0)
    from_after = np.zeros(x.size)
    from_after[:-1] = np.maximum(fall_from_bound / width, 0.0)
    return from_before, from_after


def _corners(
    x: Array, bound: Array, from_before: Array, from_after: Array
) -> tuple[Array, Array]:
    """Where the two lines between neighbouring shares meet, and how low they are there.

    From the left share a line falls with slope ``steep``, from the right one it rises with slope
    ``gentle`` going left. At a distance ``d`` from the left share, ``w`` being their width,

        bound_left - steep d = bound_right + gentle (w - d)
    """
    left = x[:-1]
    right = x[1:]
    bound_left = bound[:-1]
    bound_right = bound[1:]
    steep = from_before[:-1]
    from_right = from_after[1:]
    gentle = np.where(from_right < steep, from_right, 0.0)
    excess = bound_left - bound_right - gentle * np.diff(x)
    # Lines as steep as each other do not meet: the corner is then at the left share.
    with np.errstate(invalid="ignore", divide="ignore"):
        d = excess / (steep - gentle)
    distance = np.where(steep > gentle, d, 0.0)
    meeting = np.clip(left + distance, left, right)
    return meeting, bound_right + gentle * (right - meeting)


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
    questions = len(curves)
    shares = np.full(questions, 1 / questions)
    if questions > 1:
        shares = _searched(traces, shares)
    errors = []
    for trace, share in zip(traces, shares.tolist(), strict=True):
        option = trace.curve.at(share)
        errors.append(option.squared)
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
    enough = _CLOSE
    if any(of_designs):
        enough = _ENOUGH
    bound = _Bound(-np.inf, [], [])
    while True:
        still_wanted()
        shares, value = _lower(traces, shares)
        before = bound.value
        bound = _bound(traces)
        loose = _looseness(traces, bound)
        tried = _tried(traces)
        for k, trace in enumerate(traces):
            # Of designs the one whose bound is loosest: each costs seconds.
            loosest = 0 < loose[k] == max(loose)
            if trace.curve.convex or loosest:
                trace.refine(float(shares[k]), bound.shares[k])
        size = abs(bound.value)
        close = value - bound.value <= enough * size
        untried = np.array(loose)[of_designs]
        if any(of_designs) and not untried.any():
            # All designs are tried: what is left moves the bound little.
            close |= bound.value - before <= _HARDLY * size
        if close or tried == _tried(traces):
            return shares


def _tried(traces: Sequence[_Trace]) -> int:
    """The number of shares at which questions were solved, all together."""
    return sum(trace.tried for trace in traces)


def _looseness(traces: Sequence[_Trace], bound: _Bound) -> list[float]:
    """How far the bound of each question lies below its error."""
    loose = []
    for k, trace in enumerate(traces):
        share = bound.shares[k]
        loose.append(trace.looseness(share, bound.parts[k]))
    return loose


def _objective(traces: Sequence[_Trace], shares: Array) -> float:
    """About what the sum is at these shares."""
    total = 0.0
    for trace, share in zip(traces, shares.tolist(), strict=True):
        total += trace.error(share)
    return total


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
        """The share of each question at which its bound and the price are least, and the bounds."""
        shares = []
        parts = []
        for corners, lows in lines:
            costs = lows + np.exp(log_price) * corners
            k = int(costs.argmin())
            shares.append(float(corners[k]))
            parts.append(float(lows[k]))
        return shares, parts

    def too_much(log_price: float) -> float:
        shares, _ = minimisers(log_price)
        return sum(shares) - 1

    low, high = _LOG_PRICES
    log_price = crossing(too_much, low, high)
    shares, parts = minimisers(log_price)
    price = float(np.exp(log_price))
    value = sum(parts) + price * (sum(shares) - 1)
    return _Bound(value, shares, parts)
