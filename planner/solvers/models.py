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
from planner.policy.rules import PrivacyRows, Reduction

Expression = Any
"""Of cvxpy, which is loaded where it is needed; or a constraint."""
Expressions = tuple[Expression, Expression, list[Expression]]


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
    mix: ClassVar[Array] = np.eye(2)  # of the coordinates, to (s, w)
    # The coordinates' step along (s - w) / 2; 0 where the model does not leave it free.
    balance: ClassVar[Array] = np.array([[1.0], [-1.0]])

    def atoms(self, v: Array) -> Atoms:
        # With p = p(s) and q = p(w): noise p (1 + q), signal q - p.
        p, q = logodds.p(v)
        dp = logodds.p_slope(p)
        dq = logodds.p_slope(q)
        noise_slope = np.array([dp * (1 + q), p * dq])
        signal_slope = np.array([-dp, dq])
        return Atoms(p * (1 + q), q - p, noise_slope, signal_slope)

    def curvature(self, v: Array) -> Curvature:
        p, q = logodds.p(v)
        dp = logodds.p_slope(p)
        dq = logodds.p_slope(q)
        d2p = logodds.p_curvature(p)
        d2q = logodds.p_curvature(q)
        none = np.zeros_like(p)
        noise = np.array([[d2p * (1 + q), dp * dq], [dp * dq, p * d2q]])
        signal = np.array([[-d2p, none], [none, d2q]])
        return Curvature(noise, signal)

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        """``noise``, ``signal`` and constraints at ``u * unit`` for cvxpy variables near 1."""
        import cvxpy as cp

        log_p = _log_p(u[0], unit[0])
        log_q = _log_p(u[1], unit[1])
        p0, q0 = logodds.p(unit)
        # Variables near 1, of which p0, q0 and p0 q0 are the units.
        relative_p = cp.Variable(p0.size)
        relative_q = cp.Variable(p0.size)
        relative_product = cp.Variable(p0.size)
        # Equality holds at the optimum: the net weight of p(s) is never negative.
        tight = [
            relative_p >= cp.exp(log_p),
            relative_q >= cp.exp(log_q),
            relative_product >= cp.exp(log_p + log_q),
        ]
        p = cp.multiply(p0, relative_p)
        q = cp.multiply(q0, relative_q)
        product = cp.multiply(p0 * q0, relative_product)
        return p + product, q - p, tight

    def rows(self, policy: PrivacyPolicy, v: Array) -> PrivacyRows:  # noqa: ARG002 - prices are constant
        levels, auxiliaries, limit, price = policy.rule.log_odds_rows(
            policy.epsilons, policy.own_pairs
        )
        return PrivacyRows.of(levels, auxiliaries, limit, price)

    def reduction(self, policy: PrivacyPolicy) -> Reduction | None:
        return policy.rule.reduction(policy.epsilons)

    def ceiling(self, policy: PrivacyPolicy) -> Array:
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
    mix: ClassVar[Array] = np.ones((2, 1))
    balance: ClassVar[Array] = np.zeros((1, 1))

    def atoms(self, v: Array) -> Atoms:
        # By the chain rule tau's slope is the sum of those of s and w.
        noise, signal, noise_slope, signal_slope = super().atoms(self.mix @ v)
        noise_by_tau = noise_slope.sum(axis=0)[None]
        signal_by_tau = signal_slope.sum(axis=0)[None]
        return Atoms(noise, signal, noise_by_tau, signal_by_tau)

    def curvature(self, v: Array) -> Curvature:
        of_both = super().curvature(self.mix @ v)
        noise = of_both.noise.sum(axis=(0, 1))[None, None]
        signal = of_both.signal.sum(axis=(0, 1))[None, None]
        return Curvature(noise, signal)

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        import cvxpy as cp

        log_p = _log_p(u[0], unit[0])
        p0 = logodds.p(unit[0])
        # The noise is p + p^2.
        p = cp.multiply(p0, cp.exp(log_p))
        square = cp.multiply(p0**2, cp.exp(2 * log_p))
        return p + square, cp.Constant(np.zeros(p0.size)), []

    def rows(self, policy: PrivacyPolicy, v: Array) -> PrivacyRows:  # noqa: ARG002
        import scipy.sparse as sp

        levels, auxiliaries, limit, price = policy.rule.log_odds_rows(
            policy.epsilons, policy.own_pairs
        )
        to_both = sp.kron(self.mix, sp.eye_array(policy.size))
        return PrivacyRows.of(levels @ to_both, auxiliaries, limit, price)

    def ceiling(self, policy: PrivacyPolicy) -> Array:
        return super().ceiling(policy).min(axis=0)[None]

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
        square = 0.25 / np.square(x)
        # That is square - 1, with all its digits.
        noise = (0.5 - x) * (0.5 + x) * 4 * square
        noise_slope = -2 * square / v
        return Atoms(noise, np.ones_like(noise), noise_slope, np.zeros_like(v))

    def curvature(self, v: Array) -> Curvature:
        noise = (1.5 / v[0] ** 4)[None, None]
        return Curvature(noise, np.zeros_like(noise))

    def expressions(self, u: Expression, unit: Array) -> Expressions:
        import cvxpy as cp

        scale = 0.25 / unit[0] ** 2
        noise = cp.multiply(scale, cp.power(u[0], -2)) - 1
        return noise, cp.Constant(np.ones(u.shape[1])), []

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
        return 0.5 - np.exp(-room)[None] / 2

    def start(self, policy: PrivacyPolicy) -> Array:
        # OUE at the smallest budget of each level's pairs: e^r b_i + b_j >= 1 holds for all.
        room = _smaller_room(policy, np.zeros(policy.size))
        return 0.5 - 1 / (1 + np.exp(room))[None]

    def to_probabilities(self, v: Array) -> tuple[Array, Array]:
        return np.full(v.shape[1], 0.5), 0.5 - v[0]

    def repair(self, policy: PrivacyPolicy, v: Array) -> Array:
        b = 0.5 - v[0]
        # Raising one b loosens every other row, so one pass over the rows is enough.
        least_b = np.exp(-policy.room(np.log1p(-b)))
        x = 0.5 - np.maximum(b, least_b)
        return _positive(x)[None]


Model = _Opt0 | _Opt2
MODELS: dict[str, Model] = {"opt0": _Opt0(), "opt1": _Opt1(), "opt2": _Opt2()}


def model_named(name: str) -> Model:
    """The model called ``name``."""
    if name not in MODELS:
        allowed = f"one of {', '.join(MODELS)}"
        raise InputError("model", name, allowed, "Choose one of them.")
    return MODELS[name]


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """``F(v) = sum_i (A noise + Q signal)_i + max_k (B noise + C signal)_k``.

    Every branch ``k`` of the maximum, added to the sum, is convex in ``v``; the sum
    plus one linearised branch is therefore a lower bound of ``F``.
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
        """The same, levels of importance 0 counting nothing: it may have no minimum."""
        coefficients = self.objective.coefficients(self.policy, 0.0)
        return replace(self, coefficients=coefficients)

    def value(self, v: Array) -> float:
        """``F`` at coordinates ``v`` of shape ``(c, t)``."""
        atoms = self.model.atoms(v)
        return self.coefficients.evaluate(atoms.noise, atoms.signal)

    def pieces(self, v: Array) -> tuple[float, Array, Array, Array]:
        """Sum, branches ``(t,)``, slope of the sum ``(c, t)``, own slope of each branch ``(c, t)``.

        Branch ``k`` depends on the coordinates of level ``k`` alone.
        """
        A, Q, B, C = self.coefficients
        noise, signal, noise_slope, signal_slope = self.model.atoms(v)
        total = float(np.sum(A * noise + Q * signal))
        branches = B * noise + C * signal
        slope = A * noise_slope + Q * signal_slope
        own_slope = B * noise_slope + C * signal_slope
        return total, branches, slope, own_slope

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

    complement_of_unit = -np.expm1(-unit)
    complement = 1 - cp.exp(cp.multiply(-unit, u))
    ratio = cp.multiply(1 / complement_of_unit, complement)
    return cp.multiply(unit, 1 - u) - cp.log(ratio)
