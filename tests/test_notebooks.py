"""Plans and tables in a notebook: data frames, what a cell shows, and charts by one call."""

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from planner import baseline, chart, frontier, plan_padding, plan_survey, solve
from planner.estimates.channel import OrderedEstimates
from planner.estimates.counts import Estimates
from planner.estimates.cross_table import CrossTable
from planner.frames import WithDataFrame
from planner.mechanisms.making import subset_selection, unary
from planner.outsiders import seen_of, shuffled
from planner.planning.answer_rates import AnswerRateModel
from planner.planning.mean import plan_answer_rate
from planner.planning.sampled import SamplingPlan
from planner.policy.policy import PrivacyPolicy
from planner.survey.assumed import AssumedSets, NormalPreferences
from tests.documents import ROOT
from tests.notebooks import html_of

POLICY = PrivacyPolicy([1.0, 2.0], [1, 4], names=["a & b", "<common>"])


@pytest.fixture(scope="module")
def shown():
    """One of everything that a notebook shows."""
    whole = plan_survey(ROOT / "examples" / "household.toml")
    table = solve(POLICY)
    joint = subset_selection(2.0, items=4).shape
    counts = np.array([[420.0, 90.0], [60.0, 430.0]])
    return {
        "cross": CrossTable(
            "ab", ("xy", ("no", "yes")), counts, 1000, joint.second_moments
        ),
        "table": table,
        "baseline": baseline(POLICY, "oue"),
        "shuffled": shuffled(seen_of(unary(table).shape), 1000, 1e-6),
        "whole": whole,
        "planned": whole.questions[0],
        "frontier": frontier(POLICY, 1000, [0.5, 1, 2]),
        "sampling": plan_survey(ROOT / "examples" / "sampled-ages.toml").questions[0],
        "estimates": Estimates([90.0, -8.0], [10.0, 9.0], [9.0, 9.0], users=200),
        "ordered": OrderedEstimates(
            ("low", "middle", "high"), np.array([0.3, 0.7]), 0.01 * np.eye(2), 100
        ),
    }


def test_everything_with_a_frame_is_here(shown):
    # By name: a slotted dataclass is made twice, and the first may still be in memory.
    assert {type(value).__name__ for value in shown.values()} == {
        kind.__name__ for kind in WithDataFrame.__subclasses__()
    }


class _Cells(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.cells = []
        self.text = ""
        self.tags = []
        self.feed(html)

    def handle_starttag(self, tag, _attributes):
        self.tags.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data):
        self.text += data
        if self.cells:
            self.cells[-1] += data.strip()


def test_a_cell_shows_the_summary_and_every_column(shown):
    for name, value in shown.items():
        frame = value.to_frame()
        assert isinstance(frame, pd.DataFrame), name
        assert len(frame) > 0, name
        assert not frame.columns.duplicated().any(), name
        seen = _Cells(html_of(value))
        assert seen.tags[0] == "p", name
        assert value.summary in seen.text, name
        assert seen.cells[: len(frame.columns)] == [
            c.replace("_", " ") for c in frame
        ], name
        assert value.summary.endswith("."), name


def test_names_cannot_be_markup(shown):
    html = html_of(shown["table"])
    assert "<common>" not in html
    assert "&lt;common&gt;" in html
    assert "a &amp; b" in html


def test_long_tables_are_cut_in_the_cell_only():
    policy = PrivacyPolicy(np.linspace(1, 2, 500), np.ones(500))
    table = baseline(policy, "oue")
    assert len(table.to_frame()) == 500
    assert _Cells(html_of(table)).tags.count("tr") < 70


def test_frames_hold_what_the_plans_hold(shown):
    table = shown["table"]
    frame = table.to_frame()
    assert frame["level"].tolist() == ["a & b", "<common>"]
    for name in ("a", "b", "noise", "signal"):
        expected = getattr(table, name).tolist()
        assert frame[name].tolist() == expected
    assert frame["shadow_price"].tolist() == table.shadow_prices.tolist()
    assert shown["baseline"].to_frame()["shadow_price"].isna().all()
    whole = shown["whole"]
    assert whole.to_frame()["share"].tolist() == [
        question.part.share for question in whole.questions
    ]
    assert shown["planned"].to_frame()["error"].is_monotonic_increasing
    curve = shown["frontier"]
    assert list(curve.to_frame())[2:4] == ["error of a & b", "error of <common>"]
    assert curve.to_frame()["total_error"].tolist() == curve.total_error.tolist()
    errors = shown["sampling"].fact(SamplingPlan).absolute_errors().tolist()
    assert shown["sampling"].to_frame()["error_95"].tolist() == errors
    estimates = shown["estimates"].to_frame()
    limits = shown["estimates"].intervals()
    expected = limits[0].tolist()
    assert estimates["lower"].tolist() == expected


def test_charts_by_one_call(shown):
    from plotly.graph_objects import Figure

    sets = AssumedSets([0.2, 0.5, 0.3])
    padding = plan_padding(solve(POLICY), 1000, sets)
    answers = plan_answer_rate(AnswerRateModel(NormalPreferences(5, 1.5), 1000))
    for figure in map(chart, (shown["frontier"], padding, answers)):
        assert isinstance(figure, Figure)
        assert all(len(trace.x) > 0 for trace in figure.data)
        assert figure.layout.xaxis.title.text or figure.layout.yaxis.title.text
