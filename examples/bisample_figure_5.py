"""Figure 5 of the BiSample paper: errors by missing rate."""

from __future__ import annotations

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from reproduction.surveys import Expected, expected, measure, people

EPSILONS = (0.1, 1.0)
NAMES = ("BiSample", "PrivKVM")
SOURCE = "section 5.3, figure 5"


def reproduce(setting: Setting) -> Result:
    """Figure 5 of the BiSample paper."""
    rates = setting.pick([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], [0.1, 0.5, 0.8])
    users, repeats = setting.pick((100_000, 200), (20_000, 40))
    values = people(users, None)["GAUSS"]
    claims = []
    tables = []
    figures = []
    for epsilon in EPSILONS:
        curves: dict[str, list[float]] = {
            f"{n}-{what}": [] for n in NAMES for what in ("m", "mr")
        }
        for rate in rates:
            absent = lambda rng, r=rate: rng.random(users) < r  # noqa: E731
            for name, errors in measure(
                values, absent, epsilon, repeats, NAMES
            ).items():
                curves[f"{name}-m"].append(float(errors.mean.mean()))
                curves[f"{name}-mr"].append(float(errors.missing.mean()))
        title = f"epsilon {epsilon:g}: mean absolute error"
        tables.append(Table.over(title, "missing", rates, curves))
        titles = (
            f"Figure 5, epsilon {epsilon:g}",
            "missing rate",
            "mean absolute error",
        )
        figures.append(lines(rates, curves, titles))
        wanted = {
            n: [expected(values, rate, epsilon, n) for rate in rates] for n in NAMES
        }
        claims += _claims(
            epsilon, rates, {k: np.array(v) for k, v in curves.items()}, wanted
        )
    return Result(
        "BiSample, figure 5: errors by missing rate",
        f"GAUSS, {users:,} people, each missing with the given probability; {repeats} runs each. "
        f"-m: the mean, -mr: the missing rate. An estimated mean outside [-1, 1] counts as it is.",
        claims,
        tables,
        figures,
    )


def _claims(
    epsilon: float,
    rates: list[float],
    curves: dict[str, np.ndarray],
    wanted: dict[str, list[Expected]],
) -> list[Claim]:
    ours, theirs = (np.array([point[:2] for point in wanted[name]]).T for name in NAMES)
    known = np.array(
        [all(pair) for pair in zip(*(_reliable(wanted[n]) for n in NAMES), strict=True)]
    )
    claims = [
        _superior(epsilon, title, ours[i] / theirs[i], rates, known)
        for i, title in _QUANTITIES
    ]
    finer = np.concatenate([ours[1] / ours[0], theirs[1] / theirs[0]])
    first, last = curves["BiSample-m"][[0, -1]]
    return [
        *claims,
        Claim(
            f"epsilon {epsilon:g}: the missing rate is estimated more accurately than the mean.",
            SOURCE,
            bool(finer.max() < 1),
            f"Expected: {finer.min():.2f} to {finer.max():.2f} times the mean's error.",
        ),
        Claim(
            f"epsilon {epsilon:g}: with a high missing rate the mean becomes meaningless (here: "
            f"its error grows fivefold, or its denominator is not told apart from 0).",
            SOURCE,
            bool(last > 5 * first or not known[-1]),
            f"BiSample's error rises from {first:.3f} to {last:.3f}"
            + (
                "."
                if known.all()
                else f"; the denominator is lost from {_lost(rates, known)} on."
            ),
        ),
    ]


_QUANTITIES = ((0, "mean"), (1, "missing rate"))


def _superior(
    epsilon: float, title: str, ratio: np.ndarray, rates: list[float], known: np.ndarray
) -> Claim:
    judged = known if title == "mean" else np.ones_like(known)
    better = [f"{rate:.0%}" for rate, one in zip(rates, ratio < 1, strict=True) if one]
    left_out = (
        ""
        if judged.all()
        else f" From {_lost(rates, known)} missing on it is not judged."
    )
    return Claim(
        f"epsilon {epsilon:g}: BiSample is superior to PrivKVM on the {title}.",
        SOURCE,
        bool(ratio[judged].max() < 1),
        f"Expected: {ratio[judged].min():.4f} to {ratio[judged].max():.4f} times its error."
        + left_out,
        f"for missing rates of {better[0]} and more"
        if better and ratio[-1] < 1 and np.all(np.diff(ratio) < 0)
        else "",
    )


def _reliable(points: list[Expected]) -> list[bool]:
    return [point.reliable for point in points]


def _lost(rates: list[float], known: np.ndarray) -> str:
    return f"{rates[int(np.argmin(known))]:.0%}"


if __name__ == "__main__":
    main(reproduce)
