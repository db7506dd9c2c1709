"""Figures 8 and 9 of the ID-LDP paper: the padding length."""

from __future__ import annotations

import numpy as np
from idldp_figure_7 import data as clothing
from reproduction import baskets
from reproduction import frequencies as fr
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner.planning.datasets import AnswerCounts

EPSILONS = (1.0, 2.0, 3.0, 4.0)
SOURCE = "section VII-B, figures 8 and 9"


def reproduce(setting: Setting) -> Result:
    """Figures 8 and 9 of the ID-LDP paper."""
    small, small_name, about = clothing(setting)
    large = baskets.read("Kosarak", setting)
    large_name = "Kosarak"
    if large is None:
        large = baskets.read("Retail", setting)
        large_name = "Retail"
        about += "Kosarak is skipped: not in the folder. In its place: Retail. "
    if small is None or large is None:
        skipped = Claim(
            "The best padding length depends on epsilon.", SOURCE, None, about
        )
        return Result("ID-LDP, figures 8 and 9: the padding length", about, [skipped])
    runs = {
        small_name: _Run(small, 20, range(1, 9), setting),
        large_name: _Run(
            large, 100, setting.pick((*range(1, 16), 20, 25), (1, 3, 5, 8, 12)), setting
        ),
    }
    tables = []
    figures = []
    for name, run in runs.items():
        tables.append(
            Table.over(
                f"{name}: expected RE({run.top})", "length", run.lengths, run.curves
            )
        )
        titles = (
            f"{name}: RE({run.top}) of IDUE-PS",
            "padding length",
            f"RE({run.top})",
        )
        figures.append(lines(run.lengths, run.curves, titles, measured=run.measured))
    sizes = ", ".join(f"{name} {run.mean_size:.2f}" for name, run in runs.items())
    return Result(
        "ID-LDP, figures 8 and 9: the padding length",
        f"{about}Items a person: {sizes}. Lines: exact bias and variance; points: "
        f"simulated. Budgets e, 1.2 e, 2 e for 5, 5, 90 % of the items.",
        _claims(runs),
        tables,
        figures,
    )


class _Run:
    """RE of IDUE-PS on one data set by padding length, one curve per epsilon."""

    def __init__(
        self, answers: AnswerCounts, top: int, lengths, setting: Setting
    ) -> None:
        self.top, self.lengths = top, list(lengths)
        self.mean_size = float(answers.sets.sizes.mean())
        self.curves: dict[str, list[float]] = {}
        self.measured: dict[str, list[float]] = {}
        self.scores: list[float] = []
        rng = np.random.default_rng(8)
        repeats = setting.pick(5, 2)
        best = np.argsort(-answers.counts, kind="stable")[:top]
        for epsilon in EPSILONS:
            name = f"epsilon {epsilon:g}"
            unary = fr.mechanisms(fr.assign(answers.counts.size, epsilon))["IDUE opt0"]
            for length in self.lengths:
                mechanism = unary.padded(length)
                bias, variance = fr.expected(mechanism, answers)
                error = fr.relative_error(bias, variance, answers.counts, top)
                self.curves.setdefault(name, []).append(error)
                seen = fr.errors(mechanism, answers, repeats, rng)
                relative = np.abs(seen[:, best]) / answers.counts[best]
                self.measured.setdefault(name, []).append(float(relative.mean()))
                self.scores.append(fr.largest_deviation(seen, bias, variance)[1])

    @property
    def best(self) -> list[int]:
        """The best length for each epsilon."""
        return [self.lengths[int(np.argmin(curve))] for curve in self.curves.values()]


def _claims(runs: dict[str, _Run]) -> list[Claim]:
    at = ", ".join(f"{epsilon:g}" for epsilon in EPSILONS)
    small, large = runs.values()
    claims = [
        Claim(
            f"{name}: the best padding length is larger under a larger epsilon.",
            SOURCE,
            bool(np.all(np.diff(run.best) >= 0) and run.best[-1] > run.best[0]),
            f"At e = {at} the best lengths are {', '.join(map(str, run.best))}; simulated errors "
            f"within {np.abs(run.scores).max():.1f} standard errors of the exact ones.",
        )
        for name, run in runs.items()
    ]
    short = (
        0 if large.lengths[0] > 2 else large.lengths.index(min(3, large.lengths[-1]))
    )
    falls = [[curve[k] for curve in large.curves.values()] for k in (short, -1)]
    drops = [fall[1] / fall[-1] for fall in falls]
    mean = [_excess(run, round(run.mean_size), -1) for run in runs.values()]
    less = [run.best[1] < run.mean_size for run in runs.values()]
    return [
        *claims,
        Claim(
            "The best length depends on the data: it is larger for larger sets.",
            SOURCE,
            all(a <= b for a, b in zip(small.best, large.best, strict=True))
            and small.best != large.best,
            f"{', '.join(map(str, small.best))} against {', '.join(map(str, large.best))}.",
        ),
        Claim(
            "With a small padding length the error does not fall much with epsilon: bias "
            "dominates (here: less than half as much as with a large one).",
            SOURCE,
            drops[0] < drops[1] / 2,
            f"From e = 2 to 4 RE falls by a factor {drops[0]:.2f} at "
            f"length {large.lengths[short]}, "
            f"by {drops[1]:.2f} at {large.lengths[-1]}.",
        ),
        Claim(
            "Rule of thumb: the mean set size at e = 4 (here: within 10 % of the best), less "
            "at e = 2.",
            SOURCE,
            max(mean) < 0.1 and all(less),
            "; ".join(
                f"{name}: the mean size {round(run.mean_size)} costs {extra:.0%} at e = 4, where "
                f"{run.best[-1]} is best; at e = 2 {run.best[1]} is best"
                for (name, run), extra in zip(runs.items(), mean, strict=True)
            )
            + ".",
        ),
    ]


def _excess(run: _Run, length: int, epsilon: int) -> float:
    """By how much a length (or the nearest tried) exceeds the best error."""
    curve = list(run.curves.values())[epsilon]
    nearest = int(np.argmin(np.abs(np.array(run.lengths) - length)))
    return curve[nearest] / min(curve) - 1


if __name__ == "__main__":
    main(reproduce)
