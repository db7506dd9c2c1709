import numpy as np
import pytest

from planner import PrivacyPolicy, best_design, chart
from planner.show.charts.levels import design_figure


@pytest.fixture(scope="module")
def design():
    policy = PrivacyPolicy(np.log([4, 6]), [1, 4], names=["severe", "common"])
    return best_design(policy)


def test_each_type_says_how_often_and_what_is_high(design):
    (cells,) = design_figure(design).data
    assert cells.x == ("severe", "common")
    often = design.types.probabilities.sum(axis=2)  # by level and type
    order = np.argsort(-often.mean(axis=0), kind="stable")
    for row, k in enumerate(order):
        said = f"type {row + 1}: {100 * often[:, k].min():.3g} % to {100 * often[:, k].max():.3g} %"
        assert cells.y[row] == said
        shares = design.types.high_counts[k] / design.types.item_counts
        assert np.array(cells.z[row]).tolist() == shares.tolist()
    texts = {text for row in cells.text for text in row}
    assert texts == {
        "none high",
        "all high",
        "1 of 4 high<br>6.00 times likelier",
        "2 of 4 high<br>6.00 times likelier",
    }


def test_a_notebook_draws_it_by_one_call(design):
    assert chart(design).to_dict() == design_figure(design).to_dict()
