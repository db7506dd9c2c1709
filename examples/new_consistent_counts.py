"""New result: which post-processing makes counts plausible without making them worse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from scipy.special import ndtri

from planner import Aggregate, Estimates, PrivacyPolicy, solve, unary

Array = NDArray[np.float64]
SHAPES: dict[str, Callable[[int], Array]] = {
    "one item of 60 %": lambda items: np.append(
        np.full(items - 1, 0.4 / (items - 1)), 0.6
    ),
    "1 / rank": lambda items: 1 / np.arange(1.0, items + 1),
    "1 / rank^2": lambda items: 1 / np.arange(1.0, items + 1) ** 2,
    "all alike": np.ones,
    "0.9^rank": lambda items: 0.9 ** np.arange(items),
    "five items only": lambda items: np.append(np.ones(5), np.zeros(items - 5)),
}
_HALVINGS = 45


def reproduce(setting: Setting) -> Result:
    """Total squared error of each way, over that of the unbiased counts."""
    ratios = {name: np.array(rows) for name, rows in _ratios(setting).items()}
    names = list(ratios)
    budgets = setting.pick([0.5, 1.0, 2.0, 4.0, 8.0], [1.0, 8.0])
    worst = {name: float(rows.max()) for name, rows in ratios.items()}
    typical = {
        name: float(np.exp(np.log(rows).mean())) for name, rows in ratios.items()
    }
    by_budget = {
        name: [float(rows[i :: len(budgets)].max()) for i in range(len(budgets))]
        for name, rows in ratios.items()
    }
    chosen = "projection, error of an absent item"
    others = [name for name in names if name != chosen]
    return Result(
        "New: consistent counts",
        "Counts are post-processed to be plausible: not negative, adding up to the people. "
        "IDUE opt0 with budgets e, 1.2 e, 2 e; six shapes of the true counts; total squared "
        "error over that of the unbiased counts, means of five surveys. The maximum likelihood "
        "is that of the counts per bit, all that a collector keeps. Above 1 is worse than "
        "doing nothing.",
        [
            Claim(
                "The projection weighted by the error of an absent item is never more than a "
                "tenth worse than the unbiased counts.",
                "this project",
                worst[chosen] < 1.1,
                f"Largest ratio {worst[chosen]:.3f}, geometric mean {typical[chosen]:.3f}.",
            ),
            Claim(
                "Weights by each count's own error, thresholds and maximum likelihood can be "
                "much worse than the unbiased counts.",
                "this project",
                all(worst[name] > 1.5 for name in others if name != "norm-sub"),
                "Largest ratios: "
                + "; ".join(f"{name} {worst[name]:.1f}" for name in others)
                + ".",
            ),
        ],
        [
            Table(
                "Total squared error over that of the unbiased counts",
                ("way", "geometric mean", "largest"),
                [(name, typical[name], worst[name]) for name in names],
            )
        ],
        [
            lines(
                budgets,
                by_budget,
                (
                    "The worst of all shapes",
                    "e",
                    "squared error over the unbiased counts'",
                ),
            )
        ],
    )


def _ratios(setting: Setting) -> dict[str, list[float]]:
    rng = np.random.default_rng(20)
    ratios: dict[str, list[float]] = {}
    shapes = list(SHAPES.values())
    for users in setting.pick((10_000, 100_000), (100_000,)):
        for items in setting.pick((20, 100, 1000), (1000,)):
            for shape in setting.pick(shapes, (shapes[0], shapes[-1])):
                for epsilon in setting.pick((0.5, 1.0, 2.0, 4.0, 8.0), (1.0, 8.0)):
                    shares = rng.permutation(shape(items) / shape(items).sum())
                    for name, ratio in _compare(users, shares, epsilon, rng).items():
                        ratios.setdefault(name, []).append(ratio)
    return ratios


def _compare(
    users: int, shares: Array, epsilon: float, rng: np.random.Generator
) -> dict[str, float]:
    strict = max(1, shares.size // 20)
    policy = PrivacyPolicy(
        epsilon * np.array([1, 1.2, 2]), [strict, strict, shares.size - 2 * strict]
    )
    mechanism = unary(solve(policy))
    own, other = mechanism.shape.chances
    totals: dict[str, float] = {}
    raw = 0.0
    for _ in range(5):
        truth = rng.multinomial(users, shares)
        counts = rng.binomial(truth, own) + rng.binomial(users - truth, other)
        estimates = mechanism.estimate(Aggregate(users, counts))
        raw += float(np.sum((estimates.values - truth) ** 2))
        for name, values in _ways(estimates, counts, (own, other)).items():
            totals[name] = totals.get(name, 0.0) + float(np.sum((values - truth) ** 2))
    return {name: total / raw for name, total in totals.items()}


def _ways(
    estimates: Estimates, counts: Array, chances: tuple[Array, Array]
) -> dict[str, Array]:
    values = estimates.values
    users = estimates.users
    ones = np.ones_like(values)
    least = ndtri(1 - 0.05 / values.size) * estimates.null_standard_errors
    alone = Estimates(values, ones, np.maximum(estimates.standard_errors, 1e-9), users)
    return {
        "projection, error of an absent item": estimates.on_simplex().values,
        "projection, each count's own error": alone.on_simplex().values,
        "norm-sub": Estimates(values, ones, ones, users).on_simplex().values,
        "base-cut": np.where(values >= least, values, 0.0),
        "maximum likelihood": _likeliest(counts, users, *chances),
    }


def _likeliest(counts: Array, users: int, a: Array, b: Array) -> Array:
    """Counts that maximise the likelihood of independent bits on the simplex, by its multiplier."""

    def shares(multiplier: float) -> Array:
        low = np.zeros_like(a)
        high = np.ones_like(a)
        positive = _slope(low, counts, users, a, b) > multiplier
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            rising = _slope(middle, counts, users, a, b) > multiplier
            low = np.where(rising, middle, low)
            high = np.where(rising, high, middle)
        return np.where(positive, low, 0.0)

    least = -10.0 * users
    most = 10.0 * users
    while shares(least).sum() < 1:
        least *= 4
    while shares(most).sum() > 1:
        most *= 4
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        if shares(middle).sum() > 1:
            least = middle
        else:
            most = middle
    likeliest = shares(least)
    return users * likeliest / likeliest.sum()


def _slope(share: Array, counts: Array, users: int, a: Array, b: Array) -> Array:
    chance = b + (a - b) * share
    return (a - b) * (counts / chance - (users - counts) / (1 - chance))


if __name__ == "__main__":
    main(reproduce)
