"""Figure 5 of the BiSample paper: errors by missing rate."""

from __future__ import annotations

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from reproduction.surveys import measure, people

EPSILONS = (0.1, 1.0)
NAMES = ("BiSample", "PrivKVM")
SOURCE = "section 5.3, figure 5"


def reproduce(setting: Setting) -> Result:
    """Figure 5 of the BiSample paper."""
    rates = setting.pick([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], [0.1, 0.5, 0.8])
    users, repeats = setting.pick((100_000, 200), (20_000, 40))
    values = people(users, None)["GAUSS"]
    claims, tables, figures = [], [], []
    for epsilon in EPSILONS:
        curves: dict[str, list[float]] = {f"{n}-{what}": [] for n in NAMES for what in ("m", "mr")}
        for rate in rates:
            absent = lambda rng, r=rate: rng.random(users) < r  # noqa: E731
            for name, errors in measure(values, absent, epsilon, repeats, NAMES).items():
                curves[f"{name}-m"].append(float(errors.mean.mean()))
                curves[f"{name}-mr"].append(float(errors.missing.mean()))
        title = f"epsilon {epsilon:g}: mean absolute error"
        tables.append(Table.over(title, "missing", rates, curves))
        titles = (f"Figure 5, epsilon {epsilon:g}", "missing rate", "mean absolute error")
        figures.append(lines(rates, curves, titles))
        claims += _claims(epsilon, rates, {k: np.array(v) for k, v in curves.items()}, repeats)
    return Result(
        "BiSample, figure 5: errors by missing rate",
        f"GAUSS, {users:,} people, each missing with the given probability; {repeats} runs each. "
        f"-m: the mean, -mr: the missing rate. An estimated mean outside [-1, 1] counts as it is.",
        claims,
        tables,
        figures,
    )


def _claims(epsilon: float, rates: list[float], curves: dict[str, np.ndarray], repeats: int):
    noise = 5 * 0.76 * np.sqrt(2 / repeats)  # of a ratio of mean absolute errors
    claims = []
    for what, title in (("m", "mean"), ("mr", "missing rate")):
        ratio = curves[f"BiSample-{what}"] / curves[f"PrivKVM-{what}"]
        claims.append(
            Claim(
                f"epsilon {epsilon:g}: BiSample is superior to PrivKVM on the {title}.",
                SOURCE,
                bool(ratio.max() < 1),
                f"{ratio.min():.2f} to {ratio.max():.2f} times its error.",
                _until(ratio, rates),
            )
        )
    finer = np.concatenate([curves[f"{n}-mr"] / curves[f"{n}-m"] for n in NAMES])
    return [
        *claims,
        Claim(
            f"epsilon {epsilon:g}: the missing rate is estimated more accurately than the mean.",
            SOURCE,
            bool(finer.max() < 1),
            f"{finer.min():.2f} to {finer.max():.2f} times the mean's error.",
        ),
        Claim(
            f"epsilon {epsilon:g}: with a high missing rate the mean becomes meaningless.",
            SOURCE,
            bool(curves["BiSample-m"][-1] > (1 + noise) * curves["BiSample-m"][0]),
            f"BiSample's error rises from {curves['BiSample-m'][0]:.3f} to "
            f"{curves['BiSample-m'][-1]:.3f}.",
        ),
    ]


def _until(ratio: np.ndarray, rates: list[float]) -> str:
    """Up to which missing rate BiSample is ahead, if it is at first."""
    behind = np.flatnonzero(ratio >= 1)
    if behind.size == 0 or behind[0] == 0:
        return ""
    return f"up to a missing rate of {rates[behind[0] - 1]:.0%}"


if __name__ == "__main__":
    main(reproduce)
