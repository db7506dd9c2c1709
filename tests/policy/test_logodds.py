import numpy as np
import pytest

from planner.policy import logodds


def test_small_arguments_lose_no_digits():
    assert logodds.p(np.array(1e-12)) == pytest.approx(1e12, rel=1e-11)
    a, b = logodds.from_log_odds(np.array(1e-9), np.array(1e-9))
    assert a - b == pytest.approx(0.5e-9, rel=1e-6)
