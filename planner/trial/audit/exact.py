"""The budgets that a mechanism's output law really spends, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms.padded_design import PaddedDesignMechanism
from planner.mechanisms.padding import PaddedUnaryMechanism, set_budgets
from planner.mechanisms.unary import UnaryMechanism

_MAX_LEVELS = 200
_MAX_SET_ITEMS = 8


@dataclass(frozen=True, slots=True)
class LevelPair:
    """Realised and demanded budget of a pair of levels, in nats.

    ``demanded`` is ``inf`` where the policy demands nothing; ``realised`` is then
    still what the mechanism spends.
    """

    first: str
    second: str
    realised: float
    demanded: float


@dataclass(frozen=True, slots=True, eq=False)
class SetAudit:
    """Realised and demanded budget of every pair of item sets, by brute force.

    Attributes
    ----------
    realised:
        Largest log-ratio over all reports, shape ``(2^m, 2^m)``; row and column are sets,
        read as binary numbers (item 0 is the lowest digit).
    demanded:
        The smaller of the two sets' budgets (eq. 16 and 18), same shape.
    """

    realised: NDArray[np.float64]
    demanded: NDArray[np.float64]

    @property
    def largest_excess(self) -> float:
        """Largest ``realised - demanded``, in nats; not positive if eq. 18 holds."""
        return float(np.max(self.realised - self.demanded))


def law_loss(law: NDArray[np.float64]) -> float:
    """Largest log-ratio between two rows of an output law, in nats; ``inf`` if a zero shows.

    Parameters
    ----------
    law:
        ``Pr[report | input]``, one row per input, each summing to 1.

    Raises
    ------
    InputError
        It is not a law.

    Examples
    --------
    >>> round(law_loss(np.array([[0.75, 0.25], [0.25, 0.75]])), 4)
    1.0986
    >>> law_loss(np.array([[1.0, 0.0], [0.5, 0.5]]))
    inf
    """
    law = np.asarray(law, dtype=np.float64)
    if law.ndim != 2 or law.size == 0 or not np.all(law >= 0):
        remedy = "Write [[0.75, 0.25], [0.25, 0.75]] for two inputs and two reports."
        raise InputError("law", law.shape, "a matrix of probabilities, one row per input", remedy)
    for row in np.flatnonzero(np.abs(law.sum(axis=1) - 1) > 1e-9)[:1]:
        remedy = "Give the chances of all reports of this input."
        raise InputError(f"sum of law[{row}]", float(law[row].sum()), "1", remedy)
    high, low = law.max(axis=0), law.min(axis=0)
    possible = high > 0
    if np.any(low[possible] == 0):
        return float("inf")
    return float(np.max(np.log(high[possible]) - np.log(low[possible])))


def audit_levels(mechanism: UnaryMechanism) -> list[LevelPair]:
    """Realised budget of every pair of levels beside the demanded one.

    The bits of a report are independent, and two items' laws differ in their own two bits
    alone, so the law of these two bits (four outcomes) has the loss of the whole report.
    A pair within a level of one item does not exist, and is left out.

    Raises
    ------
    InputError
        More than 200 levels, hence more pairs than anybody reads.

    Examples
    --------
    >>> pair, = audit_levels(UnaryMechanism.rappor(1.0, items=3))
    >>> pair.realised <= pair.demanded, round(pair.realised, 6)
    (True, 1.0)
    """
    policy = mechanism.table.policy
    if policy.size > _MAX_LEVELS:
        remedy = "Audit a policy with fewer levels."
        raise InputError("levels", policy.size, f"at most {_MAX_LEVELS} to list all pairs", remedy)
    demanded = policy.bounds()
    members = [np.flatnonzero(mechanism.level_of == i)[:2] for i in range(policy.size)]
    a, b = mechanism.a, mechanism.b
    pairs = []
    for i in range(policy.size):
        for j in range(i, policy.size):
            if i == j and members[i].size < 2:
                continue
            first, second = members[i][0], members[j][-1]
            one = _two_bits(a[first], b[second])
            other = _two_bits(b[first], a[second])
            realised = law_loss(np.array([one, other]))
            names = policy.names[i], policy.names[j]
            pairs.append(LevelPair(*names, realised, float(demanded[i, j])))
    return pairs


def audit_sets(mechanism: PaddedUnaryMechanism | PaddedDesignMechanism) -> SetAudit:
    """Every pair of item sets and every report, for at most eight items (eq. 18).

    Examples
    --------
    >>> unary = UnaryMechanism.rappor(1.0, items=3)
    >>> audit = audit_sets(PaddedUnaryMechanism(unary, padding_length=1))
    >>> audit.largest_excess <= 1e-12, round(float(audit.realised.max()), 6)
    (True, 1.0)
    """
    if mechanism.items > _MAX_SET_ITEMS:
        allowed = f"at most {_MAX_SET_ITEMS} to list all sets"
        remedy = "Audit the same levels with fewer items."
        raise InputError("items", mechanism.items, allowed, remedy)
    law = mechanism.output_law()
    law = np.log(law[:, law.max(axis=0) > 0])
    realised = np.array([np.max(row - law, axis=1) for row in law])
    codes = range(2**mechanism.items)
    sets = [[k for k in range(mechanism.items) if (code >> k) & 1] for code in codes]
    budgets = set_budgets(mechanism, sets)
    return SetAudit(realised, np.minimum(budgets[:, None], budgets[None, :]))


def _two_bits(first: float, second: float) -> list[float]:
    """Law of two independent bits with these probabilities of 1: 00, 01, 10, 11."""
    return [
        (first if x else 1 - first) * (second if y else 1 - second) for x in (0, 1) for y in (0, 1)
    ]
