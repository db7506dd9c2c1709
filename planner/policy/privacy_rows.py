"""Privacy as a solver takes it: as rows of a linear program, or reduced to one variable."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from planner.arrays import Array

if TYPE_CHECKING:
    import scipy.sparse as sp

    RowParts = tuple[sp.sparray, Array | None, Array, sp.sparray]

SHORT_OF_POLE = 1 - 1e-12  # where a search ends before the error is infinite


class PrivacyRows(NamedTuple):
    """Privacy as ``matrix @ (coordinates, auxiliaries) <= limit``.

    ``price``, one row a level: the derivative of each row's limit by the level's budget, so that
    ``price @ multipliers`` are shadow prices.
    """

    matrix: sp.csr_array
    limit: Array
    price: sp.csr_array

    @classmethod
    def of(
        cls,
        levels: sp.sparray,
        auxiliaries: Array | None,
        limit: Array,
        price: sp.sparray,
    ) -> PrivacyRows:
        """From the rows' parts on the levels' coordinates and on the auxiliaries."""
        import scipy.sparse as sp

        matrix = levels
        if auxiliaries is not None:
            matrix = sp.hstack([levels, sp.csr_array(auxiliaries)])
        return cls(sp.csr_array(matrix), limit, sp.csr_array(price))


class Reduction(NamedTuple):
    """A model's optimum in one variable ``T`` (opt0: and a balance), however many levels there are.

    A level's coordinate, of opt0 ``(s_i + w_i) / 2``, is the smaller of two lines in ``T``: up to
    its kink the level is *saturated*, it follows the largest; beyond, its own budget holds it.
    The lines' ``offsets``, ``slopes`` and derivatives by the level's budget, ``prices(T)``, have
    shape ``(2, t)``. The best ``T`` lies between ``ends``. Source: docs/theory/reduction.md.
    """

    ends: tuple[float, float]
    kinks: Array
    offsets: Array
    slopes: Array
    prices: Callable[[float], Array]

    @classmethod
    def of(
        cls,
        kinks: Array,
        offsets: Array,
        slopes: Array,
        prices: Callable[[float], Array],
    ) -> Reduction:
        """The reduction between the first kink and the last, or where a coordinate falls to 0."""
        # The second line of a level falls to 0 at its pole: T stays just short of the first one.
        poles = -offsets[1] / slopes[1]
        before_pole = float(poles.min()) * SHORT_OF_POLE
        last = min(before_pole, float(kinks.max()))
        ends = (float(kinks.min()), last)
        return cls(ends, kinks, offsets, slopes, prices)

    @classmethod
    def half(cls, growth: Array, shares: Array) -> Reduction:
        """opt2's ``x_i = 1/2 - b_i``: ``b_i >= (1 + g_0) z`` and ``1 - b_i <= (1 + g_1) z``.

        The ``growth`` ``g``, ``(2, t)``, rises with the budget: ``1 + g_k`` is the exponential of
        the budget times ``shares[k]``. ``T`` is ``1/2 - z``: no digits of small budgets are lost.
        """
        # With b = 1/2 - x and z = 1/2 - T both conditions are lines in T, of which x is at most
        # the smaller: x <= (1 + g_0) T - g_0 / 2 and x <= g_1 / 2 - (1 + g_1) T.
        signs = np.array([[1.0], [-1.0]])
        factors = 1 + growth
        price_per_z = shares * factors
        # The two lines of a level cross at T = (g_0 + g_1) / (2 (2 + g_0 + g_1)).
        sums = growth.sum(axis=0)
        return cls.of(
            kinks=sums / (2 + sums) / 2,
            offsets=-signs * growth / 2,
            slopes=signs * factors,
            prices=lambda total: price_per_z * (0.5 - total),
        )

    def at(self, total: float) -> Array:
        """The coordinates at ``T``, shape ``(t,)``."""
        lines = self.offsets + self.slopes * total
        return lines.min(axis=0)

    def rows(self, x: Array) -> PrivacyRows:
        """The lines as rows on one coordinate a level and ``T``, with their prices at ``x``.

        Row ``x_i - slope T <= offset`` is divided by its largest number, which may be e^50.
        """
        import scipy.sparse as sp

        # The smallest T at which no coordinate is above its first line.
        totals = (x - self.offsets[0]) / self.slopes[0]
        total = float(totals.max())
        scale = 1 / np.maximum(1.0, np.abs(self.slopes))
        prices = scale * self.prices(total)
        levels = [sp.diags_array(scales) for scales in scale]
        budgets = [sp.diags_array(line) for line in prices]
        of_total = -scale * self.slopes
        limit = scale * self.offsets
        return PrivacyRows.of(
            levels=sp.vstack(levels),
            auxiliaries=of_total.reshape(-1, 1),
            limit=limit.ravel(),
            price=sp.hstack(budgets),
        )

    def saturated(self, total: float) -> tuple[Array, Array]:
        """The share of each level that is saturated just below ``T`` and just above."""
        below = np.where(self.kinks >= total, 1.0, 0.0)
        above = np.where(self.kinks > total, 1.0, 0.0)
        return below, above
