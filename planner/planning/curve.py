"""A question's error at any scale of its budgets: what shares and what-ifs ask of it.

Every curve falls: whatever keeps smaller budgets keeps larger ones, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite

import numpy as np

from planner import arguments
from planner.arrays import Array
from planner.errors import InputError
from planner.planning.option import ErrorLaw, Option
from planner.planning.solve import DESIGN, TIGHT, TOTAL, scaled, solve_for
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy

_MOST_LEVELS = 1_000  # whose pairs are looked at


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A question's error with one mechanism at any scale of its budgets, and its weight in a sum.

    ``at(scale=1, level=None, tolerance=1e-6)`` is the :class:`Option` there, with its proof: with
    budgets times ``scale``, above 0, of one ``level`` alone or all, a design solved to the
    ``tolerance``. ``errors`` make its squared error; ``convex`` says that this is proven convex in
    the scale of all budgets; ``carried`` is what its part of a sum is at least at larger scales, by
    a bound at a smaller one.

    Raises
    ------
    InputError
        The weight is not finite and above 0.

    Examples
    --------
    >>> curve = choice_curve("page", PrivacyPolicy([1.0, 2.0], [5, 90], names=["own", "public"]))
    >>> options = curve.at(), curve.at(2.0), curve.at(2.0, "own")
    >>> [round(option.squared, 1) for option in options]
    [220.9, 45.2, 69.8]
    """

    name: str
    weight: float
    errors: ErrorLaw
    mechanism: str
    at: Callable[..., Option]
    convex: bool = False
    carried: Callable[[Array, Array, Array], Array] | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.weight) and self.weight > 0):
            remedy = "Leave a question that does not matter out of the survey."
            what = f"weight of question {self.name!r}"
            raise InputError(what, self.weight, "finite and above 0", remedy)


def choice_curve(
    name: str,
    policy: PrivacyPolicy,
    weight: float = 1.0,
    objective: Objective = TOTAL,
    errors: ErrorLaw | None = None,
    mechanism: str = "opt0",
) -> Curve:
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

    def at(scale: float = 1.0, level: str | None = None, *, tolerance: float = TIGHT) -> Option:
        found = solve_for(scaled(policy, scale, level), mechanism, objective, tolerance)
        proof = found.certificate
        proven = None if proof is None else proof.solved_bound or proof.lower_bound
        return Option(mechanism, found.value(objective), law, found, proven)

    closed = policy.size <= _MOST_LEVELS and not policy.rule.open_pairs
    if mechanism != DESIGN or objective.kind != "worst-case" or not closed:
        return Curve(name, weight, law, mechanism, at, convex=mechanism == "opt0")
    item = weight * law.scale * float(objective.item_weights(policy).max())
    least, most = policy.bounds().min(), policy.bounds().max(axis=0).min()

    def carried(part: Array, scale: Array, larger: Array) -> Array:
        lost = np.exp(larger * most) * np.expm1((scale - larger) * least) / np.expm1(scale * least)
        kept = 1 / (1 - lost)
        return (part + item) * kept**2 - item

    return Curve(name, weight, law, mechanism, at, carried=carried)


def mean_curve(
    name: str,
    epsilon: float,
    weight: float = 1.0,
    error: Callable[[float], float] = lambda excess: 1 + excess,
) -> Curve:
    """A question about a mean, answered by one bit with budget ``epsilon``, in nats, at most 50.

    ``error`` is a variance for people drawn at random, from ``1 / tanh^2(g eps / 2) - 1``, which is
    ``4 p (1 + p)`` at ``p(g eps)``: convex and not falling. Harmony's for the least favourable
    answers, if omitted.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> round(mean_curve("income", 2.0).at(0.5).squared, 6)
    4.682694
    """
    arguments.budget("epsilon", epsilon)

    def at(scale: float = 1.0, **_: object) -> Option:
        p = float(logodds.p(np.array(scale * epsilon)))
        value = float(error(4 * p * (1 + p)))
        return Option("bisample-md", value, ErrorLaw(), bound=value)

    return Curve(name, weight, ErrorLaw(), "bisample-md", at, convex=True)
