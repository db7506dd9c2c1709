"""Intervals from a channel's reports cover: ratios, bands, with few people and many."""

import numpy as np
import pytest

from planner.errors import InputError
from planner.estimates.channel import estimate_ordered, estimate_wanted
from planner.mechanisms.counting import Aggregate
from planner.mechanisms.means import MeanMechanism
from planner.mechanisms.rounding import drawn_channel
from planner.planning.channels import AssumedAnswers, best_channel, five_populations
from planner.planning.ordered import best_ordered_channel
from planner.policy.policy import PrivacyPolicy

ROUNDS = 3000
GRID = np.linspace(-1, 1, 5)
# Of 3,000 intervals at 95 %, fewer than 2,789 cover with a chance of 1e-6 (binomial).
FEWEST = 2789


def histograms(channel, population, users, seed):
    rng = np.random.default_rng(seed)
    return rng.multinomial(users, population @ channel.matrix, size=ROUNDS)


def estimate_mean(channel, counts):
    return MeanMechanism.of(channel).estimate(Aggregate(int(counts.sum()), counts)).mean


@pytest.mark.parametrize("users", [200, 200_000])
@pytest.mark.parametrize("missing", [0.1, 0.98])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_the_means_interval_covers(epsilon, missing, users):
    channel = drawn_channel(
        best_channel(epsilon, five_populations(missing=missing), tolerance=1e-4)
    )
    assumed = AssumedAnswers(0.5, 0.3, missing)
    population = assumed.scenario(GRID).population
    covered = 0
    for counts in histograms(channel, population, users, seed=int(users + 10 * epsilon)):
        mean = estimate_mean(channel, counts)
        covered += mean.lower <= assumed.mean <= mean.upper
    assert covered >= FEWEST


def test_the_first_order_interval_would_not_cover():
    """The near miss: two per cent answer; the ratio plus or minus 1.96 predicted errors."""
    channel = drawn_channel(best_channel(1.0, five_populations(missing=0.98), tolerance=1e-4))
    assumed = AssumedAnswers(0.5, 0.3, 0.98)
    population = assumed.scenario(GRID).population
    first_order = channel.error(assumed.scenario(GRID)) / 20_000
    covered = bounded = 0
    spread = []
    for counts in histograms(channel, population, 20_000, seed=4):
        mean = estimate_mean(channel, counts)
        bounded += mean.status == "bounded"
        if mean.value is not None:
            covered += abs(mean.value - assumed.mean) <= 1.96 * np.sqrt(first_order)
            spread.append((mean.value - assumed.mean) ** 2)
    assert covered < FEWEST
    assert bounded < 0.6 * ROUNDS  # the others' reports say that they cannot tell
    assert np.mean(spread) > 2 * first_order


def test_ordered_band_covers_and_consistency_helps():
    policy = PrivacyPolicy([1.0] * 6, [1] * 6, names=list("abcdef"))
    channel = best_ordered_channel(policy)
    population = np.array([0.05, 0.1, 0.4, 0.3, 0.15, 0.0])
    truth = np.cumsum(population)
    covered, median, raw, better = 0, 0, 0.0, 0.0
    for counts in histograms(channel, population, 2000, seed=5)[:1500]:
        one = estimate_ordered(channel, counts)
        lower, upper = one.band
        covered += bool((lower <= truth + 1e-12).all() and (truth <= upper + 1e-12).all())
        middle = one.quantile()
        median += middle.lower <= "c" <= middle.upper
        raw += np.sum((one.values - truth[:-1]) ** 2)
        better += np.sum((one.consistent - truth)[:-1] ** 2)
    assert covered >= 1380  # of 1,500 at 95 %: fewer with a chance of 1e-6
    assert median >= covered
    assert better < 0.95 * raw


def test_covariance_is_that_of_the_channel():
    channel = best_channel(2.0)
    scenario = channel.scenarios[1]
    chances = scenario.population @ channel.matrix
    counts = np.rint(10**9 * chances).astype(int)
    values, covariance, users = estimate_wanted(channel, counts)
    assert values == pytest.approx(channel.wanted @ scenario.population, abs=1e-6)
    expected = channel.covariance(scenario.population, drawn=True) / users
    assert covariance == pytest.approx(expected, rel=1e-6)


def test_refusals():
    channel = best_channel(1.0)
    good = np.full(channel.outputs, 5)
    for counts in (good[1:], good / 2, -good):
        with pytest.raises(InputError, match="counts"):
            estimate_wanted(channel, counts)
    with pytest.raises(InputError, match="one person"):
        estimate_wanted(channel, np.zeros(channel.outputs, dtype=int))
    alone = estimate_wanted(channel, np.eye(channel.outputs, dtype=int)[0])
    assert alone.users == 1
    assert np.diag(alone.covariance).min() > 1  # as if every report had been as likely
    with pytest.raises(InputError, match="channel"):
        estimate_ordered(channel, good)
