"""One question as a block of a joint budget allocation: its error at any share of its budget.

With share ``g`` of its budgets a question's smallest error per user is

    scale * V(g) + offset

with ``V`` decreasing: for choices the optimum of a model under ``s_i + w_j <= g r_ij``, or of all
mechanisms; for a mean ``1 / tanh^2(g eps / 2) = 1 + 4 p (1 + p)`` at ``p(g eps)``. For opt0 and a
mean it is convex, too. Then every evaluation comes with a tangent ``V(h) >= constant - slope * h``
for all shares ``h``, proven like a certificate, from which allocations are proven.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from planner import arguments
from planner.errors import InputError
from planner.planning.budgets import scaled
from planner.planning.channels import bisample_worst
from planner.planning.option import ErrorLaw
from planner.planning.solve import DESIGN, TIGHT, Certified, solve_for
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.certificate import Proof, prove
from planner.solvers.models import model_named
from planner.solvers.program import Program
from planner.solvers.reduced import solve_reduced

Array = NDArray[np.float64]


class AtShare(NamedTuple):
    """A block's error per user at one share, a proven tangent of it, and what was solved if any.

    For all shares ``h``: ``error(h) >= constant - slope * h``. None where it is not convex.
    """

    error: float
    constant: float | None
    slope: float | None
    certified: Certified | None


@dataclass(frozen=True, slots=True)
class ChoiceBlock:
    """A question about one answer out of several, or a set of them.

    Parameters
    ----------
    name:
        The question.
    policy:
        Its levels with the budgets that people tolerate for the whole survey.
    weight:
        Importance of its error in a sum, above 0.
    objective:
        What its error is; the worst-case total by default.
    errors:
        From the objective's value to the error; of one answer out of ``m`` when omitted.
    sets:
        Whether one item of a set is drawn.
    mechanism:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` or ``"subset-design"``.

    Raises
    ------
    InputError
        A number is out of range.
    """

    name: str
    policy: PrivacyPolicy
    weight: float = 1.0
    objective: Objective = field(default_factory=Objective)
    errors: ErrorLaw | None = None
    sets: bool = False
    mechanism: str = "opt0"

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)

    @property
    def law(self) -> ErrorLaw:
        """From the objective's value to the error."""
        one = ErrorLaw(spread=float(1 - 1 / self.policy.item_counts.sum()))
        return self.errors or one

    @property
    def convex(self) -> bool:
        """Whether the error is convex in the share: proven for opt0."""
        return self.mechanism == "opt0"

    @property
    def slow(self) -> bool:
        """Whether it takes long to solve."""
        return self.mechanism == DESIGN

    def solved(self, share: float, tolerance: float = TIGHT) -> Certified:
        """The table or design at ``share``, above 0 and at most 1."""
        about = scaled(self.policy, share), self.mechanism, self.objective, tolerance
        return solve_for(*about, sets=self.sets)

    def bounds_at(self, share: float, tolerance: float = TIGHT) -> tuple[float, float]:
        """Error at ``share``, and what it is at least with as much or less; proven.

        A design is solved to ``tolerance``.
        """
        found = self.solved(share, tolerance)
        proven = found.certificate.lower_bound if found.certificate else -np.inf
        return self.law.error(found.objective_value), self.law.error(proven)

    def rough(self, share: float) -> float:
        """The size of the error at ``share``, to scale programs by; nothing is solved."""
        model = model_named("opt0")
        atoms = model.atoms(model.start(self.policy) * share)
        value = self.objective.coefficients(self.policy).evaluate(atoms.noise, atoms.signal)
        return self.law.error(value)

    def at(self, share: float) -> AtShare:
        """Error, and of opt0 a proven tangent, at ``share``, above 0 and at most 1."""
        table, law = self.solved(share), self.law
        if not self.convex:
            return AtShare(self.law.error(table.objective_value), None, None, table)
        program = Program.of(table.policy, self.objective, model_named("opt0"))
        v, proof = _tangent(program, table)
        total, branches, slope, own = program.pieces(v)
        plane = slope + proof.weights * own
        constant = total + float(proof.weights @ branches) - float(np.sum(plane * v))
        # The smallest value of the plane over share * P is constant - share * (a support
        # function of P); the proof bounds it from below, hence the slope from above.
        fall = max(0.0, (constant - proof.lower_bound) / share)
        return AtShare(
            self.law.error(table.objective_value),
            law.scale * constant + law.offset + law.bias,
            law.scale * fall,
            table,
        )


@dataclass(frozen=True, slots=True)
class MeanBlock:
    """A question about a mean, answered by one bit with budget ``epsilon``.

    The value is ``1 / tanh^2(g eps / 2)``: the error itself of Harmony, and of BiSample with
    everybody answering, less ``mean^2``. It is a variance for people drawn at random.

    Parameters
    ----------
    name:
        The question.
    epsilon:
        Budget that people tolerate for the whole survey, in nats, above 0 and at most 50.
    weight:
        Importance of its error in a sum, above 0.
    errors:
        From the value to the error.
    least_favourable:
        Whether the value is that of BiSample-MD for the least favourable answers instead, which
        rises with ``1 / tanh^2`` and is convex.

    Raises
    ------
    InputError
        A number is out of range.

    Examples
    --------
    >>> round(MeanBlock("income", 2.0).at(0.5).error, 6)
    4.682694
    """

    name: str
    epsilon: float
    weight: float = 1.0
    errors: ErrorLaw = ErrorLaw()  # noqa: RUF009 - frozen
    least_favourable: bool = False

    def __post_init__(self) -> None:
        _check_weight(self.name, self.weight)
        arguments.budget("epsilon", self.epsilon)

    @property
    def law(self) -> ErrorLaw:
        """From the value to the error."""
        return self.errors

    @property
    def convex(self) -> bool:
        """Whether the error is convex in the share."""
        return True

    @property
    def slow(self) -> bool:
        """Whether it takes long to solve."""
        return False

    @property
    def mechanism(self) -> str:
        """The mechanism whose error this is."""
        return "bisample-md"

    def bounds_at(self, share: float, _tolerance: float = TIGHT) -> tuple[float, float]:
        """Error at ``share``, and what it is at least with as much or less: the same."""
        error = self.at(share).error
        return error, error

    def rough(self, share: float) -> float:
        """The size of the error at ``share``, to scale programs by."""
        return self.at(share).error

    def at(self, share: float) -> AtShare:
        """Error and its tangent at ``share``, above 0 and at most 1."""
        p = float(logodds.p(np.array(share * self.epsilon)))
        # In this order the error of a mean at the end of its range does not round to 0.
        law = self.errors
        u = 1 + 4 * p * (1 + p)
        error = law.scale * 4 * p * (1 + p) + (law.scale + law.offset) + law.bias
        rise = law.scale
        if self.least_favourable:
            error = law.error(bisample_worst(u))
            rise *= min((u + 1) / 2, 2.0)
        fall = -rise * self.epsilon * 4 * (1 + 2 * p) * float(logodds.p_slope(np.array(p)))
        return AtShare(error, error + fall * share, fall, None)


Block = ChoiceBlock | MeanBlock


def _tangent(program: Program, table: Certified) -> tuple[Array, Proof]:
    """A point next to the optimum and the proof from the tangent planes there.

    The reduction has its own proof, in O(t); its bound is at most that of the linear program
    over the same planes, so slopes that follow from it err to the safe side.
    """
    if program.policy.reduction is not None:
        return solve_reduced(program)
    v = np.array(logodds.to_log_odds(table.a, table.b))
    return v, prove(program, v)


def _check_weight(name: str, weight: float) -> None:
    if not (isfinite(weight) and weight > 0):
        remedy = "Leave a question that does not matter out of the survey."
        raise InputError(f"weight of question {name!r}", weight, "finite and above 0", remedy)
