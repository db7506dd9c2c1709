"""The three models of IDUE as convex programs ``min F(v)``: coordinates, error terms, rows.

    model  coordinates of a level  noise, signal                  restriction
    opt0   s, w                    p(s)(1 + p(w)), p(w) - p(s)    none (IDUE eq. 9)
    opt1   tau = s = w             p(tau)(1 + p(tau)), 0          a + b = 1 (eq. 11)
    opt2   x = 1/2 - b             1 / (4 x^2) - 1, 1             a = 1/2 (eq. 12)

In these coordinates privacy is a set of linear rows and every objective of
:mod:`planner.policy.objective` is convex. opt0 too: the paper calls it non-convex, which is
true in (a, b) only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.policy import logodds
from planner.policy.objective import Coefficients, Objective
from planner.policy.policy import PrivacyPolicy
from planner.policy.privacy_rows import PrivacyRows, Reduction

Expression = Any
"""Of cvxpy, which is loaded where it is needed; or a constraint."""
Expressions = tuple[Expression, Expression, list[Expression]]


class Pieces(NamedTuple):
    """``F`` at a point, in parts: ``f`` and the branches ``g_k`` of its maximum, with slopes.

    ``branches`` has shape ``(t,)`` and both slopes ``(c, t)``: branch ``k`` depends on the
    coordinates of level ``k`` alone, so that column ``k`` of ``branch_slopes`` is all of its slope.
    """

    total: float
    branches: Array
    slope: Array
    branch_slopes: Array


class Atoms(NamedTuple):
    """Error terms of each level, ``(t,)``, and their slopes by coordinate, ``(c, t)``."""

    noise: Array
    signal: Array
    noise_slope: Array
    signal_slope: Array


class Curvature(NamedTuple):
    """Second derivatives of each level's error terms, ``(c, c, t)``."""

    noise: Array
    signal: Array


class _Opt0:
    """Free ``a`` and ``b``: coordinates ``(s, w)``.

    Of each model solvers need its error terms, exact and as convex expressions, its privacy rows,
    their reduction if there is one, an upper bound of the coordinates (``ceiling``) and a point
    that keeps every pair (``start``), the way to probabilities, and ``repair``: a point near by
    that keeps every pair budget, and wastes none where it can tell. Points have shape ``(c, t)``.
    """

    name: ClassVar[str] = "opt0"
    # The coordinates' step along (s - w) / 2; 0 where the model does not leave it free.
    balance: ClassVar[Array] = np.array([[1.0], [-1.0]])

    def atoms(self, v: Array) -> Atoms:
        """Noise ``p (1 + q)`` and signal ``q - p``, with ``p = p(s)`` and ``q = p(w)``.

        docs/theory/convexity.md, lemma 1.
        """
        p, q = logodds.p(v)
        dp = logodds.p_slope(p)
        dq = logodds.p_slope(q)
        noise_by_s = dp * (1 + q)
        noise_by_w = p * dq
        return Atoms(
            noise=p * (1 + q),
            signal=q - p,
            noise_slope=np.array([noise_by_s, noise_by_w]),
            signal_slope=np.array([-dp, dq]),
        )

    def curvature(self, v: Array) -> Curvature:
        p, q = logodds.p(v)
        dp = logodds.p_slope(p)
        dq = logodds.p_slope(q)
        d2p = logodds.p_curvature(p)
        d2q = logodds.p_curvature(q)
        by_s_twice = d2p * (1 + q)
        by_s_and_w = dp * dq
        by_w_twice = p * d2q
        none = np.zeros_like(p)
        return Curvature(
            noise=np.array([[by_s_twice, by_s_and_w], [by_s_and_w, by_w_twice]]),
            signal=np.array([[-d2p, none], [none, d2q]]),
        )

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        """``noise``, ``signal`` and constraints at ``u * unit`` for cvxpy variables near 1.

        ``P >= p(s)``, ``N >= p(w)`` and ``D >= p(s) p(w)`` are variables, which the optimum makes
        equal: no net weight of them is negative (docs/theory/convexity.md, "Exact conic form").
        """
        import cvxpy as cp

        log_p = _log_p(u[0], unit[0])
        log_q = _log_p(u[1], unit[1])
        # The variables are near 1: P, N and D in units of what they are at u = 1.
        p_unit, q_unit = logodds.p(unit)
        relative_P = cp.Variable(p_unit.size)
        relative_N = cp.Variable(p_unit.size)
        relative_D = cp.Variable(p_unit.size)
        constraints = [
            relative_P >= cp.exp(log_p),
            relative_N >= cp.exp(log_q),
            relative_D >= cp.exp(log_p + log_q),
        ]
        P = cp.multiply(p_unit, relative_P)
        N = cp.multiply(q_unit, relative_N)
        D = cp.multiply(p_unit * q_unit, relative_D)
        return P + D, N - P, constraints

    def rows(self, policy: PrivacyPolicy, v: Array) -> PrivacyRows:  # noqa: ARG002 - prices are constant
        levels, auxiliaries, limit, price = policy.rule.log_odds_rows(
            policy.epsilons, policy.own_pairs
        )
        return PrivacyRows.of(levels, auxiliaries, limit, price)

    def reduction(self, policy: PrivacyPolicy) -> Reduction | None:
        return policy.rule.reduction(policy.epsilons)

    def ceiling(self, policy: PrivacyPolicy) -> Array:
        # Each other coordinate is above 0, which is all that an s or a w must leave room for.
        none = np.zeros(policy.size)
        most_s = policy.room(none)
        most_w = policy.room(none, against=True)
        return np.array([most_s, most_w])

    def start(self, policy: PrivacyPolicy) -> Array:
        return self.ceiling(policy) / 2

    def to_probabilities(self, v: Array) -> tuple[Array, Array]:
        return logodds.from_log_odds(v[0], v[-1])

    def repair(self, policy: PrivacyPolicy, v: Array) -> Array:
        # Error falls in every s and w, so both take all the room that is left.
        s = _positive(policy.room(v[1]))
        w = _positive(policy.room(s, against=True))
        return np.array([s, w])


class _Opt1(_Opt0):
    """``a + b = 1``: coordinate ``tau``, which is both."""

    name: ClassVar[str] = "opt1"
    balance: ClassVar[Array] = np.zeros((1, 1))

    def atoms(self, v: Array) -> Atoms:
        # By the chain rule tau's slope is the sum of those of s and w.
        s_and_w = np.vstack([v, v])
        by_s_and_w = super().atoms(s_and_w)
        return by_s_and_w._replace(
            noise_slope=by_s_and_w.noise_slope.sum(axis=0, keepdims=True),
            signal_slope=by_s_and_w.signal_slope.sum(axis=0, keepdims=True),
        )

    def curvature(self, v: Array) -> Curvature:
        s_and_w = np.vstack([v, v])
        noise, signal = super().curvature(s_and_w)
        return Curvature(
            noise=noise.sum(axis=(0, 1), keepdims=True),
            signal=signal.sum(axis=(0, 1), keepdims=True),
        )

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        import cvxpy as cp

        # The noise is p + p^2, and the signal 0.
        log_p = _log_p(u[0], unit[0])
        p_unit = logodds.p(unit[0])
        p = cp.multiply(p_unit, cp.exp(log_p))
        square = cp.multiply(p_unit**2, cp.exp(2 * log_p))
        signal = cp.Constant(np.zeros(p_unit.size))
        return p + square, signal, []

    def rows(self, policy: PrivacyPolicy, v: Array) -> PrivacyRows:
        import scipy.sparse as sp

        # A row's entry for tau is the sum of those for s and w.
        by_s_and_w = super().rows(policy, v)
        t = policy.size
        of_s = by_s_and_w.matrix[:, :t]
        of_w = by_s_and_w.matrix[:, t : 2 * t]
        of_auxiliaries = by_s_and_w.matrix[:, 2 * t :]
        matrix = sp.hstack([of_s + of_w, of_auxiliaries], format="csr")
        return by_s_and_w._replace(matrix=matrix)

    def ceiling(self, policy: PrivacyPolicy) -> Array:
        most_s_and_w = super().ceiling(policy)
        return most_s_and_w.min(axis=0, keepdims=True)

    def repair(self, policy: PrivacyPolicy, v: Array) -> Array:
        # Lowering one tau loosens every other row, so one pass over the rows is enough.
        room = _smaller_room(policy, v[0])
        return np.minimum(v, _positive(room))


class _Opt2:
    """``a = 1/2``: coordinate ``x = 1/2 - b``."""

    name: ClassVar[str] = "opt2"
    balance: ClassVar[Array] = np.zeros((1, 1))

    def atoms(self, v: Array) -> Atoms:
        x = v[0]
        inverse_square = 0.25 / np.square(x)  # 1 / (4 x^2)
        # The noise is inverse_square - 1; this form keeps its digits where it is small.
        noise = (0.5 - x) * (0.5 + x) * 4 * inverse_square
        return Atoms(
            noise=noise,
            signal=np.ones_like(noise),
            noise_slope=-2 * inverse_square / v,
            signal_slope=np.zeros_like(v),
        )

    def curvature(self, v: Array) -> Curvature:
        noise = (1.5 / v[0] ** 4)[None, None]
        return Curvature(noise, np.zeros_like(noise))

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        import cvxpy as cp

        of_unit = 0.25 / unit[0] ** 2
        inverse_square = cp.multiply(of_unit, cp.power(u[0], -2))
        signal = cp.Constant(np.ones(u.shape[1]))
        return inverse_square - 1, signal, []

    def rows(self, policy: PrivacyPolicy, v: Array) -> PrivacyRows:
        reduction = self.reduction(policy)
        if reduction is not None:
            return reduction.rows(v[0])
        levels, auxiliaries, limit, price = policy.rule.half_rows(
            policy.epsilons, policy.own_pairs, 0.5 - v[0]
        )
        return PrivacyRows.of(levels, auxiliaries, limit, price)

    def reduction(self, policy: PrivacyPolicy) -> Reduction | None:
        return policy.rule.half_reduction(policy.epsilons, policy.own_pairs)

    def ceiling(self, policy: PrivacyPolicy) -> Array:
        # The least b that any pair budget leaves is e^-room / 2, as a = 1/2.
        room = policy.room(np.zeros(policy.size))
        least_b = np.exp(-room) / 2
        return 0.5 - least_b[None]

    def start(self, policy: PrivacyPolicy) -> Array:
        # OUE at the smallest budget of each level's pairs: e^r b_i + b_j >= 1 holds for all.
        room = _smaller_room(policy, np.zeros(policy.size))
        b = 1 / (1 + np.exp(room))
        return 0.5 - b[None]

    def to_probabilities(self, v: Array) -> tuple[Array, Array]:
        a = np.full(v.shape[1], 0.5)
        b = 0.5 - v[0]
        return a, b

    def repair(self, policy: PrivacyPolicy, v: Array) -> Array:
        b = 0.5 - v[0]
        # Raising one b loosens every other row, so one pass over the rows is enough:
        # e^r b_i >= 1 - b_j for all j, where ln (1 - b_j) takes of the budget r what w_j does.
        room = policy.room(np.log1p(-b))
        least_b = np.exp(-room)
        x = 0.5 - np.maximum(b, least_b)
        return _positive(x)[None]


Model = _Opt0 | _Opt2
MODELS: dict[str, Model] = {
    "opt0": _Opt0(),
    "opt1": _Opt1(),
    "opt2": _Opt2(),
}


def model_named(name: str) -> Model:
    """The model called ``name``."""
    if name not in MODELS:
        allowed = f"one of {', '.join(MODELS)}"
        raise InputError("model", name, allowed, "Choose one of them.")
    return MODELS[name]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """``F(v) = f + max_k g_k``: what a model's tables cost, as a function of their coordinates.

    With the objective's coefficients ``f = sum_i (A noise + Q signal)_i`` and
    ``g_k = (B noise + C signal)_k``. Every ``f + g_k`` is convex in ``v``, so that its tangent
    planes are lower bounds of ``F``.
    """

    policy: PrivacyPolicy
    objective: Objective
    model: Model
    coefficients: Coefficients

    @classmethod
    def of(cls, policy: PrivacyPolicy, objective: Objective, model: Model) -> Program:
        """Check the objective against the policy and build the program."""
        return cls(policy, objective, model, objective.coefficients(policy))

    @property
    def asked(self) -> Program:
        """The program in which levels of importance 0 count nothing: it may have no minimum."""
        coefficients = self.objective.coefficients(self.policy, 0.0)
        return replace(self, coefficients=coefficients)

    def value(self, v: Array) -> float:
        """``F`` at coordinates ``v`` of shape ``(c, t)``."""
        atoms = self.model.atoms(v)
        return self.coefficients.evaluate(atoms.noise, atoms.signal)

    def pieces(self, v: Array) -> Pieces:
        """The sum ``f``, the branches ``g_k`` and their slopes at ``v``."""
        A, Q, B, C = self.coefficients
        noise, signal, noise_slope, signal_slope = self.model.atoms(v)
        by_level = A * noise + Q * signal
        return Pieces(
            total=float(np.sum(by_level)),
            branches=B * noise + C * signal,
            slope=A * noise_slope + Q * signal_slope,
            branch_slopes=B * noise_slope + C * signal_slope,
        )

    def curvature(self, v: Array, weights: Array) -> Array:
        """Second derivatives ``(c, c, t)`` of the sum plus the weighted branches."""
        A, Q, B, C = self.coefficients
        noise, signal = self.model.curvature(v)
        noise_weight = A + weights * B
        signal_weight = Q + weights * C
        return noise_weight * noise + signal_weight * signal


def _smaller_room(policy: PrivacyPolicy, values: Array) -> Array:
    """What each level's pairs leave beside these values, in the tighter of the two directions."""
    room = policy.room(values)
    against = policy.room(values, against=True)
    return np.minimum(room, against)


def _positive(values: Array) -> Array:
    """The values, refused unless all are above 0."""
    if not (values > 0).all():
        reason = "The solver's answer is too far outside the policy to be repaired"
        raise ConvergenceError(reason, 'Use method="auto", which tries what is left.')
    return values


def _log_p(u: Expression, unit: Array) -> Expression:
    """``log p(u * unit) - log p(unit)`` as a convex cvxpy expression.

    As ``p(x) = 1 / (e^x - 1) = e^-x / (1 - e^-x)`` it is, with ``c`` the unit,

        c (1 - u) - log [(1 - e^(-c u)) / (1 - e^-c)]
    """
    import cvxpy as cp

    of_unit = -np.expm1(-unit)  # 1 - e^-c
    minus_point = cp.multiply(-unit, u)
    of_point = 1 - cp.exp(minus_point)  # 1 - e^(-c u)
    ratio = cp.multiply(1 / of_unit, of_point)
    fall = cp.multiply(unit, 1 - u)
    return fall - cp.log(ratio)
