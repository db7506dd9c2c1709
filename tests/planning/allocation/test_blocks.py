import numpy as np
import pytest

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
        assert np.sum(p * (1 - p)) <= block.sampling_variance + 1e-12
    even = np.full(5, 0.2)
    assert np.sum(even * (1 - even)) == pytest.approx(block.sampling_variance)
