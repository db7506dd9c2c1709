"""New result: the best channel for a mean when people refuse, over all mechanisms."""

from __future__ import annotations

import numpy as np
from reproduction.charts import lines
from reproduction.result import Claim, Result, Setting, Table
from reproduction.rivals import privkvm
from reproduction.run import main

from planner import (
    AnswerRateModel,
    NormalPreferences,
    best_channel,
    channel_curve,
    five_populations,
)
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.making import mean_channel
from planner.mechanisms.rivals import mean_error
from planner.mechanisms.rounding import drawn_channel

SOURCE = "this project"
PEERS = ("BiSample-MD", "PrivKVM", "Harmony", "Piecewise", "Hybrid")
USERS = 100_000


def reproduce(setting: Setting) -> Result:
    """Errors of the mean against the budget, beside the known mechanisms."""
    epsilons = setting.pick([0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4], [1, 2])
    channels = [best_channel(epsilon, tolerance=1e-5) for epsilon in epsilons]
    errors = np.array([channel.worst_error for channel in channels])
    gap = max(channel.certificate.relative_gap for channel in channels)
    peers = {
        name: np.array([_worst(name, epsilon) for epsilon in epsilons])
        for name in PEERS
    }
    ratio = peers["BiSample-MD"] / errors
    covered, off = simulated(channels[epsilons.index(2)], setting.pick(2000, 300))
    model = AnswerRateModel(NormalPreferences(5, 1.5), USERS, mean=0.5, sd=0.3)
    curve = channel_curve(model, np.linspace(1, 7, setting.pick(60, 13)))
    ours = curve.best()
    theirs = model.best()
    bisample = model.curve(curve.epsilon).mean_rmse
    rmse = {"best channel": np.sqrt(errors / USERS)}
    rmse |= {name: np.array([max(_rmse(name, e)) for e in epsilons]) for name in PEERS}
    return Result(
        "New: the best mean when people refuse",
        "Answers normal around five means (-0.9 to 0.9), sd 0.3, those beyond an end moved to it; "
        "one in ten refuses. One channel on five grid points for all five; the largest error "
        f"counts. Root mean squared errors are for {USERS:,} people.",
        [
            Claim(
                "BiSample loses 1.3 times at budget 1 and 1.8 times at 2 to one channel for all.",
                SOURCE,
                [round(float(ratio[epsilons.index(e)]), 1) for e in (1, 2)]
                == [1.3, 1.8],
                f"Ratios of variances: {', '.join(f'{r:.2f}' for r in ratio)} at budgets "
                f"{', '.join(f'{e:g}' for e in epsilons)}; all proven to a relative {gap:.0e}.",
            ),
            Claim(
                "Fieller's interval covers, and the variance is as predicted.",
                SOURCE,
                covered > 0.95 - 5 * np.sqrt(0.05 * 0.95 / setting.pick(2000, 300))
                and abs(off - 1) < setting.pick(0.2, 0.45),
                f"{covered:.1%} of the 95 % intervals at budget 2 cover (20,000 people, mean 0.5); "
                f"mean squared error {off:.2f} times the predicted one.",
            ),
            Claim(
                "With the best channel a larger budget is best to ask for.",
                SOURCE,
                ours.epsilon > theirs.epsilon + 0.5 and ours.rmse < 0.5 * theirs.rmse,
                f"Normal preferences (5, 1.5): budget {ours.epsilon:.3g}, RMSE {ours.rmse:.4g}. "
                f"BiSample-MD: budget {theirs.epsilon:.3g}, RMSE {theirs.rmse:.4g}.",
            ),
        ],
        [
            Table.over(
                "Variance per person, worst of five",
                "epsilon",
                epsilons,
                {"best channel": errors, **peers},
            )
        ],
        [
            lines(
                epsilons, rmse, ("Error of the mean, 100,000 people", "budget", "RMSE")
            ),
            lines(
                curve.epsilon,
                {
                    "best channel": curve.channel_rmse,
                    "BiSample-MD": bisample,
                },
                ("Error against the budget asked for", "budget", "RMSE"),
            ),
        ],
        [
            "Harmony, Piecewise and Hybrid force an answer: their bias is in the RMSE, not in the "
            "variances of the table."
        ],
    )


def _worst(name: str, epsilon: float) -> float:
    return max(_peer(name, epsilon, one)[0] for one in five_populations())


def _rmse(name: str, epsilon: float) -> list[float]:
    errors = (_peer(name, epsilon, one) for one in five_populations())
    return [float(np.sqrt(variance / USERS + bias**2)) for variance, bias in errors]


def _peer(name, epsilon, assumed):
    """Variance per person and bias."""
    rate = 1 - assumed.missing
    if name == "PrivKVM":
        found = privkvm(epsilon, rate, assumed.moments[0])
        return found.mean_variance, found.mean_bias
    found = mean_error(name.lower(), epsilon, rate, *assumed.moments, "random")
    return tuple(map(float, found))


def simulated(channel, rounds: int) -> tuple[float, float]:
    """Share of intervals that cover, and squared error over the predicted one."""
    rng = np.random.default_rng(11)
    users = 20_000
    assumed = five_populations()[3]
    scenario = channel.scenarios[3]
    law = drawn_channel(channel).matrix
    reports = rng.multinomial(users, scenario.population @ law, size=rounds)
    mechanism = mean_channel(channel)
    means = [mechanism.estimate(Aggregate(users, counts)).mean for counts in reports]
    covered = np.mean([one.lower <= assumed.mean <= one.upper for one in means])
    square = np.mean([(one.value - assumed.mean) ** 2 for one in means])
    return float(covered), float(square * users / channel.error(scenario))


if __name__ == "__main__":
    main(reproduce)
