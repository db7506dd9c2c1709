"""The band around ordered answers."""

import numpy as np
import pytest

from planner import chart
from planner.estimates.ordered import OrderedEstimates
from planner.show.charts.ordered import ordered_figure

ESTIMATES = OrderedEstimates(
    ("<b>low", "some", "much", "most"), [0.30, 0.52, 0.49], np.diag([0.01, 0.02, 0.03]) ** 2, 1000
)


def test_the_band_holds_the_shares_and_the_median_has_its_answers():
    lower, upper, shares, median = chart(ESTIMATES).data
    assert [list(one.y) for one in (lower, upper)] == [list(one) for one in ESTIMATES.band]
    assert upper.fill == "tonexty"
    assert np.all((lower.y <= shares.y) & (shares.y <= upper.y))
    assert list(shares.y) == pytest.approx(ESTIMATES.consistent)
    between = ESTIMATES.quantile()
    assert list(median.x) == ["some", "much", "most"]  # up to much it may be 0.42
    assert (median.x[0], median.x[-1]) == (between.lower, between.upper)
    assert len(median.y) == len(median.x)
    assert shares.x[0] == "&lt;b>low"


def test_what_is_true_is_marked_where_it_is_known():
    figure = ordered_figure(ESTIMATES, truth=[0.25, 0.5, 0.75, 1.0])
    assert figure.data[-1].name == "true"
    assert list(figure.data[-1].y) == [0.25, 0.5, 0.75, 1.0]
