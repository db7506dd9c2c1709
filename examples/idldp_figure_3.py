"""Figure 3 of the ID-LDP paper: measured and computed errors on two synthetic data sets."""

from __future__ import annotations

import numpy as np
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

MODELS = ("opt0", "boxed", "opt1", "opt2")
IDUE = ("IDUE opt0", "IDUE opt1", "IDUE opt2")
BOXED = "opt0, boxed"
SOURCE = "section VII-A, figure 3"


def reproduce(setting: Setting) -> Result:
    """Figure 3 of the ID-LDP paper."""
    epsilons = setting.pick([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], [1, 2, 4])
    repeats = setting.pick(10, 4)
    rng = np.random.default_rng(20200421)
    people = {
        "Power-law": fr.power_law(100_000, 100, rng),
        "Uniform": fr.uniform(100_000, 1000, rng),
    }
    runs = {
        name: _Run(answers, epsilons, repeats, rng) for name, answers in people.items()
    }
    tables = [
        Table.over(
            f"{name}: expected MSE per person", "epsilon", epsilons, run.computed
        )
        for name, run in runs.items()
    ]
    figures = [
        lines(
            epsilons,
            {key: run.computed[key] for key in run.computed if key != BOXED},
            (f"Figure 3, {name}", "epsilon (the smallest budget)", "MSE / n"),
            measured={key: run.measured[key] for key in ("RAPPOR", "OUE", "IDUE opt0")},
        )
        for name, run in runs.items()
    ]
    return Result(
        "ID-LDP, figure 3: computed and measured errors, synthetic data",
        f"100,000 people; 100 items by a power law with exponent 2, and 1,000 equally likely "
        f"items. Budgets e, 1.2 e, 2 e for 5, 5, 90 % of the items at random; {repeats} simulated "
        f"collections each. Power-law values have the density x^-2 on [1, 101), rounded down; "
        f"the paper does not say how it scales.",
        _claims(list(runs.values()), epsilons),
        tables,
        figures,
        notes=[
            "The paper's caption has the measured results dashed and the computed solid, its "
            "text the reverse; here points are measured and lines are computed.",
            _scaling(rng),
        ],
    )


class _Run:
    """All mechanisms on one data set: expected and measured MSE by epsilon."""

    def __init__(
        self, answers: AnswerCounts, epsilons: list[float], repeats: int, rng
    ) -> None:
        self.computed: dict[str, list[float]] = {}
        self.measured: dict[str, list[float]] = {}
        self.deviations: list[tuple[float, float]] = []
        for epsilon in epsilons:
            found = fr.mechanisms(fr.assign(answers.counts.size, epsilon), MODELS)
            for name, mechanism in found.items():
                bias, variance = fr.expected(mechanism, answers)
                seen = fr.errors(mechanism, answers, repeats, rng)
                self.deviations.append(fr.largest_deviation(seen, bias, variance))
                want = fr.total_error(bias, variance, answers.users)
                self.computed.setdefault(name, []).append(want)
                mean = float(np.mean(np.sum(seen**2, axis=1)) / answers.users)
                self.measured.setdefault(name, []).append(mean)


def _claims(runs: list[_Run], epsilons: list[float]) -> list[Claim]:
    relative, scores = np.array([pair for run in runs for pair in run.deviations]).T
    plain = [np.minimum(run.computed["RAPPOR"], run.computed["OUE"]) for run in runs]
    against_plain, excess = (
        {
            name: np.array(
                [
                    np.divide(run.computed[name], low)
                    for run, low in zip(runs, others, strict=True)
                ]
            )
            for name in (*IDUE, BOXED)
        }
        for others in (plain, [run.computed["IDUE opt0"] for run in runs])
    )
    reduced = np.array([excess["IDUE opt1"], excess["IDUE opt2"]])
    wins = {
        name: _epsilons_where(against_plain[name] < 1 - 1e-9, epsilons) for name in IDUE
    }
    near = {name: _epsilons_where(excess[name] < 1.1, epsilons) for name in IDUE[1:]}
    everywhere = str(len(epsilons))
    return [
        Claim(
            "The measured errors are very close to the computed ones.",
            SOURCE,
            bool(np.abs(scores).max() < fr.MEASURED_WITHIN),
            f"{scores.size} comparisons differ by at most {np.abs(relative).max():.1%}, "
            f"{np.abs(scores).max():.1f} standard errors.",
        ),
        Claim(
            "IDUE outperforms RAPPOR and OUE, by any of its three models.",
            SOURCE,
            bool(max(against_plain[name].max() for name in IDUE) < 1),
            f"Error relative to the better of the two: opt0 {_range(against_plain['IDUE opt0'])}, "
            f"opt1 {_range(against_plain['IDUE opt1'])}, "
            f"opt2 {_range(against_plain['IDUE opt2'])}. "
            f"opt1 wins {wins['IDUE opt1']}, opt2 {wins['IDUE opt2']}.",
            f"for opt0, at all {everywhere} epsilons"
            if against_plain["IDUE opt0"].max() < 1
            else "",
        ),
        Claim(
            "opt1 and opt2 have larger errors than opt0.",
            SOURCE,
            bool(reduced.min() > 1),
            f"opt1 by {_range(excess['IDUE opt1'] - 1)}, "
            f"opt2 by {_range(excess['IDUE opt2'] - 1)}; "
            f"the box a >= 1/2 >= b of the published setting costs opt0 up to "
            f"{excess[BOXED].max() - 1:.1%} with 1,000 items.",
        ),
        Claim(
            "opt1 and opt2 are still near-optimal (here: within 10 % of opt0).",
            SOURCE,
            bool(reduced.max() < 1.1),
            f"Within 10 % on both data sets: opt1 {near['IDUE opt1']}; opt2 {near['IDUE opt2']}.",
            "for opt1 at small budgets"
            if excess["IDUE opt1"][:, 0].max() < 1.1
            else "",
        ),
    ]


def _range(values: np.ndarray) -> str:
    return f"{values.min():.0%} to {values.max():.0%}"


def _epsilons_where(good: np.ndarray, epsilons: list[float]) -> str:
    """The epsilons at which it is so on both data sets, in words."""
    fitting = [
        epsilon
        for epsilon, both in zip(epsilons, good.all(axis=0), strict=True)
        if both
    ]
    return (
        "at e = " + ", ".join(f"{epsilon:g}" for epsilon in fitting)
        if fitting
        else "nowhere"
    )


def _scaling(rng: np.random.Generator) -> str:
    """What another reading of "scaling" does: unbounded draws over their maximum."""
    draws = 1 / (1 - rng.random(100_000))
    items = np.ceil(100 * draws / draws.max()).astype(np.int64) - 1
    heavy = AnswerCounts(tuple(map(str, range(100))), np.bincount(items, minlength=100))
    ours = fr.power_law(100_000, 100, rng)
    errors = [
        fr.total_error(*fr.expected(mechanism, answers), answers.users)
        for answers in (ours, heavy)
        for mechanism in [fr.mechanisms(fr.assign(100, 1.0))["IDUE opt0"]]
    ]
    return (
        f"Dividing unbounded power-law draws by the largest instead puts "
        f"{heavy.counts.max() / 1000:.1f} % of the people on one item; the MSE of opt0 at e = 1 "
        f"becomes {errors[1]:.2f} instead of {errors[0]:.2f}: nothing hinges on the scaling."
    )


if __name__ == "__main__":
    main(reproduce)
