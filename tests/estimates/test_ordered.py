"""Rising cumulative shares, the band, quantiles."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import isotonic_regression

from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates, isotonic

NUMBERS = st.lists(st.floats(-2, 2), min_size=1, max_size=12)


@given(NUMBERS, st.integers(0, 2**31))
def test_isotonic_agrees_with_scipy(values, seed):
    weights = np.random.default_rng(seed).uniform(0.1, 3, len(values))
    expected = isotonic_regression(values, weights=weights).x
    assert isotonic(values, weights) == pytest.approx(expected, abs=1e-12)


def estimates(values, errors, **changed):
    covariance = np.diag(np.square(errors))
    answers = tuple("abcdefgh"[: len(values) + 1])
    return OrderedEstimates(answers, values, covariance, 1000, **changed)


def test_consistent_shares_and_band():
    one = estimates([0.3, 0.25, 0.8], [0.02, 0.01, 0.05])
    assert one.consistent == pytest.approx([0.26, 0.26, 0.8, 1.0])
    assert one.shares.sum() == pytest.approx(1)
    assert one.shares.min() >= 0
    lower, upper = one.band
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) >= 0).all()
    assert (lower <= one.consistent).all()
    assert (upper >= one.consistent).all()
    reach = 2.3939797998  # of two sides and three shares, 95 %
    assert upper[:2] == pytest.approx([0.25 + reach * 0.01] * 2)
    assert lower[1] == pytest.approx(0.3 - reach * 0.02)


def test_quantiles():
    one = estimates([0.1, 0.45, 0.9], [0.03, 0.03, 0.03])
    middle = one.quantile()
    assert (middle.answer, middle.lower, middle.upper) == ("c", "b", "c")
    assert one.quantile(0.05).answer == "a"
    assert one.quantile(0.99).upper == "d"
    assert "median c" in one.summary
    assert one.to_frame()["answer"].tolist() == list("abcd")


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"values": [0.1, 0.2]}, "values"),
        ({"covariance": -np.eye(3)}, "covariance"),
        ({"users": 0}, "users"),
        ({"confidence": 1.0}, "level"),
    ],
)
def test_refusals(changed, match):
    about = {
        "answers": ("a", "b", "c", "d"),
        "values": [0.1, 0.4, 0.9],
        "covariance": np.eye(3),
        "users": 10,
    }
    with pytest.raises(InputError, match=match):
        OrderedEstimates(**{**about, **changed})
    with pytest.raises(InputError, match="share"):
        OrderedEstimates(**about).quantile(1.0)
