import pytest

from planner.errors import InputError
from planner.planning.sampled import SamplingQuestion


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilons": 0}, "epsilons"),
        ({"epsilons": -1.0}, "epsilons"),
        ({"epsilons": float("nan")}, "epsilons"),
        ({"epsilons": 51}, "epsilons"),
        ({"epsilons": "1"}, "epsilons"),
        ({"epsilons": [1.0]}, "epsilons"),
        ({"epsilons": [[1.0, 1.0]]}, "epsilons"),
        ({"epsilons": [1.0, 0.0]}, r"epsilons\[1\]"),
        ({"yes_counts": []}, "yes_counts"),
        ({"yes_counts": [1.5, 2]}, "yes_counts"),
        ({"yes_counts": [-1, 2]}, r"yes_counts\[0\]"),
        ({"yes_counts": [600, 600]}, "at most the population"),
        ({"yes_counts": [2, 2], "everyone_has_value": True}, "everyone has a value"),
        ({"population": 0}, "population"),
        ({"population": 10.5}, "population"),
        ({"cap": 0}, "cap"),
        ({"cap": 1}, "cap"),
        ({"cap": float("nan")}, "cap"),
        ({"floor": -0.1}, "floor"),
        ({"floor": 1}, "floor"),
        ({"none_epsilon": 0}, "none_epsilon"),
    ],
)
def test_bad_questions(change, match):
    good = {"epsilons": [1.0, 2.0], "yes_counts": [10, 20], "population": 1000}
    with pytest.raises(InputError, match=match):
        SamplingQuestion(**(good | change))
