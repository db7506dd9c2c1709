"""Best channels: how fast, how near the bound, and beside the known mechanisms.

Run: python benchmarks/channels.py.
"""

from __future__ import annotations

import time

import numpy as np
from measure import LONG, Figure, rows, seconds, show

from planner import (
    AnswerRateModel,
    Channel,
    NormalPreferences,
    PrivacyPolicy,
    best_channel,
    best_ordered_channel,
    channel_curve,
    five_populations,
)
from planner.planning.channels import bisample_error


def figures() -> list[Figure]:
    return rows(_means, _curve, _ordered, _many_ordered)


def _means() -> Figure:
    channel = best_channel(1.0)
    taken = seconds(lambda: best_channel(1.0), repeat=3)
    theirs = max(bisample_error(1.0, one) for one in five_populations())
    gap = channel.certificate.relative_gap
    return Figure(
        "best channel for five means, budget 1, 5 points",
        f"{taken * 1e3:.0f} ms, error {channel.worst_error:.4g}",
        "proven to 1e-5",
        gap < 1e-5,
        f"BiSample {theirs:.4g}: {theirs / channel.worst_error:.2f} x",
        f"proven gap {gap:.0e}",
    )


def _curve() -> Figure:
    model = AnswerRateModel(NormalPreferences(5, 1.5), users=100_000, mean=0.5, sd=0.3)
    taken = seconds(lambda: channel_curve(model), repeat=3)
    curve = channel_curve(model)
    ours = curve.best()
    theirs = model.best()
    return Figure(
        "answer-rate curve, a best channel at each of 27 budgets",
        f"{taken:.2f} s",
        "1 s",
        taken < 1,
        f"RMSE {ours.rmse:.4g} at {ours.epsilon:.2f}; BiSample {theirs.rmse:.4g} at "
        f"{theirs.epsilon:.2f}: {theirs.rmse / ours.rmse:.2f} x",
        f"largest proven gap {np.nanmax(curve.relative_gap):.0e}",
    )


def _ordered() -> list[Figure]:
    rows = []
    for d, epsilon in ((12, 1.0), (16, 1.0)) if LONG else ((12, 1.0),):
        policy = PrivacyPolicy([epsilon] * d, [1] * d)
        channel = best_ordered_channel(policy, tolerance=1e-5)
        taken = seconds(
            lambda p=policy: best_ordered_channel(p, tolerance=1e-5),
            repeat=1,
            warm_up=False,
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
                f"{turned.worst_error / channel.worst_error:.2f} x; "
                f"hierarchical {hierarchical(d, epsilon):.5g}; "
                f"randomised response {_response(channel):.5g}",
                f"proven gap {gap:.0e}",
            )
        )
    return rows


def _many_ordered() -> list[Figure]:
    """Channels of more answers than all sets can be priced of, beside the bound on all of them."""
    found = []
    for answers, limit in ((64, 5), (256, 20)):
        policy = PrivacyPolicy([1.0] * answers, [1] * answers)
        start = time.process_time()
        channel = best_ordered_channel(policy)
        taken = time.process_time() - start
        figure = Figure(
            f"cumulative shares of {answers} ordered answers, budget 1",
            f"{taken:.1f} CPU s, error {channel.worst_error:.5g}",
            f"{limit} CPU s",
            taken < limit,
            f"hierarchical {hierarchical(answers, 1.0):.5g}",
            f"proven gap {channel.certificate.relative_gap:.0%}",
        )
        found.append(figure)
    return found


def hierarchical(answers: int, epsilon: float) -> float:
    """Worst-case total variance of all cumulative shares, per person, of a tree of intervals.

    As in HH (Cormode, Kulkarni, Srivastava, VLDB 2019) and HIO (Wang et al., SIGMOD 2019): a
    person draws one of ``h`` levels and reports the interval there by OUE, whose bits have
    variance ``v`` and ``v + 1``; a share up to an answer adds up intervals, as many as the digits
    of its place in base ``B`` sum to. One of them holds the person. The best ``B`` is taken, and
    no estimates are made consistent, which saves more.
    """
    variance = 4 * np.exp(epsilon) / np.expm1(epsilon) ** 2
    errors = []
    for fan_out in range(2, answers + 1):
        rest = np.arange(1, answers)
        intervals = 0
        levels = 0
        while rest.any():
            intervals += int((rest % fan_out).sum())
            rest = rest // fan_out
            levels = levels + 1
        errors.append(levels * variance * intervals + (2 * levels - 1) * (answers - 1))
    return float(min(errors))


def _response(channel: Channel) -> float:
    """The same of randomised response, its estimated counts added up."""
    odds = np.exp(float(channel.policy.epsilons[0]))
    d = channel.policy.size
    matrix = (np.ones((d, d)) + (odds - 1) * np.eye(d)) / (odds + d - 1)
    estimator = channel.wanted @ np.linalg.inv(matrix).T
    about = (channel.policy, channel.wanted, channel.wanted_names, matrix, estimator)
    return Channel(*about, channel.scenarios).worst_error


if __name__ == "__main__":
    show(figures(), "Best channels")
