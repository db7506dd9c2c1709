"""Figure 6 of the BiSample paper: errors by number of people."""

from __future__ import annotations

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from reproduction.surveys import MECHANISMS, measure, people

EPSILON = 0.1
MISSING = 0.3
SOURCE = "section 5.4, figure 6"
TRUSTED = ("BiSample", "PrivKVM")


def reproduce(setting: Setting) -> Result:
    """Figure 6 of the BiSample paper."""
    users = setting.pick(
        [10_000, 30_000, 100_000, 300_000, 1_000_000], [10_000, 100_000]
    )
    repeats = setting.pick(100, 30)
    values = people(users[-1], None)["GAUSS"]
    mean: dict[str, list[float]] = {name: [] for name in MECHANISMS}
    missing: dict[str, list[float]] = {name: [] for name in TRUSTED}
    for n in users:
        absent = lambda rng, n=n: rng.random(n) < MISSING  # noqa: E731
        for name, errors in measure(values[:n], absent, EPSILON, repeats).items():
            mean[name].append(float(errors.mean.mean()))
            if name in missing:
                missing[name].append(float(errors.missing.mean()))
    figures = [
        lines(
            users,
            curves,
            (f"Figure 6: {what}", "people", "mean absolute error"),
            log_x=True,
        )
        for what, curves in (("mean", mean), ("missing rate", missing))
    ]
    return Result(
        "BiSample, figure 6: errors by number of people",
        f"GAUSS, epsilon {EPSILON:g}, {MISSING:.0%} missing (the paper does not say how many), "
        f"{repeats} runs each.",
        _claims({k: np.array(v) for k, v in mean.items()}, missing, users),
        [
            Table.over("Mean absolute error of the mean", "people", users, mean),
            Table.over(
                "Mean absolute error of the missing rate", "people", users, missing
            ),
        ],
        figures,
    )


def _claims(
    mean: dict[str, np.ndarray], missing: dict[str, list[float]], users: list[int]
):
    slope = {
        n: np.log(mean[n][-1] / mean[n][0]) / np.log(users[-1] / users[0])
        for n in TRUSTED
    }
    floor = {n: float(mean[n][-1]) for n in MECHANISMS if n not in TRUSTED}
    rate = np.divide(missing["BiSample"], missing["PrivKVM"])
    ahead = mean["BiSample"] / mean["PrivKVM"]
    return [
        Claim(
            "The errors of BiSample and PrivKVM fall with the number of people.",
            SOURCE,
            all(value < -0.3 for value in slope.values()),
            "As n to the power "
            + " and ".join(f"{value:.2f} ({name})" for name, value in slope.items())
            + ".",
        ),
        Claim(
            "The errors of Harmony and PM stay very high (here: above twice BiSample's).",
            SOURCE,
            bool(min(floor.values()) > 2 * mean["BiSample"][-1]),
            f"With {users[-1]:,} people {min(floor.values()):.3f} to {max(floor.values()):.3f} "
            f"against {mean['BiSample'][-1]:.4f}: bias does not average out.",
        ),
        Claim(
            "On the missing rate BiSample and PrivKVM differ little (here: up to a factor 1.5).",
            SOURCE,
            bool(np.abs(np.log(rate)).max() < np.log(1.5)),
            f"BiSample has {rate.min():.2f} to {rate.max():.2f} times PrivKVM's error.",
        ),
        Claim(
            "BiSample outperforms PrivKVM on the mean.",
            SOURCE,
            bool(ahead.max() < 1),
            f"{ahead.min():.2f} to {ahead.max():.2f} times its error.",
        ),
    ]


if __name__ == "__main__":
    main(reproduce)
