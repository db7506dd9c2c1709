import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.policy import logodds

coordinate = st.floats(1e-3, 20)
probability = st.floats(1e-6, 1 - 1e-6)


@given(coordinate, coordinate)
def test_log_odds_round_trip(s, w):
    a, b = logodds.from_log_odds(np.array([s]), np.array([w]))
    assert 0 < b[0] < a[0] < 1
    back = logodds.to_log_odds(a, b)
    # 1 - a is known to a unit of 2^-53, whatever the formula.
    np.testing.assert_allclose(back, [[s], [w]], rtol=1e-9, atol=1e-15 / (1 - a[0]))


@given(st.floats(0.01, 15), st.floats(0.01, 15))
def test_both_forms_of_the_error_terms_agree(s, w):
    s, w = np.array(s), np.array(w)
    a, b = logodds.from_log_odds(s, w)
    noise, signal = logodds.noise(s, w), logodds.signal(s, w)
    assert logodds.noise_from_probabilities(a, b) == pytest.approx(float(noise), rel=1e-6)
    close = pytest.approx(float(signal), rel=1e-6, abs=1e-9)
    assert logodds.signal_from_probabilities(a, b) == close


@given(st.floats(0.01, 15))
def test_slopes_of_p(x):
    h = 1e-5 * x
    value = logodds.p(np.array(x))
    ahead, behind = logodds.p(np.array(x + h)), logodds.p(np.array(x - h))
    assert logodds.p_slope(value) == pytest.approx((ahead - behind) / (2 * h), rel=1e-7)
    slopes = logodds.p_slope(ahead) - logodds.p_slope(behind)
    assert logodds.p_curvature(value) == pytest.approx(slopes / (2 * h), rel=1e-7)


def test_small_arguments_lose_no_digits():
    assert logodds.p(np.array(1e-12)) == pytest.approx(1e12, rel=1e-11)
    a, b = logodds.from_log_odds(np.array(1e-9), np.array(1e-9))
    assert a - b == pytest.approx(0.5e-9, rel=1e-6)
