"""Multipliers prove no more than is true, whatever they are, and saddle points meet every
condition of optimality."""

import numpy as np
import pytest

from planner.policy.policy import PrivacyPolicy
from planner.solvers.channel_search import ChannelProblem
from planner.solvers.game import GameColumns, Multipliers, lower_bound, ratios, worst
from planner.solvers.generation import fewest
from planner.solvers.saddle import saddle, second_order
from tests.solvers.questions import cumulative, random_question, rays_of, worst_case

EPSILONS = [0.8, 1.1, 1.9, 2.0]


def question(rng, *, common):
    """A game and all of its columns."""
    policy = PrivacyPolicy(EPSILONS, [1] * 4)
    numbers = cumulative(4)
    if common:
        asked_for = (numbers, worst_case(numbers))
    else:
        asked_for = random_question(rng)
    asked = ChannelProblem(policy, *asked_for)
    return asked.game, asked.columns(rays_of(policy))


@pytest.mark.parametrize("common", [True, False])
def test_a_saddle_point_meets_every_condition(common):
    rng = np.random.default_rng(4)
    game, columns = question(rng, common=common)
    answer = saddle(game, columns, 1e-11)
    theta = answer.weights
    sigma = answer.multipliers.scenarios
    assert (theta >= 0).all()
    assert columns.sums.T @ theta == pytest.approx(1, abs=1e-9)
    assert game.free @ sigma == pytest.approx(1, abs=1e-9)
    multipliers = answer.multipliers
    ratio = ratios(game, multipliers, columns)
    assert ratio.max() == pytest.approx(1, abs=1e-7)
    assert theta @ (1 - ratio) == pytest.approx(0, abs=1e-8)
    assert lower_bound(game, multipliers, ratio.max()) == pytest.approx(
        answer.value, rel=1e-7
    )
    assert lower_bound(game, multipliers, 1.0) <= answer.value * (1 + 1e-9)


def test_few_columns_have_the_same_sums():
    """As many as there are sums that do not follow from each other."""
    rng = np.random.default_rng(6)
    rows = rng.random((6, 40))
    weights = rng.random(40)
    rows[5] = rows[0] + 1e6 * rows[1]
    live, left = fewest(rows, weights)
    assert live.size == 5
    assert left.min() > 0
    assert rows[:, live] @ left == pytest.approx(rows @ weights, rel=1e-9)


@pytest.mark.parametrize("seed", [21, 57, 75, 82, 102, 115, 225])
def test_columns_alike_leave_the_sums_as_they_were(seed):
    """What tells columns apart is then differences of directions that are noise: off by 0.3 %."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.random((11, 23)), 2, axis=1)
    weights = np.repeat(10.0 ** rng.uniform(-8, 0, 23), 2)
    live, left = fewest(rows, weights)
    assert live.size < 23
    assert rows[:, live] @ left == pytest.approx(rows @ weights, rel=2e-7)


@pytest.mark.parametrize("common", [True, False])
def test_derivatives_are_those_of_the_value(common):
    rng = np.random.default_rng(5)
    game, columns = question(rng, common=common)
    theta = rng.uniform(0.5, 1, len(columns.sums))
    sigma = rng.uniform(0.5, 1, len(game.free))

    now = second_order(game, columns, theta, sigma)
    step = 1e-6
    for _ in range(3):  # along random directions of both
        p = rng.normal(size=theta.size)
        q = rng.normal(size=sigma.size)
        up = second_order(game, columns, theta + step * p, sigma + step * q)
        down = second_order(game, columns, theta - step * p, sigma - step * q)
        slopes = {
            "value": q @ (now.errors + game.offsets) - p @ now.charges,
            "charges": -now.curvature.times(p) - now.X @ q,
            "errors": p @ now.X + now.Y @ q,
        }
        for name, slope in slopes.items():
            difference = (getattr(up, name) - getattr(down, name)) / 2 / step
            close = 1e-6 * np.abs(slope).max()
            np.testing.assert_allclose(difference, slope, rtol=1e-5, atol=close)


@pytest.mark.parametrize("common", [True, False])
def test_wrong_multipliers_prove_less(common):
    """Anything of these shapes proves a bound: none is above the optimum, most far below."""
    rng = np.random.default_rng(6)
    game, columns = question(rng, common=common)
    answer = saddle(game, columns, 1e-11)
    right = answer.multipliers
    closest = -np.inf
    for size in np.geomspace(1e-6, 1, 60):
        wrong = Multipliers(
            tuple(block * rng.normal(1, size, block.shape) for block in right.alpha),
            right.rows * rng.normal(1, size, right.rows.shape),
            right.scenarios * np.abs(rng.normal(1, size, right.scenarios.shape)),
        )
        bound = lower_bound(game, wrong, float(ratios(game, wrong, columns).max()))
        assert bound <= answer.value
        closest = max(closest, bound)
        scaled = Multipliers(
            tuple(3 * block for block in wrong.alpha), wrong.rows, wrong.scenarios
        )
        if bound > -np.inf:  # multipliers times a number prove the same
            again = lower_bound(
                game, scaled, float(ratios(game, scaled, columns).max())
            )
            assert again == pytest.approx(bound, rel=1e-9)
    assert closest > answer.value * (1 - 1e-4)


def test_nothing_is_proven_by_multipliers_that_cover_nothing():
    rng = np.random.default_rng(0)
    game, columns = question(rng, common=True)
    multipliers = saddle(game, columns, 1e-9).multipliers
    for changed in (
        Multipliers(multipliers.alpha, -multipliers.rows, multipliers.scenarios),
        Multipliers(multipliers.alpha, multipliers.rows, 0 * multipliers.scenarios),
        Multipliers(
            tuple(-block for block in multipliers.alpha),
            multipliers.rows,
            multipliers.scenarios,
        ),
    ):
        assert lower_bound(game, changed, 1.0) == -np.inf
    assert (
        lower_bound(game, multipliers, np.inf)
        == lower_bound(game, multipliers, 0.0)
        == -np.inf
    )
    rows = multipliers.rows - 10 * np.eye(4)[0] * multipliers.rows.sum()
    uncovered = Multipliers(multipliers.alpha, rows, multipliers.scenarios)
    chosen, largest = worst(game, uncovered, columns, 3)
    assert largest == np.inf
    assert len(chosen.sums) == 3
    lacking = (
        chosen.sums @ uncovered.rows
    )  # those that lack most, not any with no ratio
    assert (lacking < 0).all()


def test_ratios_are_rounded_up():
    """Against exact fractions: never below the true ratio, and hardly above."""
    from fractions import Fraction

    rng = np.random.default_rng(8)
    game, columns = question(rng, common=True)
    multipliers = saddle(game, columns, 1e-9).multipliers
    exact = np.vectorize(Fraction)
    for o, ratio in enumerate(ratios(game, multipliers, columns)):
        moved = exact(columns.parts[0][o]) @ exact(multipliers.alpha[0])
        people = exact(columns.people[o]) @ exact(multipliers.scenarios)
        true = (
            (moved @ moved)
            / people
            / (exact(columns.sums[o]) @ exact(multipliers.rows))
        )
        assert true <= Fraction(float(ratio)) <= true * Fraction(1 + 1e-10)


def test_columns_join_once_and_stay_together():
    rng = np.random.default_rng(9)
    sums = rng.normal(size=(5, 2))

    def columns_of(key):
        return GameColumns((sums + 1,), sums + 2, sums, key)

    columns = columns_of(np.zeros((5, 0), dtype=np.int64))
    both = columns.take(np.arange(3)).joined(columns.take(np.array([1, 2, 3, 4])))
    assert len(both.sums) == 5
    assert np.array_equal(both.parts[0], both.sums + 1)
    assert np.array_equal(both.people, both.sums + 2)
    numbered = columns_of(np.arange(5)[:, None])
    alike = columns_of(np.ones((5, 1)))
    assert len(numbered.joined(alike).sums) == 9
