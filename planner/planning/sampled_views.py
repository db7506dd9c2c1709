"""What Sampling Privacy guarantees: three views, of which released totals are computed exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from planner.arguments import whole_number
from planner.errors import InputError
from planner.limits import MAX_EPSILON
from planner.mechanisms.sampling_privacy import SamplingPrivacy
from planner.policy.budget_text import rounded_up

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
