"""Figure 4 of the ID-LDP paper: errors on real data, single items, by epsilon."""

from __future__ import annotations

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

TOP = 20
IDUE = "IDUE opt0"
PLAIN = ("RAPPOR", "OUE")
SOURCE = "section VII-A, figure 4"


def reproduce(setting: Setting) -> Result:
    """Figure 4 of the ID-LDP paper."""
    epsilons = setting.pick([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], [1, 2, 4])
    claims = []
    tables = []
    figures = []
    people, skipped = baskets.read_all(
        ("Retail", "Kosarak"), setting, "IDUE is best on {}.", SOURCE
    )
    for name, answers in people.items():
        run = _Run(baskets.first_items(answers), epsilons, setting)
        claims += run.claims(name)
        for what, computed, measured in (
            ("MSE / n", run.mse, run.measured_mse),
            (f"RE({TOP})", run.relative, run.measured_relative),
        ):
            tables.append(
                Table.over(f"{name}: expected {what}", "epsilon", epsilons, computed)
            )
            titles = (
                f"Figure 4, {name}: {what}",
                "epsilon (the smallest budget)",
                what,
            )
            figures.append(lines(epsilons, computed, titles, measured=measured))
    return Result(
        "ID-LDP, figure 4: real data, single items",
        f"The first item of each person's basket. Budgets e, 1.2 e, 2 e for 5, 5, 90 % of the "
        f"items at random. RE({TOP}) is the mean relative error of the {TOP} most frequent items.",
        claims + skipped,
        tables,
        figures,
    )


class _Run:
    """All mechanisms on one data set by epsilon, for one assignment; RE also for many."""

    def __init__(
        self, answers: AnswerCounts, epsilons: list[float], setting: Setting
    ) -> None:
        repeats = setting.pick(10, 3)
        seeds = range(2, setting.pick(202, 22))
        rng = np.random.default_rng(4)
        counts = answers.counts
        n = answers.users
        names = (*PLAIN, IDUE)
        self.mse, self.relative, self.measured_mse, self.measured_relative = (
            {name: [] for name in names} for _ in range(4)
        )
        self.scores: list[float] = []
        self.others = np.empty(
            (len(epsilons), len(seeds))
        )  # IDUE's RE over the best plain one
        best = np.argsort(-counts, kind="stable")[:TOP]
        for row, epsilon in enumerate(epsilons):
            placed = fr.assign(counts.size, epsilon)
            found = fr.mechanisms(placed)
            for name, mechanism in found.items():
                bias, variance = fr.expected(mechanism, answers)
                seen = fr.errors(mechanism, answers, repeats, rng)
                self.scores.append(fr.largest_deviation(seen, bias, variance)[1])
                self.mse[name].append(fr.total_error(bias, variance, n))
                self.measured_mse[name].append(float(np.sum(seen**2) / repeats / n))
                self.relative[name].append(
                    fr.relative_error(bias, variance, counts, TOP)
                )
                relative = np.abs(seen[:, best]) / counts[best]
                self.measured_relative[name].append(float(relative.mean()))
            plain = min(self.relative[name][-1] for name in PLAIN)
            table = found[IDUE].table
            for column, seed in enumerate(seeds):
                home = fr.assign(counts.size, epsilon, seed).level_of[best]
                variance = fr.single_item_variance(table, home, counts[best], n)
                own = fr.relative_error(np.zeros(TOP), variance, counts[best], TOP)
                self.others[row, column] = own / plain

    def claims(self, name: str) -> list[Claim]:
        ratio, relative = (
            np.divide(errors[IDUE], np.minimum(errors["RAPPOR"], errors["OUE"]))
            for errors in (self.mse, self.relative)
        )
        average = self.others.mean(axis=1)
        return [
            Claim(
                f"{name}: IDUE has the smallest MSE for all epsilon.",
                SOURCE,
                bool(ratio.max() < 1),
                f"{ratio.min():.0%} to {ratio.max():.0%} of the better of RAPPOR and OUE; measured "
                f"within {np.abs(self.scores).max():.1f} standard errors of the expected.",
            ),
            Claim(
                f"{name}: IDUE has the smallest RE({TOP}) for all epsilon.",
                SOURCE,
                bool(max(relative.max(), self.others.max()) < 1),
                f"{relative.min():.0%} to {relative.max():.0%} with the levels shown. Which of the "
                f"{TOP} items are sensitive is luck: over {self.others.shape[1]} other random "
                f"assignments {np.mean(self.others < 1):.1%} have it, on average "
                f"{average.min():.0%} to {average.max():.0%}, at worst {self.others.max():.1%}.",
                "on average over the random levels" if average.max() < 1 else "",
            ),
        ]


if __name__ == "__main__":
    main(reproduce)
