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
    chance_agreeing = flat @ agreeing @ flat
    chance_opposite = flat @ opposite @ flat
    gap = chance_agreeing - chance_opposite
    total = chance_agreeing + chance_opposite
    with np.errstate(invalid="ignore"):
        return float(gap / total)


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
    n = table.users
    raw = table.counts.ravel() / n
    spread = table.drawn_covariance(table.shares) / n**2
    gap_noise = np.sum(gap_form * spread)  # tr(A Sigma)
    sum_noise = np.sum(sum_form * spread)
    gap = float(raw @ gap_form @ raw - gap_noise)
    total = float(raw @ sum_form @ raw - sum_noise)
    value = None
    if total > 0:
        value = gap / total
    rows = table.shares.sum(axis=1)
    columns = table.shares.sum(axis=0)
    independent = np.outer(rows, columns)
    quantile = reach(table.confidence)
    people_added = quantile**2
    people = n * table.shares + people_added * independent
    shares = people / (n + people_added)
    variances = _covariances(table, shares, gap_form, sum_form)
    lower, upper = _fieller_limits(gap, total, variances, quantile)
    null_variance, *_ = _covariances(table, independent, gap_form, sum_form)
    chance = 1.0
    if null_variance > 0:
        # Both tails of the normal law beyond |z| are erfc(|z| / sqrt(2)).
        chance = erfc(abs(gap) / sqrt(2 * null_variance))
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
    cells = np.arange(first * second)
    rows, columns = np.divmod(cells, second)
    up = np.sign(rows[:, None] - rows)
    right = np.sign(columns[:, None] - columns)
    rows_in_order, columns_in_order = in_order
    ordered = (rows < rows_in_order) & (columns < columns_in_order)
    # Both up or both down is 1, one up and the other down -1, and 0 where one is the same.
    direction = up * right * np.outer(ordered, ordered)
    agreeing = direction > 0
    opposite = direction < 0
    return agreeing.astype(np.float64), opposite.astype(np.float64)


def _covariances(
    table: CrossTable, shares: Array, gap_form: Array, sum_form: Array
) -> tuple[float, float, float]:
    """The variances of ``C - D`` and ``C + D`` at such shares, and their covariance last."""
    p = shares.ravel()
    sigma = table.drawn_covariance(shares) / table.users**2
    gap_form_sigma = gap_form @ sigma
    sum_form_sigma = sum_form @ sigma

    def covariance(a: Array, b: Array, a_sigma: Array, b_sigma: Array) -> float:
        """``4 p' A Sigma B p + 2 tr(A Sigma B Sigma)``."""
        linear = 4 * (a @ p) @ sigma @ (b @ p)
        trace = np.sum(a_sigma * b_sigma.T)
        return float(linear + 2 * trace)

    return (
        covariance(gap_form, gap_form, gap_form_sigma, gap_form_sigma),
        covariance(sum_form, sum_form, sum_form_sigma, sum_form_sigma),
        covariance(gap_form, sum_form, gap_form_sigma, sum_form_sigma),
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
