import numpy as np
import pytest
from scipy.optimize import minimize

from planner.errors import InputError
from planner.estimates.counts import Estimates
from planner.mechanisms.unary import UnaryMechanism
from tests.mechanisms.decisions import mean_is


def random_estimates(rng, size=6):
    errors = rng.uniform(1, 30, size)
    return Estimates(rng.normal(30, 40, size), errors, errors, users=100)


@pytest.mark.parametrize("seed", range(20))
def test_weighted_projection_is_the_nearest_point(seed):
    estimates = random_estimates(np.random.default_rng(seed))
    values = estimates.on_simplex().values
    assert values.min() >= 0
    assert values.sum() == pytest.approx(100, rel=1e-12)

    def distance(x):
        return np.sum(np.square((x - estimates.values) / estimates.standard_errors))

    solver = minimize(
        distance,
        np.full(6, 100 / 6),
        bounds=[(0, None)] * 6,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 100},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert distance(values) <= solver.fun * (1 + 1e-9) + 1e-9
    np.testing.assert_allclose(values, solver.x, atol=1e-3)


def test_projection_gives_way_where_the_estimate_is_unsure():
    estimates = Estimates([60, 50], [1, 3], [1, 3], users=100)
    np.testing.assert_allclose(estimates.on_simplex().values, [59, 41])
    already = Estimates([60, 40], [1, 3], [1, 3], users=100)
    np.testing.assert_allclose(already.on_simplex().values, [60, 40])


def test_weights_do_not_grow_with_the_count_itself():
    """Large counts must not pay for the noise of the many items that nobody has."""
    mechanism, rng = UnaryMechanism.oue(6.0, items=1000), np.random.default_rng(2)
    truth = np.append(np.full(995, 0), np.full(5, 2000))
    squares = np.zeros(3)
    for _ in range(20):
        raw = mechanism.estimate(mechanism.draw_aggregate(truth, rng))
        before = Estimates(raw.values, np.ones(1000), raw.standard_errors, raw.users)
        ways = (raw.values, raw.on_simplex().values, before.on_simplex().values)
        squares += [float(np.sum((values - truth) ** 2)) for values in ways]
    assert 2 * squares[1] < squares[0]
    assert squares[2] > 2 * squares[1]  # weights by each count's own error


def test_post_processing_says_what_it_did():
    estimates = random_estimates(np.random.default_rng(0))
    assert "unbiased" in estimates.clipped().method
    assert "simplex" in estimates.on_simplex().method


def covering(simultaneous):
    """Whether the intervals of 4000 runs covered, per run and item."""
    mechanism, rng = UnaryMechanism.oue(1.0, items=5), np.random.default_rng(1)
    truth = np.array([5000, 3000, 1500, 499, 1])
    runs = []
    for _ in range(4000):
        estimates = mechanism.estimate(mechanism.draw_aggregate(truth, rng))
        lower, upper = estimates.intervals(0.9, simultaneous)
        runs.append((lower <= truth) & (truth <= upper))
    return np.array(runs)


def test_pointwise_intervals_cover_each_count():
    covered = covering(simultaneous=False).astype(float)
    assert mean_is(covered, 0.9)
    assert not mean_is(covered, 0.85)


def test_simultaneous_intervals_cover_all_counts_together():
    together = covering(simultaneous=True).all(axis=1).astype(float)
    assert mean_is(together, (1 - 0.1 / 5) ** 5)  # five independent counts
    assert not mean_is(together, 0.8)


def test_absent_items_are_rarely_significant():
    mechanism, rng = UnaryMechanism.oue(1.0, items=5), np.random.default_rng(2)
    truth = np.array([10_000, 0, 0, 0, 0])
    runs = [mechanism.estimate(mechanism.draw_aggregate(truth, rng)) for _ in range(4000)]
    alarms = np.array([run.significant(0.9)[1:].any() for run in runs], dtype=float)
    assert mean_is(alarms, 1 - (1 - 0.1 / 5) ** 4)
    assert all(run.significant(0.999)[0] for run in runs)


@pytest.mark.parametrize(
    "columns",
    [
        ([], [], []),
        ([1.0], [1.0, 2.0], [1.0]),
        ([np.nan], [1.0], [1.0]),
        ([1.0], [-1.0], [1.0]),
        ([[1.0]], [[1.0]], [[1.0]]),
    ],
)
def test_bad_columns_are_refused(columns):
    with pytest.raises(InputError, match="must be"):
        Estimates(*columns, users=3)


def test_bad_levels_and_users_are_refused():
    with pytest.raises(InputError, match="users"):
        Estimates([1.0], [1.0], [1.0], users=0)
    for level in (0, 1, 95, float("nan")):
        with pytest.raises(InputError, match="level"):
            Estimates([1.0], [1.0], [1.0], users=1).intervals(level)
