"""What solvers hand on: tables of bits, subset designs and channels, each with its proof.

They are probabilities that keep a policy, the errors that follow from them, and a certificate:
all that mechanisms, plans and parameter files read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arrays import Array
from planner.errors import ConvergenceError, InputError
from planner.frames import Columns, WithDataFrame
from planner.policy import logodds
from planner.policy.objective import Objective
from planner.policy.policy import PrivacyPolicy
from planner.solvers.types import NO_SPLIT, OutputTypes, Variances

# Of an error: what rounding may take from it before nothing is claimed of it.
_SAME = 1e-6
# Of a report's largest value: below the noise of fewer than 10^14 people.
_UNBIASED = 1e-7


@dataclass(frozen=True, slots=True)
class Certificate:
    """A proof of how good an answer is, checkable without trusting the solver.

    Attributes
    ----------
    lower_bound:
        Nothing that the bound is about, and keeps the pair budgets, has a smaller objective, even
        if levels of importance 0 count nothing in it.
    relative_gap:
        ``(objective - lower_bound) / lower_bound``, not negative: the proven distance. Infinite
        where the bound is 0: for errors lost in rounding, and where the search for a bound ends
        below 0, as for six and more levels with budgets from 5 to 20. Nothing is proven there.
    over:
        What the bound is about. ``"tables"``: tables of bits of the same model. ``"mechanisms"``:
        all that ask once, with any unbiased estimator. ``"linear mechanisms"``: the same with
        estimators that add up one number a report; others may learn from many reports which
        of several populations it is.
    solved_bound:
        As ``lower_bound``, of the objective that was solved, in which they count a millionth; None
        if there are none such. Plans of shares are compared by it.
    stopped:
        Why the search of a design ended before its gap was as small as asked for: ``"digits"``
        (those of the computer's numbers are used up), ``"rounds"`` (all the work that it may do is
        done), ``"columns"`` (no report is known that would lower the error by a tenth of the gap)
        or ``"levels"`` (too many that differ: the table is taken); empty where it reached it.

    Examples
    --------
    >>> from planner import PrivacyPolicy, solve
    >>> proof = solve(PrivacyPolicy([1.0, 2.0], [1, 4])).certificate
    >>> proof.over, proof.relative_gap < 1e-6
    ('tables', True)
    """

    lower_bound: float
    relative_gap: float
    over: str
    solved_bound: float | None = None
    stopped: str = ""

    @property
    def error_gap(self) -> float:
        """The gap of the error, the root of the objective: ``sqrt(1 + relative_gap) - 1``."""
        return sqrt(1 + self.relative_gap) - 1

    @classmethod
    def of(
        cls, value: float, bound: float, over: str, solved: float | None = None
    ) -> Certificate:
        """The certificate of an answer's error and a bound; no error is below 0.

        An error below its bound is one whose digits are used up.
        """
        if bound > value * (1 + _SAME):
            reason = "Rounding hides the error at these budgets"
            raise ConvergenceError(reason, "Take larger ones.")
        bound = max(0.0, min(bound, value))
        if bound > 0:
            gap = float((value - bound) / bound)
        elif value > 0:
            gap = np.inf
        else:
            gap = 0.0
        return cls(bound, gap, over, solved)

    @property
    def estimates(self) -> str:
        """The estimates that a bound over mechanisms is about, in words."""
        if "linear" in self.over:
            return "unbiased linear estimate"
        return "unbiased estimate"


class _Solved:
    """What tables and designs share: the error per user in the sense of an objective."""

    __slots__ = ()
    objective: Objective

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of any objective."""
        raise NotImplementedError

    @property
    def objective_value(self) -> float:
        """The minimised objective, per user; the worst-case error unless chosen otherwise."""
        return self.value(self.objective)

    @property
    def worst_case_mse(self) -> float:
        """Total mean squared error per user for the least favourable counts (IDUE paper, eq. 9)."""
        return self.value(Objective())


class LevelProbabilities(_Solved):
    """What tables and mechanisms share that have two probabilities a level, ``a`` and ``b``.

    They are those that a report supports an item, if it is the person's answer and if it is not,
    shape ``(t,)``: whatever the other answer is.
    """

    __slots__ = ()
    policy: PrivacyPolicy
    a: Array
    b: Array

    @property
    def least_b(self) -> Array:
        """The probability ``b``, which is the same whatever the other answer is."""
        return self.b

    @property
    def noise(self) -> Array:
        """Variance of one item's estimated count per user who lacks it, shape ``(t,)``."""
        noise, _ = logodds.noise_and_signal(self.a, self.b)
        return noise

    @property
    def signal(self) -> Array:
        """Extra variance per user who has the item, shape ``(t,)``; may be negative."""
        _, signal = logodds.noise_and_signal(self.a, self.b)
        return signal

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of any objective."""
        coefficients = objective.coefficients(self.policy)
        return coefficients.evaluate(self.noise, self.signal)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class UnaryTable(LevelProbabilities, WithDataFrame):
    """Bit probabilities per privacy level, with what they cost and why they are right.

    Attributes
    ----------
    policy, objective:
        What the table keeps, and what was minimised.
    a, b:
        ``Pr[report 1 | true bit 1]`` and ``Pr[report 1 | true bit 0]`` per level,
        shape ``(t,)``, ``0 < b < a < 1``; else an :class:`InputError`.
    model, method:
        ``"opt0"``, ``"opt1"``, ``"opt2"`` (IDUE), ``"rappor"`` or ``"oue"``, and how it was found.
    certificate:
        Proof of optimality; ``None`` for the baselines, which optimise nothing.
    shadow_prices:
        Per level, by how much the objective falls per nat of extra budget for that
        level (all pairs that its budget limits), shape ``(t,)``; ``None`` for baselines.
    """

    # Answers are drawn bit by bit, not from a subset design.
    design: ClassVar[None] = None

    policy: PrivacyPolicy
    a: Array
    b: Array
    model: str
    method: str
    objective: Objective = field(default_factory=Objective)
    certificate: Certificate | None = None
    shadow_prices: Array | None = None

    def __post_init__(self) -> None:
        size = self.policy.size
        for name in ("a", "b", "shadow_prices"):
            value = getattr(self, name)
            if value is None:
                continue
            column = _frozen(value)
            if column.shape != (size,):
                allowed = f"one number per level, shape ({size},)"
                remedy = "Give them in the order of the policy's levels."
                raise InputError(name, column.shape, allowed, remedy)
            object.__setattr__(self, name, column)
        is_fit = (self.b > 0) & (self.a < 1)
        is_fit &= self.b < self.a
        for i in np.flatnonzero(~is_fit):
            pair = (float(self.a[i]), float(self.b[i]))
            allowed = "such that 0 < b < a < 1"
            remedy = "Is b, the chance of a false 1, swapped with a?"
            raise InputError(f"(a, b) of level {i}", pair, allowed, remedy)

    @property
    def pair_losses(self) -> Array:
        """Log-ratio of a report between items of a level and of another, at most, ``(t, t)``."""
        s, w = logodds.to_log_odds(self.a, self.b)
        return np.add.outer(s, w)

    @property
    def max_violation(self) -> float:
        """Largest excess of a pair's log-ratio over its budget, in nats; 0.0 when none."""
        s, w = logodds.to_log_odds(self.a, self.b)
        excess = s - self.policy.room(w)
        return max(0.0, float(excess.max()))

    @property
    def saturation_epsilon(self) -> float | None:
        """Budget beyond which a level gains nothing (rule ``"min"``, else ``None``), in nats."""
        if not self.policy.rule.saturates:
            return None
        s, w = logodds.to_log_odds(self.a, self.b)
        return float(s.max() + w.max())

    def standard_errors(self, users: int) -> Array:
        """Standard error of a rare item's estimated count per level, in users, shape ``(t,)``."""
        return np.sqrt(users * self.noise)

    @property
    def summary(self) -> str:
        """The model, its error per user, and what is proven about it."""
        error = f"worst-case error {self.worst_case_mse:.6g} per user"
        promise = "plain local differential privacy at the smallest pair budget"
        if self.certificate is not None:
            gap = self.certificate.relative_gap
            promise = f"every pair keeps its budget, proven optimal to within {gap:.1g}"
        return f"{self.model} ({self.method}): {error}; {promise}."

    def columns(self) -> Columns:
        """One row a level: its budget, its probabilities, and what they cost.

        Examples
        --------
        >>> from planner import baseline
        >>> table = baseline(PrivacyPolicy([1.0, 2.0], [1, 4], names=["severe", "common"]), "oue")
        >>> table.to_frame()[["level", "items", "a", "b"]].round(4)
            level  items    a       b
        0  severe      1  0.5  0.2689
        1  common      4  0.5  0.2689
        """
        prices = np.nan if self.shadow_prices is None else self.shadow_prices
        return {
            "level": self.policy.names,
            "items": self.policy.item_counts,
            "epsilon": self.policy.epsilons,
            "a": self.a,
            "b": self.b,
            "noise": self.noise,
            "signal": self.signal,
            "shadow_price": prices,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SubsetDesign(_Solved):
    """The best of all mechanisms for a policy: types of reports, their error, and the proof.

    Attributes
    ----------
    policy, objective:
        What the design keeps, and what was minimised.
    types, groups:
        The types of reports (:class:`OutputTypes`), over groups of levels, and the group of each
        level, shape ``(t,)``: levels with the same budgets share one.
    prior:
        Shares of people in the groups for which the estimator is best, shape ``(groups,)``: the
        least favourable ones, unless the objective assumes others.
    certificate:
        Proof of how far from the best of all mechanisms the design is at most.

    Examples
    --------
    >>> from planner import best_design
    >>> design = best_design(PrivacyPolicy([1.0, 1.2, 2.0], [5, 5, 90]))
    >>> round(design.worst_case_mse, 4), design.certificate.relative_gap < 1e-6
    (175.8053, True)
    """

    model: ClassVar[str] = "subset-design"
    method: ClassVar[str] = "columns"
    shadow_prices: ClassVar[None] = None

    policy: PrivacyPolicy
    types: OutputTypes
    groups: NDArray[np.int64]
    prior: Array
    objective: Objective = field(default_factory=Objective)
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        groups = np.array(self.groups, dtype=np.int64)
        groups.setflags(write=False)
        prior = _frozen(self.prior)
        size = self.types.item_counts.size
        if prior.shape != (size,):
            allowed = f"one share per group, shape ({size},)"
            remedy = "Give every group its share."
            raise InputError("prior", prior.shape, allowed, remedy)
        has_shape = groups.shape == (self.policy.size,)
        is_fit = has_shape and groups.min() >= 0 and groups.max() < size
        if is_fit:
            items = np.bincount(groups, self.policy.item_counts, size)
            is_fit = np.array_equal(items, self.types.item_counts)
        if not is_fit:
            allowed = "the groups of the types, with the items of all their levels"
            remedy = "Group the levels again."
            raise InputError("groups", groups.tolist(), allowed, remedy)
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "prior", prior)

    @property
    def design(self) -> SubsetDesign:
        """What answers are drawn from, as of a design of sets: itself."""
        return self

    @property
    def variances(self) -> Variances:
        """What one person adds to the variance of one item's estimated count, by group."""
        estimator = self.types.estimator(self.prior)
        return self.types.variances(estimator)

    @property
    def level_errors(self) -> Array:
        """Total squared error that a person of each level adds, all items, shape ``(t,)``."""
        return self._errors(np.ones(self.policy.size))

    def _errors(self, weights: Array) -> Array:
        """The errors by level, an item's error weighted by its level.

        A person of level ``k`` adds ``sum_i weight_i m_i other_ki`` as if no item were their own,
        and for that one ``weight_k (own_k - other_kk)`` more.
        """
        variances = self.variances
        weight_of_levels = weights * self.policy.item_counts
        weight_of_groups = np.bincount(self.groups, weight_of_levels)
        of_others = variances.other @ weight_of_groups
        instead = variances.own - np.diag(variances.other)
        return of_others[self.groups] + weights * instead[self.groups]

    def value(self, objective: Objective) -> float:
        """The error per user in the sense of another objective, with the same estimator."""
        weights = objective.item_weights(self.policy)
        if objective.kind == "minimax":
            return float((weights * self.noise).max())
        errors = self._errors(weights)
        if objective.prior is not None:
            return float(objective.prior @ errors)
        return float(errors.max())

    @property
    def a(self) -> Array:
        """Probability that a person's own item is on the high side, by level, shape ``(t,)``."""
        _, of_holder = self._on_high_side()
        return of_holder[self.groups]

    @property
    def b(self) -> Array:
        """The largest probability, whatever the answer, that another item is, shape ``(t,)``."""
        other, _ = self._on_high_side()
        return other.max(axis=0)[self.groups]

    @property
    def least_b(self) -> Array:
        """The smallest such probability, shape ``(t,)``."""
        other, _ = self._on_high_side()
        # Of a group with one item nobody has another one.
        is_alone = np.diag(self.types.item_counts == 1)
        possible = np.where(is_alone, np.inf, other)
        return possible.min(axis=0)[self.groups]

    @property
    def noise(self) -> Array:
        """Variance of a rare item's count per user, at most, whatever the answers, ``(t,)``."""
        by_group = self.variances.other.max(axis=0)
        return by_group[self.groups]

    @property
    def signal(self) -> Array:
        """Extra variance per user who has the item, at most and at least 0, shape ``(t,)``."""
        of_holders = self.variances.own[self.groups]
        return np.maximum(of_holders - self.noise, 0.0)

    @property
    def saturation_epsilon(self) -> float | None:
        """Twice the smallest budget: no mechanism can use more (rule ``"min"``, else ``None``)."""
        if not self.policy.rule.saturates:
            return None
        return 2 * float(self.policy.epsilons.min())

    @property
    def pair_losses(self) -> Array:
        """The losses of pairs, as of a table; 0 for a level with a single item: it has no pair."""
        losses = self.types.pair_losses
        losses = np.where(np.isnan(losses), 0.0, losses)
        return losses[np.ix_(self.groups, self.groups)]

    def _on_high_side(self) -> tuple[Array, Array]:
        """Probabilities of the high side: another item's, by the answer's group, and one's own."""
        types = self.types
        # Sides that tell nothing apart are deployed as one, the low one.
        is_split = types.low < types.high * (1 - NO_SPLIT)
        is_high = np.zeros((*types.high_counts.shape, 2))
        is_high[:, :, 1] = is_split | (types.low_counts == 0)
        return types.expectations(is_high)

    def __repr__(self) -> str:
        error = f"worst-case error {self.worst_case_mse:.6g} per user"
        return f"<SubsetDesign: {self.types.size} types of reports, {error}>"


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """An assumed population, and which error counts in it.

    With ``T_y`` what report ``y`` adds to each wanted number (shape ``(p,)``), the error
    per person is the variance of ``directions @ T_y``, summed over the rows.

    Attributes
    ----------
    population:
        Share of people with each symbol, shape ``(symbols,)``: not negative, sum 1.
    directions:
        Which combinations of the wanted numbers count, shape ``(rows, p)``.
    drawn:
        Whether the people are drawn at random (the variance includes that drawing), or
        given (only the mechanism's noise counts).
    cap:
        A ceiling above 0 that a channel keeps in this scenario; ``None`` if its error is one of
        those whose largest is made small.

    Examples
    --------
    >>> one_in_ten = Scenario(population=[0.9, 0.1], directions=[[1.0]])
    >>> one_in_ten.population.tolist()
    [0.9, 0.1]
    """

    population: Array
    directions: Array
    drawn: bool = False
    cap: float | None = None

    def __post_init__(self) -> None:
        shares = _frozen(self.population)
        directions = _frozen(self.directions)
        is_fit = shares.ndim == 1 and shares.size > 0
        if is_fit:
            is_fit = abs(shares.sum() - 1) <= 1e-9 and shares.min() >= 0
        if not is_fit:
            allowed = "a column of shares, none negative, that sum to 1"
            remedy = "Divide the numbers of people by their total."
            raise InputError("population", self.population, allowed, remedy)
        if directions.ndim != 2 or not np.isfinite(directions).all():
            allowed = "a matrix, one row a combination"
            remedy = (
                "Give a list of rows, each with one finite weight per wanted number."
            )
            raise InputError("directions", self.directions, allowed, remedy)
        if self.cap is not None and not 0 < self.cap < np.inf:
            remedy = "None means that this population's error has no limit."
            raise InputError("cap", self.cap, "above 0, or None", remedy)
        object.__setattr__(self, "population", shares)
        object.__setattr__(self, "directions", directions)

    def known(self, workload: Array) -> float:
        """What is taken off the expected square to get the variance.

        ``sum_x pi_x |F w_x|^2`` of given people, ``|F W pi|^2`` of people drawn at random
        (docs/theory/channels.md).
        """
        if self.drawn:
            mean = self.directions @ (workload @ self.population)
            return float(np.square(mean).sum())
        squares = np.square(self.directions @ workload).sum(axis=0)
        return float(squares @ self.population)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Channel:
    """A mechanism as a matrix: who has symbol ``x`` sends report ``y`` with ``matrix[x, y]``.

    Attributes
    ----------
    policy:
        One privacy level of one item per symbol; its names are the symbols.
    wanted, wanted_names:
        What each symbol adds to each wanted number, shape ``(p, symbols)``, and ``p`` names.
    matrix:
        ``Pr[report | symbol]``, shape ``(symbols, outputs)``, rows sum to 1.
    estimator:
        What a report adds to the estimate of each wanted number, shape ``(p, outputs)``:
        ``matrix @ estimator.T == wanted.T``, so every estimate is unbiased.
    scenarios, certificate:
        For which populations it was made, and the bound on the largest error of those without a
        cap; ``None`` for a channel that was not optimised.

    Raises
    ------
    InputError
        Shapes that do not fit, rows that do not sum to 1, or a biased estimator.
    """

    policy: PrivacyPolicy
    wanted: Array
    wanted_names: tuple[str, ...]
    matrix: Array
    estimator: Array
    scenarios: tuple[Scenario, ...] = ()
    certificate: Certificate | None = None

    def __post_init__(self) -> None:
        for name in ("wanted", "matrix", "estimator"):
            object.__setattr__(self, name, _frozen(getattr(self, name)))
        object.__setattr__(self, "wanted_names", tuple(self.wanted_names))
        object.__setattr__(self, "scenarios", tuple(self.scenarios))
        p = len(self.wanted_names)
        m = self.policy.size
        outputs = self.matrix.shape[-1]
        _require_shape("wanted", self.wanted, (p, m))
        _require_shape("matrix", self.matrix, (m, outputs))
        _require_shape("estimator", self.estimator, (p, outputs))
        row_sums = self.matrix.sum(axis=1)
        off = float(np.abs(row_sums - 1).max())
        if not (self.matrix.min() >= 0 and off <= 1e-12):
            allowed = "probabilities whose rows sum to 1"
            remedy = (
                "Divide each row by its sum; Pr[report | symbol] belongs in row symbol."
            )
            raise InputError("matrix", off, allowed, remedy)
        largest_value = float(np.abs(self.estimator).max())
        if self.bias > _UNBIASED * largest_value:
            allowed = "unbiased: matrix @ estimator.T == wanted.T"
            remedy = "Recompute the estimator from this matrix."
            raise InputError("estimator", self.bias, allowed, remedy)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The possible answers, in the order of the matrix's rows."""
        return self.policy.names

    @property
    def outputs(self) -> int:
        """Number of different reports."""
        return int(self.matrix.shape[1])

    @property
    def bias(self) -> float:
        """Largest deviation of an estimate's expectation from what is wanted."""
        expectations = self.matrix @ self.estimator.T
        return float(np.abs(expectations - self.wanted.T).max())

    @property
    def pair_losses(self) -> Array:
        """Largest log-ratio of a report between a symbol and another, in nats."""
        logs = np.log(self.matrix)
        losses = np.empty((len(logs), len(logs)))
        # A row at a time: of 256 symbols and 1,000 reports all pairs at once take a gigabyte.
        for symbol, row in enumerate(logs):
            losses[symbol] = (row - logs).max(axis=1)
        return losses

    @property
    def max_violation(self) -> float:
        """Largest excess of a pair's log-ratio over its budget, in nats; 0.0 when none."""
        bounds = self.policy.bounds().copy()
        np.fill_diagonal(bounds, np.inf)
        excess = self.pair_losses - bounds
        return max(0.0, float(excess.max()))

    def covariance(self, population: ArrayLike, *, drawn: bool = False) -> Array:
        """Covariance per person of the estimates of the wanted shares, shape ``(p, p)``.

        ``population``: share of people with each symbol, ``drawn`` at random or given. Divide by
        the number of people for the covariance of estimated shares.
        """
        shares = Scenario(np.asarray(population), np.eye(1)).population
        report_shares = shares @ self.matrix
        square = (self.estimator * report_shares) @ self.estimator.T
        if drawn:
            mean = self.wanted @ shares
            truth = np.outer(mean, mean)
        else:
            truth = (self.wanted * shares) @ self.wanted.T
        return np.asarray(square - truth)

    def error(self, scenario: Scenario) -> float:
        """Error per person in a scenario: the variance summed over its directions."""
        F = scenario.directions
        covariance = self.covariance(scenario.population, drawn=scenario.drawn)
        return float(np.sum((F @ covariance) * F))

    @property
    def worst_drawn(self) -> float:
        """Largest error per person of the first number wanted, of any people drawn at random.

        That is the largest ``sum_x pi_x q_x - (sum_x pi_x m_x)^2`` over all shares ``pi``, where
        ``m_x`` is the number that is wanted of symbol ``x``, and ``q_x = E[T^2 | x]``. For a given
        mean it is linear in ``pi``, so that people of two symbols ``x, y`` have the largest. With a
        share ``t`` of ``x``, ``d = m_x - m_y`` and ``r = q_x - q_y`` it is ``q_y + t r - (m_y + t
        d)^2``, largest at ``t = (r - 2 d m_y) / (2 d^2)``, or at the nearer end of 0 and 1.
        """
        m = self.wanted[0]
        q = self.matrix @ np.square(self.estimator[0])
        d = m[:, None] - m
        r = q[:, None] - q
        # With d = 0 an end is largest: x with itself, which is among the pairs.
        double_square = np.where(d == 0, 1, 2 * d**2)
        best = (r - 2 * d * m) / double_square
        t = np.clip(best, 0, 1)
        mean = m + t * d
        variances = q + t * r - np.square(mean)
        return float(variances.max())

    @property
    def errors(self) -> Array:
        """Error per person in each scenario."""
        return np.array(self._errors(self.scenarios))

    @property
    def worst_error(self) -> float:
        """Largest error per person over the scenarios without a cap."""
        free = [scenario for scenario in self.scenarios if scenario.cap is None]
        return max(self._errors(free))

    def _errors(self, scenarios: Sequence[Scenario]) -> list[float]:
        """The errors of many scenarios, see :meth:`error`: shared directions are computed once.

        Under directions ``F`` a report counts ``|F T_y|^2``, of which ``|F w_x|^2`` is known.
        """
        squares: dict[int, tuple[Array, Array]] = {}
        errors = []
        for scenario in scenarios:
            directions = scenario.directions
            if id(directions) not in squares:
                of_reports = np.square(directions @ self.estimator).sum(axis=0)
                expected = self.matrix @ of_reports  # by symbol
                truth = np.square(directions @ self.wanted).sum(axis=0)
                squares[id(directions)] = (expected, truth)
            expected, truth = squares[id(directions)]
            expected_square = float(expected @ scenario.population)
            if scenario.drawn:
                errors.append(expected_square - scenario.known(self.wanted))
            else:
                errors.append(expected_square - float(truth @ scenario.population))
        return errors

    def __repr__(self) -> str:
        words = f"{self.policy.size} symbols, {self.outputs} reports"
        if self.scenarios:
            words += f", largest error {self.worst_error:.6g} per person"
        return f"<Channel: {words}>"


def _require_shape(name: str, array: Array, shape: tuple[int, int]) -> None:
    if array.shape != shape:
        remedy = "Rows and columns may be swapped: transpose it."
        raise InputError(name, array.shape, f"of shape {shape}", remedy)


def nearest_unbiased(
    estimator: Array, workload: Array, matrix: Array, resolution: float = 1e-7
) -> Array:
    """The nearest estimator whose expectations are right, to the last digits, ``(p, outputs)``.

    What a channel's ``matrix`` tells apart by less than ``resolution``, relatively, is left: in a
    rounded matrix that may be rounding alone.
    """
    inverse = np.linalg.pinv(matrix, rcond=resolution)
    for _ in range(2):  # the second turn mends the digits that the first one lost
        bias = workload - estimator @ matrix.T
        estimator = estimator + bias @ inverse.T
    return estimator


def _frozen(values: ArrayLike | Sequence[float]) -> Array:
    """A copy that cannot be written to; one that is so already is kept, and shared by scenarios."""
    if isinstance(values, np.ndarray):
        is_frozen = not values.flags.writeable and values.base is None
        if is_frozen and values.dtype == np.float64:
            return values
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array
