"""Figure 5 of the ID-LDP paper: relative error of the top k items on real data, by k."""

from __future__ import annotations

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

EPSILONS = (2.0, 4.0)
SOURCE = "section VII-A, figure 5"


def reproduce(setting: Setting) -> Result:
    """Figure 5 of the ID-LDP paper."""
    tops = setting.pick([10, 20, 30, 40, 50, 60, 70, 80, 90, 100], [10, 50, 100])
    seeds = range(1, setting.pick(51, 6))
    claims = []
    tables = []
    figures = []
    people, skipped = baskets.read_all(
        ("Retail", "Kosarak"), setting, "IDUE has the smallest RE on {}.", SOURCE
    )
    for name, answers in people.items():
        single = baskets.first_items(answers)
        for epsilon in EPSILONS:
            errors = _by_top(single, epsilon, tops, seeds)
            mean = {
                mechanism: values.mean(axis=0).tolist()
                for mechanism, values in errors.items()
            }
            title = f"{name}, epsilon {epsilon:g}: expected RE(k)"
            tables.append(Table.over(title, "k", tops, mean))
            titles = (f"Figure 5, {name}, epsilon {epsilon:g}", "k", "RE(k)")
            figures.append(lines(tops, mean, titles))
            claims.append(_claim(name, epsilon, errors))
    return Result(
        "ID-LDP, figure 5: relative error of the top k items",
        f"As figure 4, at epsilon {' and '.join(f'{e:g}' for e in EPSILONS)} (the text of the "
        f"paper gives none), on average over {len(seeds)} random assignments of the levels.",
        claims + skipped,
        tables,
        figures,
    )


def _by_top(
    answers: AnswerCounts, epsilon: float, tops: list[int], seeds: range
) -> dict[str, np.ndarray]:
    """RE(k) by mechanism, ``(assignments, tops)``."""
    errors: dict[str, list[list[float]]] = {}
    found = fr.mechanisms(fr.assign(answers.counts.size, epsilon))
    for seed in seeds:
        home = fr.assign(answers.counts.size, epsilon, seed).level_of
        for name, mechanism in found.items():
            variance = fr.single_item_variance(
                mechanism.table, home, answers.counts, answers.users
            )
            bias = np.zeros(variance.size)
            row = [fr.relative_error(bias, variance, answers.counts, k) for k in tops]
            errors.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in errors.items()}


def _claim(name: str, epsilon: float, errors: dict[str, np.ndarray]) -> Claim:
    plain = np.minimum(errors["RAPPOR"], errors["OUE"])
    each = errors["IDUE opt0"] / plain
    average = errors["IDUE opt0"].mean(axis=0) / plain[0]
    return Claim(
        f"{name}, epsilon {epsilon:g}: IDUE has the smallest RE(k) for all k.",
        SOURCE,
        bool(each.max() < 1),
        f"On average over the random levels {average.min():.0%} to {average.max():.0%} of the "
        f"better of RAPPOR and OUE; {np.mean(each < 1):.1%} of all assignments and k have it, the "
        f"worst is {each.max():.0%}.",
        "on average over the random levels" if average.max() < 1 else "",
    )


if __name__ == "__main__":
    main(reproduce)
