"""Bit probabilities (a, b), their log-odds coordinates (s, w), and the error terms.

A unary-encoded report sets bit ``k`` with probability ``a`` if the user's answer
is ``k`` and ``b`` otherwise, ``0 < b < a < 1``. The log-odds coordinates are

    s = ln(a / b) > 0        what a reported 1 says
    w = ln((1-b) / (1-a)) > 0     what a reported 0 says

In them privacy is linear (``s_i + w_j <= r_ij``) and, with
``p(x) = 1 / (e^x - 1)``, the two error terms of an estimated count are

    noise   b(1-b) / (a-b)^2   = p(s) (1 + p(w))     per user, whatever the answer
    signal  (1-a-b) / (a-b)    = p(w) - p(s)         extra per user with this answer

so that ``Var[count] = n * noise + count * signal`` (IDUE paper, eq. 8).
This module is the one home of these formulas.
"""

from __future__ import annotations

import numpy as np

from planner.arrays import Array


def p(x: Array) -> Array:
    """``1 / (e^x - 1)`` for ``x > 0``: convex, decreasing, log-convex."""
    return 1.0 / np.expm1(x)


def p_slope(value: Array) -> Array:
    """Derivative ``p'(x)`` from the value ``p(x)``: ``-p (1 + p)``."""
    return -value * (1.0 + value)


def p_curvature(value: Array) -> Array:
    """Second derivative ``p''(x)`` from the value ``p(x)``: ``p (1 + p) (1 + 2p)``."""
    return value * (1.0 + value) * (1.0 + 2.0 * value)


def noise(s: Array, w: Array) -> Array:
    """Per-user noise variance ``p(s) (1 + p(w))`` of an estimated count."""
    return p(s) * (1.0 + p(w))


def signal(s: Array, w: Array) -> Array:
    """Extra variance ``p(w) - p(s)`` per user who holds the item; negative if ``a + b > 1``."""
    return p(w) - p(s)


def noise_and_signal(a: Array, b: Array) -> tuple[Array, Array]:
    """The two error terms of probabilities, ``b(1-b) / (a-b)^2`` and ``(1-a-b) / (a-b)``."""
    gap = a - b
    noise = b * (1.0 - b) / np.square(gap)
    signal = (1.0 - a - b) / gap
    return noise, signal


def to_log_odds(a: Array, b: Array) -> tuple[Array, Array]:
    """``(s, w)`` from ``(a, b)``, arrays of one shape with ``0 < b < a < 1``."""
    s = np.log(a) - np.log(b)
    w = np.log1p(-b) - np.log1p(-a)
    return s, w


def from_log_odds(s: Array, w: Array) -> tuple[Array, Array]:
    """``(a, b)`` from ``(s, w)``, arrays of one shape, both positive.

    Examples
    --------
    >>> a, b = from_log_odds(np.array([np.log(2.5)]), np.array([np.log(1.6)]))
    >>> a.round(12).tolist(), b.round(12).tolist()
    ([0.5], [0.2])
    """
    # a = (1 - e^-w) / (1 - e^-(s + w)) solves a / b = e^s and (1 - b) / (1 - a) = e^w;
    # expm1 keeps the digits of small budgets.
    a = np.expm1(-w) / np.expm1(-(s + w))
    b = a * np.exp(-s)
    return a, b
