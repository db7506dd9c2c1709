"""Many symbols and many wanted numbers: columns by local search, a bound by singular values.

Nothing found by search proves a bound. It comes from multipliers for which the condition holds on
the whole cone, by algebra; or all columns are listed once, at the end of the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.solvers.channel.pricing import Priced, ratios
from planner.solvers.channel.program import Multipliers, Program
from planner.solvers.channel.rays import Window

Array = NDArray[np.float64]
_FLIPS = 200
_RANDOM_STARTS = 300
_SAFE = 1 - 1e-9  # of a sum of singular values: far more than rounding takes


@dataclass(frozen=True, slots=True, eq=False)
class LocalSearch:
    """Turns single symbols over while that raises the ratio; for one common form."""

    windows: Sequence[Window]
    seed: int = 1

    def start(self, highs: NDArray[np.bool_] | None = None) -> Array:
        """Runs of neighbours, or what is given, with single symbols and all but one."""
        m = self.windows[0].low.size
        one = np.eye(m) > 0
        chosen = np.unique(np.vstack([_runs(m) if highs is None else highs, one, ~one]), axis=0)
        return np.vstack([window.columns(chosen) for window in self.windows])

    def price(self, program: Program, multipliers: Multipliers, most: int) -> Priced:
        """Columns of locally largest ratio; the largest of all stays unknown, ``inf``."""
        rng = np.random.default_rng(self.seed)  # the search's own; no people are simulated
        m = self.windows[0].low.size
        cuts = rng.random((_RANDOM_STARTS, m)) < rng.uniform(0.02, 0.4, (_RANDOM_STARTS, 1))
        unions = np.logical_xor.accumulate(cuts, axis=1)  # unions of random runs
        found = []
        for window in self.windows:
            ends = np.exp(window.low), np.exp(window.high)
            highs = np.vstack([_runs(m), unions])
            found.append(_climb(program, multipliers, highs, ends))
        columns = np.unique(np.vstack(found), axis=0)
        ratio = ratios(program, multipliers, columns)
        order = np.argsort(-ratio)[:most]
        return Priced(np.inf, columns[order[ratio[order] > 1 + 1e-9]])


def _runs(m: int) -> NDArray[np.bool_]:
    """Runs of neighbours of lengths that grow by half, an eighth of their length apart."""
    place, rows, length = np.arange(m), [], 1
    while length <= max(1, m // 2):
        starts = range(1 - length, m, max(1, length // 8))
        rows += [(place >= i) & (place < i + length) for i in starts]
        length = max(length + 1, 3 * length // 2)
    return np.unique(np.array(rows), axis=0)


def _climb(
    program: Program,
    multipliers: Multipliers,
    highs: NDArray[np.bool_],
    ends: tuple[Array, Array],
) -> Array:
    low, high = ends
    alpha, rows = multipliers.alpha, multipliers.rows
    mixed = multipliers.scenarios @ program.populations
    sizes = np.sum(alpha * alpha, axis=1)
    current = highs.copy()
    for _ in range(_FLIPS):
        columns = np.where(current, high, low)
        moved, charge, share = columns @ alpha, columns @ rows, columns @ mixed
        step = np.where(current, low - high, high - low)
        squares = np.sum(moved**2, axis=1)[:, None] + step * (2 * moved @ alpha.T + step * sizes)
        below = (charge[:, None] + step * rows) * (share[:, None] + step * mixed)
        turned = np.where(below > 0, squares / np.where(below > 0, below, 1.0), np.inf)
        here = charge * share
        value = np.where(here > 0, np.sum(moved**2, axis=1) / np.where(here > 0, here, 1), np.inf)
        best = turned.argmax(axis=1)
        better = turned[np.arange(len(best)), best] > value * (1 + 1e-12)
        better &= np.isfinite(value)
        if not better.any():
            break
        current[better, best[better]] ^= True
    return np.where(current, high, low)


def spectral_bound(wanted: Array, population: Array, span: float) -> float:
    """Least expected square of the reports' meanings, ``sum_y Pr[y] |T_y|^2``, of any channel.

    With ``q`` the population, ``r`` its square root and ``kappa >= 0``, take ``alpha alpha'
    = N = diag(r) (r r' + kappa (I - r r')) diag(r)``. Entries of a column lie in ``[1, e]``,
    ``e = exp(span)``, so ``u^2 <= (1 + e) u - e``; with ``z = q.u``

        u' N u <= (1 - kappa) z^2 + kappa ((1 + e) z - e) <= (1 + kappa sinh^2(span/2)) z^2,

    which is ``(rows.u)(q.u)`` for ``rows = (1 + kappa sinh^2(span/2)) q``: these multipliers
    keep the condition on every column. The best ``alpha`` for ``N`` reaches the sum of the
    singular values of ``W N^(1/2)``.

    Parameters
    ----------
    wanted:
        What each symbol adds to each wanted number, shape ``(p, m)``.
    population:
        Share of people with each symbol, shape ``(m,)``.
    span:
        Largest difference of log values in a column, in nats.

    Examples
    --------
    >>> wanted = np.tril(np.ones((8, 8)))[:-1]
    >>> even = np.full(8, 1 / 8)
    >>> bound = spectral_bound(wanted, even, 1.0) - np.sum(wanted**2) / 8
    >>> round(float(bound), 2)  # the optimum is 23.0523
    21.41
    """
    root = np.sqrt(population / population.sum())
    typical = float(np.sqrt(np.sum(wanted**2, axis=0) @ root**2))
    # The number of people is known: wanting it too costs its square and sharpens the bound.
    return max(
        _best_kappa(np.vstack([wanted, np.full(root.size, extra)]), root, span) - extra**2
        for extra in (0.0, typical / 2, typical, 2 * typical)
    )


def worst_population(wanted: Array, span: float) -> Array:
    """The population at which the spectral bound on the noise is about largest, shape ``(m,)``."""
    from scipy.optimize import minimize

    m = wanted.shape[1]
    extra = float(np.sqrt(np.sum(wanted**2) / m))
    rows = np.vstack([wanted, np.full(m, extra)])
    known, hard = np.sum(rows**2, axis=0), float(np.sinh(span / 2) ** 2)

    def minus(point: Array) -> tuple[float, Array]:
        root, s = point[:m] / np.linalg.norm(point[:m]), float(np.exp(point[m]))
        mixed = s * np.eye(m) + (1 - s) * np.outer(root, root)
        left, sizes, right = np.linalg.svd((rows * root) @ mixed, full_matrices=False)
        slope = rows.T @ (left @ right)  # of the sum of singular values
        turned = root[:, None] * slope
        by_root = np.sum(slope * mixed, axis=1) + (1 - s) * (turned + turned.T) @ root
        by_s = np.trace(turned) - root @ turned @ root
        reach, total = sizes.sum(), 1 + s * s * hard
        gradient = 2 * reach / total * by_root - 2 * root * known
        gradient = (gradient - root * (root @ gradient)) / np.linalg.norm(point[:m])
        last = s * (2 * reach / total * by_s - 2 * s * hard * (reach / total) ** 2)
        return -(reach * reach / total - known @ root**2), -np.append(gradient, last)

    start = np.append(np.ones(m), -np.log(np.sinh(span / 2)) / 2 - 1)
    found = minimize(minus, start, jac=True, method="L-BFGS-B", options={"maxiter": 200})
    return np.asarray(found.x[:m] ** 2 / np.sum(found.x[:m] ** 2))


def _best_kappa(rows: Array, root: Array, span: float) -> float:
    from scipy.optimize import minimize_scalar

    hard = float(np.sinh(span / 2) ** 2)
    scaled = rows * root
    along = np.outer(scaled @ root, root)
    across = scaled - along

    def value(log_kappa: float) -> float:
        kappa = float(np.exp(log_kappa))
        reach = np.linalg.svd(np.sqrt(kappa) * across + along, compute_uv=False).sum() * _SAFE
        return -float(reach * reach / (1 + kappa * hard))

    return -float(minimize_scalar(value, bounds=(-16, 12), method="bounded").fun)
