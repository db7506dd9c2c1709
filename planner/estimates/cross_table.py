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
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import exp, inf, log, prod, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags
from planner.estimates.channel import Estimate
from planner.estimates.counts import SupportEstimates, reach, tail_share
from planner.estimates.report_law import within
from planner.frames import Columns, WithDataFrame
from planner.limits import CONFIDENCE, JOINED

_FAR_ODDS = 50.0  # of a log of odds
_SMALLEST_SHARE = 1e-12  # share that is tried
_HALVED = 30  # of a search, each of which halves
_NEARLY_NORMAL = 1e4  # of noncentrality, relative to the scale
_FEWEST_EXPECTED = 5.0  # in every pair (Cochran, 1954)
FEW_EXPECTED = (
    "Fewer than five people are expected in some pair: p, and limits of V, are rough."
)
UNKNOWN = "The reports cannot rule out that nobody gave some answer: they do not tell."


class RelatedQuestion(NamedTuple):
    """A question that a joint one is of: its name, and its answers.

    The first ``in_order`` answers have an order, the lowest first; 0 for none. One more may be
    outside it.
    """

    name: str
    answers: Sequence[str]
    in_order: int = 0

    @property
    def outside(self) -> str:
        """The answer outside the order of the others; blank if there is none."""
        return self.answers[-1] if 0 < self.in_order < len(self.answers) else ""


class Independence(NamedTuple):
    """A test of independence: statistic, degrees of freedom, and the chance of more by noise.

    The chance is 1, and the ``note`` says why, where reports do not tell how many gave an answer.
    It says, too, where the chance is rough.
    """

    statistic: float
    degrees: int
    p_value: float
    note: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class CrossTable(WithDataFrame):
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
        ``E[S_j S_k]`` of what one report adds to two sums of cells, of a person drawn from shares
        of the cells, ``(d,)``, and of these sums, ``(k, d)``, the second answer running fastest.
    confidence:
        Of all limits here.
    in_order:
        Of each question, how many answers have an order, the lowest first; 0 for none. They stand
        before answers outside the order.

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
    moments: Callable[[Array, Array], Array]
    confidence: float = CONFIDENCE
    in_order: tuple[int, int] = (0, 0)

    @cached_property
    def shares(self) -> Array:
        """Estimated shares of the cells, none negative, sum 1, ``(d1, d2)``."""
        inside = np.maximum(self.counts, 0.0)
        if not inside.any():
            return np.full(inside.shape, 1 / inside.size)
        return inside / inside.sum()

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the counts, for people drawn at random, shape ``(d, d)``."""
        return self.drawn_covariance(self.shares)

    def drawn_covariance(self, shares: Array) -> Array:
        """The counts' covariance, for people drawn from such shares of the cells, ``(d, d)``."""
        flat = shares.ravel()
        return self.users * (
            self.moments(flat, np.eye(flat.size)) - np.outer(flat, flat)
        )

    @cached_property
    def lines(self) -> tuple[Array, Array]:
        """Each cell's indicator summed over rows, and over columns, ``(d1, d)`` and ``(d2, d)``."""
        first, second = self.counts.shape
        rows = np.asarray(np.kron(np.eye(first), np.ones(second)), np.float64)
        return rows, np.asarray(np.kron(np.ones(first), np.eye(second)), np.float64)

    def people_in(self, cells: Array) -> SupportEstimates:
        """How many people are in each of some sets of cells, whoever was asked.

        Sets are given by 0 and 1, shape ``(k, d)``. What a report adds to such a sum is taken for
        one of two numbers, with chances that give a person inside and one outside the mean and the
        variance that they have: exact where a report is of one cell at most.
        """
        inside = self._squares(cells, cells > 0)
        outside = np.maximum(self._squares(cells, cells == 0), 0.0)
        n = self.users
        values = cells @ self.counts.ravel()
        # Of given people whoever is inside counts for 1 in any draw.
        difference = inside - outside
        variance = n * outside + np.clip(values, 0, n) * (difference - 1)
        gap = 1 / np.sqrt(4 * outside + difference**2)
        other = np.clip((1 - gap * difference) / 2, 0, 1)
        supports = np.clip(np.rint(n * other + gap * values), 0, n)
        return SupportEstimates(
            values=values,
            standard_errors=np.sqrt(np.maximum(variance, 0)),
            null_standard_errors=np.sqrt(n * outside),
            users=n,
            supports=supports,
            a=np.minimum(other + gap, 1),
            b=other,
        )

    def _squares(self, cells: Array, people: Flags) -> Array:
        """``E[S^2]`` of each set of cells, over ``people`` who are in others, ``(k, d)`` both."""
        squares = []
        for mix, cell in zip(within(people, self.shares.ravel()), cells, strict=True):
            squares.append(self.moments(mix, cell[None])[0, 0])
        return np.array(squares)

    def _somebody(self, people: SupportEstimates) -> bool:
        """Whether the reports rule out that any of some counts is 0."""
        nobody = np.zeros(people.values.size, dtype=np.int64)
        chance = people.tail(people.seen, nobody, np.ones(nobody.size))
        return bool((chance <= tail_share(self.confidence) / 2).all())

    @cached_property
    def _margins_and_gaps(self) -> tuple[Array, Array, Array]:
        """Shares of both margins, none negative, and ``theta = N/n - r s'``, ``(d1, d2)``."""
        first = np.maximum(self.counts.sum(axis=1), 0.0)
        second = np.maximum(self.counts.sum(axis=0), 0.0)
        first = first / max(first.sum(), 1e-300)
        second = second / max(second.sum(), 1e-300)
        raw = self.counts / self.users
        return first, second, raw - np.outer(raw.sum(axis=1), raw.sum(axis=0))

    def _slopes(self, first: Array, second: Array) -> Array:
        """Theta's slopes by the shares: ``1 - r_i [same column] - s_j [same row]``, ``(d, d)``."""
        rows, columns = self.lines
        same_column = columns.T @ columns
        same_row = rows.T @ rows
        slopes = np.eye(self.counts.size)
        slopes -= (first @ rows)[:, None] * same_column
        slopes -= (second @ columns)[:, None] * same_row
        return slopes

    @cached_property
    def margins_known(self) -> bool:
        """Whether each answer's people are above their standard error, so that shares are known."""
        sums = np.vstack(self.lines)
        errors = np.sqrt(np.diag(sums @ self.covariance @ sums.T))
        return bool((sums @ self.counts.ravel() > errors).all())

    @cached_property
    def rough(self) -> str:
        """What is said where a pair has few people, so that laws are far from normal."""
        first, second, _ = self._margins_and_gaps
        # Of events, noise among them, if the two answers were independent.
        expected = np.diag(self.drawn_covariance(np.outer(first, second)))
        if expected.min() < _FEWEST_EXPECTED:
            return FEW_EXPECTED
        return ""

    @cached_property
    def independence(self) -> Independence:
        """``Q = n theta' (J Sigma(r s') J')^-1 theta`` on contrasts, a chi-square if independent.

        The noise of the reports is in ``Sigma``. Source: docs/theory/relating.md.
        """
        from scipy.stats import chi2

        first, second, theta = self._margins_and_gaps
        keep = np.arange(theta.size).reshape(theta.shape)[:-1, :-1].ravel()
        slopes = self._slopes(first, second)
        covariance = self.drawn_covariance(np.outer(first, second))
        spread = slopes @ covariance @ slopes.T / self.users
        spread = spread[np.ix_(keep, keep)]
        # The last row and column follow from the others: (d1 - 1)(d2 - 1) contrasts are free.
        gap = theta.ravel()[keep]
        statistic = self.users * float(gap @ np.linalg.lstsq(spread, gap)[0])
        if not self.margins_known:
            return Independence(statistic, keep.size, 1.0, UNKNOWN)
        chance = float(chi2.sf(statistic, keep.size))
        return Independence(statistic, keep.size, chance, self.rough)

    @cached_property
    def association(self) -> Estimate:
        """Cramér's V with the noise taken off, from 0 to 1, and its limits.

        ``phi^2 = sum theta^2 / (r s)`` is too large by the mean of its noise, which is subtracted.
        Its law is near ``c`` times a noncentral chi-square with the same mean and variance; the
        limits invert it.
        """
        first, second, theta = self._margins_and_gaps
        # Cells that nobody is expected in would divide by 0: one person is the least.
        least = np.maximum(np.outer(first, second).ravel(), 1 / self.users)
        slopes = self._slopes(first, second) / np.sqrt(least)[:, None]
        spread = slopes @ self.covariance @ slopes.T / self.users**2
        scaled = theta.ravel() / np.sqrt(least)
        # E|x + e|^2 = |x|^2 + tr Cov(e): what noise alone adds.
        noise = float(np.trace(spread))
        seen = float(scaled @ scaled)
        most = min(self.counts.shape) - 1
        strength = max(seen - noise, 0.0)
        along = noise
        if seen:
            along = float(scaled @ spread @ scaled) / seen
        value = sqrt(min(strength / most, 1.0))
        both = float((spread**2).sum())
        if not self.margins_known:
            return Estimate(value, None, 0.0, 1.0, UNKNOWN)
        low, high = _noncentral_limits(
            seen, noise, both, along, tail_share(self.confidence) / 2
        )
        lower = sqrt(min(low / most, 1.0))
        upper = sqrt(min(high / most, 1.0))
        error = sqrt(2 * both + 4 * along * strength)
        spread_of_value = error / (2 * sqrt(most * max(strength, error)))
        return Estimate(value, spread_of_value, lower, upper, self.rough)

    def share(self, row: int, column: int, margin: int = 1) -> Estimate:
        """Share of people in a cell among those of its column (``margin=1``) or row (``margin=0``).

        All shares ``x`` for which ``cell - x total`` is compatible with 0, its variance that of
        such people: as Fieller's interval, by a binomial law in place of the normal one. The whole
        range where the reports cannot rule out that nobody gave that answer.
        """
        indicators = self.lines[0][row], self.lines[1][column]
        cell = indicators[0] * indicators[1]
        total = indicators[margin]
        flat = np.stack([cell, total])
        # Estimated people of the cell, and of the margin that it is a share of.
        people, every = (flat @ self.counts.ravel()).tolist()
        value = None
        if every > 0:
            value = people / every
        asked = self.people_in(total[None])
        if not self._somebody(asked):
            note = "The reports cannot rule out that nobody gave that answer."
            return Estimate(value, None, 0.0, 1.0, note)
        kinds = np.stack([cell, total - cell, 1 - total]) > 0
        moments = []
        for mix in within(kinds, self.shares.ravel()):
            moments.append(self.moments(mix, flat).tolist())
        margin_share = min(every / self.users, 1.0)
        unit = float(asked.unit[0])
        n = self.users

        def variance(x: float) -> float:
            """``n E[(cell - x total)^2]``, over people in the cell, in the margin, and others."""
            shares = (margin_share * x, margin_share * (1 - x), 1 - margin_share)
            square = 0.0
            for share, (of_cell, of_total) in zip(shares, moments, strict=True):
                cell_square, cell_by_total = of_cell
                total_square = of_total[1]
                of_people = cell_square - 2 * x * cell_by_total + x**2 * total_square
                square += share * of_people
            return n * square

        def tails(x: float) -> tuple[float, float]:
            x = min(max(x, _SMALLEST_SHARE), 1 - _SMALLEST_SHARE)
            # A binomial number of events of this size has the variance unit^2 trials x (1 - x).
            of_one_trial = unit**2 * x * (1 - x)
            trials = variance(x) / of_one_trial
            # As far from its mean as the estimate is from 0.
            seen = (people - x * every) / unit + trials * x
            return _binomial_tails(seen, trials, x)

        assert value is not None  # noqa: S101 - some people gave it
        chance = tail_share(self.confidence) / 2
        middle = min(max(value, 0.0), 1.0)
        lower = _edge(lambda x: tails(x)[0] > chance, middle, 0.0)
        upper = _edge(lambda x: tails(x)[1] > chance, middle, 1.0)
        error = sqrt(max(variance(middle), 0.0)) / every
        return Estimate(value, error, lower, upper)

    def odds_ratio(self, rows: Sequence[int], columns: Sequence[int]) -> Estimate:
        """Odds of these columns in these rows, over those in the other rows.

        All ``x`` with ``L^2 <= z^2 Var L``, ``L = N11 N22 - x N12 N21``, the variance that of a
        table with the same margins and these odds: never undefined; without an upper end where
        the reports set none.
        """
        in_rows = np.isin(np.arange(self.counts.shape[0]), list(rows))
        in_rows = in_rows.astype(np.float64)
        in_columns = np.isin(np.arange(self.counts.shape[1]), list(columns))
        in_columns = in_columns.astype(np.float64)
        # The four sums of the merged table: N11, N12, N21, N22.
        sums = np.stack(
            [
                np.kron(in_rows, in_columns),
                np.kron(in_rows, 1 - in_columns),
                np.kron(1 - in_rows, in_columns),
                np.kron(1 - in_rows, 1 - in_columns),
            ]
        )
        # Both rows' and both columns' people.
        margins = sums[[0, 2, 0, 1]] + sums[[1, 3, 2, 3]]
        if not self._somebody(self.people_in(margins)):
            return Estimate(None, None, 0.0, inf, UNKNOWN)
        n = self.users
        merged = sums @ self.counts.ravel()
        mixes = within(sums > 0, self.shares.ravel())
        moments = np.array([self.moments(mix, sums) for mix in mixes])
        row_share = min(max(float(merged[:2].sum()) / n, 0.0), 1.0)
        column_share = min(max(float(merged[::2].sum()) / n, 0.0), 1.0)

        def covariance(shares: Array) -> Array:
            """The covariance of the four counts, for people drawn from such shares."""
            second = np.tensordot(shares, moments, 1)
            return np.asarray(n * (second - np.outer(shares, shares)))

        inside = np.maximum(merged, 0.0)
        noise = covariance(inside / inside.sum())
        # Of products of estimates the covariance of the factors is taken off.
        same = merged[0] * merged[3] - noise[0, 3]
        crossed = merged[1] * merged[2] - noise[1, 2]

        def off(odds_ratio: float) -> float:
            """``L`` over its standard deviation, to second order."""
            shares = table_with_odds(odds_ratio, row_share, column_share)
            signs = np.array([1.0, -odds_ratio, -odds_ratio, 1.0])
            slope = n * shares[::-1] * signs
            spread = covariance(shares)
            # L is quadratic: its variance is g' S g + tr((H S)^2) / 2 for normal counts.
            bend = np.diag(signs)[::-1]
            curved = np.trace(spread @ bend @ spread @ bend) / 2
            variance = float(slope @ spread @ slope + curved)
            return float(same - odds_ratio * crossed) / sqrt(max(variance, 1e-300))

        z = reach(self.confidence)
        value = None
        middle = _FAR_ODDS
        if crossed > 0:
            middle = -_FAR_ODDS
        if same > 0 and crossed > 0:
            value = same / crossed
            middle = log(value)
        low = _edge(lambda x: off(exp(x)) < z, middle, -_FAR_ODDS)
        high = _edge(lambda x: off(exp(x)) > -z, middle, _FAR_ODDS)
        if same <= 0 and crossed <= 0:
            low = -_FAR_ODDS
            high = _FAR_ODDS
        # Odds are searched on the scale of their log, whose ends stand for 0 and infinity.
        lower = 0.0 if low <= -_FAR_ODDS else exp(low)
        upper = inf if high >= _FAR_ODDS else exp(high)
        return Estimate(value, None, lower, upper)

    @property
    def summary(self) -> str:
        """Whether the two go together, as far as the reports tell."""
        test = self.independence
        strength = self.association
        return (
            f"{self.names[0]} and {self.names[1]}, {self.users:,} reports: Cramér's V "
            f"{strength.value:.2f} ({strength.lower:.2f} to {strength.upper:.2f}), independence "
            f"p = {test.p_value:.2g} with the noise of the reports in it."
        )

    def columns(self) -> Columns:
        """One row a cell: people with limits, and shares of the row and of the column."""
        of_row = []
        of_column = []
        for i, j in np.ndindex(self.counts.shape):
            of_row.append(self.share(i, j, margin=0).value)
            of_column.append(self.share(i, j, margin=1).value)
        cells = list(product(*self.answers))
        lower, upper = self.people_in(np.eye(len(cells))).intervals(self.confidence)
        first, second = self.names
        return {
            first: [answer for answer, _ in cells],
            second: [answer for _, answer in cells],
            "estimate": self.counts.ravel(),
            "lower": lower,
            "upper": upper,
            "share of the row": of_row,
            "share of the column": of_column,
        }


def table_with_odds(odds_ratio: float, row_share: float, column_share: float) -> Array:
    """Shares of a 2 x 2 table with these margins and this odds ratio, ``[p11, p12, p21, p22]``.

    ``p11`` solves ``odds_ratio = p11 p22 / (p12 p21)``, a quadratic in ``p11`` (Plackett, 1965).

    Examples
    --------
    >>> table_with_odds(4.0, 0.5, 0.5).round(4).tolist()
    [0.3333, 0.1667, 0.1667, 0.3333]
    """
    linear = 1 + (row_share + column_share) * (odds_ratio - 1)
    constant = odds_ratio * row_share * column_share
    root = sqrt(max(linear**2 - 4 * (odds_ratio - 1) * constant, 0.0))
    if linear > 0:  # the form without cancellation near independence
        corner = 2 * constant / (linear + root)
    else:
        corner = (linear - root) / (2 * (odds_ratio - 1))
    rest = 1 - row_share - column_share + corner
    table = np.array([corner, row_share - corner, column_share - corner, rest])
    return np.clip(table, 0.0, 1.0)


def margin_matrix(
    items: Sequence[str], answers: Sequence[Sequence[str]], kept: Sequence[int]
) -> Array:
    """The 0/1 matrix that sums the counts of all questions over those that do not stay.

    ``matrix @ counts`` is the table of the questions that stay, in the order of their answers.
    ``items`` are the cells' names, such as ``"HIV / yes"``, in the order of the counts, ``answers``
    those of each question, and ``kept`` the places of the questions that stay, in rising order.

    Examples
    --------
    >>> margin_matrix(["a / x", "b / x", "a / y", "b / y"], ["ab", "xy"], [0]).tolist()
    [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]
    """
    sizes = [len(names) for names in answers]
    positions = {item: k for k, item in enumerate(items)}
    cells = map(JOINED.join, product(*answers))
    # Where the counts have each cell of the table, an axis a question.
    order = np.array([positions[cell] for cell in cells]).reshape(sizes)
    # The questions that stay come first: a row then has all cells of one of theirs.
    order = np.moveaxis(order, kept, range(len(kept)))
    order = order.reshape(prod(sizes[k] for k in kept), -1)
    indicators = np.zeros((len(order), len(items)))
    indicators[np.arange(len(order))[:, None], order] = 1
    return indicators


def pair_tables(
    questions: Sequence[RelatedQuestion],
    items: Sequence[str],
    counts: Array,
    users: int,
    moments: Callable[[Array, Array], Array],
    confidence: float = CONFIDENCE,
) -> list[CrossTable]:
    """The table of every two of some questions.

    Of a third one shares within a cell are the estimated.
    """
    tables = []
    whole = np.maximum(counts, 0.0)
    for kept in combinations(range(len(questions)), 2):
        answers = [question.answers for question in questions]
        cells = margin_matrix(items, answers, kept)
        mix = within(cells > 0, whole / max(whole.sum(), 1e-300))
        # Within a cell the answers of the other questions are as frequent as estimated.
        first = questions[kept[0]]
        second = questions[kept[1]]

        def merged(
            shares: Array, sums: Array, mix: Array = mix, cells: Array = cells
        ) -> Array:
            return moments(shares @ mix, sums @ cells)

        table = CrossTable(
            names=(first.name, second.name),
            answers=(first.answers, second.answers),
            counts=(cells @ counts).reshape(len(first.answers), len(second.answers)),
            users=users,
            moments=merged,
            confidence=confidence,
            in_order=(first.in_order, second.in_order),
        )
        tables.append(table)
    return tables


def _binomial_tails(seen: float, trials: float, chance: float) -> tuple[float, float]:
    """Chances of so many or more, and of so many or less; numbers need not be whole."""
    from scipy.special import betainc

    # A binomial tail is an incomplete beta function, which takes any real numbers:
    # Pr[X >= s] = I_p(s, n - s + 1), Pr[X <= s] = 1 - I_p(s + 1, n - s).
    upper = 1.0
    if seen > 0:
        upper = float(betainc(seen, max(trials - seen + 1, 1e-300), chance))
    lower = 1.0
    if seen < trials:
        lower = 1 - float(betainc(seen + 1, trials - seen, chance))
    return upper, lower


def _edge(holds: Callable[[float], bool], inside: float, end: float) -> float:
    """Where it holds no more, from ``inside`` towards an ``end``; the end if it holds there."""
    near = inside
    far = end
    if holds(end + 1e-9 * (inside - end)):
        return end
    for _ in range(_HALVED):
        middle = (near + far) / 2
        if holds(middle):
            near = middle
        else:
            far = middle
    return far


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
        # c chi2(k, l) has the mean c (k + l) and the variance 2 c^2 (k + 2 l): c k = noise and
        # c l = s give the scale c from both moments.
        scale = variance / (2 * noise + 4 * s)
        # Far out SciPy's series ends, and the law is normal.
        if s > _NEARLY_NORMAL * scale:
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

    degrees = (shape[0] - 1) * (shape[1] - 1)
    cells = shape[0] * shape[1]
    edge = float(chi2.isf(0.05, degrees))
    # The noncentrality at which the test, at 5 %, rejects with the chance wanted.
    delta = brentq(
        lambda x: float(ncx2.sf(edge, degrees, x)) - power, 1e-9, 1e4, xtol=1e-12
    )
    kappa = (error + 1 - 1 / cells) / (cells - 1)
    return float(delta) * cells * kappa / (strength**2 * (min(shape) - 1))
