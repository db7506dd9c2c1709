"""Figure 3 of the Sampling Privacy paper: privacy loss against the coins."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.rivals import TwoCoins
from reproduction.run import main
from reproduction.sampling import COINS, SAMPLING

from planner import SamplingPrivacy
from planner.mechanisms.sampling_privacy import difference_delta, smallest_epsilon

SOURCE = "section 5.2, figure 3"
LINKED_LOSS = inf  # who moves from none to a value has that value
GRID = [0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]


def reproduce(setting: Setting) -> Result:  # noqa: ARG001 - small as it is
    """Figure 3 of the Sampling Privacy paper."""
    two = coin_losses(GRID)
    one = sampling_losses(GRID)
    coins = COINS.privacy_loss()
    curves = {"two coins": two, "round two": one}
    quarter = 0.45 / (
        exp(coins / 4) - 1
    )  # the value's own pi_v with a quarter of the loss
    best = coins / float(SAMPLING.output_losses.max())
    claims = [
        Claim(
            "Randomized response at (.8, .2) has epsilon ln 21.",
            "appendix A, figure 3",
            abs(coins - log(21)) < 1e-9,
            f"{coins:.6f} = ln {exp(coins):.4f}.",
        ),
        Claim(
            "A larger second coin lowers the loss of randomized response.",
            SOURCE,
            bool(np.all(np.diff(two) < 0)),
            f"From {two[0]:.3f} to {two[-1]:.3f}; past .5 the answer No leaks more and it rises "
            f"again ({coin_losses([0.8])[0]:.3f} at .8).",
            "up to a second coin of .5" if np.all(np.diff(two) < 0) else "",
        ),
        Claim(
            "A larger pi_v raises the loss of Sampling Privacy.",
            SOURCE,
            bool(np.all(np.diff(one) > 0)),
            f"It falls, from {one[0]:.3f} to {one[-1]:.3f}: eq. 29 is ln((pi_v + pi_s) / pi_v).",
        ),
        Claim(
            "Sampling Privacy leaks less than randomized response.",
            SOURCE,
            coins > LINKED_LOSS,
            f"Round two alone, one value: {max(np.divide(one, two)):.0%} of the loss at most. Both "
            f"rounds of one person linked: infinite.",
            "for an observer who sees round two alone"
            if np.all(np.less(one, two))
            else "",
        ),
        Claim(
            "It leaks as much as four times less.",
            "section 6",
            bool(best >= 4),
            f"A quarter of ln 21 needs pi_v = {quarter:.4f}, and 1 - pi_s = .55 has room for "
            f"{int(0.55 / quarter)} such value. A yes/no question, both outputs counted, leaks "
            f"{best:.2f} times less at best.",
            "for one output, and an observer who sees round two alone"
            if quarter < 0.55
            else "",
        ),
    ]
    released = lambda epsilon: difference_delta(95, SAMPLING.sampling, epsilon)  # noqa: E731
    return Result(
        "Sampling Privacy, figure 3: privacy loss",
        "In nats. Two coins: the first .8, the second on the axis, both answers counted. Round "
        "two: eq. 29 for one value with pi_s = .45, its pi_v on the axis. (Figure 2, Gowalla: "
        "skipped, the data set is not in the folder.)",
        claims,
        [Table.over("Loss", "coin", GRID, curves)],
        [
            lines(
                GRID,
                curves,
                ("Figure 3: privacy loss", "pi_2, or pi_v", "nats"),
                log_y=False,
            )
        ],
        notes=[
            "If the estimates alone are released, of one value that 96 people have: epsilon "
            f"{smallest_epsilon(released, 1e-6):.4g} at delta 1e-6."
        ],
    )


def coin_losses(seconds: list[float]) -> list[float]:
    """Loss of randomized response with a first coin of .8, both outputs counted."""
    return [TwoCoins(0.8, second).privacy_loss() for second in seconds]


def sampling_losses(decoys: list[float]) -> list[float]:
    """Round-two loss of one value, eq. 29, at ``pi_s = .45``."""
    return [
        float(SamplingPrivacy(0.45, 0.55 - decoy, [decoy]).output_losses[1])
        for decoy in decoys
    ]


if __name__ == "__main__":
    main(reproduce)
