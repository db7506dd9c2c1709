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
    # Of two items, whoever has two has both: each is lost with probability 1/2 by half the people,
    # however popular it is said to be.
    assert sets.moments(1, np.array([1, 1])).lost2 == pytest.approx(2 * (0.5 * 0.5) ** 2)
    # Of four, one of two items of a person is lost, at rate 1/2.
    four = AssumedSets([0, 1, 1], [3, 2, 2, 1]).moments(1, np.array([2, 2]))
    assert four.lost2 == pytest.approx((9 + 4 + 4 + 1) / 64 * (0.5 * 2 * 0.5) ** 2)
    least, most = four.lost2_limits
    assert least == pytest.approx(4 * (1 / 8) ** 2)  # all items alike
    assert most == pytest.approx(2 * (1 / 4) ** 2)  # two of them in every set of two
