"""Sampling Privacy: two linked rounds whose difference counts sampled answers only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from planner.arguments import finite
from planner.arrays import Array, Whole
from planner.errors import InputError, VerificationError
from planner.estimates.counts import (
    ChanceLimits,
    CountLimits,
    Estimates,
    clopper_pearson,
    tail_share,
)
from planner.limits import CONFIDENCE, DENOMINATOR, MAX_EPSILON
from planner.mechanisms import inputs
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.rounding import round_die

DELTA_ROUNDING = 1e-10
_SAMPLED_INWARD = 1 - 1e-12  # a rounding error in the search must not overdraw a budget


@dataclass(frozen=True, slots=True)
class SamplingPrivacy:
    """Two rounds with one throw of a die; only people thrown "sampled" move in between.

    A person's answer is 0 ("none of the values", the No of a yes/no question) or a
    value 1 .. V. Output law of the pair (round one, round two), answer ``v``:

    - ``(0, 0)`` with probability ``pi_0`` (``zero``);
    - ``(j, j)`` with probability ``pi_j`` (``decoys[j-1]``), for each value ``j``;
    - ``(0, v)`` with probability ``pi_s`` (``sampling``): the sampled ones tell the truth
      in round two; a sampled person whose answer is 0 stays at 0.

    Round two alone is therefore ``Pr[v | v] = pi_v + pi_s``, ``Pr[j | v] = pi_j``. The
    estimate ``(S2_v - S1_v) / pi_s`` is unbiased, and as the difference is
    Binomial(c_v, pi_s), its variance ``c_v (1 - pi_s) / pi_s`` does not grow with the
    people who have another answer.

    **The pair has no finite privacy loss**: ``(0, v)`` happens only if ``v`` is true. The
    paper's budget is that of round two seen alone; see :attr:`output_losses`.

    Source: Joy and Gerla, "Differential Privacy By Sampling", eq. 6 to 11 (binary, the
    case V = 1) and 12 to 16. Its eq. 19 and 20 swap Yes and No; the maximum hides it.

    Parameters
    ----------
    sampling:
        ``pi_s``, above 0 and below 1.
    zero:
        ``pi_0``, probability of staying at 0 whatever the answer, at least 0.
    decoys:
        ``pi_1 .. pi_V``, probabilities of reporting a value in both rounds whatever the
        answer, each above 0. All probabilities sum to 1 (within 1e-9); they are rounded to
        multiples of 2^-32, ``sampling`` down and the others up, so no loss grows.
    everyone_has_value:
        True if nobody's answer can be 0 (the paper's multi-value form); then output 0
        reveals nothing, and an answer of 0 is refused.

    Raises
    ------
    InputError
        A probability is out of range, or they do not sum to one.

    Examples
    --------
    >>> mechanism = SamplingPrivacy(sampling=0.45, zero=0.3, decoys=[0.25])
    >>> totals = mechanism.draw_aggregate([9700, 300], np.random.default_rng(7))
    >>> estimates = mechanism.estimate(totals)
    >>> float(estimates.values[1].round(1)), float(estimates.standard_errors[1].round(1))
    (304.4, 19.3)
    >>> mechanism.output_losses.round(4).tolist()
    [0.9163, 1.0296]
    """

    sampling: float
    zero: float
    decoys: Sequence[float]
    everyone_has_value: bool = False

    def __post_init__(self) -> None:
        sampling = _probability("sampling", self.sampling)
        zero = _probability("zero", self.zero)
        if np.ndim(self.decoys) != 1 or not len(self.decoys):
            allowed = "a list with one probability per value"
            remedy = "Write [0.1, 0.2] for two values."
            raise InputError("decoys", self.decoys, allowed, remedy)
        decoys = []
        for j, decoy in enumerate(self.decoys):
            decoys.append(_probability(f"decoys[{j}]", decoy))
        total = sampling + zero + sum(decoys)
        if abs(total - 1) > 1e-9:
            remedy = "Make them sum to one."
            raise InputError("sampling + zero + decoys", total, "1", remedy)
        if not min(decoys):
            never = decoys.index(0)
            remedy = "A value that is never a decoy gives away everyone who reports it."
            raise InputError(f"decoys[{never}]", 0.0, "above 0", remedy)
        if zero == 0 and not self.everyone_has_value:
            remedy = (
                "Without it a person seen at 0 in round two has none of the values."
            )
            raise InputError("zero", zero, "above 0 if an answer may be 0", remedy)
        sampled, stay, units = round_die(sampling, zero, decoys)
        set_field = object.__setattr__
        set_field(self, "sampling", sampled / DENOMINATOR)
        set_field(self, "zero", stay / DENOMINATOR)
        set_field(self, "decoys", tuple(unit / DENOMINATOR for unit in units))

    @property
    def items(self) -> int:
        """Number of answers, ``V + 1``: none of the values (0), and the values."""
        return len(self.decoys) + 1

    def draw_aggregate(
        self, true_counts: ArrayLike, rng: np.random.Generator
    ) -> Aggregate:
        """Totals with the law that perturbing everybody would give, without reports."""
        counts = self._true_counts(true_counts)
        people = int(counts.sum())
        sampled = inputs.generator(rng).binomial(counts, self.sampling)
        sampled_people = int(sampled.sum())
        # Whoever is not sampled says the same in both rounds, whatever the answer is.
        stay = self._stay
        unsampled = rng.multinomial(people - sampled_people, stay / stay.sum())
        first = unsampled.copy()
        first[0] += sampled_people  # the sampled ones say 0 in round one
        second = unsampled + sampled
        return Aggregate(people, np.stack([first, second]))

    def estimate(self, aggregate: Aggregate) -> DieEstimates:
        """Unbiased counts per answer (eq. 11 and 16), shape ``(V + 1,)``, in users.

        Entry 0 is the rest, ``n`` minus the others. The standard errors put the
        estimated counts in place of the true ones. An answer that nobody has is
        estimated as exactly 0, so its null standard error is 0; use :meth:`intervals`
        for limits that stay right at small counts.

        Who reports in one round alone, and whoever leaves a value, which no client does, is
        *unmatched*: each such report may move one count by ``1 / pi_s`` people, which the
        limits allow for.

        Raises
        ------
        InputError
            No users, or more people leave values between the rounds than come to them.
        """
        aggregate.require((2, self.items))
        first, second = aggregate.counts
        moved = second[1:] - first[1:]
        leaving = int(-moved[moved < 0].sum())
        coming = int(moved[moved > 0].sum())
        if leaving > coming:
            what = "people who leave a value"
            remedy = (
                "Nobody leaves a value between the rounds. Are the rounds in order?"
            )
            raise InputError(what, leaving, "fewer than come to one", remedy)
        counts = moved / self.sampling
        rest = aggregate.users - counts.sum()
        variances = self._variance(np.maximum(counts, 0.0))
        # Somebody reported in one round alone if the rounds differ in their reports.
        in_one_round = abs(int(first.sum() - second.sum()))
        return DieEstimates(
            values=np.concatenate([[rest], counts]),
            standard_errors=np.sqrt(variances),
            null_standard_errors=np.zeros(self.items),
            users=aggregate.users,
            moved=np.asarray(moved),
            sampling=self.sampling,
            unmatched=max(in_one_round, leaving),
        )

    def variance(self, true_counts: ArrayLike) -> Array:
        """Exact variance of each estimated count, shape ``(V + 1,)``, in users squared."""
        counts = self._true_counts(true_counts)
        return self._variance(counts[1:].astype(np.float64))

    @property
    def output_losses(self) -> Array:
        """What each round-two output says about its answer: ``ln(1 + pi_s / pi_j)``, in nats.

        Shape ``(V + 1,)``; the largest is the paper's eq. 21, 25 and 29. Two people with answers
        ``u`` and ``v`` are told apart by the larger of entries ``u`` and ``v``, so a small budget
        for one value alone does not make it indistinguishable from a value with a large one.
        """
        losses = np.zeros(self.items)
        first = 0
        if self.everyone_has_value:
            first = 1  # output 0 says nothing then
        losses[first:] = self.losses_with(self._stay[first:])
        return losses

    def losses_with(self, decoys: ArrayLike) -> Array:
        """What a value's report in round two would say with other decoys of it, in nats."""
        return np.log1p(self.sampling / np.asarray(decoys, dtype=np.float64))

    @property
    def _stay(self) -> Array:
        """``pi_0 .. pi_V``: probabilities to say each answer in both rounds."""
        return np.array([self.zero, *self.decoys])

    def _true_counts(self, true_counts: ArrayLike) -> Whole:
        counts = inputs.true_counts(true_counts, self.items)
        if self.everyone_has_value and counts[0]:
            allowed = "0 when everyone has a value"
            remedy = "Set everyone_has_value to False, or count them by their values."
            raise InputError("true_counts[0]", int(counts[0]), allowed, remedy)
        return counts

    def _variance(self, counts: Array) -> Array:
        """``c_v (1 - pi_s) / pi_s`` of each value; first their sum, the variance of the rest."""
        variances = counts * (1 - self.sampling) / self.sampling
        return np.concatenate([[variances.sum()], variances])


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DieEstimates(Estimates):
    """Estimates of Sampling Privacy; ``moved`` people of each value are seen between the rounds.

    So many reports, at least, are ``unmatched``: lost, false, or of people who left.

    Examples
    --------
    >>> mechanism = SamplingPrivacy(0.5, 0.25, [0.25])
    >>> nobody_moved = Aggregate(100, np.array([[75, 25], [75, 25]]))
    >>> [limit.tolist() for limit in mechanism.estimate(nobody_moved).intervals()]
    [[95.0, 0.0], [100.0, 5.0]]
    """

    moved: Whole
    sampling: float
    unmatched: int = 0

    def intervals(
        self, confidence: float = CONFIDENCE, simultaneous: bool = False
    ) -> CountLimits:
        """Exact confidence limits of each count, the one of no value first.

        They invert the Binomial(c, pi_s) law of the difference at equal tails, so each interval
        covers the true count with at least ``confidence``, however small. Whatever the unmatched
        reports say, the difference without them is as many less or more at most.
        """
        at_once = 1
        if simultaneous:
            at_once = self.values.size
        tail = tail_share(confidence, at_once) / 2
        fewest, most = self._moved_limits()
        lower, _ = binomial_size_limits(fewest, self.sampling, self.users, tail)
        _, upper = binomial_size_limits(most, self.sampling, self.users, tail)
        return self._with_none(lower, upper, self.users)

    def chance_limits(self, miss: float, normal: ChanceLimits) -> ChanceLimits:
        """Exact limits of the shares of a population: ``Binomial(n, p pi_s)`` people are moved."""
        del normal  # not needed: the law is inverted in closed form
        fewest, most = self._moved_limits()
        lower, _ = clopper_pearson(fewest, self.users, miss)
        _, upper = clopper_pearson(most, self.users, miss)
        return self._with_none(
            lower=np.minimum(lower / self.sampling, 1.0),
            upper=np.minimum(upper / self.sampling, 1.0),
            whole=1,
        )

    def _moved_limits(self) -> tuple[Whole, Whole]:
        """The fewest and the most who moved to each value, and to any, last."""
        to_any = self.moved.sum()
        moved = np.append(self.moved, to_any)
        fewest = np.clip(moved - self.unmatched, 0, self.users)
        most = np.clip(moved + self.unmatched, 0, self.users)
        return fewest, most

    @staticmethod
    def _with_none(
        lower: Array | Whole, upper: Array | Whole, whole: int
    ) -> CountLimits:
        """Limits of no value, which are those of any value from the ``whole``, then of each."""
        # Who has no value is the rest: at least the whole less the most who have any.
        lower_of_none = whole - upper[-1]
        upper_of_none = whole - lower[-1]
        lower_limits = np.append(lower_of_none, lower[:-1])
        upper_limits = np.append(upper_of_none, upper[:-1])
        return lower_limits.astype(np.float64), upper_limits.astype(np.float64)


def _probability(argument: str, value: object) -> float:
    """The value as a number; InputError unless it is at least 0 and below 1."""
    number = finite(argument, value)
    if not 0 <= number < 1:
        allowed = "a probability, at least 0 and below 1"
        raise InputError(argument, value, allowed, "Write 25 % as 0.25.")
    return number


def binomial_size_limits(
    seen: Whole, chance: float, most: int, tail: float
) -> tuple[Whole, Whole]:
    """Confidence limits of the unknown size of a binomial law with known chance.

    The smallest and the largest ``size`` in ``seen .. most`` for which neither "at least
    ``seen``" nor "at most ``seen``" of Binomial(size, chance) is as unlikely as ``tail``
    (Clopper and Pearson's inversion): each limit errs with probability ``tail`` at most.

    Examples
    --------
    >>> lower, upper = binomial_size_limits(np.array([0, 20]), 0.5, 1000, 0.025)
    >>> lower.tolist(), upper.tolist()
    ([0, 29], [5, 55])
    """
    from scipy.stats import nbinom

    # At least k of n are seen just if the k-th comes with at most n - k unseen before it.
    fewest_unseen = nbinom.ppf(tail, np.maximum(seen, 1), chance)
    fewest_unseen = np.where(seen > 0, fewest_unseen, 0)
    most_unseen = nbinom.isf(tail, seen + 1, chance)
    lower = np.clip(seen + fewest_unseen, seen, most)
    upper = np.clip(seen + most_unseen, seen, most)
    return lower.astype(np.int64), upper.astype(np.int64)


# -- the best parameters ----------------------------------------------------------------


def best_sampling(
    budgets: Sequence[float],
    cap: float,
    floor: float,
    *,
    everyone_has_value: bool = False,
) -> SamplingPrivacy:
    """The mechanism with the smallest error within the budgets of the answers 0 .. V, in nats.

    The error of every count falls in ``pi_s`` and depends on nothing else, so the best parameters
    solve ``max pi_s`` under ``pi_s <= (e^eps_j - 1) pi_j`` for every protected output ``j``,
    ``pi_0 >= floor``, ``pi_s <= cap`` and ``pi_s + sum_j pi_j = 1`` (output 0 is protected unless
    everyone has a value). With ``w_j = 1/(e^eps_j - 1)`` and ``W`` their sum over the values the
    optimum is the smallest of ``cap``, ``(1 - floor)/(1 + W)`` and, if output 0 is protected,
    ``1/(1 + W + w_0)``. Probability that a cap leaves over goes to the outputs in proportion to
    ``w_j``, which lowers every loss below its budget.

    Raises
    ------
    VerificationError
        What was found overdraws a budget.

    Examples
    --------
    >>> round(best_sampling([1.0, 1.0], cap=0.99, floor=0.0).sampling, 6)  # tanh(1/2)
    0.462117
    """
    protected = np.array(budgets, dtype=np.float64)
    if everyone_has_value:
        protected[0] = inf
    weights = 1 / np.expm1(protected)  # w_j, 0 for an output that needs no budget
    total = weights[1:].sum()  # W
    by_values = (1 - floor) / (1 + total)
    by_zero = 1 / (1 + total + weights[0])
    sampling = min(cap, by_values, by_zero) * _SAMPLED_INWARD
    rest = 1 - sampling
    share_of_zero = float(rest * weights[0] / weights.sum())
    zero = max(floor, share_of_zero)
    decoys = (rest - zero) * weights[1:] / total
    mechanism = SamplingPrivacy(
        float(sampling), zero, tuple(decoys), everyone_has_value
    )
    excess = mechanism.output_losses - protected
    if excess.max() > 0 or mechanism.sampling > cap:
        raise VerificationError(
            f"Output {excess.argmax()} overdraws its budget by {excess.max()}"
        )
    return mechanism


# -- what released estimates say: docs/theory/sampling-privacy.md ---------------------------


@lru_cache(maxsize=32)
def binomial_window(size: int, chance: float) -> tuple[int, Array]:
    """First outcome and probabilities of every outcome that a float can weigh.

    ``size`` is the number of trials, 0 to 10^7; ``chance`` lies inside (0, 1).
    Bernstein's inequality leaves less than 2 e^-710 < 1e-307 outside the window: with the variance
    ``V`` and ``x = 710``, more than ``x/3 + sqrt((x/3)^2 + 2 x V)`` off the mean.
    """
    exponent = 710  # x
    double_variance = 2 * exponent * size * chance * (1 - chance)  # 2 x V
    third = exponent / 3
    half_width = int(third + sqrt(third**2 + double_variance)) + 2
    mode = min(size, int((size + 1) * chance))
    first = max(0, mode - half_width)
    last = min(size, mode + half_width)
    # From the mode on by the ratios of neighbours, (size - x + 1) / x odds of x to x - 1.
    odds = chance / (1 - chance)
    above = np.arange(mode + 1, last + 1)
    below = np.arange(mode, first, -1)
    falls = below / (size - below + 1) / odds
    rises = (size - above + 1) / above * odds
    weights_below = np.cumprod(falls)[::-1]
    weights_above = np.cumprod(rises)
    of_mode = [1.0]
    weights = np.concatenate([weights_below, of_mode, weights_above])
    pmf = weights / weights.sum()
    pmf.setflags(write=False)
    return first, pmf


def upper_tail(size: int, chance: float, start: Whole) -> Array:
    """``Pr[Binomial >= start]``, by each start."""
    first, pmf = binomial_window(size, chance)
    # Summed from the last outcome on: small tails keep their digits.
    from_last = np.cumsum(pmf[::-1])
    tails = np.append(from_last[::-1], 0.0)
    position = np.clip(start - first, 0, pmf.size)
    return tails[position]


def raised(value: float, used: float | None = None) -> float:
    """``value`` plus the rounding errors of everything that went into it, at most 1.

    ``used`` is the sum of all terms before they cancelled, ``value`` itself if nothing did.
    """
    below_floats = 1e-300  # outside the window, or too small for full precision
    if used is None:
        used = value
    return min(1.0, value + 2 * DELTA_ROUNDING * used + below_floats)


def difference_delta(others: int, sampling: float, epsilon: float) -> float:
    """``delta`` at ``epsilon`` if only the difference of the two rounds is released.

    One person's answer turns from none to the value that ``others`` more people have:
    ``P = Binomial(n - 1, sampling)`` against ``Q = Binomial(n, sampling)``, ``n = others + 1``.
    Every term of the sum is positive and computed from the log-ratio
    ``ln Q/P = ln(n (1 - sampling) / (n - x))``, so nothing cancels.
    """
    n = others + 1
    first, P = binomial_window(others, sampling)
    x = first + np.arange(P.size)
    loss = np.log(n * (1 - sampling) / (n - x))
    # The sum of Q - e^eps P over the outcomes for which it is positive, as P (e^loss - e^eps).
    is_up = loss > epsilon
    beyond = np.expm1(loss[is_up] - epsilon)
    gains = P[is_up] * np.exp(epsilon) * beyond
    impossible = sampling**n  # the difference n, under P
    gained = np.sum(gains) + impossible
    # The sum of P - e^eps Q likewise, as P (1 - e^(eps + loss)).
    is_down = loss < -epsilon
    losses = P[is_down] * np.expm1(epsilon + loss[is_down])
    lost = -np.sum(losses)
    return raised(float(max(gained, lost)))


def exchange_delta(
    leaving: int, joining: int, sampling: float, epsilon: float
) -> float:
    """``delta`` if one person's answer turns from one value into another.

    ``leaving`` and ``joining`` other people have the two values, whose differences are
    independent: ``P = Bin(leaving + 1) x Bin(joining)`` against ``Q = Bin(leaving) x
    Bin(joining + 1)``. The ratio ``Q/P = (leaving + 1 - x) (joining + 1) / ((leaving + 1)
    (joining + 1 - y))`` rises in ``y``: for each ``x`` the sum over ``y`` is a pair of tails.
    """
    return max(
        _exchange_gain(leaving, joining, sampling, epsilon),
        _exchange_gain(joining, leaving, sampling, epsilon),
    )


def _exchange_gain(
    leaving: int, joining: int, sampling: float, epsilon: float
) -> float:
    """The sum of ``Q - e^eps P`` over the outcomes of :func:`exchange_delta` where it is positive.

    ``Q/P > e^eps`` where ``y > (joining + 1) (1 - (leaving + 1 - x) / ((leaving + 1) e^eps))``.
    """
    first, left = binomial_window(leaving, sampling)
    x = first + np.arange(left.size)
    unmoved = (leaving + 1 - x) / (leaving + 1)
    with_one_more = left * (1 - sampling) / unmoved  # Bin(leaving + 1) at x
    share = unmoved * np.exp(-epsilon)
    boundary = (joining + 1) * (1 - share)
    start = np.floor(boundary).astype(np.int64) + 1
    # Q and e^eps P of these outcomes, by x.
    arrived = left * upper_tail(joining + 1, sampling, start)
    stayed = with_one_more * np.exp(epsilon) * upper_tail(joining, sampling, start)
    gained = np.maximum(arrived - stayed, 0).sum()
    used = (arrived + stayed).sum()
    return raised(float(gained), float(used))


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """Smallest ``epsilon`` with ``curve(epsilon) <= delta``, rounded up; ``inf`` above 50."""
    if curve(MAX_EPSILON) > delta:
        return inf
    low = 0.0
    high = MAX_EPSILON
    while high - low > 1e-9 * high + 1e-12:
        middle = (low + high) / 2
        if curve(middle) <= delta:
            high = middle
        else:
            low = middle
    return high


def released_delta(
    others: Sequence[int],
    sampling: float,
    epsilon: float,
    *,
    everyone_has_value: bool = False,
) -> float:
    """``delta`` at ``epsilon`` if the estimates alone are released; exact.

    About changing one person's answer, in every population in which, that person not counted, at
    least ``others`` people have each value, shape ``(V,)``: more people never hurt.

    Examples
    --------
    >>> f"{released_delta([299], 0.45, 0.2236):.1e}"
    '1.0e-06'
    """
    counts = sorted(others)
    deltas = [0.0]
    if not everyone_has_value:
        deltas.append(difference_delta(counts[0], sampling, epsilon))
    if len(counts) > 1:
        # Delta falls in both counts: the two rarest values are the worst.
        deltas.append(exchange_delta(counts[0], counts[1], sampling, epsilon))
    return max(deltas)
