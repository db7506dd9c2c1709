from math import sqrt

import pytest

from planner.errors import InputError
from planner.estimates.means import Estimate, Ratio, large_sample

POSSIBLE = (-1.0, 1.0)


def test_fiellers_interval_holds_the_ratios_that_fit():
    """Its ends are where numerator - m denominator is exactly 1.96 standard deviations from 0."""
    ratio = Ratio(0.2, 0.5, 1e-4, 2e-4, 3e-5)
    found = ratio.estimate(0.95, POSSIBLE)
    assert found.status == "bounded"
    assert found.value == 0.4
    for end in (found.lower, found.upper):
        spread = sqrt(1e-4 - 2 * end * 3e-5 + end**2 * 2e-4)
        assert abs(0.2 - end * 0.5) / spread == pytest.approx(1.959964, rel=1e-6)


def test_an_answer_rate_that_may_be_zero_bounds_nothing():
    found = Ratio(0.2, 0.01, 1e-4, 1e-4, 0.0).estimate(0.95, POSSIBLE)
    assert (found.status, found.value) == ("unbounded", 20.0)
    assert (found.lower, found.upper) == POSSIBLE
    assert "cannot rule out that nobody answered" in found.note
    assert "estimated answer rate 0.01" in found.note


def test_an_answer_rate_below_zero_defines_nothing():
    found = Ratio(0.2, -0.01, 1e-4, 1e-4, 0.0).estimate(0.95, POSSIBLE)
    assert (found.status, found.value, found.standard_error) == ("undefined", None, None)
    assert (found.lower, found.upper) == POSSIBLE
    scaled = found.scaled(50, 10)
    assert (scaled.value, scaled.lower, scaled.upper) == (None, 40.0, 60.0)
    assert scaled.note == found.note


def test_scaling_moves_everything():
    scaled = Estimate(0.5, 0.1, 0.25, 0.75, 0.95).scaled(100, 20)
    assert (scaled.value, scaled.standard_error) == (110.0, 2.0)
    assert (scaled.lower, scaled.upper) == (105.0, 115.0)


@pytest.mark.parametrize("confidence", [0, 1, 95, "high", float("nan")])
def test_bad_confidence(confidence):
    with pytest.raises(InputError, match=r"confidence is .* strictly between 0 and 1"):
        large_sample(0.5, 0.01, confidence)
