"""Charts: what was planned or estimated in, a plotly figure out; nothing is computed here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates
from planner.planning.mean import AnswerRatePlan, ChannelCurve
from planner.planning.plan import SurveyPlan
from planner.planning.question import QuestionPlan
from planner.planning.sets import PaddingPlan
from planner.planning.what_if import Frontier
from planner.trial.simulate import OneSurvey

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

# Okabe and Ito's palette: told apart by colour-blind readers.
BLUE, ORANGE, GREEN, PURPLE = "#0072B2", "#E69F00", "#009E73", "#CC79A7"
RED, SKY, GREY = "#D55E00", "#56B4E9", "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY)
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")  # not as many: pairs repeat after 30
_BAND = "rgba(86, 180, 233, 0.35)"  # light blue, in either theme
_TAG = re.compile(r"<(?!br>|extra>|/extra>)")
_MOST_LEVELS = 8
_HIDDEN_ABOVE = 30.0  # times the best error: beyond it the curves would flatten the rest
_BUDGETS = np.linspace(0.1, 6, 60)


def chart(plan: object) -> Figure:
    """The chart that says most about a plan or an estimate, as a plotly figure.

    Of a survey the errors in both designs; of a question those of all mechanisms; of a frontier, a
    padding length, an answer rate or Sampling Privacy the error against what can be chosen; of
    ordered answers the shares up to each in their band.

    Raises
    ------
    InputError
        Something else; its ``to_frame()`` may help.

    Examples
    --------
    >>> from planner import PrivacyPolicy, frontier
    >>> figure = chart(frontier(PrivacyPolicy([1.0, 2.0], [1, 4]), users=1000))
    >>> [trace.name for trace in figure.data][0]
    'all items'
    """
    draw = _CHARTS.get(type(plan))
    if draw is None:
        remedy = "Call its to_frame() and draw that."
        raise InputError("plan", type(plan).__name__, "a plan that has a chart", remedy)
    return draw(plan)


def survey_figure(plan: SurveyPlan) -> Figure:
    """Errors of the questions in both designs; of one question that of its mechanisms."""
    if not plan.several or plan.allocation is None:
        return question_figure(plan.questions[0])
    each, rows = plan.allocation.some_each.in_words, plan.sharing
    errors = {
        "everybody answers everything": [row.error for row in rows],
        f"everybody answers {each}": [row.error_of_some for row in rows],
    }
    return bars([row.question for row in rows], errors, "error, share of the people")


def question_figure(plan: QuestionPlan) -> Figure:
    """Errors of all mechanisms, the best first; of Sampling Privacy those of the answers."""
    if plan.sampling is not None:
        labels = [label for level in plan.question.levels for label in level.labels]
        found = {"error at 95 %": plan.sampling.absolute_errors().tolist()}
        return bars(labels, found, "error at 95 %, people")
    ranked = plan.options
    errors = {"error": [one.error for one in ranked]}
    return bars([one.title for one in ranked], errors, f"error, {plan.unit}")


def frontier_figure(curve: Frontier) -> Figure:
    """Error against the common scale of the budgets, in total and of at most eight levels."""
    names = [f"a rare item of {name!r}" for name in curve.names[:_MOST_LEVELS]]
    lines = zip(names, curve.level_errors.T, cycle(CYCLE), cycle(DASHES), strict=False)
    made = figure(
        *curves(curve.scale, [("all items", curve.total_error, GREY, "solid"), *lines]),
        xaxis=_log("all budgets times this (more private to the left)", tickvals=_SCALES),
        yaxis=_log("error, share of the people", tickformat=".2~%", dtick="D2"),
    )
    return made.add_vline(1.0, line={"color": RED, "dash": "dot"})


def padding_figure(padding: PaddingPlan) -> Figure:
    """Expected total error in people against the padding length, and its two parts."""
    parts = (
        ("total", padding.errors, BLUE, "solid"),
        ("too small, as sets are cut", padding.truncation_errors, ORANGE, "dash"),
        ("noise of the reports", padding.noise_errors, GREEN, "dot"),
    )
    made = figure(
        *curves(padding.lengths, [(name, _positive(y), *rest) for name, y, *rest in parts]),
        xaxis={"title": "padding length"},
        yaxis=_log("error, people"),
    )
    return made.add_vline(padding.length, line={"color": GREY, "dash": "dot"})


def error_figure(plan: AnswerRatePlan, channels: ChannelCurve | None = None) -> Figure:
    """Predicted error of a mean against the budget: BiSample-MD, forced answers, a channel."""
    lines = [
        ("missing stays missing (BiSample-MD)", plan.curve.mean_rmse, BLUE, "solid"),
        ("forced, at the top (TOP)", plan.curve.top_rmse, ORANGE, "dash"),
        ("forced, at random (RND)", plan.curve.random_rmse, GREEN, "dot"),
    ]
    if channels is not None:
        error = channels.channel_errors(plan.curve.epsilon)
        lines.append(("missing stays missing (best channel)", error, RED, "solid"))
    highest = _HIDDEN_ABOVE * plan.best.rmse
    shown = [(name, np.where(y < highest, y, np.nan), *rest) for name, y, *rest in lines]
    made = figure(
        *curves(plan.curve.epsilon, shown),
        xaxis={"title": "epsilon (more private to the left)"},
        yaxis=_log("predicted error of the mean", tickformat="~g", dtick="D2"),
    )
    made.add_vline(plan.best.epsilon, line={"color": BLUE, "dash": "dot"})
    if plan.offered is not None:
        made.add_vline(float(plan.offered.epsilon[0]), line={"color": PURPLE, "dash": "dash"})
    return made


def ordered_figure(estimates: OrderedEstimates, truth: ArrayLike | None = None) -> Figure:
    """Consistent cumulative shares in their band, and between which answers the median lies.

    ``truth`` are true shares up to each answer, shape ``(d,)``, if they are known.
    """
    from plotly.graph_objects import Scatter

    answers, (lower, upper) = list(estimates.answers), estimates.band
    median = estimates.quantile()
    between = answers[answers.index(median.lower) : answers.index(median.upper) + 1]
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    band = f"band: all at once with {estimates.confidence:.0%} confidence"
    marked = {"mode": "lines+markers", "marker": {"size": 9}}
    drawn = [
        Scatter(x=answers, y=lower, showlegend=False, **edge),
        Scatter(x=answers, y=upper, fill="tonexty", fillcolor=_BAND, name=band, **edge),
        Scatter(x=answers, y=estimates.consistent, name="estimated", line_color=BLUE, **marked),
        Scatter(
            x=between,
            y=[0.5] * len(between),
            name=f"median {median.answer}, and where it may be",
            line={"color": RED, "width": 4},
            **marked,
        ),
    ]
    if truth is not None:
        marker = {"color": ORANGE, "symbol": "diamond", "size": 11}
        drawn.append(Scatter(x=answers, y=truth, mode="markers", name="true", marker=marker))
    return figure(
        *drawn,
        xaxis={"type": "category", "title": "answer, the lowest first"},
        yaxis={"title": "people up to the answer", "range": [0, 1.03], "tickformat": ".0%"},
    )


def one_survey_figure(survey: OneSurvey) -> Figure:
    """True counts as diamonds, estimates as dots with their own 95 % intervals."""
    names = list(survey.labels)
    more, less = survey.upper - survey.estimates, survey.estimates - survey.lower
    made = figure(
        _points(survey.estimates, names, "estimated, with its 95 % interval", BLUE, less, more),
        _points(survey.truth, names, "true", ORANGE),
        height=110 + 26 * max(len(names), 2),
        xaxis={"title": "people"},
        yaxis={"type": "category", "autorange": "reversed"},  # the most frequent on top
    )
    return made.update_traces(marker={"symbol": "diamond", "size": 11}, selector={"name": "true"})


def bars(names: Sequence[str], series: Mapping[str, Sequence[float]], title: str) -> Figure:
    """Bars side by side for each name, a colour a series; shorter is better."""
    from plotly.graph_objects import Bar

    drawn = [
        Bar(x=values, y=list(names), name=name, orientation="h", marker_color=colour)
        for (name, values), colour in zip(series.items(), CYCLE, strict=False)
    ]
    return figure(
        *drawn,
        height=110 + 30 * len(names) * len(series),
        xaxis={"title": f"{title} (shorter is better)", "rangemode": "tozero"},
        yaxis={"type": "category", "autorange": "reversed"},
    )


def figure(*traces: object, **layout: Any) -> Figure:
    """A figure of these traces, its legend above; ``layout`` adds to the common layout.

    Names are shown as they are: plotly would make links of what looks like one.
    """
    from plotly.graph_objects import Figure

    made = Figure([as_they_are(trace.to_plotly_json()) for trace in Figure(list(traces)).data])
    made.update_layout(
        height=370,
        margin={"l": 8, "r": 8, "t": 56, "b": 40},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
    )
    made.update_xaxes(automargin=True)
    made.update_yaxes(automargin=True)
    return made.update_layout(**as_they_are(layout))


def curves(x: ArrayLike, lines: Iterable[Sequence[Any]]) -> list[object]:
    """A trace over ``x`` for each name, values, colour and dash; gaps where a value is NaN."""
    from plotly.graph_objects import Scatter

    return [
        Scatter(x=x, y=y, name=name, mode="lines", line={"color": colour, "dash": dash})
        for name, y, colour, dash in lines
    ]


def banded(lines: Mapping[str, Sequence[Sequence[Any]]], x: str, y: str) -> Figure:
    """A line for each name, of rows (x, value, lower, upper), with a band between the limits."""
    from plotly.graph_objects import Scatter

    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    traces: list[object] = []
    for (name, rows), colour in zip(lines.items(), cycle(CYCLE), strict=False):
        at, values, lower, upper = zip(*rows, strict=True)
        traces.append(Scatter(x=at, y=lower, **edge))
        traces.append(Scatter(x=at, y=upper, fill="tonexty", fillcolor=_BAND, **edge))
        traces.append(Scatter(x=at, y=values, name=name, mode="lines+markers", line_color=colour))
    return figure(*traces, xaxis={"title": x}, yaxis={"title": y})


def as_they_are(part: Any) -> Any:
    """The same with every "<" spelt out but those of our own: line breaks and hover boxes."""
    if isinstance(part, str):
        return _TAG.sub("&lt;", part)
    if isinstance(part, dict):
        return {key: as_they_are(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [as_they_are(value) for value in part]
    if isinstance(part, np.ndarray) and part.dtype.kind in "OU":
        return [as_they_are(value) for value in part.tolist()]
    return part


def _points(
    x: ArrayLike,
    y: ArrayLike,
    name: str,
    colour: str,
    less: ArrayLike | None = None,
    more: ArrayLike | None = None,
) -> object:
    """Points, with a bar to the left and right of each if these are given."""
    from plotly.graph_objects import Scatter

    reach = {"type": "data", "symmetric": False, "array": more, "arrayminus": less, "thickness": 3}
    marker = {"color": colour, "size": 9}
    error = None if more is None else reach
    return Scatter(x=x, y=y, mode="markers", name=name, marker=marker, error_x=error)


_SCALES = [0.125, 0.25, 0.5, 1, 2, 4]


def _log(title: str, **more: Any) -> dict[str, Any]:
    return {"title": title, "type": "log", **more}


def _positive(values: ArrayLike) -> Any:
    return np.where(np.asarray(values) > 0, values, np.nan)  # a log axis has no zero


_CHARTS: dict[type, Callable[[Any], Figure]] = {
    Frontier: frontier_figure,
    PaddingPlan: padding_figure,
    SurveyPlan: survey_figure,
    QuestionPlan: question_figure,
    AnswerRatePlan: error_figure,
    OrderedEstimates: ordered_figure,
}
