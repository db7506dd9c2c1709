import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.policy import logodds

coordinate = st.floats(1e-3, 20)


@given(coordinate, coordinate)
def test_log_odds_round_trip(s, w):
    a, b = logodds.from_log_odds(np.array([s]), np.array([w]))
    assert 0 < b[0] < a[0] < 1
    back = logodds.to_log_odds(a, b)
    # 1 - a is known to a unit of 2^-53, whatever the formula.
    np.testing.assert_allclose(back, [[s], [w]], rtol=1e-9, atol=1e-15 / (1 - a[0]))


def test_small_arguments_lose_no_digits():
    assert logodds.p(np.array(1e-12)) == pytest.approx(1e12, rel=1e-11)
    a, b = logodds.from_log_odds(np.array(1e-9), np.array(1e-9))
    assert a - b == pytest.approx(0.5e-9, rel=1e-6)
