"""Best channels: how fast, how near the bound, and beside the known mechanisms.

Run: python benchmarks/channels.py.
"""

from __future__ import annotations

import numpy as np
from measure import Figure, seconds, show

from planner import (
    AnswerRateModel,
    Channel,
    NormalPreferences,
    PrivacyPolicy,
    best_channel,
    best_ordered_channel,
    channel_curve,
    five_populations,
    ordered_bound,
    refine_channel,
)
from planner.planning.channels.means import bisample_error

PUBLISHED = 1910.8675697859098  # Prefix, 128 values, budget 1: McKenna et al. 2020, their README
HIERARCHICAL = 5665.561344360352  # the same source


def figures() -> list[Figure]:
    return [*_means(), _curve(), *_ordered(), _prefix()]


def _means() -> list[Figure]:
    rows = []
    for epsilon in (1.0, 3.0):
        channel = best_channel(epsilon)
        taken = seconds(lambda e=epsilon: best_channel(e), repeat=3)
        theirs = max(bisample_error(epsilon, one) for one in five_populations())
        gap = channel.certificate.relative_gap
        rows.append(
            Figure(
                f"best channel for five means, budget {epsilon:g}, 5 points",
                f"{taken * 1e3:.0f} ms, error {channel.worst_error:.4g}",
                "proven to 1e-5",
                gap < 1e-5,
                f"BiSample {theirs:.4g}: {theirs / channel.worst_error:.2f} x",
                f"bound over all mechanisms: gap {gap:.0e}",
            )
        )
    refined = refine_channel(2.0)
    taken = seconds(lambda: refine_channel(2.0), repeat=1, warm_up=False)
    rows.append(
        Figure(
            "the same at budget 2, grid refined",
            f"{taken:.1f} s, error {refined.channel.worst_error:.4g}",
            "within 1 % of continuous answers",
            refined.gap <= 0.01,
            limit=f"bound for continuous answers: gap {refined.gap:.2%}",
        )
    )
    return rows


def _curve() -> Figure:
    model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)
    taken = seconds(lambda: channel_curve(model), repeat=3)
    curve = channel_curve(model)
    ours, theirs = curve.best(), curve.best("bisample")
    return Figure(
        "answer-rate curve, a best channel at each of 60 budgets",
        f"{taken:.2f} s",
        "1 s",
        taken < 1,
        f"RMSE {ours.rmse:.4g} at {ours.epsilon:.2f}; BiSample {theirs.rmse:.4g} at "
        f"{theirs.epsilon:.2f}: {theirs.rmse / ours.rmse:.2f} x",
        f"largest proven gap {np.nanmax(curve.relative_gap):.0e}",
    )


def _ordered() -> list[Figure]:
    rows = []
    for d, epsilon in ((5, 1.0), (8, 1.0), (12, 1.0)):
        policy = PrivacyPolicy([epsilon] * d, [1] * d)
        channel = best_ordered_channel(policy, tolerance=1e-5)
        taken = seconds(
            lambda p=policy: best_ordered_channel(p, tolerance=1e-5), repeat=1, warm_up=False
        )
        counts = best_ordered_channel(policy, "counts", tolerance=1e-4)
        turned = Channel(
            policy,
            channel.wanted,
            channel.wanted_names,
            counts.matrix,
            np.cumsum(counts.estimator, axis=0)[:-1],
            channel.scenarios,
        )
        gap = channel.certificate.relative_gap
        rows.append(
            Figure(
                f"cumulative shares of {d} ordered answers, budget {epsilon:g}",
                f"{taken:.2f} s, error {channel.worst_error:.5g}",
                "proven to 1e-4",
                gap < 1e-4,
                f"best for counts: {turned.worst_error:.5g}, "
                f"{turned.worst_error / channel.worst_error:.2f} x",
                f"bound over all mechanisms: gap {gap:.0e}",
            )
        )
    return rows


def _prefix() -> Figure:
    taken = seconds(lambda: ordered_bound(128, 1.0), repeat=1)
    bound = ordered_bound(128, 1.0)
    return Figure(
        "bound for Prefix on 128 values, budget 1",
        f"{bound:.1f} in {taken:.1f} s",
        peer=f"published: {PUBLISHED:.1f} (hierarchical {HIERARCHICAL:.1f}); "
        f"no mechanism is more than {1 - bound / PUBLISHED:.1%} below",
    )


if __name__ == "__main__":
    show(figures(), "Best channels")
