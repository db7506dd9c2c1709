"""Figure 3 of the BiSample paper: privacy preferences and the rate of true answers."""

from __future__ import annotations

import numpy as np
from reproduction.charts import bars, lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import NormalPreferences

USERS = 100_000
SOURCE = "section 5.2, figure 3"


def reproduce(setting: Setting) -> Result:  # noqa: ARG001 - small as it is
    """Figure 3 of the BiSample paper."""
    tolerated = np.random.default_rng(3).normal(5, 1.5, USERS)
    counts, edges = np.histogram(tolerated, bins=np.arange(-2, 12.5, 0.5))
    epsilons = np.arange(0, 10.5, 0.5)
    counted = np.array([np.mean(tolerated >= epsilon) for epsilon in epsilons])
    rate = NormalPreferences(5, 1.5).answer_rate(epsilons)
    gap = float(np.abs(counted - rate).max())
    return Result(
        "BiSample, figure 3: who answers",
        f"{USERS:,} people tolerate N(5, 1.5); who tolerates less than epsilon does not answer.",
        [
            Claim(
                "With a small epsilon most people answer, with a large one few.",
                SOURCE,
                bool(rate[2] > 0.9 and rate[16] < 0.1 and np.all(np.diff(rate) < 0)),
                f"{rate[2]:.1%} at epsilon 1, {rate[10]:.1%} at 5, {rate[16]:.1%} at 8.",
            ),
            Claim(
                "The rate follows from the distribution of preferences.",
                SOURCE,
                gap < 2.7 / np.sqrt(USERS),  # Dvoretzky-Kiefer-Wolfowitz: 1e-6
                f"Counted and computed differ by at most {gap:.4f}.",
            ),
        ],
        [
            Table.over(
                "Rate of true answers",
                "epsilon",
                epsilons,
                {"counted": counted, "computed": rate},
            )
        ],
        [
            bars(
                [f"{left:g}" for left in edges[:-1]],
                {"people": counts},
                ("Figure 3 (a): tolerated epsilon", "epsilon, from", "people"),
            ),
            lines(
                epsilons,
                {"computed": rate},
                ("Figure 3 (b): rate of true answers", "epsilon", "share of people"),
                measured={"computed": counted},
                log_y=False,
            ),
        ],
    )


if __name__ == "__main__":
    main(reproduce)
