"""A channel checks itself: shapes, row sums, unbiasedness; and says what it is."""

import numpy as np
import pytest

from planner.designs.channel import Channel, Scenario
from planner.errors import InputError
from planner.policy.policy import PrivacyPolicy

KEEP = 0.75
MATRIX = np.array([[KEEP, 1 - KEEP], [1 - KEEP, KEEP]])
POLICY = PrivacyPolicy([np.log(3)] * 2, [1, 1], names=["no", "yes"])
ESTIMATOR = (np.array([[0.0, 1.0]]) - (1 - KEEP)) / (2 * KEEP - 1)


def response(**changed):
    about = {
        "policy": POLICY,
        "wanted": [[0, 1]],
        "wanted_names": ("share of yes",),
        "matrix": MATRIX,
        "estimator": ESTIMATOR,
    }
    return Channel(**{**about, **changed})


def test_error_of_randomised_response():
    half = Scenario("half", [0.5, 0.5], np.eye(1))
    drawn = Scenario("half, drawn", [0.5, 0.5], np.eye(1), drawn=True)
    channel = response(scenarios=(half, drawn))
    noise = KEEP * (1 - KEEP) / (2 * KEEP - 1) ** 2
    assert channel.errors == pytest.approx([noise, noise + 0.25])
    assert channel.worst_error == pytest.approx(noise + 0.25)
    assert channel.covariance([0.2, 0.8]) == pytest.approx(np.array([[noise]]))
    assert channel.max_violation < 1e-12
    loose = response(policy=PrivacyPolicy([0.5] * 2, [1, 1]))
    assert loose.max_violation == pytest.approx(np.log(3) - 0.5)


def test_simulated_reports_have_the_stated_mean_and_variance():
    """Two z tests on 200,000 people, |z| < 5.1 each: false alarms below 7e-7 together."""
    rng, n, share = np.random.default_rng(5), 200_000, 0.3
    scenario = Scenario("some", [1 - share, share], np.eye(1), drawn=True)
    channel = response(scenarios=(scenario,))
    people = rng.random(n) < share
    reports = rng.random(n) < MATRIX[people.astype(int), 1]
    values = channel.estimator[0][reports.astype(int)]
    error = channel.error(scenario)
    fourth = np.mean((values - share) ** 4)
    assert abs(values.mean() - share) < 5.1 * np.sqrt(error / n)
    spread = np.sqrt((fourth - error**2) / n)
    assert abs(np.mean((values - share) ** 2) - error) < 5.1 * spread
    assert abs(values.mean() - share - 0.02) > 5.1 * np.sqrt(error / n)  # a near miss is seen


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"matrix": MATRIX[:, :1]}, "estimator"),
        ({"matrix": MATRIX * 0.99}, "matrix"),
        ({"estimator": ESTIMATOR + 1e-6}, "estimator"),
        ({"wanted": [[0, 1, 2]]}, "wanted"),
    ],
)
def test_refusals(changed, argument):
    with pytest.raises(InputError, match=argument):
        response(**changed)


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"population": [0.5, 0.6]}, "population"),
        ({"population": [1.5, -0.5]}, "population"),
        ({"directions": [1.0]}, "directions"),
        ({"cap": 0.0}, "cap"),
    ],
)
def test_scenarios_refuse(changed, argument):
    about = {"name": "half", "population": [0.5, 0.5], "directions": np.eye(1)}
    with pytest.raises(InputError, match=argument):
        Scenario(**{**about, **changed})


def test_what_it_says():
    channel = response()
    assert channel.summary == "Channel from 2 symbols to 2 reports."
    assert list(channel.to_frame().columns) == ["report", "share of yes", "p(no)", "p(yes)"]
    assert "2 symbols" in channel._repr_html_()
