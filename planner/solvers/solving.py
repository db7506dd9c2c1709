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
_TIGHT_ENOUGH = 1e-10  # a larger gap is worth another Newton step
_NEWTON_STEPS = 3
_SMALL = 12  # levels up to which SLSQP beats the conic solver's set-up time
_LARGE = 2_000  # levels beyond which the full linear program is not worth its time
# Levels up to which SLSQP's dense rows fit: the second try when conic fails.
_DENSE = 100
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
    attempts = [method]
    if method == "auto":
        attempts = _methods_for(program)
    failures = []
    for attempt in attempts:
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
    # With one budget for all pairs the models' starting points are these closed forms.
    inner = model_named("opt2")
    if model == "rappor":
        inner = model_named("opt1")
    budgets = np.full(policy.size, smallest_budget(policy))
    plain = PrivacyPolicy(budgets, policy.item_counts)
    start = inner.start(plain)
    a, b = rounded_inward(start, inner.to_probabilities, plain)
    return UnaryTable(policy, a, b, model, "closed form")


def _methods_for(program: Program) -> list[str]:
    """The methods to try in turn."""
    size = program.policy.size
    if program.model.reduction(program.policy) is not None:
        methods = ["reduced", "conic"]
    elif size <= _SMALL:
        methods = ["slsqp", "conic"]
    else:
        methods = ["conic", "slsqp"]
    if size > _DENSE:
        return methods[:1]
    return methods


def smallest_budget(policy: PrivacyPolicy) -> float:
    """The smallest pair budget, in nats, where it is not too small for any solver."""
    smallest = policy.smallest_pair
    if smallest < LEAST_EPSILON:
        allowed = f"at least {LEAST_EPSILON:g}, or deployed probabilities cannot tell it from 0"
        remedy = "Raise the smallest budgets."
        raise InputError("smallest pair budget", smallest, allowed, remedy)
    return smallest


def solve_by(program: Program, method: str) -> UnaryTable:
    """The table of a program by one method, proven; a :class:`SolverError` if it is not."""
    if method == "reduced":
        v, proof = reduced.solve_reduced(program)
        if not _is_settled(program, v, proof):
            # The reduction's proof misses some ties of the maximum.
            by_planes = prove(program, v)
            proof = max(proof, by_planes, key=_strength)
    else:
        # SciPy's and cvxpy's solvers take long to load.
        from planner.solvers import general

        if method == "slsqp":
            unrepaired = general.solve_slsqp(program)
        else:
            unrepaired = general.solve_conic(program)
        v = program.model.repair(program.policy, unrepaired)
        proof = prove(program, v)
    v, proof = tightened(program, v, proof)
    table = proven_table(program, v, proof, method)
    gap = np.inf
    if table.certificate is not None:
        gap = table.certificate.relative_gap
    if not gap <= PROVEN_TABLE:
        reason = f"The method {method!r} is proven optimal only to a relative {gap:.1e}"
        remedy = (
            "Use another method; where the error is next to nothing, "
            "lower the largest budgets."
        )
        raise ConvergenceError(reason, remedy)
    # Levels of importance 0 count a little in what was solved; the bound is to hold without them.
    asked = program.asked
    if np.array_equal(asked.coefficients, program.coefficients):
        return table
    if program.policy.size > _LARGE and method == "reduced":
        _, of_asked = reduced.solve_reduced(program, asked)
    else:
        of_asked = prove(asked, v)
    certificate = Certificate.of(
        table.objective_value,
        min(proof.lower_bound, of_asked.lower_bound),
        "tables",
        solved=proof.lower_bound,
    )
    return replace(table, certificate=certificate)


def _strength(proof: Proof) -> tuple[bool, float]:
    """By which the better of two proofs is chosen: its prices are slopes, its bound is larger."""
    return proof.stationary, proof.lower_bound


def _is_settled(program: Program, v: Array, proof: Proof) -> bool:
    """Whether the proof is tight, or the problem so large that a tighter one is not worth it."""
    gap = program.value(v) - proof.lower_bound
    is_tight = gap <= _TIGHT_ENOUGH * abs(proof.lower_bound)
    return program.policy.size > _LARGE or (is_tight and proof.stationary)


def tightened(program: Program, v: Array, proof: Proof) -> tuple[Array, Proof]:
    """The answer, made and proven tighter by a few Newton steps if it is not tight yet."""
    best = v
    best_proof = proof
    for _ in range(_NEWTON_STEPS):
        if _is_settled(program, best, best_proof):
            break
        try:
            step = newton_step(program, v, best_proof.weights)
            v = program.model.repair(program.policy, step)
            proof = prove(program, v)
        except ConvergenceError:
            break  # the proof so far stands; solve() judges whether it is good enough
        gap = program.value(v) - proof.lower_bound
        if gap < program.value(best) - best_proof.lower_bound:
            best = v
            best_proof = proof
    return best, best_proof


def proven_table(program: Program, v: Array, proof: Proof, method: str) -> UnaryTable:
    """The table at ``v``, moved inward by rounding errors, with its proof."""
    a, b = rounded_inward(v, program.model.to_probabilities, program.policy)
    table = UnaryTable(
        program.policy,
        a,
        b,
        program.model.name,
        method,
        program.objective,
        shadow_prices=np.maximum(proof.shadow_prices, 0.0),
    )
    bound = float(proof.lower_bound)
    certificate = Certificate.of(table.objective_value, bound, "tables")
    return replace(table, certificate=certificate)


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
        s_exceeds = s > policy.room(w)
        w_exceeds = w > policy.room(s, against=True)
        is_outside = s_exceeds | w_exceeds
        if not is_outside.any():
            return a, b
        shrunk = v * (1 - shrink)
        v = np.where(is_outside, shrunk, v)
        shrink *= 2
    raise ConvergenceError(
        "Rounding alone breaks a pair's budget", "Report the policy."
    )
