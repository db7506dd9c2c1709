"""Bounds on all mechanisms by one matrix a window (docs/theory/many-levels.md, theorem 4).

A value of a level is the low or the high one: its square is affine in it. So the squared deviations
within a level are a quadratic in the level's mean, and what Theorem 1 asks of every type,

    |A u|^2 + sum_i d_i E_i <= (l . u) (p . u),    E_i = (high_i - u_i) (u_i - low_i),

is one of a quadratic over a box: ``u' S u >= sum_i d_i E_i`` with ``S = (l p' + p l') / 2 - A' A``.
It holds all over the box if for some ``x >= d`` the form

    u' S u + sum_i x_i (u_i - low_i) (u_i - high_i)

is nowhere negative: one matrix a window. Means ``u`` are scaled by the root of the level's share of
the items; errors are per item.

At tiny budgets all ``u`` are near the roots ``sqrt f``: with ``delta`` the largest relative
difference, forms are of ``z = (u - sqrt f) / delta``, and ``S``, ``l`` and ``p`` of ``N u``. The
rows of ``N`` are ``sqrt f`` and what is at right angles to it, over ``delta``. So all numbers are
near 1, for any size of the budgets; elsewhere ``z`` and ``N u`` are ``u`` itself.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Whole
from planner.patience import still_wanted
from planner.solvers.counts import DesignProblem
from planner.solvers.game import SLACK
from planner.solvers.relaxed_bound import Relaxed, box_of, proven_bounds
from planner.solvers.saddle import positive_solved

# by which the barrier falls, and how near its centre that is
_SHORTER = 4.0
_CENTRED = 3.0
_WAY_OUT = (
    0.6  # of the way to where something is no longer positive: digits end near there
)
_FORM_STEPS = 400
_FORM_HALVINGS = 40
_BENT = (
    0.0,
    1e-11,
    1e-9,
    1e-7,
    1e-5,
    1e-3,
    0.1,
)  # of a matrix that rounding left indefinite


class _Point(NamedTuple):
    """Where a program is: ``x`` of every window, ``(k, t)``, then ``S``, ``l, p, d``."""

    forms: Array
    shared: Array
    rows: Array
    people: Array
    within: Array

    def moved(self, direction: _Point, length: float) -> _Point:
        """The point at ``length`` times the direction."""
        return _Point(
            *(mine + length * step for mine, step in zip(self, direction, strict=True))
        )


class Forms:
    """The largest bound that forms prove, by Newton's method from the interior.

    To twice the root terms of the bound, less ``l``'s sum and what people's answers take off, it
    adds ``mu`` times the logarithms of all that has to be positive: determinants, ``x - d`` and
    people. Each form is a sum of columns ``v`` with ``x v v'``, less the squared half widths in its
    last corner. Unknowns of one window alone are eliminated.
    """

    def __init__(self, problem: DesignProblem) -> None:
        self.problem = problem
        m = problem.item_counts
        self.root = np.sqrt(m / problem.items)
        self._choose_coordinates()
        (low, high) = self.ends
        self.half = ((high - low) / 2) ** 2  # squared half widths, 0 where flat

        # A column a level: e_i, less the middle of its box in the last place.
        (k, t) = low.shape
        self.columns = np.zeros((k, t + 1, t))
        self.columns[:, :t] = np.eye(t)
        self.columns[:, t] = -(low + high) / 2
        # An only item is at an end: there x may have any sign, and d plays no part.
        self.bounded = np.tile(m > 1, (k, 1))

        # Where a level has one value only, that is put for u: it needs no box.
        flat = low == high
        self.columns[np.broadcast_to(flat[:, None], self.columns.shape)] = 0
        self.bounded[flat] = False
        self.flat = np.pad(flat, ((0, 0), (0, 1)))
        self.substitution = np.eye(t + 1) * ~self.flat[:, None]
        self.substitution[:, :t, t] = np.where(flat, low, 0)
        self.assumed = problem.prior is not None
        self.people = m / problem.items
        if problem.prior is not None:
            self.people = problem.prior

    def _choose_coordinates(self) -> None:
        """What ``z`` and ``N u`` are: ``u = shift + unit z`` and ``N u = seen (z, 1)``.

        ``turn`` is ``N'``, ``back`` the inverse of ``N``, and ``whole`` is ``N sqrt f``, over all
        types the sum of ``N u``. ``slack`` is what rounding takes from a number near 1.
        """
        problem = self.problem
        t = self.root.size
        self.turn = problem.turn
        self.unit = problem.near or 1.0
        self.slack = SLACK / self.unit  # a root's last digits, over the unit
        if problem.near == 0:
            self.shift = 0 * self.root
            self.back = np.eye(t)
            self.whole = self.root
            self.whole_sizes = self.root
            self.seen = np.eye(t, t + 1)
            self.seen_sizes = self.seen
            self.ends = box_of(problem)
            return
        self.shift = self.root
        self.back = np.column_stack([self.root, self.unit**2 * self.turn[:, 1:]])
        self.whole = np.eye(t)[0]
        self.whole_sizes = np.ones(t)
        self.seen = np.column_stack([self.unit * self.turn.T, self.whole])
        self.seen_sizes = np.abs(self.seen)
        self.seen_sizes[:, t] = 1.0
        (low, high) = problem.windows
        middle = (low.min(axis=1, keepdims=True) + high.max(axis=1, keepdims=True)) / 2
        scale = self.root / self.unit
        self.ends = (np.expm1(low - middle) * scale, np.expm1(high - middle) * scale)

    def solved(self, close: float) -> _Point:
        """The best point found; whatever it is, it proves a bound."""
        point = self._start()
        barriers = (
            self.half.size
            + sum(self.columns.shape[:2]) * len(self.half)
            + point.rows.size
        )
        mu = float(self.whole @ point.rows) / barriers
        left = _FORM_STEPS
        while left > 0:
            left -= 1
            still_wanted()
            try:
                with np.errstate(all="ignore"):
                    direction, rise = self._newton(point, mu)
                    moved = self._searched(point, mu, direction, rise)
            except np.linalg.LinAlgError:
                break  # digits are used up
            point = point if moved is None else moved
            if moved is None or rise < _CENTRED * mu:
                if mu * barriers < close * float(self.whole @ point.rows):
                    break
                mu /= _SHORTER
        return point

    # -- the program ------------------------------------------------------------------------------

    def _start(self) -> _Point:
        """A point inside, from which Newton's method starts.

        ``x_i`` is ``p_i`` over the half width of the box, ``d`` half of the least ``x`` of all
        windows, and ``l`` is ``rise`` times ``p``. ``rise`` is doubled and ``A' A`` halved
        until ``(l . u) (p . u)`` outweighs what boxes take from every form. Then all but people is
        scaled so that the sum of ``l`` is about the bound.
        """
        t = self.root.size
        p = np.maximum(self.people, 1e-3 / t) / self.root
        half = np.maximum(self.half, 0.002 * self.half.max(axis=1, keepdims=True))
        half = np.maximum(half, 1e-6 * self.root**2)
        x = p / np.sqrt(half)
        people = self.people / self.root
        point = _Point(x, 0 * np.eye(t), p, people, x.min(axis=0) / 2)
        rise = 1.0
        square = 1e-3 * float(x.mean())  # A' A is this times the unit matrix
        for _ in range(_FORM_HALVINGS):
            rows = rise * (self.back.T @ p)
            both = np.outer(rows, self.back.T @ point.people)
            shared = (both + both.T) / 2 - square * np.eye(t)
            point = point._replace(shared=shared, rows=rows)
            if np.linalg.eigvalsh(self._forms(point)).min() > 0:
                break
            rise = 2 * rise
            square = square / 2
        # At the best scale the sum of l is the bound, about what a table's error is.
        widest = np.maximum(self.half.max(axis=0), 1e-6 * self.root**2)
        errors = self.problem.weights @ (self.root**4 / widest) / self.unit**2
        size = float(errors / (self.whole @ point.rows))
        return _Point(*(size * field for field in point))._replace(people=point.people)

    def _forms(self, point: _Point) -> Array:
        """The matrix of every window, ``(k, t + 1, t + 1)``."""
        shared = self.seen.T @ point.shared @ self.seen
        forms = self._summed(self.columns, point.forms, -self.half, shared)
        forms[
            self.flat[:, :, None]
            & self.flat[:, None]
            & np.eye(len(forms[0]), dtype=bool)
        ] = 1
        return forms

    def _inverse(self, point: _Point) -> Array:
        """The inverses of the forms at a point: moments of types, up to a factor."""
        inverse = np.linalg.inv(self._forms(point))
        transposed = self.substitution.transpose(0, 2, 1)
        return np.asarray(self.substitution @ inverse @ transposed)

    def _summed(
        self, columns: Array, sizes: Array, half: Array, shared: Array
    ) -> Array:
        forms = (columns * sizes[:, None]) @ columns.transpose(0, 2, 1)
        forms[:, -1, -1] += (sizes * half).sum(axis=1)
        forms += shared
        transposed = self.substitution.transpose(0, 2, 1)
        return np.asarray(transposed @ forms @ self.substitution)

    def _square(self, point: _Point) -> Array:
        """``A' A``, of ``N u``."""
        both = np.outer(point.rows, self.back.T @ point.people)
        return np.asarray((both + both.T) / 2 - point.shared)

    def _gain(self, point: _Point) -> float:
        problem = self.problem
        weighed = np.sqrt(problem.weights)[:, None] * self.turn
        values = np.linalg.eigvalsh(weighed @ self._square(point) @ weighed.T)
        within = np.sqrt(problem.weights * point.within) / self.unit
        several = problem.differences * within
        reach = (
            2
            * float(several.sum() + np.sqrt(np.maximum(values, 0)).sum())
            / problem.items
        )
        taken = float(problem.weights * self.root @ point.people) / problem.items
        return reach - float(self.whole @ point.rows) - taken

    def _slack(self, point: _Point) -> Array:
        """What ``x`` has above ``d``; 1 where it has no bound."""
        return np.where(self.bounded, point.forms - point.within, 1.0)

    def _volume(self, point: _Point) -> float:
        """The logarithms of all that has to be positive; ``-inf`` outside."""
        slack = self._slack(point)
        d = point.within[self.problem.item_counts > 1]
        people = np.ones(1) if self.assumed else point.people
        if min(slack.min(), d.min(initial=1.0), people.min()) <= 0:
            return -np.inf
        try:
            factors = (
                np.linalg.cholesky(self._forms(point)),
                np.linalg.cholesky(self._square(point)),
            )
        except np.linalg.LinAlgError:
            return -np.inf
        volume = sum(
            2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum()
            for factor in factors
        )
        return float(volume + np.log(slack).sum() + np.log(people).sum())

    def _searched(
        self, point: _Point, mu: float, direction: _Point, rise: float
    ) -> _Point | None:
        """The first point on the way that gains enough, halving the step; None if none does."""
        here = self._gain(point) + mu * self._volume(point)
        length = 1.0
        for _ in range(_FORM_HALVINGS):
            then = point.moved(direction, length)
            if self._volume(point.moved(direction, length / _WAY_OUT)) > -np.inf:
                gained = self._gain(then) + mu * self._volume(then) - here
                if gained >= 0.1 * length * rise - 1e-12 * abs(here):
                    return then
            length /= 2
        return None

    def _newton(self, point: _Point, mu: float) -> tuple[_Point, float]:
        """Newton's direction, and how fast the value rises along it.

        The shared unknowns are ``S`` on and above its diagonal, ``l``, ``d`` and ``p``, in this
        order; ``H`` is minus the second derivatives of the value by them, ``g`` the first. Each
        window's ``x`` and ``y`` are eliminated first, and found from the shared ones last.
        """
        t = self.root.size
        problem = self.problem
        inverse = self._inverse(point)
        (i, j) = _pairs(t)
        n = i.size
        (rows, within, people) = self._slices()
        H = np.zeros((n + 3 * t, n + 3 * t))
        g = np.zeros(n + 3 * t)

        slope = self._add_square(point, mu, H, g)

        # S stands in the determinant of every window's form. Off the diagonal it stands there
        # twice: once above and once below.
        moments = self.seen @ inverse @ self.seen.T
        H[:n, :n] += _curvature(moments, np.full(len(moments), mu))
        once = np.where(np.eye(t) > 0, 0.5, 1.0)[_pairs(t)]
        g[:n] = (mu * moments.sum(axis=0) - slope)[i, j] * 2 * once

        # d: the root terms of the bound, 2 differences_i sqrt(w_i d_i) / (unit M).
        only = problem.item_counts == 1  # of such levels d plays no part, and stays
        d = np.where(only, 1.0, point.within)
        root_weights = np.sqrt(problem.weights) / self.unit
        g[within] = problem.differences * root_weights / problem.items / np.sqrt(d)
        H[within, within] += np.diag(g[within] / (2 * d) + only)

        # p: the barrier mu log p_i, where people are not assumed.
        if not self.assumed:
            H[people, people] += np.diag(mu / point.people**2)
            g[people] += mu / point.people

        # x of every window: the barriers mu log(x - d), and determinants.
        slack = self._slack(point)
        push = np.where(self.bounded, mu / slack, 0.0)
        bend = push**2 / mu
        g[within] -= push.sum(axis=0)
        H[within, within] += np.diag(bend.sum(axis=0))
        (g_forms, own_block, with_shared) = self._of_windows(inverse, mu)
        g_forms = g_forms + push
        level = np.arange(t)
        own_block[:, level, level] += bend
        with_shared = np.pad(with_shared, ((0, 0), (0, 3 * t), (0, 0)))
        with_shared[:, n + t + level, level] = -bend

        # No two windows share x: these are eliminated by a Schur complement.
        part = with_shared @ np.linalg.inv(own_block)
        H -= np.tensordot(part, with_shared, axes=([0, 2], [0, 2]))
        pull = g - np.einsum("kuc,kc->u", part, g_forms)
        direction = self._solved(H, pull, people.start)
        left = g_forms - np.einsum("kuc,u->kc", with_shared, direction)
        forms = np.linalg.solve(own_block, left[..., None])[..., 0]
        step = _Point(
            forms=forms,
            shared=_symmetric(direction[:n], t),
            rows=direction[rows],
            people=direction[people],
            within=direction[within],
        )
        return step, float(g @ direction + (g_forms * step.forms).sum())

    def _slices(self) -> tuple[slice, slice, slice]:
        """Where ``l``, ``d`` and ``p`` stand, ``t`` numbers each, after the entries of ``S``."""
        t = self.root.size
        n = t * (t + 1) // 2
        return slice(n, n + t), slice(n + t, n + 2 * t), slice(n + 2 * t, n + 3 * t)

    def _add_square(self, point: _Point, mu: float, H: Array, g: Array) -> Array:
        """Add what the value gains by ``A' A = (l p' + p l') / 2 - S``; the slope by that."""
        (rows, _, people) = self._slices()
        n = rows.start
        slope, of_square = self._of_square(point, mu)
        seen_people = self.back.T @ point.people
        by_rows = _halved_products(seen_people)
        by_people = _halved_products(point.rows) @ self.back.T
        jacobian = np.hstack([-np.eye(n), by_rows, by_people])
        linked = np.r_[: rows.stop, people]
        H[np.ix_(linked, linked)] = jacobian.T @ of_square @ jacobian
        # A' A is bilinear in l and p, so that its slope is part of the second derivatives, too.
        H[rows, people] -= slope @ self.back.T
        H[people, rows] -= self.back @ slope
        g[rows] = slope @ seen_people - self.whole
        problem = self.problem
        taken = problem.weights * self.root / problem.items
        g[people] = self.back @ (slope @ point.rows) - taken
        return slope

    def _of_square(self, point: _Point, mu: float) -> tuple[Array, Array]:
        """Slope and minus second derivatives, by ``A' A`` of ``N u``, of what the value has of it.

        That is ``2 tr R / M + mu log det A' A``, with ``R^2 = W^1/2 N' (A' A) N W^1/2``. In the
        axes of ``R``, whose eigenvalues are ``r_i``, minus the second derivative of ``2 tr R / M``
        along ``X`` is ``sum_ij K_ij X_ij^2``, ``K_ij = 1 / (M (r_i + r_j) r_i r_j)``. ``K`` is
        nearly a sum of few ``size k k'``, and each of these is ``size tr(Y X Y X)`` with ``Y = diag
        k`` in these axes.
        """
        weighed = np.sqrt(self.problem.weights)[:, None] * self.turn
        square = self._square(point)
        values, axes = np.linalg.eigh(weighed @ square @ weighed.T)
        roots = np.sqrt(np.maximum(values, np.finfo(float).tiny))
        turned = weighed.T @ axes
        kernel = (
            1 / ((roots[:, None] + roots) * np.outer(roots, roots)) / self.problem.items
        )
        sizes, kernels = np.linalg.eigh(kernel)
        kept = np.abs(sizes) > 1e-9 * np.abs(sizes).max()
        stack = np.einsum("ia,as,ja->sij", turned, kernels[:, kept], turned)
        back = np.linalg.inv(square)
        slope = (turned / roots) @ turned.T / self.problem.items + mu * back
        return slope, _curvature(
            np.vstack([stack, back[None]]), np.append(sizes[kept], mu)
        )

    def _of_windows(self, inverse: Array, mu: float) -> tuple[Array, Array, Array]:
        """Slopes of ``mu log det F`` by every window's ``x``, and minus its curvature.

        The slopes are ``(k, t)``. Minus the second derivatives are, by two of these, ``(k, t, t)``,
        and by ``S`` and one of these, ``(k, n, t)``: ``k`` windows and ``n`` entries of ``S``. The
        factor ``mu`` is left out below. A window's form is ``F = P' S P + sum_c x_c (v_c v_c' - h_c
        e e')``, ``h_c`` the squared half widths and ``e`` the last corner. So with ``B = F^-1`` the
        slope of ``log det F`` by ``x_c`` is ``v_c' B v_c - h_c e' B e``; minus its second
        derivatives are, by ``x_c`` and ``x_b``,

            (v_c' B v_b)^2 - h_c (e' B v_b)^2 - h_b (e' B v_c)^2 + h_c h_b (e' B e)^2

        and, by ``S_ij`` and ``x_c``, ``(P B v_c)_i (P B v_c)_j - h_c (P B e)_i (P B e)_j``, twice
        that off the diagonal, ``P`` being ``seen``: ``S`` stands in the form as ``P' S P``.
        """
        columns = self.columns
        half = self.half
        t = self.root.size
        i, j = _pairs(t)
        moved = inverse @ columns  # B v_c
        side = inverse[:, :, t] @ self.seen.T  # P B e
        seen_moved = self.seen @ moved  # P B v_c
        last = moved[:, t]  # e' B v_c
        corner = inverse[:, t, t, None]  # e' B e
        product = columns.transpose(0, 2, 1) @ moved  # v_c' B v_b
        rise = mu * (np.diagonal(product, axis1=1, axis2=2) - half * corner)
        both_half = half[:, :, None] * half[:, None]
        own_block = product**2 + both_half * corner[:, :, None] ** 2
        crossed = half[:, :, None] * last[:, None] ** 2
        crossed = crossed + half[:, None] * last[:, :, None] ** 2
        own_block -= crossed
        own_block *= mu
        # A level with one value has no column: a 1 on the diagonal keeps its unknown at rest.
        without_column = np.abs(columns).sum(axis=1) == 0
        own_block += np.eye(t) * without_column[:, None]
        ends = (side[:, i] * side[:, j])[:, :, None]
        with_shared = seen_moved[:, i] * seen_moved[:, j] - ends * half[:, None]
        twice = np.where(i == j, 1.0, 2.0)
        return rise, own_block, with_shared * (mu * twice)[:, None]

    def _solved(self, H: Array, g: Array, fixed: int) -> Array:
        """``H x = g``, people's shares summing to 1: where they bend it upwards they stay."""
        scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(H)), np.finfo(float).tiny))
        H = H * np.outer(scale, scale)
        g = g * scale
        plane = np.append(np.zeros(fixed), self.root) * scale
        plane /= np.linalg.norm(plane)
        if not self.assumed:
            with suppress(np.linalg.LinAlgError):
                both = np.column_stack([g, plane])
                unconstrained, back = positive_solved(
                    H + np.outer(plane, plane), both
                ).T
                return np.asarray(
                    (unconstrained - back * (plane @ unconstrained) / (plane @ back))
                    * scale
                )
        for bent in _BENT:
            with suppress(np.linalg.LinAlgError):
                unconstrained = positive_solved(
                    H[:fixed, :fixed] + bent * np.eye(fixed), g[:fixed]
                )
                return np.pad(unconstrained, (0, self.root.size)) * scale
        raise np.linalg.LinAlgError

    def proven(self, point: _Point) -> Relaxed:
        """What holds after rounding: what that may take from a form, more of people gives back."""
        t = self.root.size
        problem = self.problem
        people = point.people * self.root
        people = people / people.sum()
        point = point._replace(people=people / self.root)
        forms = self._forms(point)
        shared_sizes = self.seen_sizes.T @ np.abs(point.shared) @ self.seen_sizes
        columns = np.abs(self.columns)
        terms = self._summed(columns, point.forms, self.half, shared_sizes)
        # Scaled by the largest they may be, z and 1 are t + 1 numbers of at most 1.
        largest = np.maximum(*np.abs(self.ends))
        if problem.near > 0:  # windows of no width would hide what they are beside
            largest = np.maximum(largest, self.root)
        scale = np.hstack([1 / largest, np.ones((len(largest), 1))])
        scale = scale[:, :, None] * scale[:, None]
        least = np.linalg.eigvalsh(forms * scale)[:, 0]
        least -= self.slack * np.linalg.norm(terms * scale, axis=(1, 2))
        (low, _) = box_of(problem)
        missing = np.maximum(0, -least) * (t + 1)
        short = float((missing / (low @ point.people) ** 2).max())
        total = float(self.whole @ point.rows) + short
        total += float(self.slack * (self.whole_sizes @ np.abs(point.rows)))
        people_sizes = np.abs(self.back).T @ point.people
        sizes = np.outer(np.abs(point.rows), people_sizes)
        doubt = (sizes + sizes.T) / 2 + np.abs(point.shared)
        turn_sizes = np.abs(self.turn)
        within = point.within / self.unit**2
        bounds = proven_bounds(
            problem,
            within,
            self.turn @ self._square(point) @ self.turn.T,
            turn_sizes @ doubt @ turn_sizes.T,
            total,
            people,
        )
        (mass, mean, varied) = self._moments(forms)
        shared = self.turn @ point.shared @ self.turn.T
        return Relaxed(bounds, people, mass, mean, varied, within, shared)

    def _moments(self, forms: Array) -> tuple[Array, Array, Array]:
        """The mass of each window's best types, and the mean and covariance of ``u`` over them.

        ``mu F^-1`` is the multiplier of a window's form. Where the bound is reached it stands for
        ``sum_o (theta_o / w_o) (z_o, 1) (z_o, 1)'`` over the window's types. Its corner is the
        mass; the other entries, divided by it, are the means and second moments of ``z``, and ``u``
        is ``shift + unit z``. ``mu`` is left out: masses are up to one factor for all windows. They
        only say where types are looked for, so that it does no harm that they are rough where
        digits are used up.
        """
        t = self.root.size
        values, axes = np.linalg.eigh(forms)
        sizes = np.sqrt(np.maximum(values, SLACK * values[:, -1:]))
        axes = self.substitution @ (axes / sizes[:, None])
        inverse = axes @ axes.transpose(0, 2, 1)
        mass = inverse[:, t, t]
        mean = inverse[:, :t, t] / mass[:, None]
        varied = inverse[:, :t, :t] / mass[:, None, None]
        varied = varied - mean[:, :, None] * mean[:, None]
        return mass, self.shift + self.unit * mean, self.unit**2 * varied


@lru_cache(maxsize=4)
def _pairs(t: int) -> tuple[Whole, Whole]:
    """Entries on and above the diagonal of a matrix."""
    return np.triu_indices(t)


def _symmetric(entries: Array, t: int) -> Array:
    """The ``(t, t)`` matrix with these entries on and above its diagonal."""
    (i, j) = _pairs(t)
    matrix = np.zeros((t, t))
    matrix[i, j] = entries
    matrix[j, i] = entries
    return matrix


def _halved_products(vector: Array) -> Array:
    """Derivatives by ``l`` of ``(l v' + v l') / 2`` on and above its diagonal, ``(n, t)``."""
    (i, j) = _pairs(vector.size)
    derivatives = np.zeros((i.size, vector.size))
    entries = np.arange(i.size)
    np.add.at(derivatives, (entries, i), vector[j] / 2)
    np.add.at(derivatives, (entries, j), vector[i] / 2)
    return derivatives


def _curvature(stack: Array, factors: Array) -> Array:
    """The curvature of the sum of ``f tr(Y X Y X)`` over ``Y``, by entries of a symmetric ``X``."""
    t = stack.shape[1]
    i, j = _pairs(t)
    flat = stack.reshape(len(stack), -1)
    once = np.where(i == j, 0.5, 1.0)
    every = ((flat.T * factors) @ flat).reshape(t, t, t, t)
    a = i[:, None]
    b = i
    c = j[:, None]
    d = j
    return np.asarray(
        2 * (every[a, b, c, d] + every[a, d, c, b]) * np.outer(once, once)
    )
