import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import ConvergenceError
from planner.solvers.search import Face, minimise_convex


def _face(slope, curvature=0.0, value=1.0):
    return Face(slope, curvature, value, np.ones(1), np.zeros(1, dtype=bool))


@given(st.floats(-5, 5), st.floats(0, 3), st.floats(0.1, 10), st.floats(-6, 6))
def test_a_parabola_with_a_kink(centre, kink, bend, guess):
    """``bend (x - centre)^2 / 2 + kink |x|`` on [-6, 6]: soft thresholding."""

    def faces(x):
        left = _face(bend * (x - centre) + (kink if x > 0 else -kink), bend)
        right = _face(bend * (x - centre) + (kink if x >= 0 else -kink), bend)
        return left, right

    found = minimise_convex(faces, -6, 6, guess, np.zeros(1))
    best = np.sign(centre) * max(abs(centre) - kink / bend, 0)
    assert found.x == pytest.approx(best, abs=1e-7)
    assert 0 <= found.share <= 1


def test_the_minimum_may_lie_at_an_end():
    found = minimise_convex(lambda _: (_face(1.0), _face(1.0)), 2.0, 5.0, 4.0, np.zeros(0))
    assert found.x == pytest.approx(2.0, abs=1e-12)
    found = minimise_convex(lambda _: (_face(-1.0), _face(-1.0)), 2.0, 5.0, 4.0, np.zeros(0))
    assert found.x == pytest.approx(5.0, abs=1e-12)


def test_shares_cancel_the_slopes_at_a_kink():
    def faces(x):
        return (_face(-1.0), _face(3.0)) if x == 1 else (_face(3.0 if x > 1 else -1.0),) * 2

    found = minimise_convex(faces, 0, 2, 0.3, np.ones(1))
    assert found.x == 1
    assert found.share * -1.0 + (1 - found.share) * 3.0 == 0


def test_a_search_without_end_is_an_error():
    nothing = _face(float("nan"))
    with pytest.raises(ConvergenceError, match="did not end"):
        minimise_convex(lambda _: (nothing, nothing), 0.0, 1.0, 0.5, np.zeros(0))
