"""A lower bound on the privacy loss from samples alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.mechanisms import inputs
from planner.outsiders.statistics import log_ratio_limit, telling_event

_MAX_REPORT = 2**24


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
    >>> from planner import UnaryMechanism
    >>> mechanism = UnaryMechanism.rappor(2.0, items=3)
    >>> def draw(which, count, rng):
    ...     return mechanism.report_index(mechanism.perturb(np.full(count, which), rng))
    >>> bound = audit_samples(draw, np.random.default_rng(1)).lower_bound
    >>> 1.8 < bound < 2.0
    True
    """
    inputs.generator(rng)
    whole_number("samples", samples, 100, remedy="Take 100000 for a telling audit.")
    if not 0.5 <= confidence < 1:
        remedy = "Write 99 % as 0.99."
        raise InputError("confidence", confidence, "a probability of at least 0.5, below 1", remedy)
    half = samples // 2
    choose = _histograms([draw(which, half, rng) for which in (0, 1)])
    prove = _histograms([draw(which, samples - half, rng) for which in (0, 1)], choose.shape[1])
    best = 0.0
    for one, other in ((0, 1), (1, 0)):
        event = telling_event(choose[one], choose[other], half)
        hits = [int(prove[which, event].sum()) for which in (one, other)]
        best = max(best, log_ratio_limit(hits[0], hits[1], samples - half, (1 - confidence) / 2))
    return EmpiricalAudit(best, confidence, samples)


def _histograms(reports: Sequence[NDArray[Any]], least: int = 1) -> NDArray[np.int64]:
    checked = [np.asarray(one) for one in reports]
    for one in checked:
        if one.dtype.kind not in "iu" or one.ndim != 1 or one.size == 0 or one.min() < 0:
            allowed = "one whole number of at least 0 per report"
            remedy = "Number the possible reports from 0, and draw at least one."
            raise InputError("reports", one.dtype, allowed, remedy)
    size = max(least, *(int(one.max()) + 1 for one in checked))
    if size > _MAX_REPORT:
        remedy = "Sum reports up more coarsely."
        raise InputError("largest report", size - 1, f"below {_MAX_REPORT}", remedy)
    return np.array([np.bincount(one.astype(np.int64), minlength=size) for one in checked])
