"""New result: one convex program shares a person's budget among several questions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import Allocation, PrivacyPolicy, allocate, choice_curve, mean_curve

BLOCKS = (
    choice_curve("diagnosis", PrivacyPolicy(np.log([4, 6]), [1, 4])),
    choice_curve("page", PrivacyPolicy([2, 2.4, 4], [5, 5, 90]), weight=0.05),
    mean_curve("income", 2.0, weight=3),
)
SOURCE = "this project"


def reproduce(setting: Setting) -> Result:
    """Joint allocation of one person's budget."""
    found = allocate(BLOCKS)
    steps = setting.pick(60, 12)
    best_grid, where = grid_best(steps)
    even = _total(np.full(3, 1 / 3))
    drawn = random_surveys(setting.pick(10, 2), setting.pick(24, 8))
    shares = np.linspace(0.2, 0.65, setting.pick(31, 7))
    rest = found.shares[1:] / found.shares[1:].sum()
    curve = [_total(np.append(share, (1 - share) * rest)) for share in shares]
    each = found.some_each
    rows = [
        (name, float(share), float(fraction))
        for name, share, fraction in zip(
            found.names, found.shares, each.fractions, strict=True
        )
    ]
    titles = (
        "Error against the first question's share",
        "share",
        "weighted total error",
    )
    return Result(
        "New: joint allocation",
        "Three questions to the same people: Table II's diagnosis; a page (budgets 2, 2.4, 4, 100 "
        "items, weight .05); an income (epsilon 2, weight 3). Split: everybody answers all, "
        "question j with the share g_j of its budgets. One each: everybody answers one, drawn.",
        [
            Claim(
                "All shares and tables are one convex program; no point of a grid beats it.",
                SOURCE,
                found.value <= best_grid * (1 + 1e-9) and drawn.max() <= 1e-9,
                f"{found.value:.4f} (proven to a relative {found.relative_gap:.0e}); the best of a "
                f"grid of {steps} steps {best_grid:.4f} at {_said(where)}; equal shares "
                f"{even:.4f}. On {drawn.size} random surveys the program is {-drawn.max():.1e} to "
                f"{-drawn.min():.1e} below the best grid point, relatively.",
            ),
            Claim(
                "The shares are .416, .296 and .288, the error 125.735.",
                SOURCE,
                np.round(found.shares, 3).tolist() == [0.416, 0.296, 0.288]
                and round(found.value, 3) == 125.735,
                f"{_said(found.shares)}; {found.value:.4f}.",
            ),
            Claim(
                "Asking each person one question beats splitting the budget.",
                SOURCE,
                each.value < found.value,
                f"Noise alone {each.noise_value:.3f} against {found.value:.3f}; with what it costs "
                f"not to ask everybody at most {each.value:.3f}.",
            ),
        ],
        [
            Table(
                "Best designs", ("question", "share of budget", "share of people"), rows
            )
        ],
        [lines(shares, {"split": curve}, titles, log_y=False)],
    )


def grid_best(steps: int, blocks=BLOCKS) -> tuple[float, np.ndarray]:
    """The smallest total error over all shares that are multiples of ``1 / steps``."""
    tables = [_errors(block, steps) for block in blocks]
    cuts = [(i, j) for i in range(1, steps - 1) for j in range(i + 1, steps)]
    parts = np.array([[b - a for a, b in pairwise((0, *cut, steps))] for cut in cuts])
    total = sum(table[parts[:, k] - 1] for k, table in enumerate(tables))
    best = int(np.argmin(total))
    return float(total[best]), parts[best] / steps


def random_surveys(surveys: int, steps: int) -> np.ndarray:
    """Relative excess of the program over the best grid point, for random questions."""
    rng = np.random.default_rng(13)
    excess = []
    for _ in range(surveys):
        blocks = [
            choice_curve(
                str(j),
                PrivacyPolicy(rng.uniform(1, 4, 3), rng.integers(1, 30, 3)),
                float(rng.uniform(0.1, 3)),
            )
            for j in range(3)
        ]
        found: Allocation = allocate(blocks)
        excess.append(found.value / grid_best(steps, blocks)[0] - 1)
    return np.array(excess)


def _errors(block, steps: int) -> np.ndarray:
    """Weighted error of a question with 1, 2, ... of ``steps`` parts of the budget."""
    return np.array([block.weight * block.at(k / steps).error for k in range(1, steps)])


def _total(shares: np.ndarray) -> float:
    pairs = zip(BLOCKS, shares, strict=True)
    return float(
        sum(block.weight * block.at(float(share)).error for block, share in pairs)
    )


def _said(shares: np.ndarray) -> str:
    return ", ".join(f"{share:.3f}" for share in shares)


if __name__ == "__main__":
    main(reproduce)
