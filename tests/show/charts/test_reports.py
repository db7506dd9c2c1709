import numpy as np
import pytest

from planner.show.charts.reports import pair_figure, people_figure, posterior_figure


def test_a_hundred_people_on_either_side():
    figure = people_figure(0.594, 0.33, "'severe'")
    ones = {False: 0, True: 0}
    for trace in figure.data:
        right = bool(trace.x[0] > 10)
        assert (trace.x > 10).all() == right
        if trace.name == "report supports it":
            ones[right] += len(trace.x)
    assert ones == {False: 59, True: 33}
    assert sum(len(trace.x) for trace in figure.data) == 200
    assert (
        len({(x, y) for trace in figure.data for x, y in zip(trace.x, trace.y, strict=True)}) == 200
    )
    with_it, without = [note.text for note in figure.layout.annotations]
    assert with_it == "100 who have an answer of 'severe':<br>about 59"
    assert without == "100 who do not:<br>about 33"
    assert [t.name for t in figure.data if t.showlegend] == [
        "report supports it",
        "report does not",
    ]


def test_beliefs_after_either_report():
    priors = np.array([0.1, 0.5, 0.9])
    after_one, after_zero = [priors**0.5, priors**0.7], [priors**2, priors**1.5]
    figure = posterior_figure(priors, after_one, after_zero, ["severe", "common"], 0.3)
    drawn = {line.name: (line.y.tolist(), line.line.dash) for line in figure.data}
    assert drawn == {
        "nothing learned": (priors.tolist(), "dot"),
        "severe, supported": (after_one[0].tolist(), "solid"),
        "severe, not": (after_zero[0].tolist(), "dash"),
        "common, supported": (after_one[1].tolist(), "solid"),
        "common, not": (after_zero[1].tolist(), "dash"),
    }
    assert all(line.x.tolist() == priors.tolist() for line in figure.data)
    assert figure.layout.shapes[0].x0 == 0.3
    assert figure.layout.xaxis.title.text == "belief before the report"
    assert figure.layout.yaxis.title.text == "belief after the report"


def test_used_shares_of_each_pair_with_both_numbers_in_the_cells():
    realised = np.array([[np.nan, 0.9], [0.9, 1.5]])
    demanded = np.array([[1.0, 1.0], [1.0, np.inf]])
    figure = pair_figure(["severe", "common"], realised, demanded)
    (heat,) = figure.data
    assert heat.z[0][1] == pytest.approx(0.9)
    assert np.isnan(heat.z[0][0])  # one item: no pair within
    assert np.isnan(heat.z[1][1])  # nothing is demanded
    assert list(heat.text[0]) == ["", "0.900<br>of 1.000"]
    assert list(heat.text[1]) == ["0.900<br>of 1.000", "1.500<br>of no limit"]
    assert heat.texttemplate == "%{text}"
    assert figure.layout.yaxis.autorange == "reversed"  # like a matrix


def test_many_levels_have_their_numbers_on_hover_only():
    size = 13
    figure = pair_figure(
        [str(i) for i in range(size)], np.ones((size, size)), np.ones((size, size))
    )
    assert figure.data[0].texttemplate is None
    assert "%{text}" in figure.data[0].hovertemplate
