"""From a policy to the best of all mechanisms that keep it, with proof."""

from __future__ import annotations

from planner.designs.subset_design import DesignCertificate, SubsetDesign
from planner.errors import InputError
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.design.generation import generate
from planner.solvers.design.problem import DesignProblem
from planner.solvers.design.repair import balanced_prior, purified, types_of
from planner.solvers.design.windows import windows_of

__all__ = ["best_design"]


def best_design(
    policy: PrivacyPolicy, objective: Objective | str | None = None, tolerance: float = 1e-6
) -> SubsetDesign:
    """Find the mechanism with the smallest error of all that keep ``policy``, with proof.

    Not the best table of bit probabilities, which :func:`planner.solve` finds, but the best
    of all non-interactive mechanisms with unbiased estimates.

    Parameters
    ----------
    policy:
        The levels, their budgets and the pair rule (``"min"`` or ``"avg"``).
    objective:
        The worst case when omitted, also with weights.
    tolerance:
        The relative gap to prove, above 0 and below 1.

    Returns
    -------
    SubsetDesign
        Its certificate states the gap that was reached, which may be larger than asked for.

    Raises
    ------
    InputError
        An argument is outside its range.
    ConvergenceError
        The cone solver failed.

    Notes
    -----
    Source: this package's own result; docs/theory/designs.md has the proofs. With equal
    budgets it returns subset selection (Ye and Barg 2018).

    Examples
    --------
    >>> from math import log
    >>> design = best_design(PrivacyPolicy([log(4), log(6)], [1, 4]))
    >>> round(design.worst_case_mse, 5), design.types.size  # the best table has 8.56750
    (3.87024, 3)
    >>> design.types.high_counts.tolist()
    [[0, 1], [0, 2], [1, 0]]
    """
    chosen = Objective() if objective is None else objective
    chosen = Objective(chosen) if isinstance(chosen, str) else chosen
    if not 0 < tolerance < 1:
        raise InputError("tolerance", tolerance, "above 0 and below 1", "Leave it out for 1e-6.")
    if chosen.kind != "worst-case":
        raise InputError("objective", chosen.kind, '"worst-case"', "Weights are allowed.")
    if policy.rule_name == "matrix":
        raise InputError("rule", "a matrix", '"min" or "avg" for a design', "Use solve().")
    if policy.item_counts.sum() < 2:
        raise InputError("item_counts", 1, "two items or more", "Nothing is asked of one item.")
    weights = chosen.coefficients(policy).noise_sum / policy.item_counts
    problem = DesignProblem(policy.item_counts, windows_of(policy), weights)
    answer = generate(problem, tolerance)
    columns, amounts = purified(problem, answer.columns, answer.weights, answer.prior)
    types = types_of(problem, columns, amounts)
    prior = balanced_prior(types, answer.prior, weights)
    design = SubsetDesign(policy, types, prior, chosen)
    value = design.objective_value
    bound = min(answer.lower_bound, value)
    certificate = DesignCertificate(bound, (value - bound) / bound)
    return SubsetDesign(policy, types, prior, chosen, certificate)
