"""One simulated survey: the most frequent items, with intervals that cover as promised."""

import numpy as np
import pytest

from planner import PrivacyPolicy, solve
from planner.errors import InputError
from planner.mechanisms.padding import PaddedUnaryMechanism
from planner.mechanisms.unary import UnaryMechanism
from planner.planning.datasets import Answers
from planner.show.charts.simulation import one_survey_figure
from planner.trial.one_survey import one_survey
from tests.planning.test_datasets import written

ANSWERS = Answers(tuple("abcd"), np.array([1000, 5000, 0, 4000]))
MECHANISM = UnaryMechanism(solve(PrivacyPolicy([1.0], [4])))


def test_the_most_frequent_come_first_with_their_own_intervals():
    found = one_survey(MECHANISM, ANSWERS, np.random.default_rng(1), most=3)
    assert found.labels == ("b", "d", "a")
    assert found.truth.tolist() == [5000, 4000, 1000]
    assert np.all(found.lower < found.estimates)
    assert np.all(found.estimates < found.upper)


def test_intervals_cover_the_truth_as_often_as_they_say():
    # 2,000 surveys of 4 items; a share outside 0.95 +- 0.025 has a chance below 1e-6, and
    # intervals at 90 % would be noticed.
    rng = np.random.default_rng(2)
    covered = [
        np.mean((one.lower <= one.truth) & (one.truth <= one.upper))
        for one in (one_survey(MECHANISM, ANSWERS, rng) for _ in range(2000))
    ]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.025)


def test_sets(tmp_path):
    from planner.planning.datasets import read_transactions

    answers = read_transactions(written(tmp_path, "1 2\n2\n\n2 3\n" * 50, "a.dat"))
    mechanism = PaddedUnaryMechanism(UnaryMechanism(solve(PrivacyPolicy([2.0], [3]))), 2)
    found = one_survey(mechanism, answers, np.random.default_rng(3))
    assert found.labels[0] == "2"
    figure = one_survey_figure(found)
    assert list(figure.data[1].y) == list(found.labels)[::-1]
    assert list(figure.data[1].x) == found.truth[::-1].tolist()


def test_no_items_are_no_picture():
    with pytest.raises(InputError, match="most is 0"):
        one_survey(MECHANISM, ANSWERS, np.random.default_rng(1), most=0)
