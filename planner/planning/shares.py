"""Several questions asked of the same people: how to spend each person's budget.

Two designs are compared. *Split*: everybody answers everything, question ``j`` with the
share ``g_j`` of its budgets, ``sum g_j <= 1``; by sequential composition (theorem 2 of the
IDUE paper) what a person spends adds up over the questions, per input. *Some each*:
everybody answers ``k`` questions, each drawn with probability ``f_j``, at ``1/k`` of its budgets;
with ``k = 1``, *one each*, at its full budget.

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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from planner.arguments import whole_number
from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.patience import still_wanted
from planner.planning.option import Curve, Option
from planner.planning.solve import DESIGN, ROUGH, TIGHT, crossing

_PROVEN = 1e-6  # largest relative gap of shares of convex errors that are returned
# the gaps at which the search ends, the second if all are convex
_ENOUGH = 0.025
_CLOSE = 1e-8
_WAYS = np.linspace(
    0.01, 1, 100
)  # from a share to the next, at which bounds are carried
_HARDLY = 1e-3  # of a bound: what it must rise by once all designs are tried
# shares at which a question is solved
_MOST_POINTS = 60
_MOST_DESIGNS = 12
# a slope is seen from neighbours so near, and no nearer
_ASIDE = 1e-5
_NEAR = 1e-8
_HALVINGS = 12  # of a step
_BEYOND = 3.0  # logarithm of by how much a share may be smaller than all tried
_LOG_PRICES = (-69.0, 69.0)


@dataclass(frozen=True, slots=True, eq=False)
class SomeEach:
    """Everybody answers ``asked`` questions, each with the share ``1 / asked`` of its budgets.

    Attributes
    ----------
    asked, fractions:
        Number of questions that each person answers; share of the people asked each question, at
        most 1, sum ``asked``, shape ``(k,)``.
    errors:
        Upper bounds of the error per user of each question, shape ``(k,)``: ``V_j / f_j`` from the
        perturbation (a bias in ``V_j`` is not divided), plus at most ``S_j (1/f_j - 1)`` from not
        asking everybody, with ``S_j`` the largest variance of the answers.
    value, noise_value:
        The objective at these errors, and for the perturbation alone, at its own best fractions.
    """

    asked: int
    fractions: Array
    errors: Array
    value: float
    noise_value: float

    def errors_of(self, users: int) -> Array:
        """The errors as shares of so many people, roots, shape ``(k,)``."""
        return np.sqrt(np.maximum(self.errors, 0.0) / users)

    @property
    def share(self) -> float:
        """Share of its budgets that each question gets which a person answers."""
        return 1 / self.asked


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """The best split of everybody's budget, proven, beside asking each person some questions.

    Attributes
    ----------
    names, shares, errors:
        The questions, the share of its budgets that each gets, sum at most 1, and its error per
        user, shape ``(k,)``.
    value, lower_bound, relative_gap:
        The objective at these shares; no others have one below the bound: to 1e-6 where all errors
        are convex, else to a few per cent.
    some_each, best_each:
        The alternative, of so many questions a person as were asked for, or else are best; and
        with the best number.
    """

    names: tuple[str, ...]
    shares: Array
    errors: Array
    value: float
    lower_bound: float
    relative_gap: float
    some_each: SomeEach
    best_each: SomeEach

    def errors_of(self, users: int) -> Array:
        """The errors as shares of so many people, roots, shape ``(k,)``."""
        return np.sqrt(self.errors / users)

    @property
    def better(self) -> str:
        """The design of the smallest objective, sampling included.

        ``"split"``, ``"one-each"``, or ``"some-each"`` where more than one question a person is
        best.
        """
        if self.best_each.value >= self.value:
            return "split"
        return "one-each" if self.best_each.asked == 1 else "some-each"


def allocate(
    curves: Sequence[Curve],
    alone: Sequence[Curve] | None = None,
    asked: int | None = None,
) -> Allocation:
    """The shares with the smallest weighted sum of the errors per user, with proof.

    Parameters
    ----------
    curves:
        The questions; at least one.
    alone:
        The questions as they are asked if each person answers some, in the same order, where
        that is not as in ``curves``: item sets may have another padding length.
    asked:
        How many questions each person answers then, 1 to all; the best number when omitted.

    Raises
    ------
    InputError, ConvergenceError
        No question, a repeated name, or more asked than there are; the shares of convex errors
        could not be proven optimal to a relative 1e-6.

    Examples
    --------
    >>> from planner import PrivacyPolicy, choice_curve, mean_curve
    >>> found = allocate([
    ...     choice_curve("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ...     choice_curve("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    ...     mean_curve("income", 2.0, weight=3),
    ... ])
    >>> round(found.value, 3), found.shares.round(3).tolist()
    (125.735, [0.416, 0.296, 0.288])
    """
    names = tuple(curve.name for curve in curves)
    if not names or len(set(names)) < len(names):
        allowed = "one or more, each with a name of its own"
        remedy = "Add a question, or rename those that share a name."
        raise InputError("questions", list(names), allowed, remedy)
    shares, errors, bound = search_shares(curves)
    value = float(_weights(curves) @ errors)
    bound = min(bound, value)
    gap = (value - bound) / abs(bound) if bound else float(np.inf)
    if all(curve.convex for curve in curves) and not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring the weights of the questions closer together.",
        )
    each = best = best_some_each(curves if alone is None else alone)
    if asked not in (None, best.asked):
        number = whole_number("asked", asked, 1, len(curves))
        each = some_each(curves if alone is None else alone, number)
    return Allocation(names, shares, errors, value, bound, gap, each, best)


class _Trace:
    """A question's part of the sum, and its lower bound, at the shares tried so far, rising."""

    def __init__(self, curve: Curve) -> None:
        self.curve = curve
        self._most = _MOST_DESIGNS if curve.mechanism == DESIGN else _MOST_POINTS
        self._points: list[tuple[float, float, float]] = []
        self._options: dict[float, Option] = {}
        self._slope: tuple[float, float] | None = None

    @property
    def tried(self) -> int:
        """At how many shares it was solved."""
        return len(self._points)

    def error(self, share: float) -> float:
        """About what it is at ``share``."""
        return float(np.exp(np.interp(np.log(share), *self._logs)))

    def height(self, share: float, part: float) -> float:
        """How far a bound lies below the error, if more trials may tell; far where none is near."""
        if self.tried >= self._most:
            return 0.0
        return self.error(share) - part if share > 0 else np.inf

    def try_share(self, share: float, tolerance: float = ROUGH) -> None:
        """Solve the question at ``share``, unless it was (of convex errors, nearly there)."""
        aside = _NEAR * share if self.curve.convex else 0.0
        if all(abs(share - tried) > aside for tried, *_ in self._points):
            found = self.curve.at(share, tolerance=tolerance)
            weight = self.curve.weight
            insort(
                self._points,
                (share, weight * found.squared, weight * found.squared_bound),
            )

    def refine(self, guess: float, weak: float) -> None:
        """Try what tells most: the slope at the best share, or the step that holds the bound."""
        tried = [share for share, *_ in self._points]
        if self.curve.convex:
            # As far to either side as makes the least of the curve and of what is not proven.
            unproven = max(
                0.0, *(1 - bound / error for _, error, bound in self._points)
            )
            aside = max(_ASIDE, unproven ** (1 / 3))
            self._slope = guess * (1 - aside), min(guess * (1 + aside), 1.0)
            for share in (*self._slope, guess, weak or tried[0] / 4):
                self.try_share(share)
            return
        top = tried[bisect_left(tried, weak * (1 + 1e-12))] if weak < 1 else 1.0
        near = weak if self.curve.carried and weak not in tried else (top * weak) ** 0.5
        self.try_share(near if weak else top / 2)

    @property
    def _logs(self) -> tuple[Array, Array]:
        shares, errors, _ = np.array(self._points).T
        return np.log(shares), np.log(np.maximum(errors, np.finfo(float).tiny))

    def between(self) -> tuple[Array, Array]:
        """Shares and what the errors there may be, in logarithms: in between they are straight.

        If the error is convex all of it is as steep as at the last guess, else as between those
        tried.
        """
        x, e = self._logs
        if self._slope is None:
            return x, e
        near = np.log(self._slope)
        low, high = np.interp(near, x, e)
        ends = np.array([x[0] - _BEYOND, 0.0])
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
        at = np.clip(free, x[:-1], x[1:])
        costs = np.exp(e[:-1] - power * (at - x[:-1])) + np.exp(at + log_price)
        return float(np.exp(at[costs.argmin()]))

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
            ways = x[:-1, None] * (x[1:] / x[:-1])[:, None] ** _WAYS
            lows = self.curve.carried(bound[:-1, None], x[:-1, None], ways)
            x = np.append(x[0], ways)
            bound = np.append(bound[0], np.maximum(lows, bound[1:, None]))
        cell = np.diff(x)
        before = np.full(x.size, np.inf)
        after = np.zeros(x.size)
        if (
            self.curve.convex
        ):  # how steeply the lines fall that come in from before and after
            before[1:] = np.maximum((error[:-1] - bound[1:]) / cell, 0.0)
            after[:-1] = np.maximum((bound[:-1] - error[1:]) / cell, 0.0)
        steep = before[:-1]
        flat = np.where(after[1:] < before[:-1], after[1:], 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            over = (
                bound[:-1] - bound[1:] - flat * cell
            )  # of the left end over the flat line
            way = np.where(steep > flat, over / (steep - flat), 0.0)
        meet = np.clip(x[:-1] + way, x[:-1], x[1:])
        between = np.arange(1, x.size)
        corners = np.insert(x, between, meet)
        lows = np.insert(bound, between, bound[1:] + flat * (x[1:] - meet))
        corners = np.append(0.0, corners)
        lows = np.append(bound[0] + after[0] * x[0], lows)
        return corners, np.minimum.accumulate(lows)


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
    few = 1 / len(curves)
    traces = [_Trace(curve) for curve in curves]
    designs = [k for k, curve in enumerate(curves) if not curve.convex]
    for trace in traces:
        for share in (1.0, few, few / 1.5) if few < 1 else ():
            trace.try_share(share, TIGHT if share == 1 else ROUGH)
    shares = np.full(len(curves), few)
    enough = _ENOUGH if designs else _CLOSE
    bound = _Bound(-np.inf, [], [])
    while few < 1:
        still_wanted()
        shares, value = _lower(traces, shares)
        before = bound.value
        bound = _bound(traces)
        gaps = [
            one.height(*at)
            for one, *at in zip(traces, bound.shares, bound.parts, strict=True)
        ]
        tried = sum(trace.tried for trace in traces)
        found = zip(traces, shares.tolist(), bound.shares, gaps, strict=True)
        for trace, share, weak, gap in found:
            if trace.curve.convex or 0 < gap == max(gaps):
                trace.refine(share, weak)
        close = value - bound.value <= enough * abs(bound.value)
        if designs and not any(gaps[k] for k in designs):  # what is left moves little
            close |= bound.value - before <= _HARDLY * abs(bound.value)
        if close or tried == sum(trace.tried for trace in traces):
            break
    points = [one.at(share) for one, share in zip(curves, shares.tolist(), strict=True)]
    for trace, share in zip(traces, shares.tolist(), strict=True):
        trace.try_share(share, TIGHT)  # a little more is known then
    return shares, np.array([point.squared for point in points]), _bound(traces).value


def _lower(traces: Sequence[_Trace], here: Array) -> tuple[Array, float]:
    """Shares with a lower objective, and that: the best by what errors seem to be.

    If all are convex the way there is halved while the objective falls: they may bend more.
    """

    def shares(at: float) -> Array:
        return np.array([one.best(at) for one in traces])

    def objective(shares: Array) -> float:
        return sum(
            one.error(share) for one, share in zip(traces, shares.tolist(), strict=True)
        )

    found = shares(crossing(lambda at: float(shares(at).sum()) - 1, *_LOG_PRICES))
    found = found / found.sum()
    if not all(one.curve.convex for one in traces):
        return found, objective(found)
    best = here
    least = objective(here)
    for way in 0.5 ** np.arange(_HALVINGS):
        there = here + way * (found - here)
        for one, share in zip(traces, there.tolist(), strict=True):
            one.try_share(share)
        value = objective(there)
        if value < least:
            best = there
            least = value
        elif best is not here:
            break
    return best, least


def _bound(traces: Sequence[_Trace]) -> _Bound:
    """The least objective by what errors are nowhere below, by Lagrange's relaxation."""
    lines = [trace.below() for trace in traces]

    def corners(log_price: float) -> list[tuple[float, float]]:
        """Of each question the share where its bound and the price of budget are least, and it."""
        found = [
            (line, int((line[1] + np.exp(log_price) * line[0]).argmin()))
            for line in lines
        ]
        return [(float(x[k]), float(lows[k])) for (x, lows), k in found]

    price = crossing(
        lambda at: sum(share for share, _ in corners(at)) - 1, *_LOG_PRICES
    )
    shares, parts = map(list, zip(*corners(price), strict=True))
    return _Bound(sum(parts) + float(np.exp(price)) * (sum(shares) - 1), shares, parts)


def best_some_each(curves: Sequence[Curve]) -> SomeEach:
    """The number of questions a person above which the objective rises, counted up from one.

    Each one more leaves each question less of the budget, and more people: what is lost is about
    the square of the budget while it is small, and next to nothing when it is large. All of them
    are not asked for here: a split gives each the part that is best for it.
    """
    best = some_each(curves, 1)
    for asked in range(2, len(curves)):
        more = some_each(curves, asked)
        if more.value >= best.value:
            break
        best = more
    return best


def some_each(curves: Sequence[Curve], asked: int) -> SomeEach:
    """The fractions with the smallest objective, for so many questions a person.

    With errors ``V_j`` at the share ``1 / asked`` and sampling variances ``S_j`` the weighted sum
    of ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``, where none is above
    1.
    """
    fixed = np.array([curve.errors.bias for curve in curves])
    noise = np.array([curve.at(1 / asked).squared for curve in curves]) - fixed
    spread = np.array([curve.errors.spread for curve in curves])
    weights = _weights(curves)
    alone = noise / _filled(np.sqrt(weights * noise), asked) + fixed
    fractions = _filled(np.sqrt(weights * (noise + spread)), asked)
    errors = (noise + spread) / fractions + fixed - spread
    return SomeEach(
        asked, fractions, errors, float(weights @ errors), float(weights @ alone)
    )


def _weights(curves: Sequence[Curve]) -> Array:
    return np.array([curve.weight for curve in curves])


def _filled(wanted: Array, total: int) -> Array:
    """Fractions that sum to ``total``: as ``wanted``, times one number, but at most 1."""
    fractions = np.ones(wanted.size)
    full = np.zeros(wanted.size, dtype=bool)
    while not full.all():
        scaled = (total - full.sum()) / wanted[~full].sum() * wanted
        over = ~full & (scaled >= 1)
        if not over.any():
            return np.where(full, fractions, scaled)
        full |= over
    return fractions
