"""Sampling Privacy: its question, the best parameters, three views of the guarantee, a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner import arguments
from planner.arguments import positive_numbers, whole_number
from planner.errors import InputError, VerificationError
from planner.estimates.counts import normal_quantile
from planner.frames import Framed
from planner.limits import MAX_EPSILON
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.policy.budget_text import rounded_up
from planner.survey.questions import Survey

Array = NDArray[np.float64]
ROUNDING = 1e-10


@lru_cache(maxsize=32)
def binomial_window(size: int, chance: float) -> tuple[int, Array]:
    """First outcome and probabilities of every outcome that a float can weigh.

    ``size`` is the number of trials, 0 to 10^7; ``chance`` lies inside (0, 1).
    Bernstein's inequality leaves less than 2 e^-710 < 1e-307 outside the window.
    """
    half = int(710 / 3 + sqrt((710 / 3) ** 2 + 2 * 710 * size * chance * (1 - chance))) + 2
    mode = min(size, int((size + 1) * chance))
    first, last = max(0, mode - half), min(size, mode + half)
    odds = chance / (1 - chance)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    weights = np.concatenate(
        [
            np.cumprod(below / (size - below + 1) / odds)[::-1],
            [1.0],
            np.cumprod((size - above + 1) / above * odds),
        ]
    )
    pmf = weights / weights.sum()
    pmf.setflags(write=False)
    return first, pmf


def upper_tail(size: int, chance: float, start: NDArray[np.int64]) -> Array:
    """``Pr[Binomial >= start]``."""
    first, pmf = binomial_window(size, chance)
    tails = np.append(np.cumsum(pmf[::-1])[::-1], 0.0)
    return tails[np.clip(start - first, 0, pmf.size)]


def lower_tail(size: int, chance: float, stop: NDArray[np.int64]) -> Array:
    """``Pr[Binomial <= stop]``."""
    first, pmf = binomial_window(size, chance)
    tails = np.concatenate([[0.0], np.cumsum(pmf)])
    return tails[np.clip(stop - first + 1, 0, pmf.size)]


def raised(value: float, used: float | None = None) -> float:
    """``value`` plus the rounding errors of everything that went into it, at most 1.

    ``used`` is the sum of all terms before they cancelled, ``value`` itself if nothing did.
    """
    below_floats = 1e-300  # outside the window, or too small for full precision
    return min(1.0, value + 2 * ROUNDING * (value if used is None else used) + below_floats)


MAX_COUNT = 10**7


def difference_delta(others: int, sampling: float, epsilon: float) -> float:
    """``delta`` at ``epsilon`` if only the difference of the two rounds is released.

    One person's answer turns from none to the value that ``others`` more people have:
    ``P = Binomial(others, sampling)`` against ``Q = Binomial(others + 1, sampling)``.
    Every term of the sum is positive and computed from the log-ratio
    ``ln Q/P = ln((others + 1) (1 - sampling) / (others + 1 - x))``, so nothing cancels.
    """
    check_arguments(sampling, epsilon, others)
    first, p = binomial_window(others, sampling)
    x = first + np.arange(p.size)
    loss = np.log((others + 1) * (1 - sampling) / (others + 1 - x))
    up, down = loss > epsilon, loss < -epsilon
    gained = np.sum(p[up] * np.exp(epsilon) * np.expm1(loss[up] - epsilon))
    gained += sampling ** (others + 1)  # the difference others + 1 is impossible under P
    lost = -np.sum(p[down] * np.expm1(epsilon + loss[down]))
    return raised(float(max(gained, lost)))


def exchange_delta(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    """``delta`` if one person's answer turns from one value into another.

    ``leaving`` and ``joining`` other people have the two values, whose differences are
    independent: ``P = Bin(leaving + 1) x Bin(joining)`` against ``Q = Bin(leaving) x
    Bin(joining + 1)``. The ratio ``Q/P = (leaving + 1 - x) (joining + 1) / ((leaving + 1)
    (joining + 1 - y))`` rises in ``y``: for each ``x`` the sum over ``y`` is a pair of tails.

    Releasing the totals of both rounds reveals no more than these differences: unsampled
    people answer alike whatever their value, so round one given the differences has the
    same law under P and Q.
    """
    check_arguments(sampling, epsilon, leaving, joining)
    there = _exchange_one_way(leaving, joining, sampling, epsilon)
    return max(there, _exchange_one_way(joining, leaving, sampling, epsilon))


def check_arguments(sampling: float, epsilon: float, *counts: int) -> None:
    """Check what all curves take."""
    if not 0 < sampling < 1:
        remedy = "Give the share of people who are sampled, such as 0.45."
        raise InputError("sampling", sampling, "a probability above 0 and below 1", remedy)
    if not 0 <= epsilon <= MAX_EPSILON:
        remedy = "Choose an epsilon within the range, such as 1."
        raise InputError("epsilon", epsilon, f"from 0 to {MAX_EPSILON:g}", remedy)
    for count in counts:
        remedy = "The guarantee of a smaller count holds for every larger one: give 10^7."
        whole_number("others", count, 0, MAX_COUNT, remedy)


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """Smallest ``epsilon`` with ``curve(epsilon) <= delta``, rounded up; ``inf`` above 50."""
    if not 0 < delta < 1:
        remedy = "Choose a small probability, such as 1e-6."
        raise InputError("delta", delta, "above 0 and below 1", remedy)
    if curve(MAX_EPSILON) > delta:
        return inf
    low, high = 0.0, MAX_EPSILON
    while high - low > 1e-9 * high + 1e-12:
        middle = (low + high) / 2
        low, high = (low, middle) if curve(middle) <= delta else (middle, high)
    return high


def _exchange_one_way(leaving: int, joining: int, sampling: float, epsilon: float) -> float:
    first, h = binomial_window(leaving, sampling)
    x = first + np.arange(h.size)
    unmoved = (leaving + 1 - x) / (leaving + 1)
    more = h * (1 - sampling) / unmoved  # Bin(leaving + 1) at x
    # Q/P > e^eps  <=>  y > joining + 1 - (joining + 1) (leaving + 1 - x) / ((leaving + 1) e^eps)
    share = unmoved * np.exp(-epsilon)
    start = np.floor((joining + 1) * (1 - share)).astype(np.int64) + 1
    arrived = h * upper_tail(joining + 1, sampling, start)
    stayed = more * np.exp(epsilon) * upper_tail(joining, sampling, start)
    return raised(float(np.maximum(arrived - stayed, 0).sum()), float((arrived + stayed).sum()))


MAX_EXACT_CELLS = 10**6


def totals_delta_exact(
    others_yes: int, others_no: int, zero: float, sampling: float, epsilon: float
) -> float:
    """``delta`` if the totals of both rounds are released (one value), by the whole sum.

    The pair (round-one total ``a``, difference ``x``) of the others has the law
    ``f(a, x) = h(x) g_x(a)``: ``h`` is Binomial(others_yes, pi_s), and ``g_x`` that of
    ``others_yes - x`` unsampled Yes people, who send 1 with probability
    ``rho = pi_1/(1 - pi_s)``, and of the No people, who send 1 with ``pi_1 = 1 - pi_0 - pi_s``.
    The person in question adds

        P (No):   pi_1 f(a-1, x) + (1 - pi_1) f(a, x)
        Q (Yes):  pi_1 f(a-1, x) + pi_0 f(a, x) + pi_s f(a, x-1)
    """
    check_arguments(sampling, epsilon, others_yes, others_no)
    _check_zero(zero, sampling)
    cells = (others_yes + 2) * (others_yes + others_no + 2)
    if cells > MAX_EXACT_CELLS:
        remedy = "Use the bound; it needs no table."
        raise InputError("table of both totals", cells, f"at most {MAX_EXACT_CELLS} cells", remedy)
    no, yes = _tables(others_yes, others_no, zero, sampling)
    growth = np.exp(epsilon)
    one_way = np.maximum(yes - growth * no, 0).sum(), np.maximum(no - growth * yes, 0).sum()
    # Subtraction errs by a rounding of its terms, in cells that may count: those near or above.
    slack = [ROUNDING * a[a > growth * b * (1 - 1e-9)].sum() for a, b in ((yes, no), (no, yes))]
    return min(1.0, float(max(one_way[0] + slack[0], one_way[1] + slack[1])))


def totals_delta_bound(
    others_yes: int, others_no: int, zero: float, sampling: float, epsilon: float
) -> float:
    """Proven upper bound of :func:`totals_delta_exact`, for counts up to 10^7.

    *Proof.* Write ``b`` for the law Binomial(others_no, pi_1) of the No people's round-one
    total and ``q_x`` for that of ``others_yes - x`` unsampled Yes people, Binomial with
    ``rho = pi_1/(1 - pi_s)``. Then ``f(a, x) = h(x) sum_j q_x(j) b(a-j)``, and since
    ``q_(x-1)`` is ``q_x`` convolved with Bernoulli(rho),
    ``f(a, x-1) = h(x-1) sum_j q_x(j) [(1-rho) b(a-j) + rho b(a-1-j)]`` for ``x <= others_yes``.
    So P(a, x) and Q(a, x) are sums over ``j``, with the same weights ``q_x(j)``, of

        P_j = h(x) [pi_1 b(i-1) + (1-pi_1) b(i)]                             with i = a - j
        Q_j = h(x) [pi_1 b(i-1) + pi_0 b(i)] + pi_s h(x-1) [(1-rho) b(i) + rho b(i-1)].

    By convexity ``(sum_j q_j (Q_j - e^eps P_j))+ <= sum_j q_j (Q_j - e^eps P_j)+``. The
    right side depends on ``i`` only; summing over ``a`` first and then over ``j``, with
    ``sum_j q_x(j) = 1``, leaves

        delta <= sum_x sum_i (A(x) b(i-1) + C(x) b(i))+ ,
        A = pi_1 (1 - e^eps) h(x) + pi_s rho h(x-1),
        C = (pi_0 - e^eps (1-pi_1)) h(x) + pi_s (1-rho) h(x-1).

    At ``x = others_yes + 1``, ``h(x) = 0``: P vanishes and Q sums to ``pi_s h(x-1)``, which
    is what the formula gives. The other direction swaps P and Q. As ``b(i-1)/b(i)`` rises
    in ``i`` (it is ``i (1-pi_1) / ((others_no+1-i) pi_1)``), each inner sum runs over a
    half-line: two tails of a binomial law, hence the cost of one sum over ``x``. QED.

    The bound gives up nothing but the Yes people's noise in round one: with no other Yes
    people it is exact, and it tends to ``difference_delta`` as the No people grow.
    With several values, ``pi_1`` stands for all decoys together: people with none and with
    value v send each decoy alike, so only the sum of round one's totals speaks of v; people
    with the other values only add independent noise and are left out.
    """
    check_arguments(sampling, epsilon, others_yes, others_no)
    _check_zero(zero, sampling)
    one = 1 - zero - sampling
    rho = one / (1 - sampling)
    h, before = _shifted(others_yes, sampling)
    growth = np.exp(epsilon)
    yes = one * h + sampling * rho * before, zero * h + sampling * (1 - rho) * before
    no = one * h, (1 - one) * h
    return min(
        1.0,
        max(
            _half_lines(yes[0], growth * no[0], yes[1], growth * no[1], others_no, one),
            _half_lines(no[0], growth * yes[0], no[1], growth * yes[1], others_no, one),
        ),
    )


# -- parts ------------------------------------------------------------------------


@lru_cache(maxsize=4)
def _tables(yes: int, no: int, zero: float, sampling: float) -> tuple[Array, Array]:
    """P and Q over (difference, round-one total), all terms positive."""
    one = 1 - zero - sampling
    rho = one / (1 - sampling)
    first, window = binomial_window(yes, sampling)
    h = np.zeros(yes + 2)
    h[first : first + window.size] = window
    f = np.zeros((yes + 2, yes + no + 2))
    first, window = binomial_window(no, one)
    g = np.zeros(yes + no + 2)
    g[first : first + window.size] = window
    for x in range(yes, -1, -1):  # one unsampled Yes person more at every step down
        f[x] = h[x] * g
        g = (1 - rho) * g + rho * _down(g)
    shifted = np.zeros_like(f)
    shifted[:, 1:] = f[:, :-1]
    p = one * shifted + (1 - one) * f
    q = one * shifted + zero * f
    q[1:] += sampling * f[:-1]
    return p, q


def _down(row: Array) -> Array:
    return np.concatenate([[0.0], row[:-1]])


def _shifted(size: int, chance: float) -> tuple[Array, Array]:
    """``h(x)`` and ``h(x - 1)`` on the window of x that holds both."""
    _, h = binomial_window(size, chance)
    return np.append(h, 0.0), np.concatenate([[0.0], h])


def _half_lines(
    a_plus: Array, a_minus: Array, c_plus: Array, c_minus: Array, size: int, chance: float
) -> float:
    """``sum_x sum_i (A b(i-1) + C b(i))+`` with ``A = a_plus - a_minus``, C likewise."""
    a, c = a_plus - a_minus, c_plus - c_minus
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = -c / a  # A r + C changes sign at r = ratio
        turn = (size + 1) * ratio * chance / (1 - chance + ratio * chance)
    turn = np.where(np.isfinite(turn), np.clip(turn, 0, size + 1), size + 1.0)
    start = np.where((a > 0) & (c >= 0), 0, np.minimum(np.floor(turn), size) + 1).astype(np.int64)
    stop = np.where((a >= 0) & (c > 0), size + 2, np.ceil(turn)).astype(np.int64)
    rising = a > 0
    b_before = np.where(
        rising, upper_tail(size, chance, start - 1), lower_tail(size, chance, stop - 2)
    )
    b_here = np.where(rising, upper_tail(size, chance, start), lower_tail(size, chance, stop - 1))
    some = (a > 0) | (c > 0)
    value = np.sum(np.maximum(a * b_before + c * b_here, 0), where=some)
    used = np.sum((a_plus + a_minus) * b_before + (c_plus + c_minus) * b_here, where=some)
    return raised(float(value), float(used))


def _check_zero(zero: float, sampling: float) -> None:
    if not 0 <= zero < 1 - sampling:
        allowed = f"at least 0 and below 1 - sampling, {1 - sampling:g}"
        remedy = "Lower zero or sampling: the decoys need what is left."
        raise InputError("zero", zero, allowed, remedy)


@dataclass(frozen=True, slots=True)
class AggregateView:
    """Only the whole population's totals are released, by an aggregator who is trusted.

    The guarantee is about changing one person's answer. It holds for every population in
    which, that person not counted, at least ``others_yes`` people have each value and at
    least ``others_no`` have none: more people never hurt.
    """

    mechanism: SamplingPrivacy
    others_yes: tuple[int, ...]
    others_no: int

    def difference_delta(self, epsilon: float) -> float:
        """``delta`` if only the differences (the estimates) are released; exact."""
        sampling, counts = self.mechanism.sampling, sorted(self.others_yes)
        deltas = [0.0]
        if not self.mechanism.everyone_has_value:
            deltas.append(difference_delta(counts[0], sampling, epsilon))
        if len(counts) > 1:  # delta falls in both counts: the two rarest values are the worst
            deltas.append(exchange_delta(counts[0], counts[1], sampling, epsilon))
        return max(deltas)

    def totals_delta(self, epsilon: float) -> float:
        """``delta`` if the totals of both rounds are released; exact, or a proven bound."""
        with_differences = self.difference_delta(epsilon)
        if self.mechanism.everyone_has_value:
            return with_differences  # round one adds nothing: see exchange_delta
        curve = totals_delta_exact if self._fits_table else totals_delta_bound
        mechanism, rarest = self.mechanism, min(self.others_yes)
        none = curve(rarest, self.others_no, mechanism.zero, mechanism.sampling, epsilon)
        return max(with_differences, none)

    @property
    def totals_are_exact(self) -> bool:
        """False if :meth:`totals_delta` is a bound from above."""
        return self.mechanism.everyone_has_value or (self._fits_table and len(self.others_yes) == 1)

    def difference_epsilon(self, delta: float) -> float:
        """Smallest budget at ``delta`` if only the differences are released; inf above 50."""
        return smallest_epsilon(self.difference_delta, delta)

    def totals_epsilon(self, delta: float) -> float:
        """Smallest (proven) budget at ``delta`` if both rounds' totals are released."""
        return smallest_epsilon(self.totals_delta, delta)

    def curve(self, epsilons: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """``delta`` at each epsilon, shape ``(k,)`` each: differences only, and both totals."""
        grid = np.atleast_1d(np.asarray(epsilons, dtype=np.float64)).tolist()
        difference = np.array([self.difference_delta(epsilon) for epsilon in grid])
        return difference, np.array([self.totals_delta(epsilon) for epsilon in grid])

    @property
    def _fits_table(self) -> bool:
        rarest = min(self.others_yes)
        return (rarest + 2) * (rarest + self.others_no + 2) <= MAX_EXACT_CELLS


@dataclass(frozen=True, slots=True)
class GuaranteeViews:
    """The three views side by side: what is protected depends on who sees what.

    Attributes
    ----------
    round_two_epsilon:
        Budget if an observer sees a person's round two and nothing of round one (the
        paper's eq. 21, 25, 29), in nats.
    round_two_losses:
        The same for each output 0 .. V, shape ``(V + 1,)``.
    linkable_epsilon:
        Always ``inf``: the budget if both rounds of a person can be linked, as by a single
        curious aggregator.
    sampled_if_zero:
        How likely a person seen at 0 in round one is a sampled one,
        ``pi_s / (pi_s + pi_0)``.
    aggregates:
        The (epsilon, delta) curves if only totals are released.
    """

    round_two_epsilon: float
    round_two_losses: tuple[float, ...]
    linkable_epsilon: float
    sampled_if_zero: float
    aggregates: AggregateView

    def sentences(self, delta: float = 1e-6) -> tuple[str, str, str]:
        """The three views in plain words: round two, linkable, aggregates.

        Numbers are rounded to the pessimistic side.
        """
        view = self.aggregates
        how = "exact" if view.totals_are_exact else "proven bound"
        rarest = min(view.others_yes)
        none = "" if view.mechanism.everyone_has_value else f" and {view.others_no} have none"
        return (
            f"Round two alone: epsilon {_up(self.round_two_epsilon)}. Holds only towards an "
            "observer who sees nothing of a person's round one.",
            "Both rounds of a person linkable: epsilon is INFINITE, there is no protection. "
            "Whoever moves from 0 to a value has that value, with certainty; and a person seen "
            f"at 0 in round one is a sampled one with probability {_up(self.sampled_if_zero)}.",
            f"Only totals released, by a trusted aggregator: epsilon "
            f"{_up(view.difference_epsilon(delta))} for the estimates alone (exact), "
            f"{_up(view.totals_epsilon(delta))} for both rounds' totals ({how}), each at delta "
            f"{delta:g}. Holds if at least {rarest} other people have each value{none}.",
        )


def guarantee_views(
    mechanism: SamplingPrivacy, yes_counts: Sequence[int], population: int
) -> GuaranteeViews:
    """All three views of a mechanism for a population.

    Parameters
    ----------
    mechanism:
        The parameters.
    yes_counts:
        Number of people assumed to have each value, at the least, shape ``(V,)``.
    population:
        Number of people; those without a value must number at least the rest.

    Raises
    ------
    InputError
        A count is out of range or missing, or the counts exceed the population.

    Examples
    --------
    >>> mechanism = SamplingPrivacy(0.45, 0.3, [0.25])
    >>> views = guarantee_views(mechanism, [300], population=10_000)
    >>> round(views.round_two_epsilon, 4), views.linkable_epsilon
    (1.0296, inf)
    >>> views.sentences()[2][:85]
    'Only totals released, by a trusted aggregator: epsilon 0.2236 for the estimates alone'
    """
    values = mechanism.items - 1
    if len(yes_counts) != values:
        allowed = f"a list of {values} counts, one per value"
        remedy = "Give a count for each value."
        raise InputError("yes_counts", yes_counts, allowed, remedy)
    counts = [whole_number(f"yes_counts[{v}]", count, 0) for v, count in enumerate(yes_counts)]
    if sum(counts) > whole_number("population", population):
        remedy = "Lower the counts, or raise the population."
        raise InputError("yes_counts", sum(counts), f"at most the population, {population}", remedy)
    # Either neighbour may be the one with these counts: the person in question is taken out
    # of every group. Counts above the limit keep the (larger) delta of the limit.
    others = tuple(min(max(0, count - 1), MAX_COUNT) for count in counts)
    none = min(max(0, population - sum(counts) - 1), MAX_COUNT)
    losses = tuple(mechanism.output_losses.tolist())
    likely = mechanism.sampling / (mechanism.sampling + mechanism.zero)
    view = AggregateView(mechanism, others, none)
    return GuaranteeViews(max(losses), losses, inf, likely, view)


def _up(epsilon: float) -> str:
    return rounded_up(epsilon, 4, unlimited="INFINITE")


@dataclass(frozen=True, slots=True)
class SamplingQuestion:
    """What is asked, of how many, and how much each answer may reveal in round two.

    Parameters
    ----------
    epsilons:
        Budget of each value 1 .. V, or one number for all, in nats, above 0, at most 50:
        how much the output ``v`` may say about the answer ``v`` (round two seen alone).
    yes_counts:
        Expected number of people with each value, shape ``(V,)``, whole, at least 0.
    population:
        Number of people asked, at least 1 and at least the sum of ``yes_counts``.
    cap:
        Largest sampling probability, above 0 and below 1; 0.45 (the paper's choice)
        keeps a sampled person in the minority.
    floor:
        Smallest ``pi_0``, at least 0 and below 1: people who stay at 0 hide the sampled
        ones in round one.
    none_epsilon:
        Budget of the answer "none of the values"; the smallest of ``epsilons`` if omitted.
    everyone_has_value:
        True only if "none of the values" cannot be an answer; then output 0 needs no budget.

    Raises
    ------
    InputError
        A budget, count or probability is out of range, or the counts exceed the population.

    Examples
    --------
    >>> SamplingQuestion(1.0, [30, 60], population=286).epsilons
    (1.0, 1.0)
    """

    epsilons: float | Sequence[float]
    yes_counts: Sequence[int]
    population: int
    cap: float = 0.45
    floor: float = 0.0
    none_epsilon: float | None = None
    everyone_has_value: bool = False

    def __post_init__(self) -> None:
        counts = _counts(self.yes_counts)
        population = arguments.whole_number("population", self.population)
        if sum(counts) > population:
            allowed = f"at most the population, {population}"
            remedy = "Lower the expected counts, or raise the population."
            raise InputError("yes_counts", sum(counts), f"{allowed}, in total", remedy)
        if self.everyone_has_value and sum(counts) < population:
            remedy = "The others have none of the values: set everyone_has_value to false."
            allowed = f"the population, {population}, in total, if everyone has a value"
            raise InputError("yes_counts", sum(counts), allowed, remedy)
        if not 0 < self.cap < 1:
            remedy = "Give the probability that a person is sampled at most, such as 0.45."
            raise InputError("cap", self.cap, "a probability above 0 and below 1", remedy)
        if not 0 <= self.floor < 1:
            remedy = "Give the probability that a person is sampled at least, such as 0."
            raise InputError("floor", self.floor, "a probability of at least 0 and below 1", remedy)
        budgets = _budgets(self.epsilons, len(counts))
        none = min(budgets) if self.none_epsilon is None else self.none_epsilon
        set_field = object.__setattr__
        set_field(self, "yes_counts", counts)
        set_field(self, "population", population)
        set_field(self, "epsilons", budgets)
        set_field(self, "none_epsilon", arguments.budget("none_epsilon", none))

    @property
    def output_budgets(self) -> NDArray[np.float64]:
        """Budget of each round-two output 0 .. V, shape ``(V + 1,)``; inf if it needs none."""
        none = inf if self.everyone_has_value else self.budgets[0]
        return np.array([none, *self.budgets[1:]])

    @property
    def budgets(self) -> tuple[float, ...]:
        """Stated budgets of the answers 0 (none of the values) and 1 .. V, in nats."""
        return (cast("float", self.none_epsilon), *cast("tuple[float, ...]", self.epsilons))


def _counts(yes_counts: Sequence[int]) -> tuple[int, ...]:
    array = np.asarray(yes_counts)
    if array.ndim != 1 or array.size == 0:
        allowed = "a list with one expected count per value"
        remedy = "Give how many people you expect to have each value."
        raise InputError("yes_counts", yes_counts, allowed, remedy)
    counts = enumerate(array.tolist())
    return tuple(arguments.whole_number(f"yes_counts[{v}]", count, 0) for v, count in counts)


def _budgets(epsilons: float | Sequence[float], values: int) -> tuple[float, ...]:
    if isinstance(epsilons, int | float | np.number):
        return (arguments.budget("epsilons", epsilons),) * values
    budgets = np.asarray(epsilons)
    if budgets.shape != (values,):
        allowed = f"one budget, or a list of {values}, one per value"
        remedy = "Give each value its budget, or one budget for all."
        raise InputError("epsilons", epsilons, allowed, remedy)
    return tuple(arguments.budget(f"epsilons[{v}]", e) for v, e in enumerate(budgets.tolist()))


_INWARD = 1 - 1e-12  # a rounding error in the search must not overdraw a budget


@dataclass(frozen=True, slots=True)
class SamplingDesign:
    """The parameters found, and why they are the best."""

    question: SamplingQuestion
    mechanism: SamplingPrivacy
    best_sampling: float
    limited_by: str

    def absolute_errors(self, confidence: float = 0.95) -> Array:
        """Half-width of the error of each expected count, shape ``(V,)``, in people.

        ``z sqrt(c (1 - pi_s) / pi_s)``: the exact standard deviation times the normal
        quantile ``z`` (1.96 for 95 %), an approximation for counts below about 10.
        """
        counts = np.array(self.question.yes_counts, dtype=np.float64)
        return _absolute_errors(counts, self.mechanism.sampling, confidence)


class ErrorGrid(NamedTuple):
    """Error against budget, for plots: ``epsilons`` and ``sampling`` (k,), ``errors`` (k, V)."""

    epsilons: Array
    sampling: Array
    errors: Array


def find_parameters(question: SamplingQuestion) -> SamplingDesign:
    """The parameters with the smallest error within the budgets.

    The error of every count falls in ``pi_s`` and depends on nothing else, so the best
    parameters solve, whatever the counts, the linear program

        maximise pi_s   s.t.  pi_s <= (e^eps_j - 1) pi_j   for every protected output j,
                              pi_0 >= floor,  pi_s <= cap,  pi_s + sum_j pi_j = 1

    (output 0 is protected unless everyone has a value). With ``w_j = 1/(e^eps_j - 1)`` and
    ``W`` their sum over the values the optimum is the smallest of ``cap``,
    ``(1 - floor)/(1 + W)`` and, if output 0 is protected, ``1/(1 + W + w_0)``. Probability that a
    cap leaves over goes to the outputs in proportion to ``w_j``, which lowers every loss below its
    budget.
    """
    budgets = question.output_budgets
    closed = float(closed_form(budgets, question.floor, question.cap))
    sampling = closed * _INWARD
    zero, decoys = place(sampling, budgets, question.floor)
    mechanism = SamplingPrivacy(sampling, zero, tuple(decoys), question.everyone_has_value)
    excess = mechanism.output_losses - budgets
    if excess.max() > 0 or mechanism.sampling > question.cap:
        raise VerificationError(f"Output {excess.argmax()} overdraws its budget by {excess.max()}")
    limited_by = "cap" if closed >= question.cap else "budgets"
    return SamplingDesign(question, mechanism, closed, limited_by)


def error_grid(
    question: SamplingQuestion, epsilons: ArrayLike, confidence: float = 0.95
) -> ErrorGrid:
    """Absolute error of every count at each common budget, by the closed form."""
    grid = positive_numbers("epsilons", epsilons, MAX_EPSILON)
    protected = np.isfinite(question.output_budgets)
    budgets = np.where(protected, grid[:, None], inf)
    sampling = closed_form(budgets, question.floor, question.cap)
    counts = np.array(question.yes_counts, dtype=np.float64)
    return ErrorGrid(grid, sampling, _absolute_errors(counts, sampling[:, None], confidence))


def _quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        remedy = "Give a probability such as 0.95."
        raise InputError("confidence", confidence, "above 0 and below 1", remedy)
    return normal_quantile((1 + confidence) / 2)


def _absolute_errors(counts: Array, sampling: Array | float, confidence: float) -> Array:
    return _quantile(confidence) * np.sqrt(counts * (1 - sampling) / sampling)


def closed_form(budgets: Array, floor: float, cap: float) -> Array:
    """The largest ``pi_s`` within budgets of shape ``(..., V + 1)``: a linear program, solved."""
    weights = _weights(budgets)
    values = 1 + weights[..., 1:].sum(axis=-1)
    return np.minimum(cap, np.minimum((1 - floor) / values, 1 / (values + weights[..., 0])))


def place(sampling: float, budgets: Array, floor: float) -> tuple[float, Array]:
    """``pi_0`` and the decoys: everything not sampled, in proportion to ``w_j``."""
    weights = _weights(budgets)
    rest = 1 - sampling
    zero = max(floor, float(rest * weights[0] / weights.sum()))
    return zero, (rest - zero) * weights[1:] / weights[1:].sum()


def _weights(budgets: Array) -> Array:
    return np.asarray(1 / np.expm1(budgets))  # 0 for an output that needs no budget


ACKNOWLEDGEMENTS = {
    "round-two": "Nobody who sees a person's round two can see that person's round one.",
    "aggregates-only": "A trusted aggregator releases totals only.",
}
_NO_LINKABLE = "No deployment can rely on linkable rounds: their privacy loss is infinite."


@dataclass(frozen=True, slots=True, repr=False)
class SamplingPlan(Framed):
    """Parameters, their error, and the view of the guarantee that a deployment relies on.

    Parameters
    ----------
    design:
        The parameters found.
    relies_on:
        ``"round-two"`` or ``"aggregates-only"``. Both are weaker than local differential
        privacy, under which nobody needs to be trusted.
    acknowledged:
        The sentence in ``ACKNOWLEDGEMENTS`` for that view, word for word: whoever deploys
        vouches for it. ``None`` while planning; without it nothing is written.
    delta:
        At which the aggregate view states its epsilon, above 0 and below 1.

    Raises
    ------
    InputError
        Another view, another sentence, or a delta out of range.

    Examples
    --------
    >>> question = SamplingQuestion(1.0, [300], population=10_000)
    >>> SamplingPlan(find_parameters(question), "round-two").to_document()
    Traceback (most recent call last):
    ...
    planner.errors.InputError: acknowledged is missing but must be "Nobody who sees a person's
    round two can see that person's round one.". The guarantee relied on needs it; if it is
    true, say so word for word. Until then the parameters are not written.
    >>> plan = SamplingPlan(
    ...     find_parameters(question), "aggregates-only", ACKNOWLEDGEMENTS["aggregates-only"]
    ... )
    >>> plan.to_document()["guarantee"]["linkable_epsilon"]
    'infinite'
    """

    design: SamplingDesign
    relies_on: str
    acknowledged: str | None = None
    delta: float = 1e-6

    def __post_init__(self) -> None:
        if self.relies_on not in ACKNOWLEDGEMENTS:
            allowed = f"one of {', '.join(ACKNOWLEDGEMENTS)}"
            raise InputError("relies_on", self.relies_on, allowed, _NO_LINKABLE)
        if self.acknowledged is not None:
            self._demand_acknowledgement()
        if not 0 < self.delta < 1:
            remedy = "Choose a small probability, such as 1e-6."
            raise InputError("delta", self.delta, "above 0 and below 1", remedy)

    @property
    def views(self) -> GuaranteeViews:
        """All three views for the expected counts."""
        question = self.design.question
        return guarantee_views(self.design.mechanism, question.yes_counts, question.population)

    def to_document(self) -> dict[str, Any]:
        """Everything a deployment needs, as plain JSON types; all three views included.

        Raises
        ------
        InputError
            The acknowledgement is missing.
        VerificationError
            The view relied on has no finite epsilon for the expected counts.
        """
        self._demand_acknowledgement()
        mechanism, views = self.design.mechanism, self.views
        aggregates = views.aggregates
        totals_epsilon = aggregates.totals_epsilon(self.delta)
        if self.relies_on == "aggregates-only" and totals_epsilon == inf:
            reason = f"Released totals have no finite epsilon at delta {self.delta:g}"
            remedy = "Merge rare values, so that more people have each, or raise delta."
            raise VerificationError(reason, remedy)
        return {
            "kind": "sampled-choice",
            "denominator": 2**32,
            "sampling": round(mechanism.sampling * 2**32),
            "zero": round(mechanism.zero * 2**32),
            "decoys": [round(decoy * 2**32) for decoy in mechanism.decoys],
            "everyone_has_value": mechanism.everyone_has_value,
            "guarantee": {
                "relies_on": self.relies_on,
                "acknowledged": self.acknowledged,
                "round_two_epsilon": _outward(views.round_two_epsilon),
                "linkable_epsilon": "infinite",
                "aggregates": {
                    "delta": self.delta,
                    "difference_epsilon": _outward(aggregates.difference_epsilon(self.delta)),
                    "totals_epsilon": _outward(totals_epsilon),
                    "totals_are_exact": aggregates.totals_are_exact,
                    "others_with_each_value": list(aggregates.others_yes),
                    "others_with_none": aggregates.others_no,
                },
            },
        }

    def _demand_acknowledgement(self) -> None:
        needed = ACKNOWLEDGEMENTS[self.relies_on]
        if self.acknowledged != needed:
            remedy = (
                "The guarantee relied on needs it; if it is true, say so word for word. "
                "Until then the parameters are not written."
            )
            raise InputError("acknowledged", self.acknowledged, f'"{needed}"', remedy)

    @property
    def summary(self) -> str:
        """What the guarantee relies on, and that it is not local differential privacy."""
        return f"Sampling Privacy, relies on {self.relies_on}. {ACKNOWLEDGEMENTS[self.relies_on]}"

    def columns(self) -> dict[str, Any]:
        """One row a value: its probabilities, round-two budget, and error at 95 % in people."""
        question, mechanism = self.design.question, self.design.mechanism
        return {
            "value": range(1, len(question.yes_counts) + 1),
            "expected_count": question.yes_counts,
            "sampling": mechanism.sampling,
            "decoy": mechanism.decoys,
            "round_two_epsilon": mechanism.output_losses[1:],
            "error_95": self.design.absolute_errors(0.95),
        }


def plan_sampling(
    question: SamplingQuestion, relies_on: str, acknowledged: str | None = None
) -> SamplingPlan:
    """Find the parameters for ``question`` and state what their guarantee relies on.

    Raises
    ------
    InputError, SolverError, VerificationError
        As :class:`SamplingPlan` and :func:`find_parameters` say.

    Examples
    --------
    >>> plan = plan_sampling(SamplingQuestion(1.0, [300], population=10_000), "round-two")
    >>> round(plan.design.mechanism.sampling, 6), plan.design.limited_by
    (0.45, 'cap')
    """
    return SamplingPlan(find_parameters(question), relies_on, acknowledged)


def plan_sampling_survey(survey: Survey) -> dict[str, SamplingPlan]:
    """A plan for each ``"sampled-choice"`` question of a survey, by question name."""
    plans = {}
    for question in survey.questions:
        if question.kind != "sampled-choice":
            continue
        settings = question.sampling
        asked = SamplingQuestion(
            [level.epsilon for level in question.levels for _ in level.yes_counts],
            [count for level in question.levels for count in level.yes_counts],
            survey.users,
            settings.cap,
            settings.floor,
            settings.none_epsilon,
            settings.everyone_has_value,
        )
        plans[question.name] = plan_sampling(asked, settings.relies_on, settings.acknowledged)
    if not plans:
        kinds = sorted({question.kind for question in survey.questions})
        allowed = "'sampled-choice' for one question at least"
        remedy = 'Add a question with kind = "sampled-choice".'
        raise InputError("kind", ", ".join(kinds), allowed, remedy)
    return plans


def _outward(epsilon: float) -> float | str:
    """An epsilon that JSON can carry, raised past the rounding of the logarithm."""
    return "infinite" if epsilon == inf else epsilon * (1 + 1e-12)
