import numpy as np
import pytest

from planner import allocate
from planner.planning.allocation.blocks import MeanBlock
from planner.planning.option import ErrorLaw
from tests.planning.allocation.questions import SECTION_9


@pytest.mark.parametrize("block", SECTION_9, ids=["choice", "large choice", "mean"])
def test_tangents_stay_below_the_error(block):
    for share in (0.1, 0.5, 1.0):
        at = block.at(share)
        assert at.constant - at.slope * share == pytest.approx(at.error, rel=1e-8)
        for other in np.linspace(0.05, 1, 20):
            assert block.at(other).error >= (at.constant - at.slope * other) * (1 - 1e-12)
        step = 1e-5
        low, high = block.at(share - step).error, block.at(min(1, share + step)).error
        slope = (low - high) / (min(1, share + step) - share + step)
        assert at.slope == pytest.approx(slope, rel=1e-3)


def test_sampling_variance_is_the_largest_variance_of_the_answers():
    block = SECTION_9[0]
    rng = np.random.default_rng(8)
    for p in rng.dirichlet(np.ones(5), 300):
        assert np.sum(p * (1 - p)) <= block.law.spread + 1e-12
    even = np.full(5, 0.2)
    assert np.sum(even * (1 - even)) == pytest.approx(block.law.spread)


def test_a_mean_at_the_end_of_its_range_has_an_error_above_0():
    block = MeanBlock("income", 50.0, errors=ErrorLaw(offset=-1.0))
    exact = 1 / np.sinh(25.0) ** 2  # 1 / tanh^2 - 1
    assert block.at(1.0).error == pytest.approx(exact, rel=1e-12)
    assert allocate([block]).value == pytest.approx(exact, rel=1e-12)


def test_the_error_of_a_sample_is_that_of_all_where_all_are_asked():
    for block in SECTION_9:
        error = block.at(1.0).error
        assert block.law.of_sample(error, 1.0) == pytest.approx(error, rel=1e-12)
    biased = MeanBlock("income", 1.0, errors=ErrorLaw(bias=5.0))
    noise = biased.at(1.0).error - 5
    assert biased.law.of_sample(noise + 5, 0.25) == pytest.approx(4 * noise + 5)
