"""Charts: what was planned or estimated in, lines with bands out; nothing is computed here.

The app and notebooks draw a chart with plotly, the report as a drawing without scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates
from planner.planning.mean import AnswerRatePlan, ChannelCurve
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
_MOST_DRAWN_LEVELS = 8
_HIDDEN_ABOVE = 30.0  # times the best error: beyond it the curves would flatten the rest


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Values over ``x``, numbers or names; NaN is a gap, and a ``dash`` of "" points alone.

    ``limits`` below and above the values are a band, of points alone bars.
    """

    name: str
    x: Any
    values: Any
    colour: str = BLUE
    dash: str = "solid"
    limits: tuple[Any, Any] | None = None
    marked: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Lines, the titles of their axes, and which of these are logarithmic or in per cent.

    A ``turned`` chart has its ``x`` down the page, the first on top.
    """

    lines: Sequence[Line]
    titles: tuple[str, str]
    log: str = ""
    percent: bool = False
    turned: bool = False


def chart(plan: object) -> Figure:
    """The chart of something planned or estimated, as a plotly figure.

    Of a frontier, a padding length or an answer rate the error against what can be chosen; of
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
    return plotly_of(draw(plan))


def frontier_figure(curve: Frontier) -> Chart:
    """Error against the common scale of the budgets, in total and of at most eight levels."""
    styles = zip(
        curve.names[:_MOST_DRAWN_LEVELS], curve.level_errors.T, cycle(CYCLE), cycle(DASHES)
    )
    lines = [
        Line("all items", curve.scale, _positive(curve.total_error), GREY),
        *(
            Line(f"a rare item of {name!r}", curve.scale, _positive(errors), colour, dash)
            for name, errors, colour, dash in styles
        ),
    ]
    titles = "budgets times (left: more private)", "error, share of the people"
    return Chart([*lines, _upright("these budgets", 1.0, lines, RED)], titles, "xy", percent=True)


def explored_figure(curve: Frontier, over: str) -> Chart:
    """Errors in people against the scale of the budgets, of all levels or of one: ``over``."""
    drawn = frontier_figure(curve)
    titles = f"{over}, times (left: more private)", "error, people"
    return Chart(drawn.lines, titles, "xy")


def padding_figure(padding: PaddingPlan) -> Chart:
    """Expected total error in people against the padding length, and its two parts."""
    parts = (
        ("total", padding.errors, BLUE, "solid"),
        ("too small, as sets are cut", padding.truncation_errors, ORANGE, "dash"),
        ("noise of the reports", padding.noise_errors, GREEN, "dot"),
    )
    lines = [
        Line(name, padding.lengths, _positive(errors), colour, dash)
        for name, errors, colour, dash in parts
    ]
    best = _upright("the best length", padding.length, lines, GREY)
    return Chart([*lines, best], ("padding length", "error, people"), "y")


def error_figure(plan: AnswerRatePlan, channels: ChannelCurve | None = None) -> Chart:
    """Predicted error of a mean against the budget: BiSample-MD, forced answers, a channel."""
    curve, highest = plan.curve, _HIDDEN_ABOVE * plan.best.rmse
    parts = [
        ("BiSample-MD", curve.mean_rmse, BLUE, "solid"),
        ("forced, at the top", curve.top_rmse, ORANGE, "dash"),
        ("forced, at random", curve.random_rmse, GREEN, "dot"),
    ]
    if channels is not None:
        error = channels.channel_errors(curve.epsilon)
        parts.append(("best channel", error, RED, "solid"))
    lines = [
        Line(name, curve.epsilon, np.where(y < highest, y, np.nan), colour, dash)
        for name, y, colour, dash in parts
    ]
    places = [_upright("best", plan.best_planned(channels).epsilon, lines, BLUE)]
    if plan.offered is not None:
        places.append(_upright("offered", float(plan.offered.epsilon[0]), lines, PURPLE))
    titles = "epsilon (more private to the left)", "predicted error of the mean"
    return Chart([*lines, *places], titles, "y")


def ordered_figure(estimates: OrderedEstimates, truth: ArrayLike | None = None) -> Chart:
    """Consistent cumulative shares in their band, and between which answers the median lies.

    ``truth`` are true shares up to each answer, shape ``(d,)``, if they are known.
    """
    answers, median = list(estimates.answers), estimates.quantile()
    between = answers[answers.index(median.lower) : answers.index(median.upper) + 1]
    said = f"estimated; the band holds all at once, {100 * estimates.confidence:.3g} % confidence"
    where = f"median {median.answer}{', and where it may be' if len(between) > 1 else ''}"
    lines = [
        Line(said, answers, estimates.consistent, limits=estimates.band, marked=True),
        Line(where, between, [0.5] * len(between), RED, marked=True),
    ]
    if truth is not None:
        lines.append(Line("true", answers, np.asarray(truth), ORANGE, ""))
    return Chart(lines, ("answer, the lowest first", "people up to the answer"), percent=True)


def one_survey_figure(survey: OneSurvey) -> Chart:
    """True counts or a true mean, and estimates with their own 95 % intervals."""
    limits = survey.lower, survey.upper
    estimated = "estimated, 95 % interval"
    lines = [
        Line(estimated, survey.labels, survey.estimates, BLUE, "", limits),
        Line("true", survey.labels, survey.truth, ORANGE, ""),
    ]
    return Chart(lines, ("", survey.unit), turned=True)


def _positive(values: ArrayLike) -> Any:
    return np.where(np.asarray(values) > 0, values, np.nan)  # a log axis has no zero


def _upright(name: str, place: float, lines: Sequence[Line], colour: str) -> Line:
    """A dotted line over one ``x``, as high as the others reach."""
    values = np.concatenate([line.values for line in lines])
    ends = [float(np.nanmin(values)), float(np.nanmax(values))]
    return Line(name, [place, place], ends, colour, "dot")


def plotly_of(drawn: Chart) -> Figure:
    """The chart as a plotly figure. Names are shown as they are: plotly knows some of HTML."""
    from plotly.graph_objects import Figure

    made, (across, along) = Figure(), "yx" if drawn.turned else "xy"
    for line in drawn.lines:
        x = [_as_it_is(one) if isinstance(one, str) else one for one in line.x]
        style: dict[str, Any] = {"line": {"color": line.colour, "dash": line.dash}}
        if line.limits is not None and line.dash:
            _add_band(made, x, line)
        if not line.dash:
            style = {"marker": {"color": line.colour, "size": 8}}
            if line.limits is None:
                style["marker"] |= {"symbol": "diamond-open", "size": 12, "line": {"width": 2}}
            else:
                ends = (np.abs(limit - np.asarray(line.values)) for limit in line.limits)
                less, more = (np.where(np.isfinite(end), end, 0) for end in ends)  # none is known
                style[f"error_{along}"] = {"array": more, "arrayminus": less, "symmetric": False}
        mode = "markers" if not line.dash else "lines+markers" if line.marked else "lines"
        values = {across: x, along: line.values}
        made.add_scatter(**values, name=_as_it_is(line.name), mode=mode, **style)
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}
    made.update_layout(height=370, margin={"l": 8, "r": 8, "t": 56, "b": 40}, legend=legend)
    for axis, title in zip((across, along), drawn.titles, strict=True):
        kind = {"type": "log", "dtick": "D2", "tickformat": "~g"} if axis in drawn.log else {}
        made.update_layout({f"{axis}axis": {"title": title, "automargin": True, **kind}})
    if drawn.turned:
        height = 110 + 26 * max(len(drawn.lines[0].x), 2)
        made.update_layout(height=height, yaxis={"type": "category", "autorange": "reversed"})
    return made.update_yaxes(tickformat=".2~%") if drawn.percent else made


def _add_band(made: Figure, x: Sequence[Any], line: Line) -> None:
    light = ",".join(str(int(line.colour[place : place + 2], 16)) for place in (1, 3, 5))
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    lower, upper = line.limits or ((), ())
    made.add_scatter(x=x, y=lower, **edge)
    made.add_scatter(x=x, y=upper, fill="tonexty", fillcolor=f"rgba({light},0.25)", **edge)


def _as_it_is(text: str) -> str:
    return text.replace("<", "&lt;")


_CHARTS: dict[type, Callable[[Any], Chart]] = {
    Frontier: frontier_figure,
    PaddingPlan: padding_figure,
    AnswerRatePlan: error_figure,
    OrderedEstimates: ordered_figure,
}
