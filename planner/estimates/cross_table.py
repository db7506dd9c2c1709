"""Two answers of the same people: a table, and what it says of how they go together.

A joint question reports one cell of ``d1 x d2``. Its estimated counts ``N`` are a sum over
independent people, so everything follows from one matrix, what a report adds to two cells:
``M(p) = E[T T']`` for a person drawn from the shares ``p``. Of people drawn at random
``Cov(N) = n (M(p) - p p')``; of given people ``n (M(p) - diag p)``, at their own shares.

A chi-square computed from the estimates takes the noise of the reports for an association, and
rejects independence nearly always. Here the noise is in the statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from math import inf, prod, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array
from planner.estimates.channel import ChannelEstimates, Estimate, ratio
from planner.estimates.counts import reach, tail_share
from planner.frames import Columns, Framed
from planner.limits import JOINED

_NEARLY_NORMAL = 1e4  # of noncentrality, relative to the scale
UNKNOWN = "The reports cannot rule out that nobody gave some answer: they do not tell."


class Independence(NamedTuple):
    """A test of independence: statistic, degrees of freedom, and the chance of more by noise.

    The chance is 1, and the ``note`` says why, where reports do not tell how many gave an answer.
    """

    statistic: float
    degrees: int
    p_value: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class CrossTable(Framed):
    """The estimated table of two answers.

    Attributes
    ----------
    names:
        Of the two questions.
    answers:
        Of each, ``d1`` and ``d2``.
    counts:
        Estimated people of each pair of answers, unbiased, shape ``(d1, d2)``.
    users:
        Number of reports.
    moments:
        ``E[T_i T_k]`` of what one report adds to two cells, ``(d, d)``, of a person drawn from
        shares of the cells, ``(d,)``, the second answer running fastest.
    confidence:
        Of all limits here.

    Examples
    --------
    >>> from planner import subset_selection
    >>> shape = subset_selection(2.0, items=4).shape
    >>> table = CrossTable(("a", "b"), (("x", "y"), ("no", "yes")),
    ...                    np.array([[420.0, 90.0], [60.0, 430.0]]), 1000, shape.second_moments)
    >>> table.independence.degrees, table.independence.p_value < 1e-6
    (1, True)
    >>> round(table.association.value, 2), round(float(table.odds_ratio([0], [0]).value), 1)
    (0.7, 33.2)
    """

    names: tuple[str, str]
    answers: tuple[Sequence[str], Sequence[str]]
    counts: Array
    users: int
    moments: Callable[[Array], Array]
    confidence: float = 0.95

    @cached_property
    def shares(self) -> Array:
        """Estimated shares of the cells, none negative, sum 1, ``(d1, d2)``."""
        inside = np.maximum(self.counts, 0.0)
        return inside / inside.sum() if inside.any() else np.full(inside.shape, 1 / inside.size)

    @cached_property
    def covariance(self) -> Array:
        """Of the counts, for people drawn at random, ``(d, d)``."""
        return self._drawn(self.shares)

    def _drawn(self, shares: Array) -> Array:
        flat = shares.ravel()
        return self.users * (self.moments(flat) - np.outer(flat, flat))

    @cached_property
    def _draws(self) -> tuple[Array, Array]:
        """Each cell's indicator summed over rows, and over columns, ``(d1, d)`` and ``(d2, d)``."""
        first, second = self.counts.shape
        rows = np.asarray(np.kron(np.eye(first), np.ones(second)), np.float64)
        return rows, np.asarray(np.kron(np.ones(first), np.eye(second)), np.float64)

    @cached_property
    def margins(self) -> tuple[Array, Array]:
        """Estimated people of each answer, of the first question and of the second."""
        return self.counts.sum(axis=1), self.counts.sum(axis=0)

    def _added(self, cells: Array) -> tuple[float, float]:
        """What a person outside some cells, and how much more one inside, adds to the variance."""
        inside = cells.ravel().astype(np.float64)

        def added(shares: Array) -> float:
            total = shares.sum()
            if not total:
                shares, total = np.ones(shares.size), shares.size
            return float(inside @ self.moments(shares / total) @ inside)

        own, other = (added(self.shares.ravel() * side) for side in (inside, 1 - inside))
        return other, own - 1 - other  # of given people: who is inside counts for 1 in any draw

    def error(self, cells: Array) -> float:
        """Standard error of how many people are in some cells, of the draws alone."""
        other, more = self._added(cells)
        known = np.clip((cells * self.counts).sum(), 0, self.users)
        return sqrt(max(self.users * other + float(known) * more, 0.0))

    def limits(self, cells: Array, confidence: float | None = None) -> tuple[float, float]:
        """Limits of how many people are in some cells, given by 0 and 1, shape ``(d1, d2)``.

        Whoever was asked: of the draws alone. The variance is put at the true number, as the
        score interval has it: ``V(c)`` goes from what people outside add to what those inside do.
        """
        known, (other, more) = float((cells * self.counts).sum()), self._added(cells)
        z2 = reach(confidence or self.confidence) ** 2
        # (known - c)^2 <= z^2 (n other + c more)
        half = known + z2 * more / 2
        root = sqrt(max(half**2 - known**2 + z2 * self.users * other, 0.0))
        low, high = np.clip([half - root, half + root], 0, self.users)
        return float(low), float(high)

    @cached_property
    def _apart(self) -> tuple[Array, Array, Array]:
        """Shares of both margins, none negative, and ``theta = N/n - r s'``, ``(d1, d2)``."""
        first, second = (np.maximum(one, 0.0) for one in self.margins)
        first, second = first / max(first.sum(), 1e-300), second / max(second.sum(), 1e-300)
        raw = self.counts / self.users
        return first, second, raw - np.outer(raw.sum(axis=1), raw.sum(axis=0))

    def _slopes(self, first: Array, second: Array) -> Array:
        """Of theta by the cells' shares: ``1 - r_i [same column] - s_j [same row]``, ``(d, d)``."""
        rows, columns = self._draws
        return (
            np.eye(self.counts.size)
            - np.kron(first, np.ones(second.size))[:, None] * (columns.T @ columns)
            - np.kron(np.ones(first.size), second)[:, None] * (rows.T @ rows)
        )

    @cached_property
    def told(self) -> bool:
        """Whether each answer's people are above their standard error, so that shares are known."""
        every = np.concatenate(self.margins)
        sums = np.vstack(self._draws)
        return bool((every > np.sqrt(np.diag(sums @ self.covariance @ sums.T))).all())

    @cached_property
    def independence(self) -> Independence:
        """``Q = n theta' (J Sigma(r s') J')^-1 theta`` on contrasts, a chi-square if independent.

        The noise of the reports is in ``Sigma``. Source: docs/theory/relating.md.
        """
        from scipy.stats import chi2

        first, second, theta = self._apart
        keep = np.arange(theta.size).reshape(theta.shape)[:-1, :-1].ravel()
        spread = self._slopes(first, second) @ self._drawn(np.outer(first, second))
        spread = (spread @ self._slopes(first, second).T)[np.ix_(keep, keep)] / self.users
        gap = theta.ravel()[keep]
        statistic = self.users * float(gap @ np.linalg.lstsq(spread, gap)[0])
        if not self.told:
            return Independence(statistic, keep.size, 1.0, UNKNOWN)
        return Independence(statistic, keep.size, float(chi2.sf(statistic, keep.size)))

    @cached_property
    def association(self) -> Estimate:
        """Cramér's V with the noise taken off, from 0 to 1, and its limits.

        ``phi^2 = sum theta^2 / (r s)`` is too large by the mean of its noise, which is subtracted.
        Its law is near ``c`` times a noncentral chi-square with the same mean and variance; the
        limits invert it.
        """
        first, second, theta = self._apart
        least = np.maximum(np.outer(first, second).ravel(), 1 / self.users)
        slopes = self._slopes(first, second) / np.sqrt(least)[:, None]
        spread = slopes @ self.covariance @ slopes.T / self.users**2
        scaled = theta.ravel() / np.sqrt(least)
        noise, seen = float(np.trace(spread)), float(scaled @ scaled)
        most = min(self.counts.shape) - 1
        strength = max(seen - noise, 0.0)
        along = float(scaled @ spread @ scaled) / seen if seen else noise
        value = sqrt(min(strength / most, 1.0))
        both = float((spread**2).sum())
        if not self.told:
            return Estimate(value, None, 0.0, 1.0, UNKNOWN)
        low, high = _noncentral_limits(seen, noise, both, along, tail_share(self.confidence) / 2)
        lower, upper = (sqrt(min(end / most, 1.0)) for end in (low, high))
        error = sqrt(2 * both + 4 * along * strength)
        spread_of_value = error / (2 * sqrt(most * max(strength, error)))
        return Estimate(value, spread_of_value, lower, upper)

    def share(self, row: int, column: int, of: int = 1) -> Estimate:
        """Share of people in a cell among those of its column (``of=1``) or of its row (``of=0``).

        Fieller's interval: all shares ``x`` for which ``cell - x total`` is compatible with 0; the
        whole range where the reports cannot rule out that nobody gave that answer.
        """
        cell = np.zeros(self.counts.shape)
        cell[row, column] = 1
        total = np.zeros(self.counts.shape)
        total[(slice(None), column) if of else (row, slice(None))] = 1
        both = np.stack([cell.ravel(), total.ravel()])
        moments = both @ self.counts.ravel(), both @ self.covariance @ both.T
        found = ratio(ChannelEstimates(*moments, self.users), self.confidence, (0.0, 1.0))
        if found.note:
            note = "The reports cannot rule out that nobody gave that answer."
            return replace(found, standard_error=None, note=note)
        lower, upper = np.clip([found.lower, found.upper], 0, 1).tolist()
        return replace(found, lower=lower, upper=upper)

    def odds_ratio(self, rows: Sequence[int], columns: Sequence[int]) -> Estimate:
        """Odds of these columns in these rows, over those in the other rows.

        All ``x`` with ``L^2 <= z^2 Var L``, ``L = N11 N22 - x N12 N21``, both quadratic in ``x``:
        never undefined; without an upper end where the reports set none.
        """
        one, other = (
            np.isin(np.arange(size), list(chosen)).astype(np.float64)
            for size, chosen in zip(self.counts.shape, (rows, columns), strict=True)
        )
        corners = [np.outer(a, b).ravel() for a in (one, 1 - one) for b in (other, 1 - other)]
        merge = np.stack(corners)
        n = merge @ self.counts.ravel()
        omega = merge @ self.covariance @ merge.T
        # L = [same] - x [crossed], each a product of two of the four numbers.
        bends = np.zeros((2, 4, 4))
        bends[0, [0, 3], [3, 0]] = bends[1, [1, 2], [2, 1]] = 1
        slopes = bends @ n
        same, crossed = n[0] * n[3] - omega[0, 3], n[1] * n[2] - omega[1, 2]
        # Of a product of two numbers with noise: g' O g - tr(O B O B) / 2.
        turned = omega @ bends
        spread = slopes @ omega @ slopes.T - np.einsum("iab,jba->ij", turned, turned) / 2
        z2 = reach(self.confidence) ** 2
        square = crossed**2 - z2 * spread[1, 1]
        middle = same * crossed - z2 * spread[0, 1]
        constant = same**2 - z2 * spread[0, 0]
        inside = middle**2 - square * constant
        value = same / crossed if same > 0 and crossed > 0 else None
        root = sqrt(max(inside, 0.0))
        if square > 0 and inside >= 0:
            low, high = (middle - root) / square, (middle + root) / square
        elif square < 0 and inside > 0 and constant > 0:  # all but what is between two ends
            ends = sorted(((middle - root) / square, (middle + root) / square))
            low, high = (max(ends[1], 0.0), inf) if ends[1] > 0 else (0.0, inf)
        else:
            low, high = 0.0, inf
        return Estimate(value, None, float(max(low, 0.0)), float(max(high, 0.0)))

    @property
    def summary(self) -> str:
        """Whether the two go together, as far as the reports tell."""
        test, strength = self.independence, self.association
        return (
            f"{self.names[0]} and {self.names[1]}, {self.users:,} reports: Cramér's V "
            f"{strength.value:.2f} ({strength.lower:.2f} to {strength.upper:.2f}), independence "
            f"p = {test.p_value:.2g} with the noise of the reports in it."
        )

    def columns(self) -> Columns:
        """One row a cell: people with limits, and shares of the row and of the column."""
        places = [(i, j) for i in range(len(self.answers[0])) for j in range(len(self.answers[1]))]
        one = np.eye(self.counts.size).reshape(-1, *self.counts.shape)
        lower, upper = np.array([self.limits(cell) for cell in one]).T
        return {
            self.names[0]: [self.answers[0][i] for i, _ in places],
            self.names[1]: [self.answers[1][j] for _, j in places],
            "estimate": self.counts.ravel(),
            "lower": lower,
            "upper": upper,
            "share of the row": [self.share(*place, of=0).value for place in places],
            "share of the column": [self.share(*place, of=1).value for place in places],
        }


@dataclass(frozen=True, eq=False)
class Merged:
    """Tables of some of two or three questions whose cells are named, such as ``"HIV / yes"``.

    ``items`` are the cells' names in the order of the counts, ``answers`` those of each question,
    and ``kept`` the places of the questions that stay, in rising order.

    Examples
    --------
    >>> Merged(["a / x", "b / x", "a / y", "b / y"], ["ab", "xy"], [0]).cells.tolist()
    [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """

    items: Sequence[str]
    answers: Sequence[Sequence[str]]
    kept: Sequence[int]

    @cached_property
    def cells(self) -> Array:
        """1 where a cell of all questions is in a cell of those that stay, else 0."""
        place = {item: k for k, item in enumerate(self.items)}
        sizes = [len(one) for one in self.answers]
        sorted_cells = [place[JOINED.join(cell)] for cell in product(*self.answers)]
        order = np.array(sorted_cells).reshape(sizes)
        order = np.moveaxis(order, self.kept, range(len(self.kept)))
        order = order.reshape(prod(sizes[k] for k in self.kept), -1)
        found = np.zeros((len(order), len(self.items)))
        found[np.arange(len(order))[:, None], order] = 1
        return found

    def table(
        self,
        names: tuple[str, str],
        counts: Array,
        users: int,
        moments: Callable[[Array], Array],
        confidence: float,
    ) -> CrossTable:
        """The table of the two that stay. Of a third one shares within a cell are the estimated."""
        cells = self.cells
        inside = np.maximum(counts, 0.0) * cells
        empty = ~inside.any(axis=1)
        inside[empty] = cells[empty]
        within = inside / inside.sum(axis=1, keepdims=True)
        first, second = (self.answers[k] for k in self.kept)

        def merged(shares: Array) -> Array:
            return np.asarray(cells @ moments(shares @ within) @ cells.T)

        table = (cells @ counts).reshape(len(first), len(second))
        return CrossTable(names, (first, second), table, users, merged, confidence)


def pair_tables(
    of: Sequence[tuple[str, Sequence[str]]],
    items: Sequence[str],
    counts: Array,
    users: int,
    moments: Callable[[Array], Array],
    confidence: float = 0.95,
) -> list[CrossTable]:
    """The table of every two of some questions, ``of`` their names and answers; see `Merged`."""
    answers, found = [own for _, own in of], []
    for one, other in combinations(range(len(of)), 2):
        merged, names = Merged(items, answers, [one, other]), (of[one][0], of[other][0])
        found.append(merged.table(names, counts, users, moments, confidence))
    return found


def _noncentral_limits(
    seen: float, noise: float, both: float, along: float, tail: float
) -> tuple[float, float]:
    """Limits of ``s`` from ``seen = |x + e|^2``, ``s = |x|^2``, mean of ``|e|^2`` and its spread.

    The law has the mean ``noise + s`` and the variance ``2 both + 4 along s``.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtr
    from scipy.stats import ncx2

    if noise <= 0 or both <= 0:
        return seen, seen

    def above(s: float) -> float:
        variance = 2 * both + 4 * along * s
        scale = variance / (2 * noise + 4 * s)
        if s > _NEARLY_NORMAL * scale:  # where SciPy's series ends, and the law is normal
            return float(ndtr((seen - noise - s) / sqrt(variance)))
        degrees = noise / scale
        return float(ncx2.cdf(seen / scale, degrees, s / scale))

    def end(chance: float) -> float:
        if above(0.0) <= chance:
            return 0.0
        far = seen + noise
        while above(far) > chance:
            far *= 2
        return float(brentq(lambda s: above(s) - chance, 0.0, far, xtol=1e-12 * far))

    return end(1 - tail), end(tail)


def people_for_association(
    error: float, shape: tuple[int, int], strength: float = 0.1, power: float = 0.8
) -> float:
    """People with whom a Cramér's V is seen at 5 %: even margins, and one budget for all cells.

    ``error`` is the total squared error of all cells per person. ``n = delta D kappa / phi^2`` with
    ``kappa = (error + 1 - 1/D) / (D - 1)``, the noise of a cell's contrast, and ``delta`` the
    noncentrality that a chi-square test needs. Source: docs/theory/relating.md.

    Examples
    --------
    >>> round(people_for_association(7.55622289, (2, 2)), 1)
    8692.6
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    degrees, cells = (shape[0] - 1) * (shape[1] - 1), shape[0] * shape[1]
    edge = float(chi2.isf(0.05, degrees))
    delta = brentq(lambda x: float(ncx2.sf(edge, degrees, x)) - power, 1e-9, 1e4, xtol=1e-12)
    kappa = (error + 1 - 1 / cells) / (cells - 1)
    return float(delta) * cells * kappa / (strength**2 * (min(shape) - 1))
