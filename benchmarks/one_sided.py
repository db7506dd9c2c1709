"""One-sided budgets beside the rule min, and beside published mechanisms of two levels.

These protect ``s`` sensitive answers by ``e`` nats in one direction, and ``n`` others by nothing: a
report may tell for certain that an answer is one of those. Errors are per person, in the worst
case over the answers, of each mechanism with its own unbiased estimator.
"""

from __future__ import annotations

import numpy as np
from measure import Figure, rows, seconds, show
from numpy.typing import NDArray
from scipy.linalg import hadamard

from planner import PrivacyPolicy, best_design, solve

Array = NDArray[np.float64]
SCALED = np.array([1.0, 1.2, 2.0])
ITEMS = [5, 5, 90]
OPEN = 40.0  # nats: no protection, but for rounding


def figures() -> list[Figure]:
    return rows(three_levels, two_levels)


def three_levels() -> Figure:
    scale = 2.0
    policy = PrivacyPolicy(scale * SCALED, ITEMS, "one-sided")
    taken = seconds(lambda: best_design(policy, tolerance=1e-8))
    design = best_design(policy)
    usual = PrivacyPolicy(scale * SCALED, ITEMS)
    return Figure(
        f"{scale:g} x (1, 1.2, 2), 5, 5, 90 answers: best of all, {taken:.2f} s",
        f"error {design.worst_case_mse:.4g}",
        peer=f"rule min {best_design(usual).worst_case_mse:.5g}, its opt0 "
        f"{solve(usual).worst_case_mse:.5g}; one-sided opt0 {solve(policy).worst_case_mse:.4g}",
        limit=f"gap {design.certificate.relative_gap:.0e}",
    )


def two_levels() -> Figure:
    cases = [(1.0, 5, 95), *((e, 10, 90) for e in (1.0, 2.0, 4.0))]
    policies = [PrivacyPolicy([e, OPEN], [s, n], "one-sided") for e, s, n in cases]
    ours = np.array([best_design(one).worst_case_mse for one in policies])
    others = {
        "uRR": [urr(e, s) for e, s, _ in cases],
        "uRAPPOR": [urappor(e, s) for e, s, _ in cases],
        "Hadamard": [high_low(*case) for case in cases],
    }
    said = {
        name: ", ".join(f"{one:.4g}" for one in errors)
        for name, errors in others.items()
    }
    return Figure(
        "of 100 answers 5 protected by 1 nats, 10 by 1, 2, 4: best of all",
        f"errors {', '.join(f'{one:.4g}' for one in ours)}",
        "none has less",
        bool((ours <= np.min(list(others.values()), axis=0) * (1 + 1e-6)).all()),
        "; ".join(f"{name} {errors}" for name, errors in said.items()),
    )


def urr(e: float, s: int) -> float:
    """Utility-optimised randomised response (Murakami and Kawamoto, USENIX Security 2019).

    A sensitive answer is kept with ``e^e c``, else any other sensitive one is sent with ``c``; one
    of the others is kept with ``(e^e - 1) c``, else any sensitive one is sent with ``c``.
    """
    c = 1 / (s + np.expm1(e))
    own = np.exp(e) * c
    other = c
    kept = np.expm1(e) * c
    noise = other * (1 - other) / (own - other) ** 2
    sensitive = own * (1 - own) / (own - other) ** 2 + (s - 1) * noise
    return float(max(sensitive, s * noise + (1 - kept) / kept))


def urappor(e: float, s: int) -> float:
    """Utility-optimised RAPPOR (the same paper): bits, those of the others 1 for their own alone.

    A sensitive bit is 1 with ``a`` if it is the own one, else with ``b``; another own one is 0 with
    such a probability that a report without any is at most ``e^e`` times as likely for an answer.
    """
    a = 1 / (1 + np.exp(-e / 2))
    b = 1 - a
    dropped = a * np.exp(-e) + 1 - a
    noise = b * (1 - b) / (a - b) ** 2
    return float(
        s * noise + max(a * (1 - a) / (a - b) ** 2 - noise, dropped / (1 - dropped))
    )


def high_low(e: float, s: int, n: int) -> float:
    """Hadamard response for high-low context-aware LDP (Acharya et al., ICML 2020)."""
    law, estimator = high_low_law(e, s, n)
    return float((law @ np.square(estimator).sum(axis=0)).max() - 1)


def high_low_law(e: float, s: int, n: int) -> tuple[Array, Array]:
    """``Pr[report | answer]``, sensitive answers and Hadamard reports first; and the estimator.

    A sensitive answer sends one of ``S`` reports, those of its row of the Hadamard matrix ``e^e``
    times as likely as others; another answer is told with ``tanh(e/2)``, else any of these is sent.
    The share of sensitive answers comes from those that were told.
    """
    size = 2 ** int(np.ceil(np.log2(s + 1)))
    signs = hadamard(size)[1 : s + 1] > 0
    told = np.tanh(e / 2)
    low = 2 / (size * (np.exp(e) + 1))
    law = np.block([[np.where(signs, np.exp(e) * low, low), np.zeros((s, n))],
                    [np.full((n, size), low), told * np.eye(n)]])  # fmt: skip
    others = (-0.5 * (1 - 1 / told) - 1 / (np.exp(e) + 1) / told) * np.ones((s, n))
    own = np.hstack([signs - 0.5, others]) / (told / 2)
    return law, np.vstack([own, np.hstack([np.zeros((n, size)), np.eye(n) / told])])


if __name__ == "__main__":
    show(figures(), "One-sided budgets")
