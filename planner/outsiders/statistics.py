"""Exact limits of shares, and of the ratio of two, from counts."""

from __future__ import annotations

from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray


def share_limits(hits: int, draws: int, error: float) -> tuple[float, float]:
    """Limits of a probability from ``hits`` of ``draws``: each fails with at most ``error``.

    Source: Clopper and Pearson (Biometrika 1934).

    Examples
    --------
    >>> low, high = share_limits(0, 100, 0.025)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    from scipy.stats import beta

    low = float(beta.ppf(error, hits, draws - hits + 1)) if hits else 0.0
    high = float(beta.isf(error, hits + 1, draws - hits)) if hits < draws else 1.0
    return low, high


def log_ratio_limit(ones: int, others: int, draws: int, error: float) -> float:
    """Lower limit of ``ln(p/q)``, 0 at least, from hits of equally many draws of each.

    Half the error for each of the two probabilities.

    Examples
    --------
    >>> 0.8 < log_ratio_limit(7311, 2689, 10_000, 1e-6) < 1
    True
    """
    if ones == 0:
        return 0.0
    low = share_limits(ones, draws, error / 2)[0]
    high = share_limits(others, draws, error / 2)[1]
    return max(0.0, log(low / high))


def telling_event(
    one: NDArray[np.int64], other: NDArray[np.int64], draws: int
) -> NDArray[np.int64]:
    """Outcomes, from the most telling on, as many as make the provable ratio largest.

    Parameters
    ----------
    one, other:
        How often each outcome was drawn, of equally many ``draws`` of each kind.

    Examples
    --------
    >>> telling_event(np.array([10, 60, 30]), np.array([60, 10, 30]), 100).tolist()
    [1]
    """
    order = np.argsort(-(one + 0.5) / (other + 0.5), kind="stable")
    ones, others = np.cumsum(one[order]), np.cumsum(other[order])
    steps = np.unique(np.linspace(1, order.size, min(order.size, 200)).astype(int))
    limits = [log_ratio_limit(int(ones[k - 1]), int(others[k - 1]), draws, 1e-3) for k in steps]
    return order[: steps[int(np.argmax(limits))]]


def findable_excess(
    chance: float, other_chance: float, draws: int, error: float, power: float = 0.9
) -> float:
    """Excess of ``ln(p/q)`` that so many draws prove with the stated power, in nats.

    The limits of both probabilities take ``z`` standard errors each, the estimate itself
    strays by the root of the sum of their squares.

    Parameters
    ----------
    chance, other_chance:
        Probabilities ``p``, ``q`` of the event under the two answers, as promised.
    draws:
        Reports of each answer that are kept for the proof.
    error:
        Chance of a false alarm, half of it for each limit.
    power:
        Probability of finding.

    Examples
    --------
    A binary question with budget 1: 450,000 reports of each answer prove an excess of 2 % with a
    false alarm in a million, 110,000 with one in twenty.

    >>> from math import e
    >>> truth = e / (1 + e)
    >>> round(findable_excess(truth, 1 - truth, 450_000, 1e-6), 4)
    0.0198
    >>> round(findable_excess(truth, 1 - truth, 110_000, 0.05), 4)
    0.0201
    """
    from scipy.special import ndtri

    spreads = [((1 - p) / p) ** 0.5 for p in (chance, other_chance)]
    limits = -float(ndtri(error / 2)) * sum(spreads)
    strays = float(ndtri(power)) * (spreads[0] ** 2 + spreads[1] ** 2) ** 0.5
    return (limits + strays) / draws**0.5


def caught_from(one: ArrayLike, other: ArrayLike, draws: int, error: float) -> float:
    """Loss from which on so many draws convict a client with probability 0.9, about, in nats.

    A client whose odds are all larger than ``one`` against ``other`` by the same factor; it is
    convicted by the event, among the most telling reports, that shows the excess best.

    Parameters
    ----------
    one, other:
        Honest laws of reports of two answers, shape ``(reports,)``.
    draws, error:
        As in :func:`findable_excess`.

    Examples
    --------
    >>> round(caught_from([0.75, 0.25], [0.25, 0.75], 50_000, 1e-7), 4)  # ln 3 is 1.0986
    1.1641
    """
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-np.nan_to_num(first / second, posinf=np.inf), kind="stable")[:-1]
    chances = zip(np.cumsum(first[order]), np.cumsum(second[order]), strict=True)
    known = [(float(p), float(q)) for p, q in chances if 0 < q < p < 1]
    most = max((log(p / q) for p, q in known), default=inf)
    return most + min(
        (most - log(p / q) + findable_excess(p, q, draws, error) for p, q in known), default=inf
    )
