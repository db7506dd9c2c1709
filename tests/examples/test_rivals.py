"""What is compared with: mechanisms err as predicted, the paper's own opt0 pays for its box.

Means and mean squares of thousands of collections; false alarms 1e-6, near misses are seen.
"""

import numpy as np
import pytest
from scipy.optimize import linprog

from examples.reproduction.rivals import (
    COLLECTIONS,
    TwoCoins,
    harmony,
    hybrid,
    piecewise,
    privkvm,
)
from planner import PrivacyPolicy, SamplingPrivacy, randomized_response
from planner.mechanisms import rivals
from planner.policy import logodds
from tests.mechanisms.decisions import mean_is, mean_square_is

ERRORS = {
    harmony: rivals.harmony_variance,
    piecewise: rivals.piecewise_variance,
    hybrid: rivals.hybrid_variance,
}


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
@pytest.mark.parametrize(
    ("report", "predicted"), ERRORS.items(), ids=lambda one: one.__name__
)
def test_reports_are_unbiased_and_as_variable_as_published(report, predicted, epsilon):
    rng = np.random.default_rng(int(10 * epsilon))
    people = 400_000
    for value in (-1.0, 0.3, 1.0):
        seen = report(np.full(people, value), epsilon, rng)[:, None]
        variance = float(predicted(epsilon, value**2))
        assert mean_is(seen, np.array([value]))
        assert not mean_is(seen, np.array([value + 0.1 * np.sqrt(variance)]))
        assert mean_square_is(seen - value, np.array([variance]))
        assert not mean_square_is(seen - value, np.array([1.15 * variance]))


def test_hybrid_begins_where_piecewise_becomes_better():
    threshold = rivals.HYBRID_THRESHOLD
    assert rivals.piecewise_variance(threshold) == pytest.approx(
        rivals.harmony_variance(threshold), rel=1e-9
    )
    assert rivals.hybrid_variance(threshold - 1e-6) == rivals.harmony_variance(
        threshold - 1e-6
    )


def test_privkvm_errs_as_its_slopes_say():
    epsilon = 1.0
    rate = 0.4
    people = 5000
    runs = 4000
    rng = np.random.default_rng(7)
    said = privkvm(epsilon, rate, 0.5)
    collect = COLLECTIONS["PrivKVM"]
    estimates = np.empty((runs, 2))
    for run in range(runs):
        values = np.where(
            rng.random(people) < rate, rng.choice([0.2, 0.8], people), np.nan
        )
        estimates[run] = collect(values, epsilon, rng)
    for column, truth, variance in (
        (0, 0.5 + said.mean_bias, said.mean_variance),
        (1, 1 - rate, said.missing_variance),
    ):
        errors = estimates[:, [column]] - truth
        assert abs(errors.mean()) < 0.1 * np.sqrt(variance / people)
        assert mean_square_is(errors, np.array([variance / people]))
        assert not mean_square_is(errors, np.array([1.15 * variance / people]))


def test_privkvm_has_less_bias_with_more_iterations():
    biases = [abs(privkvm(1.0, 0.3, 0.5, steps).mean_bias) for steps in (0, 1, 5, 200)]
    assert biases == sorted(biases, reverse=True)
    assert biases[-1] < 1e-6


@pytest.mark.parametrize("name", ["Harmony TOP", "PM TOP", "Harmony RND", "PM RND"])
def test_forced_answers_are_fake_ones_where_there_are_none(name):
    values = np.where(np.arange(200_000) % 4, 0.5, np.nan)
    if name.endswith("TOP"):
        fake = 1.0
    else:
        fake = 0.0
    rng = np.random.default_rng(1)
    mean, missing = COLLECTIONS[name](values, 2.0, rng)
    assert missing is None
    assert abs(mean - (0.75 * 0.5 + 0.25 * fake)) < 4.9 * np.sqrt(2 / values.size)


# -- direct encoding, two coins --------------------------------------------------

POLICY = PrivacyPolicy([0.8, 2.0], [2, 3], rule="avg")
LEVELS = np.array([0, 0, 1, 1, 1])


def test_direct_encoding_is_the_largest_truth_of_the_linear_program():
    a, b = rivals.direct_encoding(POLICY)
    gain = np.expm1(POLICY.room(np.zeros(2)))[LEVELS]
    # Variables q_1 .. q_m, d: maximise d with d <= gain_j q_j and total 1.
    rows = np.hstack([-np.diag(gain), np.ones((5, 1))])
    answer = linprog(
        [0] * 5 + [-1], rows, np.zeros(5), np.ones((1, 6)), [1], bounds=[(0, 1)] * 6
    )
    assert (a - b)[LEVELS] == pytest.approx(-answer.fun, abs=1e-9)
    expected = answer.x[:5]
    assert b[LEVELS] == pytest.approx(expected, abs=1e-8)
    policy = PrivacyPolicy([1.0, 3.0], [2, 4])
    a, b = rivals.direct_encoding(policy)
    own_chance, other = randomized_response(
        1.0, 6
    ).shape.chances  # which it is under the rule min
    expected = [*own_chance[:2], *other[:2]]
    assert [*a, *b] == pytest.approx(expected, abs=1e-8)


def test_no_other_direct_encoding_has_a_smaller_worst_case():
    a, b = (column[LEVELS] for column in rivals.direct_encoding(POLICY))
    rng = np.random.default_rng(5)
    noise, signal = logodds.noise_and_signal(a, b)
    best = noise.sum() + signal.max()
    gain = np.expm1(POLICY.room(np.zeros(2)))[LEVELS]
    for _ in range(2000):
        z = 1 / gain * (1 + rng.exponential(rng.choice([1e-3, 0.1, 1]), 5))
        d = 1 / (1 + z.sum())
        q = z * d
        value = np.sum(q * (1 - q)) / d**2 + np.max((1 - 2 * q - d) / d)
        assert value >= best * (1 - 1e-6)


def test_two_coins():
    """The loss is that of the answer that tells more; figures of the paper's section 5."""
    assert np.exp(TwoCoins(0.8, 0.2).privacy_loss()) == pytest.approx(21)
    assert np.exp(TwoCoins(0.8, 0.7).privacy_loss()) == pytest.approx(0.86 / 0.06)
    coins = TwoCoins(0.6, 0.3)
    rng = np.random.default_rng(3)
    runs = 200_000
    (_, a), (_, b) = coins.chances
    ones = rng.binomial(300, a, runs) + rng.binomial(700, b, runs)
    errors = ((ones - 1000 * b) / (a - b) - 300)[:, None]
    assert mean_is(errors, np.zeros(1))
    variance = coins.variance(700, 300)
    assert mean_square_is(errors, np.array([variance]))
    variance = coins.variance(700, 300)
    assert not mean_square_is(errors, np.array([1.05 * variance]))
    assert (
        SamplingPrivacy(0.45, 0.275, [0.275]).output_losses.max() < coins.privacy_loss()
    )
