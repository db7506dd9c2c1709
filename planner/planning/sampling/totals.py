"""What the totals of both rounds reveal: exact for small populations, else a proven bound."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planner.errors import InputError
from planner.planning.sampling.binomial_window import (
    ROUNDING,
    binomial_window,
    lower_tail,
    raised,
    upper_tail,
)
from planner.planning.sampling.curves import check_arguments

Array = NDArray[np.float64]
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

    Raises
    ------
    InputError
        ``(others_yes + 2) (others_yes + others_no + 2)`` exceeds 10^6: use
        :func:`totals_delta_bound`.
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

    Examples
    --------
    >>> case = dict(others_yes=300, others_no=3000, zero=0.25, sampling=0.45, epsilon=0.2)
    >>> f"{totals_delta_exact(**case):.3e}", f"{totals_delta_bound(**case):.3e}"
    ('5.054e-06', '5.096e-06')
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
