"""Audits: what a mechanism's output law really spends, and what its samples give away.

The exact audits read probabilities, never the formula that a mechanism was built from.
The empirical audit reads nothing but samples: it proves a lower bound on the loss with a
stated confidence, and so catches a mechanism that is broken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.mechanisms import inputs
from planner.mechanisms.padding import PaddedUnaryMechanism, set_budgets
from planner.mechanisms.unary import UnaryMechanism

__all__ = [
    "EmpiricalAudit",
    "LevelPair",
    "SetAudit",
    "audit_levels",
    "audit_samples",
    "audit_sets",
    "law_loss",
]

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


@dataclass(frozen=True, slots=True)
class EmpiricalAudit:
    """A lower bound on the privacy loss, proven from samples.

    Attributes
    ----------
    lower_bound:
        The loss is at least this many nats, with probability ``confidence``.
    confidence:
        Probability that the bound holds, over the samples.
    samples:
        Reports drawn per input.
    """

    lower_bound: float
    confidence: float
    samples: int


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
        raise InputError("law", law.shape, "a matrix of probabilities, one row per input")
    for row in np.flatnonzero(np.abs(law.sum(axis=1) - 1) > 1e-9)[:1]:
        raise InputError(f"sum of law[{row}]", float(law[row].sum()), "1")
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
        raise InputError("levels", policy.size, f"at most {_MAX_LEVELS} to list all pairs")
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


def audit_sets(mechanism: PaddedUnaryMechanism) -> SetAudit:
    """Every pair of item sets and every report, for at most eight items (eq. 18).

    Examples
    --------
    >>> unary = UnaryMechanism.rappor(1.0, items=3)
    >>> audit = audit_sets(PaddedUnaryMechanism(unary, padding_length=1))
    >>> audit.largest_excess <= 1e-12, round(float(audit.realised.max()), 6)
    (True, 1.0)
    """
    if mechanism.items > _MAX_SET_ITEMS:
        raise InputError("items", mechanism.items, f"at most {_MAX_SET_ITEMS} to list all sets")
    law = np.log(mechanism.output_law())
    realised = np.array([np.max(row - law, axis=1) for row in law])
    codes = range(2**mechanism.items)
    sets = [[k for k in range(mechanism.items) if (code >> k) & 1] for code in codes]
    budgets = set_budgets(mechanism, sets)
    return SetAudit(realised, np.minimum(budgets[:, None], budgets[None, :]))


def audit_samples(
    draw: Callable[[int, int, np.random.Generator], NDArray[np.int64]],
    rng: np.random.Generator,
    samples: int = 200_000,
    confidence: float = 0.999999,
) -> EmpiricalAudit:
    """Prove a lower bound on a mechanism's loss from samples of it alone.

    Half of the samples choose the event that tells two inputs apart best; the other half
    bounds its two probabilities by Clopper and Pearson's exact intervals, so choosing
    cannot flatter. Both orders of the inputs are tried, at half the error rate each.

    Parameters
    ----------
    draw:
        ``draw(which, count, rng)``: ``count`` reports of input 0 or 1, each summed up as
        an integer of at least 0, e.g. by ``report_index`` or by a few telling bits.
    rng:
        For the samples.
    samples:
        Reports per input, at least 100.
    confidence:
        Probability that the bound holds, at least 0.5, below 1.

    Examples
    --------
    >>> mechanism = UnaryMechanism.rappor(2.0, items=3)
    >>> def draw(which, count, rng):
    ...     return mechanism.report_index(mechanism.perturb(np.full(count, which), rng))
    >>> bound = audit_samples(draw, np.random.default_rng(1)).lower_bound
    >>> 1.8 < bound < 2.0
    True
    """
    inputs.generator(rng)
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 100:
        raise InputError("samples", samples, "a whole number of at least 100")
    if not 0.5 <= confidence < 1:
        raise InputError("confidence", confidence, "a probability of at least 0.5, below 1")
    half = samples // 2
    choose = _histograms([draw(which, half, rng) for which in (0, 1)])
    prove = _histograms([draw(which, samples - half, rng) for which in (0, 1)], choose.shape[1])
    best = 0.0
    for one, other in ((0, 1), (1, 0)):
        event = _best_event(choose[one], choose[other], half)
        hits = [int(prove[which, event[event < prove.shape[1]]].sum()) for which in (one, other)]
        best = max(best, _log_ratio_bound(hits[0], hits[1], samples - half, (1 - confidence) / 2))
    return EmpiricalAudit(best, confidence, samples)


def _two_bits(first: float, second: float) -> list[float]:
    """Law of two independent bits with these probabilities of 1: 00, 01, 10, 11."""
    return [
        (first if x else 1 - first) * (second if y else 1 - second) for x in (0, 1) for y in (0, 1)
    ]


def _histograms(reports: Sequence[NDArray[Any]], least: int = 1) -> NDArray[np.int64]:
    checked = [np.asarray(one) for one in reports]
    for one in checked:
        if one.dtype.kind not in "iu" or one.ndim != 1 or one.size == 0 or one.min() < 0:
            raise InputError("reports", one.dtype, "one whole number of at least 0 per report")
    size = max(least, *(int(one.max()) + 1 for one in checked))
    if size > 2**24:
        raise InputError("largest report", size - 1, f"below {2**24}; sum reports up more coarsely")
    return np.array([np.bincount(one.astype(np.int64), minlength=size) for one in checked])


def _best_event(one: NDArray[np.int64], other: NDArray[np.int64], draws: int) -> NDArray[np.int64]:
    """Outcomes, from the most telling on, as many as make the provable bound largest."""
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    ones, others = np.cumsum(one[order]), np.cumsum(other[order])
    steps = np.unique(np.linspace(1, order.size, min(order.size, 200)).astype(int))
    bounds = [_log_ratio_bound(int(ones[k - 1]), int(others[k - 1]), draws, 1e-3) for k in steps]
    return order[: steps[int(np.argmax(bounds))]]


def _log_ratio_bound(ones: int, others: int, draws: int, error: float) -> float:
    """Lower bound of ``ln(p/q)``: Clopper-Pearson, ``error / 2`` for each of the two."""
    from scipy.stats import beta

    if ones == 0:
        return 0.0
    low = float(beta.ppf(error / 2, ones, draws - ones + 1))
    high = 1.0 if others == draws else float(beta.isf(error / 2, others + 1, draws - others))
    return max(0.0, float(np.log(low / high)))
