import numpy as np
import pytest

from planner import InputError, PrivacyPolicy
from planner.planning.what_if import largest_budgets, relaxed, scaled

GRAPH = PrivacyPolicy([1.0, 2.0], [1, 4], [[np.inf, 3.0], [3.0, 1.5]], ["A", "B"])


def test_pair_budgets_change_with_the_levels():
    half = scaled(GRAPH, 0.5)
    assert half.epsilons.tolist() == [0.5, 1.0]
    assert half.bounds().tolist() == [[np.inf, 1.5], [1.5, 0.75]]
    more = relaxed(GRAPH, 1, 0.25)
    assert more.epsilons.tolist() == [1.0, 2.25]
    assert more.bounds().tolist() == [[np.inf, 3.25], [3.25, 1.75]]
    assert half.names == more.names == ("A", "B")


def test_levels_may_have_a_scale_each_without_a_matrix():
    assert scaled(PrivacyPolicy([1.0, 2.0], [1, 4]), np.array([2, 3])).epsilons.tolist() == [2, 6]
    with pytest.raises(InputError, match=r"scale .* one number for a matrix"):
        scaled(GRAPH, np.ones(2))


def test_no_change_leaves_the_range():
    with pytest.raises(InputError, match="rule"):
        scaled(GRAPH, 1.001 * 50 / largest_budgets(GRAPH).max())
    assert scaled(GRAPH, 50 / largest_budgets(GRAPH).max()).bounds()[0, 1] == 50
    with pytest.raises(InputError, match="level is 2"):
        relaxed(GRAPH, 2, 0.1)
