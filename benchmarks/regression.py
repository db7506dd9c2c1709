"""How often limits of a regression hold what is true: deployed draws, at 95 %.

Run: python benchmarks/regression.py [DRAWS]. People are drawn at random, by their age and region;
who has the answer follows a logit model of both. Each draw is of the counts by pattern, which have
the law that everybody's report would give; no report is made. A row is a setting, with the share
of its draws in which the limits of each coefficient hold the true one, and those of the average
effect of a region and of the predicted share. A coefficient's limits hold the truth where the score
there, which they invert, is within 1.96 standard errors of 0: so no limit is searched for. What
finds no fit counts as held by none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from measure import LONG, Figure, show

from planner.arrays import Array
from planner.errors import ConvergenceError
from planner.estimates.counts import reach
from planner.estimates.regression import Effect, PatternSums, Regression, fit
from planner.mechanisms.asking import CollectedLaw
from planner.mechanisms.outcomes import outcome_names, outcome_of
from planner.planning.plan import plan_survey
from planner.survey.choices import Categorical
from planner.survey.levels import Level
from planner.survey.survey import Survey

DRAWS = 20_000 if LONG else 2000
CONFIDENCE = 0.95
NAMES = ("constant", "age", "south")
TRUTH = np.array([-1.0, 0.3, -0.5])  # in logarithms of odds; an age is in decades
SOUTH_SHARE = 0.4
WEIGHTS = (1.0, 2.5)  # of a person in the north, and in the south


def design() -> Array:
    """Five ages in two regions: the constant, the age in decades, and 1 in the south."""
    ages = np.repeat([2.0, 3.0, 4.0, 5.0, 6.0], 2) - 4.0
    south = np.tile([0.0, 1.0], 5)
    return np.column_stack([np.ones(10), ages, south])


def share_of(matrix: Array) -> Array:
    """Shares of the people of each pattern who have the answer."""
    return 1 / (1 + np.exp(-matrix @ TRUTH))


@dataclass(frozen=True)
class Setting:
    """People, the budget of the answer that is modelled, levels in all, and if people weigh."""

    people: int
    budget: float
    levels: int
    weighted: bool

    @property
    def name(self) -> str:
        """In words."""
        levels = "one level" if self.levels == 1 else f"{self.levels} levels"
        weights = "weights" if self.weighted else "no weights"
        return f"{self.people:,} people, budget {self.budget:g}, {levels}, {weights}"

    def law(self) -> CollectedLaw:
        """What a plan deploys for four answers, of which the first is modelled."""
        if self.levels == 1:
            levels = (Level("all", self.budget, ("ill", "well", "unsure", "other")),)
        else:
            levels = (
                Level("low", self.budget, ("ill",)),
                Level("middle", 1.5 * self.budget, ("well",)),
                Level("high", 2 * self.budget, ("unsure", "other")),
            )
        question = Categorical("q", levels)
        survey = Survey("s", self.people, (question,))
        return plan_survey(survey).question("q").law

    def weights(self, matrix: Array) -> Array:
        """What a person of each pattern counts for."""
        if not self.weighted:
            return np.ones(len(matrix))
        return np.where(matrix[:, 2] == 1, WEIGHTS[1], WEIGHTS[0])


SETTINGS = tuple(
    Setting(people, budget, levels, weighted)
    for people, budget, levels, weighted in product(
        (2000, 20_000), (1.0, 4.0), (1, 3), (False, True)
    )
)


def fits(
    setting: Setting, draws: int, rng: np.random.Generator
) -> Sequence[Regression | None]:
    """Models of so many collections; None where no finite coefficients fit."""
    law = setting.law()
    matrix = design()
    ill = share_of(matrix)
    others = np.outer(1 - ill, [0.5, 0.3, 0.2])
    # Chances of each pattern and answer, (patterns, answers).
    of_pattern = np.where(matrix[:, 2] == 1, SOUTH_SHARE, 1 - SOUTH_SHARE) / 5
    chances = of_pattern[:, None] * np.column_stack([ill, others])
    weights = setting.weights(matrix)
    name = outcome_names(law)[0]
    fitted: list[Regression | None] = []
    for _ in range(draws):
        people = rng.multinomial(setting.people, chances.ravel()).reshape(10, 4)
        aggregates = [law.shape.draw_aggregate(row, rng) for row in people]
        total = aggregates[0]
        for counted in aggregates[1:]:
            total = total + counted
        shares = np.clip(law.shape.estimate(total).values / total.users, 0.0, 1.0)
        outcome = outcome_of(law, name, shares)
        sums = outcome.pattern_sums(aggregates)
        fitted.append(_fit(matrix, sums, outcome.variance, weights))
    return fitted


def _fit(
    matrix: Array,
    sums: PatternSums,
    variance: Callable[[Array], Array],
    weights: Array,
) -> Regression | None:
    try:
        return fit(NAMES, matrix, sums, variance, "logit", weights, CONFIDENCE)
    except ConvergenceError:
        return None


def held(setting: Setting, draws: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Shares of the draws whose limits hold the truth, and the share without a fit.

    Of the three coefficients, the average effect of the south, and the share of everybody. Both
    averages are over the patterns of the people who reported, as they are stated.
    """
    matrix = design()
    north = matrix * [1, 1, 0]
    south = north.copy()
    south[:, 2] = 1
    count = np.zeros(5)
    unfitted = 0
    for fitted in fits(setting, draws, rng):
        if fitted is None:
            unfitted += 1
            continue
        people = fitted.sums.people * fitted.equations.weights
        people = people / people.sum()
        effect = fitted.average_effect("south", south, north)
        everybody = fitted.predicted("everybody", matrix)
        true_effect = float(people @ (share_of(south) - share_of(north)))
        true_share = float(people @ share_of(matrix))
        for k, coefficient in enumerate(TRUTH):
            distance = fitted.equations.score_statistic(
                k, coefficient, fitted.coefficients
            )
            count[k] += abs(distance) <= reach(CONFIDENCE)
        count[3] += holds(effect, true_effect)
        count[4] += holds(everybody, true_share)
    return count / draws, unfitted / draws


def holds(effect: Effect, truth: float) -> bool:
    """Whether the limits of an estimate hold what is true."""
    return effect.lower <= truth <= effect.upper


def figures(draws: int | None = None) -> list[Figure]:
    """Every setting; missed if a share is outside 94 to 96 % by more than draws explain."""
    number = DRAWS if draws is None else draws
    rows = []
    for k, setting in enumerate(SETTINGS):
        shares, unfitted = held(setting, number, np.random.default_rng(k))
        allowed = 0.01 + 3 * np.sqrt(CONFIDENCE * (1 - CONFIDENCE) / number)
        met = bool(np.abs(shares - CONFIDENCE).max() <= allowed)
        text = ", ".join(f"{share:.3f}" for share in shares)
        if unfitted:
            text += f"; {unfitted:.1%} without a fit"
        rows.append(Figure(f"regression: {setting.name}", text, "0.94 to 0.96", met))
    return rows


if __name__ == "__main__":
    show(figures(int(sys.argv[1]) if len(sys.argv) > 1 else None))
