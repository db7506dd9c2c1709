"""From a policy to a certified table of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError, SolverError
from planner.limits import LEAST_EPSILON
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy, require_policy
from planner.solvers import reduced
from planner.solvers.answers import Certificate, UnaryTable
from planner.solvers.certificate import Proof, newton_step, prove
from planner.solvers.models import Program, model_named
from planner.solvers.threads import one_thread

METHODS = ("auto", "reduced", "slsqp", "conic")
BASELINES = ("rappor", "oue")
PROVEN_TABLE = 1e-6  # largest proven relative gap of a table that solve returns
_TIGHT_ENOUGH = 1e-10  # a gap worth another Newton step
_SMALL = 12  # levels up to which SLSQP beats the conic solver's set-up time
_LARGE = 2_000  # levels beyond which the full linear program is not worth its time
_DENSE = (
    100  # levels up to which SLSQP's dense rows fit: the second try when conic fails
)
_LEAST_B = 2.0**-1000  # keeps ln b finite where 1/2 - x rounds to 0


@one_thread
def solve(
    policy: PrivacyPolicy,
    model: str = "opt0",
    method: str = "auto",
    objective: Objective | str = "worst-case",
) -> UnaryTable:
    """Find the bit probabilities with the smallest error that keep ``policy``, with proof.

    Parameters
    ----------
    policy:
        The levels, their budgets and the pair rule.
    model:
        ``"opt0"`` (free a and b), ``"opt1"`` (a + b = 1) or ``"opt2"`` (a = 1/2).
    method:
        ``"reduced"`` (the rules min and avg, any number of levels), ``"slsqp"`` or ``"conic"`` (any
        rule); ``"auto"`` picks one, and the table says which.
    objective:
        An :class:`~planner.policy.objective.Objective`, or the kind of one that needs no
        further numbers: ``"worst-case"`` or ``"minimax"``.

    Returns
    -------
    UnaryTable
        Never outside the policy; the relative gap of its certificate is at most 1e-6.

    Raises
    ------
    InputError
        An unknown name, a method or an objective that does not fit the policy, or pair budgets
        below 1e-9.
    SolverError
        No certified answer could be produced.

    Notes
    -----
    Source: IDUE paper, eq. 9, 11 and 12. That opt0 is convex in log-odds coordinates,
    and the certificate, are this package's own results.

    Examples
    --------
    >>> table = solve(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> round(table.worst_case_mse, 5), table.method
    (239.72296, 'reduced')
    >>> table.max_violation, table.certificate.over
    (0.0, 'tables')
    """
    require_policy(policy)
    if method not in METHODS:
        raise InputError(
            "method", method, f"one of {', '.join(METHODS)}", "Choose one of them."
        )
    if isinstance(objective, str):
        objective = Objective(objective)
    program = Program.of(policy, objective, model_named(model))
    smallest_budget(policy)
    failures = []
    for attempt in _pick(program) if method == "auto" else (method,):
        try:
            return solve_by(program, attempt)
        except SolverError as error:
            failures.append(error)
    raise failures[0]


@one_thread
def baseline(policy: PrivacyPolicy, model: str) -> UnaryTable:
    """The table of plain LDP at the smallest pair budget: what users would pick instead.

    ``model`` is ``"rappor"`` (symmetric, ``a = 1 - b = e^(eps/2) / (e^(eps/2) + 1)``) or
    ``"oue"`` (``a = 1/2``, ``b = 1 / (e^eps + 1)``); every pair is protected alike.

    Examples
    --------
    >>> policy = PrivacyPolicy([np.log(4), np.log(6)], [1, 4])
    >>> [round(baseline(policy, name).worst_case_mse, 3) for name in ("rappor", "oue")]
    [10.0, 9.889]
    """
    require_policy(policy)
    if model not in BASELINES:
        raise InputError(
            "model", model, f"one of {', '.join(BASELINES)}", "Choose one of them."
        )
    inner = model_named("opt1" if model == "rappor" else "opt2")
    smallest = smallest_budget(policy)
    plain = PrivacyPolicy(np.full(policy.size, smallest), policy.item_counts)
    a, b = rounded_inward(inner.start(plain), inner.to_probabilities, plain)
    return UnaryTable(policy, a, b, model, "closed form")


def _pick(program: Program) -> tuple[str, ...]:
    """The methods to try in turn."""
    size = program.policy.size
    methods = ("slsqp", "conic") if size <= _SMALL else ("conic", "slsqp")
    if program.model.reduction(program.policy) is not None:
        methods = "reduced", "conic"
    return methods if size <= _DENSE else methods[:1]


def smallest_budget(policy: PrivacyPolicy) -> float:
    """The smallest pair budget, in nats, where it is not too small for any solver."""
    smallest = policy.smallest_pair
    if smallest < LEAST_EPSILON:
        allowed = f"at least {LEAST_EPSILON:g}, or deployed probabilities cannot tell it from 0"
        raise InputError(
            "smallest pair budget", smallest, allowed, "Raise the smallest budgets."
        )
    return smallest


def solve_by(program: Program, method: str) -> UnaryTable:
    """The table of a program by one method, proven; a :class:`SolverError` if it is not."""
    if method == "reduced":
        v, proof = reduced.solve_reduced(program)
        if not _settled(program, v, proof):
            # The reduction's proof misses some ties of the maximum.
            proof = max(
                proof,
                prove(program, v),
                key=lambda candidate: (candidate.stationary, candidate.lower_bound),
            )
    else:
        from planner.solvers import (
            general,
        )  # SciPy's and cvxpy's solvers take long to load

        solve_by = general.solve_slsqp if method == "slsqp" else general.solve_conic
        v = program.model.repair(program.policy, solve_by(program))
        proof = prove(program, v)
    v, proof = tightened(program, v, proof)
    table = proven_table(program, v, proof, method)
    gap = table.certificate.relative_gap if table.certificate else np.inf
    if not gap <= PROVEN_TABLE:
        reason = f"The method {method!r} is proven optimal only to a relative {gap:.1e}"
        remedy = (
            "Use another method; where the error is next to nothing, "
            "lower the largest budgets."
        )
        raise ConvergenceError(reason, remedy)
    asked = program.asked
    if np.array_equal(asked.coefficients, program.coefficients):
        return table
    large = program.policy.size > _LARGE and method == "reduced"
    of_asked = reduced.solve_reduced(program, asked)[1] if large else prove(asked, v)
    bound = min(proof.lower_bound, of_asked.lower_bound)
    certificate = Certificate.of(
        table.objective_value, bound, "tables", proof.lower_bound
    )
    return replace(table, certificate=certificate)


def _settled(program: Program, v: Array, proof: Proof) -> bool:
    """Whether the proof is tight, or the problem so large that a tighter one is not worth it."""
    tight = program.value(v) - proof.lower_bound <= _TIGHT_ENOUGH * abs(
        proof.lower_bound
    )
    return program.policy.size > _LARGE or (tight and proof.stationary)


def tightened(program: Program, v: Array, proof: Proof) -> tuple[Array, Proof]:
    """The answer, made and proven tighter by a few Newton steps if it is not tight yet."""
    best = v, proof
    for _ in range(3):
        if _settled(program, *best):
            break
        try:
            v = program.model.repair(
                program.policy, newton_step(program, v, best[1].weights)
            )
            proof = prove(program, v)
        except ConvergenceError:
            break  # the proof so far stands; solve() judges whether it is good enough
        gaps = [program.value(point) - p.lower_bound for point, p in (best, (v, proof))]
        best = best if gaps[0] <= gaps[1] else (v, proof)
    return best


def proven_table(program: Program, v: Array, proof: Proof, method: str) -> UnaryTable:
    """The table at ``v``, moved inward by rounding errors, with its proof."""
    a, b = rounded_inward(v, program.model.to_probabilities, program.policy)
    table = UnaryTable(
        program.policy, a, b, program.model.name, method, program.objective
    )
    certificate = Certificate.of(
        table.objective_value, float(proof.lower_bound), "tables"
    )
    prices = np.maximum(proof.shadow_prices, 0.0)
    return replace(table, certificate=certificate, shadow_prices=prices)


def rounded_inward(
    v: Array,
    to_probabilities: Callable[[Array], tuple[Array, Array]],
    policy: PrivacyPolicy,
) -> tuple[Array, Array]:
    """``(a, b)`` of ``v``, moved inward by rounding errors until every pair keeps its budget."""
    shrink = 1e-15
    for _ in range(60):
        a, b = to_probabilities(v)
        a = np.minimum(a, 1 - 2.0**-53)
        b = np.maximum(b, _LEAST_B)
        s, w = logodds.to_log_odds(a, b)
        outside = (s > policy.room(w)) | (w > policy.room(s, against=True))
        if not outside.any():
            return a, b
        v = np.where(outside, v * (1 - shrink), v)
        shrink *= 2
    raise ConvergenceError(
        "Rounding alone breaks a pair's budget", "Report the policy."
    )
