"""How two answers with an order go together: Goodman and Kruskal's gamma of a table.

Two people who differ in both answers agree in direction where who has the higher first answer has
the higher second one, too. With ``C`` and ``D`` the chances that two people drawn at random do so,
and that they go opposite ways, ``gamma = (C - D) / (C + D)`` is from -1 to 1, and 0 where the two
answers are independent (Goodman and Kruskal, 1954). Source: docs/theory/relating.md.
"""

from __future__ import annotations

from math import erfc, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import Estimate
from planner.estimates.counts import reach
from planner.estimates.cross_table import UNKNOWN, CrossTable


class OrderedAssociation(NamedTuple):
    """Goodman and Kruskal's gamma with its limits, and the chance of one as far from 0 by noise.

    The chance is that of independent answers with the same margins, the noise of the reports in it;
    1 where the reports do not tell how many gave an answer.
    """

    gamma: Estimate
    p_value: float


def gamma_of_shares(shares: Array, in_order: tuple[int, int]) -> float:
    """Gamma of a table that is known; NaN where no two people differ in both answers.

    ``shares`` is of the shape of the table, ``in_order`` says how many of the first rows and
    columns have an order, the lowest first.

    Examples
    --------
    >>> table = np.array([[30.0, 10.0, 5.0], [10.0, 20.0, 25.0]])
    >>> round(gamma_of_shares(table, (2, 3)), 4)
    0.7297
    """
    agreeing, opposite = _directions(shares.shape, in_order)
    flat = shares.ravel()
    alike = flat @ agreeing @ flat
    apart = flat @ opposite @ flat
    with np.errstate(invalid="ignore"):
        return float((alike - apart) / (alike + apart))


def ordered_association(table: CrossTable) -> OrderedAssociation | None:
    """Gamma of an estimated table; None unless both of its questions have an order.

    ``C - D`` and ``C + D`` are quadratic in the estimated shares ``p``. With ``Sigma`` their
    covariance, ``E[p' A p]`` is too large by ``tr(A Sigma)``, which is taken off, and

        Cov(p' A p, p' B p) = 4 p' A Sigma B p + 2 tr(A Sigma B Sigma)

    to second order. The limits are all gammas for which ``(C - D) - gamma (C + D)`` is compatible
    with 0 (Fieller, 1954): the whole range where ``C + D`` itself may be 0. Shares of which
    variances are taken have as many people more as the square of the normal quantile, as if they
    were independent (Agresti and Coull, 1998): without them a table in which nobody goes the
    opposite way would have no variance.

    Examples
    --------
    >>> from planner import subset_selection
    >>> counts = np.array([[300.0, 100.0, 50.0], [100.0, 200.0, 250.0]])
    >>> table = CrossTable(("pain", "age"), (("low", "high"), ("young", "mid", "old")), counts,
    ...                    1000, subset_selection(4.0, 6).shape.second_moments, in_order=(2, 3))
    >>> gamma, p = ordered_association(table)
    >>> round(gamma.value, 2), round(gamma.lower, 2), round(gamma.upper, 2), p < 1e-6
    (0.73, 0.66, 0.79, True)
    """
    if min(table.in_order) < 2:
        return None
    agreeing, opposite = _directions(table.counts.shape, table.in_order)
    gap_form = agreeing - opposite  # p' gap_form p is C - D
    sum_form = agreeing + opposite  # p' sum_form p is C + D
    raw = table.counts.ravel() / table.users
    spread = table.drawn_covariance(table.shares) / table.users**2
    gap = float(raw @ gap_form @ raw - np.sum(gap_form * spread))
    total = float(raw @ sum_form @ raw - np.sum(sum_form * spread))
    value = None
    if total > 0:
        value = gap / total
    independent = np.outer(table.shares.sum(axis=1), table.shares.sum(axis=0))
    quantile = reach(table.confidence)
    added = quantile**2
    shares = (table.users * table.shares + added * independent) / (table.users + added)
    variances = _covariances(table, shares, gap_form, sum_form)
    lower, upper = _fieller_limits(gap, total, variances, quantile)
    by_chance = _covariances(table, independent, gap_form, sum_form)[0]
    chance = 1.0
    if by_chance > 0:
        # Both tails of the normal law beyond |z| are erfc(|z| / sqrt(2)).
        chance = erfc(abs(gap) / sqrt(2 * by_chance))
    note = table.rough
    if not table.margins_known:
        lower = -1.0
        upper = 1.0
        chance = 1.0
    if (lower, upper) == (-1.0, 1.0):
        note = UNKNOWN
    return OrderedAssociation(Estimate(value, None, lower, upper, note), chance)


def _directions(
    shape: tuple[int, ...], in_order: tuple[int, int]
) -> tuple[Array, Array]:
    """1 where people in two cells agree in direction, and where they go opposite ways, ``(d, d)``.

    The second answer runs fastest. Cells of answers without an order take no part.
    """
    first, second = shape
    rows, columns = np.divmod(np.arange(first * second), second)
    up = np.sign(rows[:, None] - rows)
    right = np.sign(columns[:, None] - columns)
    # Both up or both down is 1, one up and the other down -1, and 0 where one is the same.
    direction = up * right
    ordered = (rows < in_order[0]) & (columns < in_order[1])
    direction = direction * np.outer(ordered, ordered)
    return (direction > 0).astype(np.float64), (direction < 0).astype(np.float64)


def _covariances(
    table: CrossTable, shares: Array, gap_form: Array, sum_form: Array
) -> tuple[float, float, float]:
    """The variances of ``C - D`` and ``C + D`` at such shares, and their covariance last."""
    flat = shares.ravel()
    spread = table.drawn_covariance(shares) / table.users**2
    forms = []
    for form in (gap_form, sum_form):
        forms.append((form @ flat, form @ spread))

    def covariance(first: tuple[Array, Array], second: tuple[Array, Array]) -> float:
        linear = 4 * first[0] @ spread @ second[0]
        curved = 2 * np.sum(first[1] * second[1].T)  # the trace of their product
        return float(linear + curved)

    return (
        covariance(forms[0], forms[0]),
        covariance(forms[1], forms[1]),
        covariance(forms[0], forms[1]),
    )


def _fieller_limits(
    gap: float,
    total: float,
    variances: tuple[float, float, float],
    quantile: float,
) -> tuple[float, float]:
    """All ``x`` from -1 to 1 with ``(gap - x total)^2 <= quantile^2 Var(gap - x total)``.

    That is ``a x^2 - 2 b x + c <= 0``, between two roots if the total is known not to be 0.
    """
    of_gap, of_total, of_both = variances
    squared = quantile**2
    a = total**2 - squared * of_total
    b = gap * total - squared * of_both
    c = gap**2 - squared * of_gap
    if total <= 0 or a <= 0:
        return -1.0, 1.0
    root = sqrt(max(b**2 - a * c, 0.0))
    lower = (b - root) / a
    upper = (b + root) / a
    return max(lower, -1.0), min(upper, 1.0)
