"""Figures 4 to 7 of the Sampling Privacy paper: errors for 286 and for 10,000 people."""

from __future__ import annotations

import numpy as np
from reproduction.charts import bars
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main
from reproduction.sampling import COLUMNS, SAMPLING, Row, errors, group_counts

SMALL = 286
LARGE = 10_000
FIGURES = {"tumour size": "figures 4 and 6", "age": "figures 5 and 7"}


def reproduce(setting: Setting) -> Result:
    """Figures 4 to 7 of the Sampling Privacy paper."""
    title = "Sampling Privacy, figures 4 to 7: breast cancer"
    path = setting.file("breast-cancer.csv")
    if path is None:
        text = "The error stays constant as the No people grow."
        claim = Claim.skipped(text, "figures 4 to 7", "breast-cancer.csv")
        return Result(title, claim.numbers, [claim])
    claims = []
    tables = []
    figures = []
    for name, column in COLUMNS.items():
        counts = group_counts(path, column)
        small = errors(counts, SMALL)
        large = errors(counts, LARGE)
        rows = [
            (a.group, a.patients, a.sampling, b.sampling, a.coins, b.coins)
            for a, b in zip(small, large, strict=True)
        ]
        columns = (
            "group",
            "patients",
            "SP, 286",
            "SP, 10,000",
            "RR, 286",
            "RR, 10,000",
        )
        tables.append(
            Table(f"{name}: absolute error at 95 %, in people", columns, rows)
        )
        for people, part, number in ((SMALL, small, 0), (LARGE, large, 1)):
            figure = 4 + 2 * number + list(COLUMNS).index(name)
            series = {
                "Sampling Privacy": [r.sampling for r in part],
                "two coins": [r.coins for r in part],
            }
            titles = (
                f"Figure {figure}: {name}, {people:,} people",
                name,
                "error at 95 %, people",
            )
            figures.append(bars(list(counts), series, titles))
        claims += _claims(name, small, large, setting)
    return Result(
        title,
        "Each group is a yes/no question, asked of 286 patients and of 10,000 people. SP: Sampling "
        "Privacy, pi_s = .45; RR: randomized response (.8, .2). Exact variances.",
        claims,
        tables,
        figures,
    )


def _claims(
    name: str, small: list[Row], large: list[Row], setting: Setting
) -> list[Claim]:
    source = f"section 5.1, {FIGURES[name]}"
    growth = [b.coins / a.coins for a, b in zip(small, large, strict=True)]
    better = sum(a.coins < a.sampling for a in small)
    most = max(small, key=lambda row: row.patients)
    repeats = setting.pick(2000, 300)
    drawn = [
        simulated_error(most.patients, population, repeats)
        for population in (SMALL, LARGE)
    ]
    return [
        Claim(
            f"{name}: the error of Sampling Privacy stays constant as the No people grow.",
            source,
            all(a.sampling == b.sampling for a, b in zip(small, large, strict=True)),
            f"The variance has no term of theirs. Simulated, {most.group}: {drawn[0]:.2f} people "
            f"at 286, {drawn[1]:.2f} at 10,000; computed {most.sampling:.2f}.",
        ),
        Claim(
            f"{name}: the error of randomized response grows quickly.",
            source,
            min(growth) > 1.5,
            f"{min(growth):.2f} to {max(growth):.2f} times as large at 10,000.",
        ),
        Claim(
            f"{name}: Sampling Privacy has the smaller error at 10,000 people.",
            source,
            all(row.sampling < row.coins for row in large),
            f"{max(row.sampling / row.coins for row in large):.0%} of randomized response's at "
            f"most; at 286 randomized response is better in {better} of {len(small)} groups.",
        ),
    ]


def simulated_error(yes: int, population: int, repeats: int) -> float:
    """Error of Sampling Privacy at 95 %, from simulated surveys, totals drawn from their law."""
    rng = np.random.default_rng(2017)
    truth = [population - yes, yes]
    estimates = [
        SAMPLING.estimate(SAMPLING.draw_aggregate(truth, rng)).values[1]
        for _ in range(repeats)
    ]
    return float(np.quantile(np.abs(np.array(estimates) - yes), 0.95))


if __name__ == "__main__":
    main(reproduce)
