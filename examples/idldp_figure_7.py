"""Figure 7 of the ID-LDP paper: finding the most frequent items of item sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

LENGTH = 2
NAMES = ("RAPPOR-PS", "OUE-PS", "IDUE-PS")
RANKED = (
    "IDUE-PS, by z"  # items ranked by estimate over standard error, not by estimate
)
SOURCE = "section VII-B, figure 7"
SURE = 3.5  # standard errors: a difference by chance once in 4,000 comparisons


class Point(NamedTuple):
    """One epsilon and k: precision of each run, and RE, by mechanism."""

    epsilon: float
    k: int
    precision: dict[str, np.ndarray]
    relative: dict[str, float]


def reproduce(setting: Setting) -> Result:
    """Figure 7 of the ID-LDP paper."""
    answers, name, skipped = data(setting)
    if answers is None:
        return Result(
            "ID-LDP, figure 7: top items of item sets", skipped, [_missing(skipped)]
        )
    seeds = range(1, setting.pick(81, 5))
    by_epsilon = [
        _point(answers, e, 20, seeds) for e in setting.pick((1, 2, 3, 4, 6), (1, 6))
    ]
    by_top = [
        _point(answers, 4.0, k, seeds)
        for k in setting.pick((10, 20, 40, 60, 80), (10, 80))
    ]
    tables = []
    figures = []
    for points, field, title in (
        (by_epsilon, "epsilon", "by epsilon (k = 20)"),
        (by_top, "k", "by k (epsilon = 4)"),
    ):
        x = [float(getattr(point, field)) for point in points]
        precision = {
            one: [float(p.precision[one].mean()) for p in points]
            for one in (*NAMES, RANKED)
        }
        relative = {one: [p.relative[one] for p in points] for one in NAMES}
        for what, series in (("precision", precision), ("RE(k)", relative)):
            tables.append(Table.over(f"{what} {title}", field, x, series))
            titles = (f"Figure 7, {name}: {what} {title}", field, what)
            figures.append(lines(x, series, titles, log_y=False))
    return Result(
        "ID-LDP, figure 7: top items of item sets",
        f"{skipped}{name}: {answers.users:,} people, {answers.counts.size:,} items, "
        f"{answers.sets.sizes.mean():.2f} items a person. Padding length {LENGTH}; budgets e, "
        f"1.2 e, 2 e for 5, 5, 90 % of the items; {len(seeds)} runs, each with a new random "
        f"assignment of the levels.",
        _claims(
            name, [*by_epsilon, *by_top], (by_top[-1], _point(answers, 6.0, 80, seeds))
        ),
        tables,
        figures,
        notes=[
            "Ranking by the estimate lets the few items with the smallest budget, whose noise is "
            "the largest, crowd the top. Ranking by estimate over standard error (z), which costs "
            "no privacy, is shown beside it; at epsilon "
            f"{by_epsilon[-1].epsilon:g} it changes the precision from "
            f"{by_epsilon[-1].precision['IDUE-PS'].mean():.1%} to "
            f"{by_epsilon[-1].precision[RANKED].mean():.1%} (OUE-PS "
            f"{by_epsilon[-1].precision['OUE-PS'].mean():.1%})."
        ],
    )


def data(setting: Setting) -> tuple[AnswerCounts | None, str, str]:
    """Clothing; or Retail thinned to small sets in its place; and what to say of it."""
    answers = baskets.read("Clothing", setting)
    if answers is not None:
        return answers, "Clothing", ""
    retail = baskets.read("Retail", setting)
    skipped = "Clothing is skipped: not in the folder. "
    if retail is None:
        return None, "", skipped + "Neither is Retail, which could stand in."
    small = baskets.thinned(retail, 0.09, np.random.default_rng(7))
    skipped += "In its place: Retail with one random item of every basket, and 9 % of the others. "
    return small, "thinned Retail", skipped


def _point(answers: AnswerCounts, epsilon: float, k: int, seeds: range) -> Point:
    precision: dict[str, list[float]] = {name: [] for name in (*NAMES, RANKED)}
    relative: dict[str, list[float]] = {name: [] for name in NAMES}
    counts = answers.counts
    for seed in seeds:
        rng = np.random.default_rng([seed, k, round(100 * epsilon)])
        found = fr.mechanisms(fr.assign(counts.size, epsilon, seed))
        for name, mechanism in fr.padded(found, LENGTH).items():
            seen = fr.errors(mechanism, answers, 1, rng)
            precision[name].append(float(fr.sample_precision(seen, counts, k)[0]))
            if name == "IDUE-PS":
                noise = mechanism.table.noise[mechanism.level_of]
                chosen = np.argsort(
                    -(seen[0] + counts) / np.sqrt(noise), kind="stable"
                )[:k]
                precision[RANKED].append(fr.precision_at(chosen, counts))
            bias, variance = fr.expected(mechanism, answers)
            relative[name].append(fr.relative_error(bias, variance, counts, k))
    return Point(
        epsilon,
        k,
        {name: np.array(values) for name, values in precision.items()},
        {name: float(np.mean(values)) for name, values in relative.items()},
    )


def _claims(name: str, points: list[Point], large: tuple[Point, ...]) -> list[Claim]:
    ratio = np.array(
        [p.relative["IDUE-PS"] / min(p.relative[o] for o in NAMES[:2]) for p in points]
    )
    small = [p for p in points if p.epsilon <= 1 or p.k <= 20]
    worst = min(small, key=lambda point: _lead(point)[1])
    ranked = [_lead(point, RANKED) for point in large]
    return [
        Claim(
            f"{name}: IDUE-PS has the smallest RE of the three.",
            SOURCE,
            bool(ratio.max() < 1),
            f"{ratio.min():.0%} to {ratio.max():.0%} of the better of the others, on average.",
        ),
        Claim(
            f"{name}: for small epsilon or k the precision may be worse than OUE-PS's.",
            SOURCE,
            _lead(worst)[1] < -SURE,
            f"IDUE-PS's lead is {_said(worst)}.",
        ),
        Claim(
            f"{name}: for larger epsilon and k IDUE-PS has the highest precision.",
            SOURCE,
            all(_lead(point)[1] > SURE for point in large),
            f"Its lead is {'; '.join(map(_said, large))}. With items ranked by estimate over "
            f"standard error it is {'; '.join(_said(point, RANKED) for point in large)}.",
            "if items are ranked by estimate over standard error"
            if min(score for _, score in ranked) > SURE
            else "",
        ),
    ]


def _lead(point: Point, name: str = "IDUE-PS") -> tuple[float, float]:
    """The lead in precision over OUE-PS, and the same in standard errors."""
    lead = point.precision[name] - point.precision["OUE-PS"]
    error = float(lead.std(ddof=1)) / np.sqrt(lead.size)
    return float(lead.mean()), float(lead.mean()) / max(error, 1e-9)


def _said(point: Point, name: str = "IDUE-PS") -> str:
    lead, score = _lead(point, name)
    return (
        f"{lead:+.1%} ({score:+.1f} s.e.) at epsilon {point.epsilon:g}, k = {point.k}"
    )


def _missing(reason: str) -> Claim:
    return Claim("IDUE-PS has the smallest RE on Clothing.", SOURCE, None, reason)


if __name__ == "__main__":
    main(reproduce)
