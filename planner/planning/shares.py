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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import arguments
from planner.arguments import whole_number
from planner.errors import ConvergenceError, InputError
from planner.patience import still_wanted
from planner.planning.option import ErrorLaw
from planner.planning.solve import (
    DESIGN,
    ROUGH,
    TIGHT,
    TOTAL,
    Certified,
    crossing,
    scaled,
    solve_for,
)
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

Array = NDArray[np.float64]
_PROVEN = 1e-6  # largest relative gap of shares of convex errors that are returned
_ENOUGH, _CLOSE = 0.025, 1e-8  # the gaps at which the search ends, the second if all are convex
_WAYS = np.linspace(0.01, 1, 100)  # from a share to the next, at which bounds are carried
_LITTLE = 1e-3  # of a bound: what it must rise by once all designs are tried
_MOST_POINTS, _MOST_DESIGNS = 60, 12  # shares at which a question is solved
_MOST_LEVELS = 1_000  # whose pairs are looked at
_ASIDE, _NEAR = 1e-5, 1e-8  # a slope is seen from neighbours so near, and no nearer
_HALVINGS = 12  # of a step
_BEYOND = 3.0  # logarithm of by how much a share may be smaller than all tried
_LOG_PRICES = (-69.0, 69.0)


class AtShare(NamedTuple):
    """A question's error per user at a share, and what it is at least there and below; proven.

    ``law`` is what has it: near by the search for the best begins there.
    """

    error: float
    bound: float
    law: Certified | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """A question with its error at any share of its budgets, as shares are planned.

    ``at`` takes a share, above 0 and at most 1, the gap to which a design is solved, and one near.
    ``carried`` is what its part of a sum is at least at larger shares, by a bound at a share.
    """

    name: str
    weight: float
    law: ErrorLaw
    mechanism: str
    at: Callable[..., AtShare]
    convex: bool = False
    carried: Callable[[Array, Array, Array], Array] | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.weight) and self.weight > 0):
            remedy = "Leave a question that does not matter out of the survey."
            what = f"weight of question {self.name!r}"
            raise InputError(what, self.weight, "finite and above 0", remedy)


def choice_block(
    name: str,
    policy: PrivacyPolicy,
    weight: float = 1.0,
    objective: Objective = TOTAL,
    errors: ErrorLaw | None = None,
    mechanism: str = "opt0",
) -> Block:
    """A question about one answer out of several, or about one item drawn of a set.

    Parameters
    ----------
    name, policy:
        The question, and its levels with the budgets tolerated for the whole survey.
    weight:
        Importance of its error in a sum, above 0.
    objective, errors:
        What is made small, the worst-case total by default, and from its value to the error; of
        one answer out of ``m`` when omitted.
    mechanism:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``; of opt0 it is proven convex.

    Raises
    ------
    InputError
        The weight is out of range.
    """
    law = errors or ErrorLaw(spread=float(1 - 1 / policy.item_counts.sum()))

    def at(share: float, tolerance: float = TIGHT, near: Certified | None = None) -> AtShare:
        found = solve_for(scaled(policy, share), mechanism, objective, tolerance, near)
        proven = found.certificate.lower_bound if found.certificate else -np.inf
        return AtShare(law.error(found.objective_value), law.error(proven), found)

    closed = policy.size <= _MOST_LEVELS and not policy.rule.open_pairs
    if mechanism != DESIGN or objective.kind != "worst-case" or not closed:
        return Block(name, weight, law, mechanism, at, convex=mechanism == "opt0")
    item = weight * law.scale * float(objective.item_weights(policy).max())
    least, most = policy.bounds().min(), policy.bounds().max(axis=1).min()

    def carried(part: Array, share: Array, larger: Array) -> Array:
        lost = np.exp(larger * most) * np.expm1((share - larger) * least) / np.expm1(share * least)
        kept = 1 / (1 - lost)
        return (part + item) * kept**2 - item

    return Block(name, weight, law, mechanism, at, carried=carried)


def mean_block(
    name: str,
    epsilon: float,
    weight: float = 1.0,
    law: ErrorLaw | None = None,
    *,
    least_favourable: bool = False,
) -> Block:
    """A question about a mean, answered by one bit with budget ``epsilon``, in nats, at most 50.

    The value is ``1 / tanh^2(g eps / 2) = 1 + 4 p (1 + p)`` at ``p(g eps)``: the error itself of
    Harmony, and of BiSample with everybody answering, less ``mean^2``. It is a variance for people
    drawn at random, and convex. ``law`` makes the error of it; where it is for the least favourable
    answers it is BiSample-MD's, which rises with it and is convex.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> round(mean_block("income", 2.0).at(0.5).error, 6)
    4.682694
    """
    arguments.budget("epsilon", epsilon)
    errors = law or ErrorLaw()

    def at(share: float, *_: object) -> AtShare:
        p = float(logodds.p(np.array(share * epsilon)))
        # In this order the error of a mean at the end of its range does not round to 0.
        error = errors.scale * 4 * p * (1 + p) + (errors.scale + errors.offset) + errors.bias
        if least_favourable:
            error = errors.error(bisample_worst(1 + 4 * p * (1 + p)))
        return AtShare(error, error)

    return Block(name, weight, errors, "bisample-md", at, convex=True)


def bisample_worst(u: float) -> float:
    """BiSample-MD's largest variance per person where everybody answers, on [-1, 1].

    It divides by the estimated answer rate: with ``u = 1 / tanh^2(eps/2)`` and everybody at ``m``
    it is ``(1 + m^2) (u - m^2)``, largest at the ends where ``u`` is above 3; rising and convex.
    """
    return 2 * u - 2 if u >= 3 else (u + 1) ** 2 / 4


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

    @property
    def in_words(self) -> str:
        """How many questions each person answers, such as ``"2 of 5 questions"``."""
        return (
            "one question" if self.asked == 1 else f"{self.asked} of {len(self.errors)} questions"
        )

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

    @property
    def better(self) -> str:
        """The design of the smallest objective, sampling included.

        ``"split"``, ``"one-each"``, or ``"some-each"`` where more than one question a person is
        best.
        """
        if self.best_each.value >= self.value:
            return "split"
        return "one-each" if self.best_each.asked == 1 else "some-each"

    @property
    def reason(self) -> str:
        """Why, in a sentence or two."""
        split, each = self.value, self.best_each.value
        if self.better == "split":
            return (
                f"Ask everybody everything: squared errors, weighted, may be {each / split:.3g} "
                f"times as large if each person answers {self.best_each.in_words}. At such "
                "budgets fewer answers cost more than splitting."
            )
        return (
            f"Ask each person {self.best_each.in_words}: squared errors, weighted, are at least "
            f"{split / each:.3g} times smaller."
        )


def allocate(
    blocks: Sequence[Block],
    alone: Sequence[Block] | None = None,
    asked: int | None = None,
) -> Allocation:
    """The shares with the smallest weighted sum of the errors per user, with proof.

    Parameters
    ----------
    blocks:
        The questions; at least one.
    alone:
        The questions as they are asked if each person answers some, in the same order, where
        that is not as in ``blocks``: item sets may have another padding length.
    asked:
        How many questions each person answers then, 1 to all; the best number when omitted.

    Raises
    ------
    InputError, ConvergenceError
        No question, a repeated name, or more asked than there are; the shares of convex errors
        could not be proven optimal to a relative 1e-6.

    Examples
    --------
    >>> from planner import PrivacyPolicy
    >>> found = allocate([
    ...     choice_block("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    ...     choice_block("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    ...     mean_block("income", 2.0, weight=3),
    ... ])
    >>> round(found.value, 3), found.shares.round(3).tolist()
    (125.735, [0.416, 0.296, 0.288])
    """
    names = tuple(block.name for block in blocks)
    if not names or len(set(names)) < len(names):
        allowed = "one or more, each with a name of its own"
        remedy = "Add a question, or rename those that share a name."
        raise InputError("questions", list(names), allowed, remedy)
    shares, errors, bound = search_shares(blocks)
    value = float(_weights(blocks) @ errors)
    bound = min(bound, value)
    gap = (value - bound) / abs(bound) if bound else float(np.inf)
    if all(block.convex for block in blocks) and not gap <= _PROVEN:
        raise ConvergenceError(
            f"The shares are proven optimal only to {gap:.1e}",
            "Bring the weights of the questions closer together.",
        )
    each = best = best_some_each(blocks if alone is None else alone)
    if asked not in (None, best.asked):
        number = whole_number("asked", asked, 1, len(blocks))
        each = some_each(blocks if alone is None else alone, number)
    return Allocation(names, shares, errors, value, bound, gap, each, best)


class _Curve:
    """A question's part of the sum, and its lower bound, at the shares tried so far, rising."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._most = _MOST_DESIGNS if block.mechanism == DESIGN else _MOST_POINTS
        self._points: list[tuple[float, float, float]] = []
        self._laws: dict[float, Certified | None] = {}
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
        near = _NEAR * share if self.block.convex else 0.0
        if all(abs(share - tried) > near for tried, *_ in self._points):
            near = min(self._laws, key=lambda one: abs(one - share), default=share)
            law = None if tolerance == TIGHT else self._laws.get(near)  # else what plans ask for
            error, bound, self._laws[share] = self.block.at(share, tolerance, law)
            weight = self.block.weight
            insort(self._points, (share, weight * error, weight * bound))

    def refine(self, guess: float, weak: float) -> None:
        """Try what tells most: the slope at the best share, or the step that holds the bound."""
        tried = [share for share, *_ in self._points]
        if self.block.convex:
            # As far to either side as makes the least of the curve and of what is not proven.
            unproven = max(0.0, *(1 - bound / error for _, error, bound in self._points))
            aside = max(_ASIDE, unproven ** (1 / 3))
            self._slope = guess * (1 - aside), min(guess * (1 + aside), 1.0)
            for share in (*self._slope, guess, weak or tried[0] / 4):
                self.try_share(share)
            return
        top = tried[bisect_left(tried, weak * (1 + 1e-12))] if weak < 1 else 1.0
        near = weak if self.block.carried and weak not in tried else (top * weak) ** 0.5
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
        """The share where error and the price of budget are least, by these lines."""
        x, e = self.between()
        with np.errstate(divide="ignore"):
            power = np.maximum((e[:-1] - e[1:]) / np.diff(x), 0.0)
            free = (np.log(power) + e[:-1] + power * x[:-1] - log_price) / (1 + power)
        at = np.clip(free, x[:-1], x[1:])
        costs = np.exp(e[:-1] - power * (at - x[:-1])) + np.exp(at + log_price)
        return float(np.exp(at[costs.argmin()]))

    def below(self) -> tuple[Array, Array]:
        """Corners of a falling line that the error is nowhere below."""
        x, error, bound = np.array(self._points).T
        if self.block.carried is not None:
            ways = x[:-1, None] * (x[1:] / x[:-1])[:, None] ** _WAYS
            lows = self.block.carried(bound[:-1, None], x[:-1, None], ways)
            x, bound = np.append(x[0], ways), np.append(bound[0], np.maximum(lows, bound[1:, None]))
        before, after = np.full(x.size, np.inf), np.zeros(x.size)  # slopes of lines to either side
        if self.block.convex:
            before[1:] = np.maximum((error[:-1] - bound[1:]) / np.diff(x), 0.0)
            after[:-1] = np.maximum((bound[:-1] - error[1:]) / np.diff(x), 0.0)
        steep, flat = before[:-1], np.where(after[1:] < before[:-1], after[1:], 0.0)
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = bound[:-1] - bound[1:] - flat * np.diff(x)
            meet = x[:-1] + np.where(steep > flat, rise / (steep - flat), 0.0)
        meet = np.clip(meet, x[:-1], x[1:])
        corners = np.insert(x, np.arange(1, x.size), meet)
        lows = np.insert(bound, np.arange(1, x.size), bound[1:] + flat * (x[1:] - meet))
        corners, lows = np.append(0.0, corners), np.append(bound[0] + after[0] * x[0], lows)
        return corners, np.minimum.accumulate(lows)


class _Bound(NamedTuple):
    """What no shares can beat, and the share and part of each question on which it rests."""

    value: float
    shares: list[float]
    parts: list[float]


def search_shares(blocks: Sequence[Block]) -> tuple[Array, Array, float]:
    """Shares with a small objective, the errors there, and a lower bound for all shares; proven.

    The search ends within 1e-9 of it if all errors are convex, else within 2.5 %, or after a dozen
    designs a question.
    """
    few = 1 / len(blocks)
    curves = [_Curve(block) for block in blocks]
    designs = [k for k, block in enumerate(blocks) if not block.convex]
    for curve in curves:
        for share in (1.0, few, few / 1.5) if few < 1 else ():
            curve.try_share(share, TIGHT if share == 1 else ROUGH)
    shares, enough = np.full(len(blocks), few), _ENOUGH if designs else _CLOSE
    bound = _Bound(-np.inf, [], [])
    while few < 1:
        still_wanted()
        shares, value = _lower(curves, shares)
        before, bound = bound.value, _bound(curves)
        gaps = [one.height(*at) for one, *at in zip(curves, bound.shares, bound.parts, strict=True)]
        tried = sum(curve.tried for curve in curves)
        found = zip(curves, shares.tolist(), bound.shares, gaps, strict=True)
        for curve, share, weak, gap in found:
            if curve.block.convex or 0 < gap == max(gaps):
                curve.refine(share, weak)
        close = value - bound.value <= enough * abs(bound.value)
        if designs and not any(gaps[k] for k in designs):  # what is left moves little
            close |= bound.value - before <= _LITTLE * abs(bound.value)
        if close or tried == sum(curve.tried for curve in curves):
            break
    points = [one.at(share) for one, share in zip(blocks, shares.tolist(), strict=True)]
    for curve, share in zip(curves, shares.tolist(), strict=True):
        curve.try_share(share, TIGHT)  # a little more is known then
    return shares, np.array([point.error for point in points]), _bound(curves).value


def _lower(curves: Sequence[_Curve], here: Array) -> tuple[Array, float]:
    """Shares with a lower objective, and that: the best by what errors seem to be.

    If all are convex the way there is halved while the objective falls: they may bend more.
    """

    def shares(at: float) -> Array:
        return np.array([one.best(at) for one in curves])

    def objective(shares: Array) -> float:
        return sum(one.error(share) for one, share in zip(curves, shares.tolist(), strict=True))

    found = shares(crossing(lambda at: float(shares(at).sum()) - 1, *_LOG_PRICES))
    found = found / found.sum()
    if not all(one.block.convex for one in curves):
        return found, objective(found)
    best, least = here, objective(here)
    for way in 0.5 ** np.arange(_HALVINGS):
        there = here + way * (found - here)
        for one, share in zip(curves, there.tolist(), strict=True):
            one.try_share(share)
        value = objective(there)
        if value < least:
            best, least = there, value
        elif best is not here:
            break
    return best, least


def _bound(curves: Sequence[_Curve]) -> _Bound:
    """The least objective by what errors are nowhere below, by Lagrange's relaxation."""
    lines = [curve.below() for curve in curves]

    def corners(log_price: float) -> tuple[list[float], list[float]]:
        found = [int((lows + np.exp(log_price) * x).argmin()) for x, lows in lines]
        x, lows = (
            [float(line[side][k]) for line, k in zip(lines, found, strict=True)] for side in (0, 1)
        )
        return x, lows

    price = crossing(lambda at: sum(corners(at)[0]) - 1, *_LOG_PRICES)
    x, parts = corners(price)
    return _Bound(sum(parts) + float(np.exp(price)) * (sum(x) - 1), x, parts)


def best_some_each(blocks: Sequence[Block]) -> SomeEach:
    """The number of questions a person above which the objective rises, counted up from one.

    Each one more leaves each question less of the budget, and more people: what is lost is about
    the square of the budget while it is small, and next to nothing when it is large. All of them
    are not asked for here: a split gives each the part that is best for it.
    """
    best = some_each(blocks, 1)
    for asked in range(2, len(blocks)):
        more = some_each(blocks, asked)
        if more.value >= best.value:
            break
        best = more
    return best


def some_each(blocks: Sequence[Block], asked: int) -> SomeEach:
    """The fractions with the smallest objective, for so many questions a person.

    With errors ``V_j`` at the share ``1 / asked`` and sampling variances ``S_j`` the weighted sum
    of ``(V_j + S_j) / f_j - S_j`` is least at ``f_j ~ sqrt(w_j (V_j + S_j))``, where none is above
    1.
    """
    fixed = np.array([block.law.bias for block in blocks])
    noise = np.array([block.at(1 / asked).error for block in blocks]) - fixed
    spread = np.array([block.law.spread for block in blocks])
    weights = _weights(blocks)
    alone = noise / _filled(np.sqrt(weights * noise), asked) + fixed
    fractions = _filled(np.sqrt(weights * (noise + spread)), asked)
    errors = (noise + spread) / fractions + fixed - spread
    return SomeEach(asked, fractions, errors, float(weights @ errors), float(weights @ alone))


def _weights(blocks: Sequence[Block]) -> Array:
    return np.array([block.weight for block in blocks])


def _filled(wanted: Array, total: int) -> Array:
    """Fractions that sum to ``total``: as ``wanted``, times one number, but at most 1."""
    fractions, full = np.ones(wanted.size), np.zeros(wanted.size, dtype=bool)
    while not full.all():
        scaled = (total - full.sum()) / wanted[~full].sum() * wanted
        over = ~full & (scaled >= 1)
        if not over.any():
            return np.where(full, fractions, scaled)
        full |= over
    return fractions
