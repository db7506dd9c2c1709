import numpy as np
import pytest

from planner.errors import InputError
from planner.survey.set_model import AssumedSets


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0] * 100_001 + [1.0],), "set sizes is 100001 but must be at most 100000 items a set"),
        (([1.0],), "above 0 for some set with items. Give the share of people with 0, 1, 2"),
        (([0, 0],), "set sizes is .* above 0 somewhere"),
        (([0, -1, 2],), r"set sizes\[1\] is -1.0 .* at least 0. A histogram has no negative mass"),
        (([0, np.nan],), r"set sizes\[1\] is nan but must be a finite number"),
        (("many",), "set sizes is 'many' but must be a list of numbers"),
        (([[0, 1]],), "a list of one or more numbers"),
        (([0, 1], "pareto"), "popularity is 'pareto' but must be one of zipf, uniform, or one"),
        (([0, 1], [0, 0]), "popularity is .* above 0 somewhere"),
    ],
    ids=str,
)
def test_what_is_no_histogram(arguments, message):
    with pytest.raises(InputError, match=message):
        AssumedSets(*arguments)


def test_popularity_is_given_for_each_item():
    sets = AssumedSets([0, 1, 1], [3, 1])
    with pytest.raises(InputError, match="popularity is 2 but must be one weight for each of 3"):
        sets.moments(1, np.array([1, 2]))
    # One of two items of a person is lost to padding length 1, at rate 1/2 of 2 items each.
    lost = sets.moments(1, np.array([1, 1])).lost2
    assert lost == pytest.approx((9 + 1) / 16 * (0.5 * 2 * 0.5) ** 2)
