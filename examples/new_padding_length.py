"""New result: the padding length of IDUE-PS planned before any data, checked on baskets."""

from __future__ import annotations

import numpy as np
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import solve
from planner.planning.datasets import AnswerCounts, PilotSets, SetModel
from planner.planning.padding import plan_padding
from planner.survey.assumed import AssumedSets

EPSILONS = (1.0, 2.0, 4.0)
ENOUGH = 0.05  # a length is good if its error is within 5 % of the smallest
SOURCE = "this project; the paper's future work"
Rows = dict[str, list[tuple[int, float]]]


def reproduce(setting: Setting) -> Result:
    """Planned padding lengths beside the best one, on real baskets."""
    title = "New: the padding length"
    answers = baskets.read("Retail", setting)
    if answers is None:
        claim = Claim.skipped(
            "Planned lengths are good.", SOURCE, *baskets.FILES["Retail"]
        )
        return Result(title, claim.numbers, [claim])
    lengths = setting.pick([*range(1, 31), 40, 50, 60, 76], [*range(1, 21), 30])
    rows: Rows = {}
    curves = {}
    measured = {}
    scores = []
    rng = np.random.default_rng(12)
    for epsilon in EPSILONS:
        placed = fr.assign(answers.counts.size, epsilon)
        curve, seen, score = _curve(answers, placed, lengths, setting.pick(3, 1), rng)
        curves[f"epsilon {epsilon:g}"] = curve
        measured[f"epsilon {epsilon:g}"] = seen
        scores += score
        for name, length in _chosen(answers, placed, epsilon).items():
            error = curve[int(np.argmin(np.abs(np.subtract(lengths, length))))]
            rows.setdefault(name, []).append((length, error / min(curve) - 1))
    cells = [
        (name, *(f"{length} ({1 + extra:.3g}x)" for length, extra in each))
        for name, each in rows.items()
    ]
    titles = ("Retail: total error of IDUE-PS", "padding length", "MSE / n")
    return Result(
        title,
        f"Retail: {answers.users:,} people, {answers.sets.sizes.mean():.1f} items each. Budgets e, "
        f"1.2 e, 2 e for 5, 5, 90 % of the items. The error of every length is exact (points: "
        f"simulated); a length is judged by its error over the smallest.",
        _claims(rows, scores, answers),
        [
            Table(
                "Length (error over the smallest)",
                ("known", *(f"e = {e:g}" for e in EPSILONS)),
                cells,
            )
        ],
        [lines(lengths, curves, titles, measured=measured)],
    )


def _curve(
    answers: AnswerCounts,
    placed: fr.Assignment,
    lengths: list[int],
    repeats: int,
    rng: np.random.Generator,
) -> tuple[list[float], list[float], list[float]]:
    """Exact and simulated MSE per person by length, and their distance in standard errors."""
    unary = fr.mechanisms(placed)["IDUE opt0"]
    exact = []
    measured = []
    scores = []
    for length in lengths:
        mechanism = unary.padded(length)
        bias, variance = fr.expected(mechanism, answers)
        seen = fr.errors(mechanism, answers, repeats, rng)
        exact.append(fr.total_error(bias, variance, answers.users))
        measured.append(float(np.sum(seen**2) / repeats / answers.users))
        scores.append(fr.largest_deviation(seen, bias, variance)[1])
    return exact, measured, scores


def _chosen(
    answers: AnswerCounts, placed: fr.Assignment, epsilon: float
) -> dict[str, int]:
    """The length by what is known of the sets, and by the rules of thumb."""
    sets = answers.sets
    sizes = answers.sets.sizes
    some = np.random.default_rng(500).choice(
        sets.users, min(500, sets.users), replace=False
    )
    pilot = type(sets).of(
        [sets.members[sets.starts[u] : sets.starts[u + 1]] for u in some], sets.items
    )
    table = solve(placed.policy)
    histogram = np.bincount(sizes)
    models: dict[str, SetModel] = {
        "sizes; popularity taken as 1/rank": AssumedSets(histogram),
        "pilot of 500 people": PilotSets(pilot, placed.level_of),
        "all sets": PilotSets(sets, placed.level_of),
    }
    found = {
        name: plan_padding(table, sets.users, one).length
        for name, one in models.items()
    }
    mean = round(float(sizes.mean()))
    found["rule: mean size (half for e < 4)"] = mean if epsilon >= 4 else mean // 2
    found["rule: 90th percentile of the sizes"] = round(float(np.quantile(sizes, 0.9)))
    return found


def _claims(rows: Rows, scores: list[float], answers: AnswerCounts) -> list[Claim]:
    said = {
        name: ", ".join(f"{length} ({1 + extra:.3g}x)" for length, extra in each)
        for name, each in rows.items()
    }
    planned = [name for name in rows if not name.startswith("rule")]
    worst = {name: max(extra for _, extra in each) for name, each in rows.items()}
    placed = fr.assign(answers.counts.size, 2.0)
    table = solve(placed.policy)
    everybody = PilotSets(answers.sets, placed.level_of)
    by_users = [
        plan_padding(table, n, everybody).length for n in (10**4, 10**5, 10**6, 10**7)
    ]
    at = ", ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    mean, percentile = (name for name in rows if name.startswith("rule"))
    return [
        *(
            Claim(
                f"Planned from {name}, the length is within {ENOUGH:.0%} of the best.",
                SOURCE,
                worst[name] < ENOUGH,
                f"Lengths (and error over the smallest) at e = {at}: {said[name]}.",
            )
            for name in planned
        ),
        Claim(
            "A simple rule: the mean set size at e = 4, less at e = 2 (here: half).",
            "ID-LDP, section VII-B",
            worst[mean] < ENOUGH,
            f"At e = {at}: {said[mean]} of the total error. It was meant for the top items; "
            f"see figures 8 and 9.",
        ),
        Claim(
            "The length can be the 90th percentile of the set sizes.",
            "Qin and others, as quoted in ID-LDP, section VII-B",
            worst[percentile] < ENOUGH,
            f"At e = {at}: {said[percentile]}.",
        ),
        Claim(
            "The best length grows with the number of people, which no rule of thumb knows.",
            SOURCE,
            by_users == sorted(by_users) and by_users[0] < by_users[-1],
            f"At e = 2 for 10^4, 10^5, 10^6, 10^7 people: {', '.join(map(str, by_users))}.",
        ),
        Claim(
            "Simulated errors are as computed.",
            SOURCE,
            bool(np.abs(scores).max() < fr.MEASURED_WITHIN),
            f"{len(scores)} comparisons, at most {np.abs(scores).max():.1f} standard errors apart.",
        ),
    ]


if __name__ == "__main__":
    main(reproduce)
