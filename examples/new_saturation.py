"""New result: the saturation point, beyond which budget buys nothing."""

from __future__ import annotations

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.run import main

from planner import PrivacyPolicy, solve

FACTORS = np.array([1.0, 1.2, 2.0])


def reproduce(setting: Setting) -> Result:
    """Where the default setting saturates, and the error beyond."""
    epsilons = setting.pick([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], [0.5, 2, 4])
    used = np.array(
        [solve(_policy(epsilon)).saturation_epsilon for epsilon in epsilons]
    )
    largest = 2 * np.array(epsilons)
    tops = np.linspace(1.2, 2.6, setting.pick(57, 15))
    errors = np.array([solve(_policy(1, top)).worst_case_mse for top in tops])
    point = float(solve(_policy(1)).saturation_epsilon)
    beyond = errors[tops > point]
    slope = np.diff(errors)[tops[1:] < point]
    columns = {
        "largest budget": largest,
        "saturates at": used,
        "used": [f"{share:.0%}" for share in used / largest],
    }
    return Result(
        "New: the saturation point",
        "Budgets e, 1.2 e, 2 e for 5, 5 and 90 items, rule min. A level with more budget than the "
        "saturation point has the same probabilities as one with exactly that much.",
        [
            Claim(
                "The gain of MinID-LDP is bounded by 2 min(E): larger budgets are void.",
                "ID-LDP, Lemma 1 and section VII",
                bool(np.all(used <= largest + 1e-9)),
                f"For the error the bound is lower: the default setting saturates at "
                f"{np.min(used / epsilons):.2f} to {np.max(used / epsilons):.2f} times the "
                f"smallest budget.",
            ),
            Claim(
                "Beyond the saturation point budget buys nothing, below it does.",
                "this project",
                bool(np.ptp(beyond) < 1e-9 * beyond[0] and np.all(slope < 0)),
                f"At e = 1 the point is {point:.4f}. With the third budget from {tops[0]:g} to "
                f"there the error falls from {errors[0]:.2f} to {beyond[0]:.2f}; up to "
                f"{tops[-1]:g} it moves by a relative {np.ptp(beyond) / beyond[0]:.0e}.",
            ),
        ],
        [Table.over("Default setting", "epsilon", epsilons, columns)],
        [
            lines(
                tops,
                {"certified optimum": errors},
                (
                    "Error against the largest budget, e = 1",
                    "third budget",
                    "worst-case MSE / n",
                ),
                log_y=False,
            )
        ],
    )


def _policy(epsilon: float, top: float | None = None) -> PrivacyPolicy:
    budgets = epsilon * FACTORS
    if top is not None:
        budgets[2] = top
    return PrivacyPolicy(budgets, [5, 5, 90])


if __name__ == "__main__":
    main(reproduce)
