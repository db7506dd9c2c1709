"""Figure 6 of the ID-LDP paper: how many items are sensitive."""

from __future__ import annotations

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

EPSILON = 1.0
FACTORS = (1.0, 2.0)
TOP = 50
MECHANISMS = ("RAPPOR", "OUE", "IDUE opt0", "opt0, boxed")
ALMOST = 0.05  # "almost the same": within 5 %
SOURCE = "section VII-A, figure 6"
Errors = dict[str, np.ndarray]


def reproduce(setting: Setting) -> Result:
    """Figure 6 of the ID-LDP paper."""
    shares = setting.pick(
        [0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.95], [0.05, 0.4, 0.8]
    )
    seeds = range(1, setting.pick(51, 6))
    claims = []
    tables = []
    figures = []
    percent = [round(100 * share) for share in shares]
    people, skipped = baskets.read_all(
        ("Retail", "Kosarak"), setting, "{}: the gain shrinks.", SOURCE
    )
    for name, answers in people.items():
        for what, errors in zip(
            ("MSE / n", f"RE({TOP})"),
            _errors(baskets.first_items(answers), shares, seeds),
            strict=True,
        ):
            title = f"{name}: expected {what}"
            tables.append(Table.over(title, "% sensitive", percent, errors))
            titles = (
                f"Figure 6, {name}: {what}",
                "% of items with the smaller budget",
                what,
            )
            figures.append(lines(percent, errors, titles, log_y=False))
            claims += _claims(f"{name}, {what}", shares, errors)
    return Result(
        "ID-LDP, figure 6: budget distributions",
        f"Single items. Two levels, budgets {EPSILON:g} and {EPSILON * FACTORS[1]:g} (the text "
        f"of the paper gives none), the share of items with the smaller one varied. RE is on "
        f"average over {len(seeds)} random assignments.",
        claims + skipped,
        tables,
        figures,
    )


def _errors(
    answers: AnswerCounts, shares: list[float], seeds: range
) -> tuple[Errors, Errors]:
    """MSE and RE by mechanism, one number a share."""
    mse, relative = (
        {name: np.empty(len(shares)) for name in MECHANISMS} for _ in range(2)
    )
    counts = answers.counts
    n = answers.users
    for column, share in enumerate(shares):
        split = ((share, 1 - share), FACTORS)
        homes = [
            fr.assign(counts.size, EPSILON, seed, *split).level_of for seed in seeds
        ]
        found = fr.mechanisms(
            fr.assign(counts.size, EPSILON, 1, *split), ("opt0", "boxed")
        )
        for name, mechanism in found.items():
            bias = np.zeros(counts.size)
            variances = [
                fr.single_item_variance(mechanism.table, home, counts, n)
                for home in homes
            ]
            mse[name][column] = np.mean([v.sum() / n for v in variances])
            each = [fr.relative_error(bias, v, counts, TOP) for v in variances]
            relative[name][column] = np.mean(each)
    return mse, relative


def _claims(what: str, shares: list[float], errors: Errors) -> list[Claim]:
    gain, boxed = (1 - errors[name] / errors["OUE"] for name in MECHANISMS[2:])
    many = np.array(shares) >= 0.4
    listed = ", ".join(
        f"{gain[i]:.1%} at {share:.0%}"
        for i, share in enumerate(shares)
        if share in {0.05, 0.4, 0.8}
    )
    return [
        Claim(
            f"{what}: the fewer the sensitive items, the larger the gain.",
            SOURCE,
            bool(np.all(np.diff(gain) < 1e-9)),
            f"Against OUE: {listed}{_coincides(shares, gain)}.",
        ),
        Claim(
            f"{what}: from 40 % sensitive items on, IDUE is almost the same as OUE "
            f"(here: within {ALMOST:.0%}).",
            SOURCE,
            bool(np.abs(gain[many]).max() < ALMOST),
            f"Gain from 40 % on: {gain[many].min():.1%} to {gain[many].max():.1%}; "
            f"with the paper's box a >= 1/2 >= b {boxed[many].min():.1%} to "
            f"{boxed[many].max():.1%}.",
            "by the box a >= 1/2 >= b" if np.abs(boxed[many]).max() < ALMOST else "",
        ),
        Claim(
            f"{what}: OUE outperforms RAPPOR.",
            SOURCE,
            bool(np.all(errors["OUE"] < errors["RAPPOR"])),
            f"{np.max(errors['OUE'] / errors['RAPPOR']):.1%} of its error.",
        ),
    ]


def _coincides(shares: list[float], gain: np.ndarray) -> str:
    none = [share for share, one in zip(shares, gain, strict=True) if abs(one) < 1e-6]
    return f"; from {none[0]:.0%} on the optimal table is OUE's" if none else ""


if __name__ == "__main__":
    main(reproduce)
