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
from functools import cached_property, partial
from itertools import combinations, product
from math import inf, prod, sqrt
from typing import NamedTuple

import numpy as np

from planner.arrays import Array, Flags
from planner.estimates.channel import Estimate
from planner.estimates.counts import SupportEstimates, tail_share
from planner.estimates.report_law import within
from planner.estimates.table_limits import CellShare, SquaredDistance, TwoByTwo
from planner.frames import Columns, WithDataFrame
from planner.limits import CONFIDENCE, JOINED

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
        if 0 < self.in_order < len(self.answers):
            return self.answers[-1]
        return ""


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
        positive = np.maximum(self.counts, 0.0)
        if not positive.any():
            return np.full(positive.shape, 1 / positive.size)
        return positive / positive.sum()

    @cached_property
    def covariance(self) -> Array:
        """The covariance of the counts, for people drawn at random, shape ``(d, d)``."""
        return self.drawn_covariance(self.shares)

    def drawn_covariance(self, shares: Array) -> Array:
        """The counts' covariance ``n (M(p) - p p')``, for people drawn from such shares."""
        p = shares.ravel()
        second_moments = self.moments(p, np.eye(p.size))
        return self.users * (second_moments - np.outer(p, p))

    @cached_property
    def lines(self) -> tuple[Array, Array]:
        """Which cells are in each row, and in each column, ``(d1, d)`` and ``(d2, d)``."""
        first, second = self.counts.shape
        each_row = np.eye(first)
        each_column = np.eye(second)
        rows = np.kron(each_row, np.ones(second))
        columns = np.kron(np.ones(first), each_column)
        return np.asarray(rows), np.asarray(columns)

    def people_in(self, cells: Array) -> SupportEstimates:
        """How many people are in each of some sets of cells, whoever was asked.

        Sets are given by 0 and 1, shape ``(k, d)``. What a report adds to such a sum is taken for
        one of two numbers, with chances ``a`` and ``b`` that give a person inside and one outside
        the mean and the variance that they have: exact where a report is of one cell at most. With
        ``w`` and ``o`` the means of ``E[T_S^2]`` inside and outside

            a - b = (4 o + (w - o)^2)^(-1/2),   b = (1 - (a - b) (w - o)) / 2,

        and ``c`` people inside have the variance ``n o + c (w - 1 - o)``.
        """
        w = self._squares(cells, cells > 0)
        o = self._squares(cells, cells == 0)
        o = np.maximum(o, 0.0)
        n = self.users
        values = cells @ self.counts.ravel()
        inside = np.clip(values, 0, n)
        # Of given people whoever is inside counts for 1 in any draw.
        variance = n * o + inside * (w - o - 1)
        square = 4 * o + (w - o) ** 2
        gap = 1 / np.sqrt(square)
        b = (1 - gap * (w - o)) / 2
        b = np.clip(b, 0, 1)
        supports = np.rint(n * b + gap * values)
        return SupportEstimates(
            values=values,
            standard_errors=np.sqrt(np.maximum(variance, 0)),
            null_standard_errors=np.sqrt(n * o),
            users=n,
            supports=np.clip(supports, 0, n),
            a=np.minimum(b + gap, 1),
            b=b,
        )

    def _squares(self, cells: Array, people: Flags) -> Array:
        """``E[T_S^2]`` of each set of cells, over ``people`` who are in others, ``(k, d)`` both."""
        mixes = within(people, self.shares.ravel())
        squares = []
        for mix, cell in zip(mixes, cells, strict=True):
            square = self.moments(mix, cell[None])
            squares.append(square[0, 0])
        return np.array(squares)

    def _somebody(self, people: SupportEstimates) -> bool:
        """Whether the reports rule out that any of some counts is 0."""
        size = people.values.size
        nobody = np.zeros(size, dtype=np.int64)
        chance = people.tail(people.seen, nobody, np.ones(size))
        ruled_out = chance <= tail_share(self.confidence) / 2
        return bool(ruled_out.all())

    @cached_property
    def _margins(self) -> tuple[Array, Array]:
        """``r`` and ``s``: shares of rows and of columns, none negative."""
        r = _shares_of(self.counts.sum(axis=1))
        s = _shares_of(self.counts.sum(axis=0))
        return r, s

    @cached_property
    def _theta(self) -> Array:
        """``N/n - r s'`` of each cell, ``(d1, d2)``: near 0 if the two answers are independent."""
        raw = self.counts / self.users
        rows = raw.sum(axis=1)
        columns = raw.sum(axis=0)
        return raw - np.outer(rows, columns)

    def _jacobian(self) -> Array:
        """``J``, theta's slopes by the shares: ``1 - r_i [same column] - s_j [same row]``."""
        r, s = self._margins
        rows, columns = self.lines
        same_column = columns.T @ columns
        same_row = rows.T @ rows
        jacobian = np.eye(self.counts.size)
        jacobian -= (r @ rows)[:, None] * same_column
        jacobian -= (s @ columns)[:, None] * same_row
        return jacobian

    @cached_property
    def _independent_covariance(self) -> Array:
        """The counts' covariance if the two answers were independent, ``n Sigma(r s')``."""
        r, s = self._margins
        return self.drawn_covariance(np.outer(r, s))

    @cached_property
    def margins_known(self) -> bool:
        """Whether each answer's people are above their standard error, so that shares are known."""
        margins = np.vstack(self.lines)
        people = margins @ self.counts.ravel()
        spread = margins @ self.covariance @ margins.T
        clear = people > np.sqrt(np.diag(spread))
        return bool(clear.all())

    @cached_property
    def rough(self) -> str:
        """What is said where a pair has few people, so that laws are far from normal."""
        # Of events, noise among them, if the two answers were independent.
        expected = np.diag(self._independent_covariance)
        if expected.min() < _FEWEST_EXPECTED:
            return FEW_EXPECTED
        return ""

    @cached_property
    def independence(self) -> Independence:
        """``Q = n theta' (J Sigma(r s') J')^-1 theta`` on contrasts, a chi-square if independent.

        The noise of the reports is in ``Sigma``. Source: docs/theory/relating.md.
        """
        from scipy.stats import chi2

        cells = np.arange(self.counts.size)
        table = cells.reshape(self.counts.shape)
        # The last row and column follow from the others: (d1 - 1)(d2 - 1) contrasts are free.
        contrasts = table[:-1, :-1].ravel()
        theta = self._theta.ravel()[contrasts]
        jacobian = self._jacobian()
        spread = jacobian @ self._independent_covariance @ jacobian.T / self.users
        of_contrasts = spread[np.ix_(contrasts, contrasts)]
        solution, *_ = np.linalg.lstsq(of_contrasts, theta)
        statistic = self.users * float(theta @ solution)
        degrees = contrasts.size
        if not self.margins_known:
            return Independence(statistic, degrees, 1.0, UNKNOWN)
        chance = float(chi2.sf(statistic, degrees))
        return Independence(statistic, degrees, chance, self.rough)

    @cached_property
    def association(self) -> Estimate:
        """Cramér's V with the noise taken off, from 0 to 1, and its limits.

        ``phi^2 = sum theta^2 / (r s)`` is too large by the mean of its noise, which is subtracted.
        Its law is near ``c`` times a noncentral chi-square with the same mean and variance; the
        limits invert it.
        """
        law = self._phi_square()
        # E|x + e|^2 = |x|^2 + tr W: what noise alone adds is taken off.
        phi_square = max(law.seen - law.trace, 0.0)
        most = min(self.counts.shape) - 1  # V^2 = phi^2 / (min d - 1)
        value = sqrt(min(phi_square / most, 1.0))
        if not self.margins_known:
            return Estimate(value, None, 0.0, 1.0, UNKNOWN)
        low, high = law.limits(tail_share(self.confidence))
        error = sqrt(law.variance(phi_square))
        slope = 2 * sqrt(most * max(phi_square, error))  # of phi^2 by V
        return Estimate(
            value=value,
            standard_error=error / slope,
            lower=sqrt(min(low / most, 1.0)),
            upper=sqrt(min(high / most, 1.0)),
            note=self.rough,
        )

    def _phi_square(self) -> SquaredDistance:
        """The law of ``sum theta^2 / (r s)``; ``W`` is the covariance of ``theta / sqrt(r s)``."""
        r, s = self._margins
        expected = np.outer(r, s).ravel()
        # Cells that nobody is expected in would divide by 0: one person is the least.
        scale = np.sqrt(np.maximum(expected, 1 / self.users))
        scaled = self._theta.ravel() / scale
        jacobian = self._jacobian() / scale[:, None]
        spread = jacobian @ self.covariance @ jacobian.T / self.users**2
        seen = float(scaled @ scaled)
        trace = float(np.trace(spread))
        trace_of_square = float((spread**2).sum())
        along = trace
        if seen:
            along = float(scaled @ spread @ scaled) / seen
        return SquaredDistance(seen, trace, trace_of_square, along)

    def share(self, row: int, column: int, margin: int = 1) -> Estimate:
        """Share of people in a cell among those of its column (``margin=1``) or row (``margin=0``).

        All shares ``rho`` for which ``cell - rho margin`` is compatible with 0 (Fieller), see
        :class:`~planner.estimates.table_limits.CellShare`. The whole range where the reports cannot
        rule out that nobody gave that answer.
        """
        rows, columns = self.lines
        cell = rows[row] * columns[column]
        line = (rows[row], columns[column])[margin]
        sums = np.stack([cell, line])
        people, people_of_line = (sums @ self.counts.ravel()).tolist()
        asked = self.people_in(line[None])
        if not self._somebody(asked):
            value = None
            if people_of_line > 0:
                value = people / people_of_line
            note = "The reports cannot rule out that nobody gave that answer."
            return Estimate(value, None, 0.0, 1.0, note)
        # Cells of people in the cell, of others of its line, and of all others.
        kinds = np.stack([cell, line - cell, 1 - line])
        moments = []
        for mix in within(kinds > 0, self.shares.ravel()):
            moments.append(self.moments(mix, sums).tolist())
        law = CellShare(
            users=self.users,
            cell=people,
            margin=people_of_line,
            unit=float(asked.unit[0]),
            moments=moments,
        )
        return law.estimate(tail_share(self.confidence))

    def odds_ratio(self, rows: Sequence[int], columns: Sequence[int]) -> Estimate:
        """Odds of these columns in these rows, over those in the other rows.

        All ``psi`` with ``L^2 <= z^2 Var L``, ``L = N11 N22 - psi N12 N21``, the variance that of a
        table with the same margins and these odds: never undefined; without an upper end where
        the reports set none.
        """
        first, second = self.counts.shape
        in_rows = np.zeros(first)
        in_rows[list(rows)] = 1.0
        in_columns = np.zeros(second)
        in_columns[list(columns)] = 1.0
        in_others = 1 - in_rows
        in_other_columns = 1 - in_columns
        # Which cells the four of the merged table have.
        n11 = np.kron(in_rows, in_columns)
        n12 = np.kron(in_rows, in_other_columns)
        n21 = np.kron(in_others, in_columns)
        n22 = np.kron(in_others, in_other_columns)
        rows_of_two = [n11 + n12, n21 + n22]
        columns_of_two = [n11 + n21, n12 + n22]
        people = self.people_in(np.stack(rows_of_two + columns_of_two))
        if not self._somebody(people):
            return Estimate(None, None, 0.0, inf, UNKNOWN)
        cells = np.stack([n11, n12, n21, n22])
        moments = []
        for mix in within(cells > 0, self.shares.ravel()):
            moments.append(self.moments(mix, cells))
        counts = cells @ self.counts.ravel()
        merged = TwoByTwo(self.users, counts, np.array(moments))
        return merged.odds_ratio(self.confidence)

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
            share_of_row = self.share(i, j, margin=0)
            share_of_column = self.share(i, j, margin=1)
            of_row.append(share_of_row.value)
            of_column.append(share_of_column.value)
        rows, columns = zip(*product(*self.answers), strict=True)
        people = self.people_in(np.eye(self.counts.size))
        lower, upper = people.intervals(self.confidence)
        first, second = self.names
        return {
            first: list(rows),
            second: list(columns),
            "estimate": self.counts.ravel(),
            "lower": lower,
            "upper": upper,
            "share of the row": of_row,
            "share of the column": of_column,
        }


def _merged_moments(
    moments: Callable[[Array, Array], Array],
    mix: Array,
    cells: Array,
    shares: Array,
    sums: Array,
) -> Array:
    """Moments of sums over the cells of a merged table, whose people are mixed so."""
    return moments(shares @ mix, sums @ cells)


def _shares_of(counts: Array) -> Array:
    """Shares of estimated counts, none negative."""
    positive = np.maximum(counts, 0.0)
    return positive / max(positive.sum(), 1e-300)


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
    positions = {item: k for k, item in enumerate(items)}
    order = []
    for cell in product(*answers):
        name = JOINED.join(cell)
        order.append(positions[name])
    # Where the counts have each cell of the table, an axis a question.
    sizes = [len(names) for names in answers]
    axes = np.reshape(order, sizes)
    # The questions that stay come first: a row then has all cells of one of theirs.
    axes = np.moveaxis(axes, kept, range(len(kept)))
    cells_kept = prod(sizes[k] for k in kept)
    rows = axes.reshape(cells_kept, -1)
    matrix = np.zeros((cells_kept, len(items)))
    for of_row, columns in zip(matrix, rows, strict=True):
        of_row[columns] = 1
    return matrix


def pair_tables(
    questions: Sequence[RelatedQuestion],
    items: Sequence[str],
    counts: Array,
    users: int,
    moments: Callable[[Array, Array], Array],
    confidence: float = CONFIDENCE,
) -> list[CrossTable]:
    """The table of every two of some questions.

    Within a cell of two the answers of the other questions are as frequent as estimated.
    """
    tables = []
    answers = [question.answers for question in questions]
    shares_of_all = _shares_of(counts)
    for i, j in combinations(range(len(questions)), 2):
        first = questions[i]
        second = questions[j]
        cells = margin_matrix(items, answers, (i, j))
        merged = cells @ counts
        mix = within(cells > 0, shares_of_all)

        table = CrossTable(
            names=(first.name, second.name),
            answers=(first.answers, second.answers),
            counts=merged.reshape(len(first.answers), len(second.answers)),
            users=users,
            moments=partial(_merged_moments, moments, mix, cells),
            confidence=confidence,
            in_order=(first.in_order, second.in_order),
        )
        tables.append(table)
    return tables


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

    rows, columns = shape
    degrees = (rows - 1) * (columns - 1)
    cells = rows * columns
    rejected_from = float(chi2.isf(0.05, degrees))

    def excess_power(noncentrality: float) -> float:
        return float(ncx2.sf(rejected_from, degrees, noncentrality)) - power

    delta = float(brentq(excess_power, 1e-9, 1e4, xtol=1e-12))
    kappa = (error + 1 - 1 / cells) / (cells - 1)
    phi_square = strength**2 * (min(shape) - 1)
    return delta * cells * kappa / phi_square
