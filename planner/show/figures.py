"""Charts: what was planned or estimated in, lines with bands out; nothing is computed here.

The app and notebooks draw a chart with plotly, the report as a drawing without scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from planner.arrays import Array
from planner.errors import InputError
from planner.estimates.channel import OrderedEstimates
from planner.planning.mean import AnswerRatePlan, expected_curve
from planner.planning.option import FLAT
from planner.planning.padding import PaddingPlan
from planner.planning.question import QuestionPlan
from planner.planning.rounds import own_ways
from planner.planning.sampled import SamplingPlan
from planner.planning.what_if import Frontier

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

    from planner.planning.option import AnyPart, Option
    from planner.trial.simulate import OneSurvey

# Okabe and Ito's palette: told apart by colour-blind readers. Where one is now is red alone.
BLUE = "#0072B2"
ORANGE = "#E69F00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
RED = "#D55E00"
SKY = "#56B4E9"
GREY = "#7F7F7F"
CYCLE = (BLUE, ORANGE, GREEN, PURPLE, SKY)
DASHES = ("solid", "dash", "dot", "dashdot")  # not as many: pairs repeat after 20
_MOST_DRAWN_LEVELS = 8
_MOST_OVER_ROUNDS = 5
_HIDDEN_ABOVE = (
    30.0  # times the best error: beyond it the curves would flatten the rest
)
_MORE_PRIVATE = "(left: more private)"


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """Values over ``x``, numbers or names; NaN is a gap, and a ``dash`` of "" points alone.

    ``limits`` below and above the values are a band, of points alone bars; ``bare``, these bars
    are drawn without the values.
    """

    name: str
    x: Any
    values: Any
    colour: str = BLUE
    dash: str = "solid"
    limits: tuple[Any, Any] | None = None
    marked: bool = False
    bare: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """Lines, the titles of their axes, and which of these are logarithmic or in per cent.

    A ``turned`` chart has its ``x`` down the page, the first on top. ``left_out`` says what it does
    not show, such as "8 of 16 levels".
    """

    lines: Sequence[Line]
    titles: tuple[str, str]
    log: str = ""
    percent: bool = False
    turned: bool = False
    left_out: str = ""

    @property
    def across(self) -> str:
        """The title of the axis of ``x``, and what is left out."""
        return "; ".join(filter(None, (self.titles[0], self.left_out)))


def chart(plan: object) -> Figure:
    """The chart of something planned or estimated, as a plotly figure.

    Of a question the errors of all mechanisms; of a frontier, a padding length or an answer rate
    the error against what can be chosen; of ordered answers the shares up to each in their band; of
    two rounds the loss against decoys.

    Raises
    ------
    InputError
        Something else; its ``to_frame()`` may help.

    Examples
    --------
    >>> from planner import PrivacyPolicy, frontier
    >>> figure = chart(frontier(PrivacyPolicy([1.0, 2.0], [1, 4]), users=1000))
    >>> [trace.name for trace in figure.data][0]
    'all answers'
    """
    drawn = figure_of(plan)
    if drawn is None:
        remedy = "Call its to_frame() and draw that."
        raise InputError("plan", type(plan).__name__, "a plan that has a chart", remedy)
    return plotly_of(drawn)


def figure_of(plan: object) -> Chart | None:
    """The same chart, before anything draws it; None if it has none."""
    draw = _CHARTS.get(type(plan))
    return None if draw is None else draw(plan)


def question_figure(plan: QuestionPlan) -> Chart:
    """The errors of all mechanisms, best first; of two rounds the loss against decoys."""
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:
        return decoys_figure(sampling)
    chosen = plan.planned.name
    lines = list[Line]()
    for name, colour, rows in (
        (
            "this plan",
            BLUE,
            [option for option in plan.options if option.name == chosen],
        ),
        ("others", GREY, [option for option in plan.options if option.name != chosen]),
    ):
        errors = [option.error for option in rows]
        limits = [0.0] * len(rows), errors
        lines.append(
            Line(name, [option.title for option in rows], errors, colour, "", limits)
        )
    return Chart(
        [option for option in lines if option.x],
        ("", f"error, {plan.question.unit}"),
        turned=True,
    )


def frontier_figure(curve: Frontier) -> Chart:
    """Error against the common scale of the budgets, in total and of at most eight levels."""
    kept = curve.names[:_MOST_DRAWN_LEVELS]
    levels = [f"one answer of {name!r}" for name in kept]
    lines = [
        Line(
            "all answers" if kept else "error",
            curve.scale,
            _positive(curve.total_error),
            GREY,
        ),
        *_lines(curve.scale, dict(zip(levels, curve.level_errors.T, strict=False))),
    ]
    titles = f"budgets times {_MORE_PRIVATE}", "error, share of the people"
    here = _upright("these budgets", 1.0, lines, RED)
    return Chart(
        [*lines, here], titles, "xy", percent=True, left_out=_of(kept, curve.names)
    )


def error_units(plan: QuestionPlan) -> dict[str, Callable[[Any], Any]]:
    """How a question's errors may be said, by the unit: its own first, then as papers have them."""
    if plan.question.of_mean:
        return {plan.question.unit: np.asarray, "squared, of the mean": plan.squared}
    return {
        "people": np.asarray,
        "MSE a person": plan.squared_per_person,
        "MSE in all": plan.squared,
    }


def in_unit(drawn: Chart, unit: str, written: Callable[[Any], Any]) -> Chart:
    """A chart of errors in one of the :func:`error_units`."""
    lines = [
        replace(line, values=written(np.asarray(line.values))) for line in drawn.lines
    ]
    return replace(drawn, lines=lines, titles=(drawn.titles[0], f"error, {unit}"))


def explored_figure(plan: QuestionPlan, curve: Frontier, level: str = "") -> Chart:
    """A plan's errors against the scale of its budgets, or the budget of one ``level``.

    With where it is, where the level's budget saturates, and what its targets ask for.
    """
    whole = plan.part.whole
    policy = plan.deployed.policy
    drawn = frontier_figure(curve)
    current = float(policy.epsilons[policy.names.index(level)]) if level else 1.0
    *curves, here = (
        replace(
            line, x=current * np.asarray(line.x), values=whole * np.asarray(line.values)
        )
        for line in drawn.lines
    )
    ends = current * float(curve.scale[0]), current * float(curve.scale[-1])
    marks = list[Line]()
    limit = plan.saturation_epsilon
    if level and limit is not None and ends[0] < limit < ends[1]:
        marks.append(_upright(f"more buys {level!r} nothing", limit, curves, GREY))
    for target in plan.targets:
        asked = target.target
        smallest = target.budgets
        if asked.kind == "error" and (
            asked.level is None or asked.level in curve.names
        ):
            whose = "" if asked.level is None else f", {asked.level!r}"
            marks.append(
                Line(f"target{whose}", ends, [whole * asked.value] * 2, SKY, "dash")
            )
        if (
            smallest is not None
            and smallest.possible
            and not level
            and ends[0] < smallest.scale < ends[1]
        ):
            marks.append(_upright("targets met", smallest.scale, curves, SKY))
    across = f"budget of {level!r}, nats" if level else "all budgets, times"
    titles = f"{across} {_MORE_PRIVATE}", f"error, {plan.question.unit}"
    return replace(drawn, lines=[*curves, *marks, here], titles=titles, percent=False)


def padding_figure(padding: PaddingPlan, length: int | None = None) -> Chart:
    """Expected total error in people against the padding length, and its two parts."""
    errors = {
        "total": padding.in_people(padding.mse),
        "too small, as sets are cut": padding.in_people(padding.bias2),
        "noise of the reports": padding.in_people(padding.variance),
    }
    lines = _lines(padding.lengths, errors)
    places = [_upright("the best length", padding.length, lines, GREY)]
    if length is not None and length <= padding.lengths[-1]:
        places.append(_upright("this length", length, lines, RED))
    return Chart([*lines, *places], ("padding length", "error, people"), "y")


def error_figure(plan: AnswerRatePlan) -> Chart:
    """Predicted error of a mean against the budget: BiSample-MD, forced answers, a channel."""
    curve = plan.curve
    best = plan.best_planned
    budget = plan.curve.epsilon
    lines = [
        Line("BiSample-MD", budget, curve.mean_rmse),
        Line("forced, at the top", budget, curve.top_rmse, ORANGE, "dash"),
        Line("forced, at random", budget, curve.random_rmse, GREEN, "dot"),
    ]
    if plan.channels is not None:
        lines.append(
            Line("best channel", budget, plan.channels.channel_errors(budget), PURPLE)
        )
    highest = _HIDDEN_ABOVE * plan.best.rmse
    places = list[Line]()
    lines = [
        replace(x, values=np.where(x.values < highest, x.values, np.nan)) for x in lines
    ]
    if plan.best.epsilon < curve.epsilon[-1]:
        flat = [best.flat_lower, best.flat_upper]
        (low, high) = _reach(lines)
        band = ([low] * 2, [high] * 2)
        name = f"within {100 * FLAT:g} % of the best"
        places.append(Line(name, flat, [np.nan] * 2, GREY, limits=band))
    return _over_budgets(
        plan, [*places, *lines], "predicted error of the mean", log="y"
    )


def answering_figure(plan: AnswerRatePlan) -> Chart:
    """Who answers at each budget."""
    lines = [Line("who answer", plan.curve.epsilon, plan.curve.answer_rate)]
    return _over_budgets(plan, lines, "people who answer", percent=True)


def parts_figure(plan: AnswerRatePlan) -> Chart:
    """A mean's predicted error against the budget, and its parts: noise, and what refusals add."""
    budget = plan.curve.epsilon
    total, noise, added = plan.error_parts(budget)
    far = ~(total < _HIDDEN_ABOVE * np.nanmin(total))
    total, noise, added = (
        _positive(np.where(far, np.nan, curve)) for curve in (total, noise, added)
    )
    lines = [
        Line("error of the mean", budget, total),
        Line("noise, if everybody answered", budget, noise, GREEN, "dot"),
        Line("what refusals add", budget, added, ORANGE, "dash"),
    ]
    return _over_budgets(plan, lines, "predicted error of the mean", log="y")


def _over_budgets(
    plan: AnswerRatePlan, lines: list[Line], title: str, **axes: Any
) -> Chart:
    if plan.offered is not None:
        offered = float(plan.offered.epsilon[0])
        lines = [_upright("this budget", offered, lines, RED), *lines]
    return Chart(lines, (f"epsilon {_MORE_PRIVATE}", title), **axes)


def decoys_figure(plan: SamplingPlan) -> Chart:
    """What a report of a value says in round two, against how often others send it as a decoy."""
    mechanism = plan.mechanism
    decoys = np.array(plan.mechanism.decoys)
    fewest = max(decoys.min() / 4, 1e-9)
    most = min(4 * decoys.max(), 1 - mechanism.sampling)
    across = np.geomspace(fewest, most, 50)
    levels = plan.question.levels[:_MOST_DRAWN_LEVELS]
    sampled = f"{100 * mechanism.sampling:.3g} % are sampled"
    firsts = np.cumsum([0, *(len(level_part.yes_counts) for level_part in levels)])
    lines = [Line(sampled, across, mechanism.losses_with(across), GREY)]
    for level, start, colour in zip(
        levels, decoys[firsts[:-1]], cycle(CYCLE), strict=False
    ):
        lines.append(
            Line(f"{level.name!r}", [start], mechanism.losses_with([start]), colour, "")
        )
    titles = "chance of a decoy, of each value", "loss in round two, nats"
    return Chart(lines, titles, "x", left_out=_of(levels, plan.question.levels))


def _of(shown: Sized, every: Sized, what: str = "levels") -> str:
    """What is left out, if it is."""
    return f"{len(shown)} of {len(every)} {what}" if len(shown) < len(every) else ""


def ordered_figure(
    estimates: OrderedEstimates, truth: ArrayLike | None = None
) -> Chart:
    """Consistent cumulative shares in their band, and between which answers the median lies.

    ``truth`` are true shares up to each answer, shape ``(d,)``, if they are known.
    """
    answers = list(estimates.answers)
    median = estimates.quantile()
    between = answers[answers.index(median.lower) : answers.index(median.upper) + 1]
    said = f"estimated; the band holds all at once, {100 * estimates.confidence:.3g} % confidence"
    where = (
        f"median {median.answer}{', and where it may be' if len(between) > 1 else ''}"
    )
    lines = [
        Line(said, answers, estimates.consistent, limits=estimates.band, marked=True),
        Line(where, between, [0.5] * len(between), RED, marked=True),
    ]
    if truth is not None:
        lines.append(Line("true", answers, np.asarray(truth), ORANGE, ""))
    return Chart(
        lines, ("answer, the lowest first", "people up to the answer"), percent=True
    )


def seen_figure(part: AnyPart) -> Chart:
    """The curve of a number that would be seen at a budget, with its limits: all at once."""
    edges, expected = expected_curve(part)
    lower, upper = expected.band
    limits = (np.append(0.0, lower), np.append(0.0, upper))
    shares = np.append(0.0, expected.consistent)
    line = Line("seen on average, and its 95 % limits", edges, shares, limits=limits)
    return Chart([line], ("answer", "people up to the answer"), percent=True)


def one_survey_figure(survey: OneSurvey) -> Chart:
    """True counts or a true mean, and estimates with their own 95 % intervals."""
    limits = survey.lower, survey.upper
    estimated = "estimated, 95 % interval"
    lines = [
        Line(estimated, survey.labels, survey.estimates, BLUE, "", limits),
        Line("true", survey.labels, survey.truth, ORANGE, ""),
    ]
    if survey.unit == "people" and np.min(survey.lower) < 0 and len(survey.labels) > 1:
        ends = [survey.labels[0], survey.labels[-1]]
        nobody = "nobody: what is left of it counts as 0"
        lines.append(Line(nobody, ends, [0.0, 0.0], GREY, "dot"))
    cut = _of(survey.labels, range(survey.every), "answers")
    return Chart(lines, ("", survey.unit), turned=True, left_out=cut)


def beliefs_figure(
    names: Sequence[str], prior: float, low: Array, high: Array, every: int
) -> Chart:
    """How likely an answer of a level may be held after a report, and was before."""
    held = [prior] * len(names)
    ends = Line("after a report", names, held, BLUE, "", (low, high), bare=True)
    before = Line("before", names, held, ORANGE, "")
    titles = ("", "held to be so likely")
    cut = _of(names, range(every))
    return Chart([ends, before], titles, percent=True, turned=True, left_out=cut)


def rounds_figure(part: AnyPart, planned: Option) -> Chart:
    """Errors of a round, of the average and of a change against how often a question is asked."""
    counts = np.arange(2, 2 * part.asked.rounds.count + 1)
    schemes = [own_ways(part, planned, count)[1][0] for count in counts.tolist()]
    errors: dict[str, list[Any]] = {
        "a round": [scheme.each for scheme in schemes],
        "the average, if answers stay": [scheme.average_stays for scheme in schemes],
        "a change, if answers stay": [scheme.change_stays for scheme in schemes],
    }
    complete = {name: line for name, line in errors.items() if None not in line}
    lines = _lines(
        counts, {name: [*map(part.total, line)] for name, line in complete.items()}
    )
    here = _upright("these rounds", part.asked.rounds.count, lines, RED)
    return Chart([*lines, here], ("rounds", f"error, {part.asked.unit}"), "y")


def estimates_figure(rows: DataFrame) -> Chart:
    """Estimated people by answer, with their intervals; rows are those of an estimates file."""
    limits = rows["lower"].to_numpy(), rows["upper"].to_numpy()
    line = Line(
        "people", rows["answer"].tolist(), rows["estimate"].to_numpy(), BLUE, "", limits
    )
    return Chart([line], ("", "people"), turned=True)


def distribution_figure(
    edges: ArrayLike, rows: DataFrame, smoothed: DataFrame
) -> Chart:
    """Both curves of a number whose distribution was asked for.

    ``rows`` of an estimates file are those up to the end of each cell but the last, of which the
    ``edges`` are the ends; ``smoothed`` those of the smoothed curve, the last up to the upper end.
    """
    ends = np.asarray(edges, dtype=np.float64)
    everybody = smoothed["estimate"].iloc[-1]
    columns = {}
    for name in ("processed", "joint_lower", "joint_upper"):
        columns[name] = np.concatenate([[0.0], rows[name], [everybody]])
    limits = (columns["joint_lower"], columns["joint_upper"])
    consistent = Line(
        "consistent; the band holds all of it",
        ends,
        columns["processed"],
        limits=limits,
    )
    values = smoothed["answer"].str.removeprefix("up to ").astype(float)
    fine = np.append(ends[0], values)
    curve = np.append(0.0, smoothed["estimate"])
    lines = [consistent, Line("smoothed (EMS), no limits", fine, curve, ORANGE, "dash")]
    return Chart(lines, ("answer", "people up to the answer"))


def over_rounds_figure(rows: DataFrame) -> Chart:
    """The answers with the largest estimates over the rounds, with their intervals as bands."""
    by_answer = rows.groupby("answer")["estimate"].sum()
    lines = list[Line]()
    for answer, colour in zip(
        by_answer.nlargest(_MOST_OVER_ROUNDS).index, CYCLE, strict=False
    ):
        of_answer = rows[rows["answer"] == answer]
        x = of_answer["of"].str.removeprefix("round ").astype(int)
        limits = (of_answer["lower"], of_answer["upper"])
        lines.append(
            Line(answer, x, of_answer["estimate"], colour, limits=limits, marked=True)
        )
    return Chart(
        lines, ("round", "estimate"), left_out=_of(lines, by_answer, "answers")
    )


def _lines(x: Any, values: Mapping[str, ArrayLike]) -> list[Line]:
    """Lines by their names, on an axis that is logarithmic, in colours and dashes of their own."""
    styles = zip(values.items(), cycle(CYCLE), cycle(DASHES))
    return [
        Line(name, x, _positive(y), colour, dash) for (name, y), colour, dash in styles
    ]


def _positive(values: ArrayLike) -> Any:
    return np.where(np.asarray(values) > 0, values, np.nan)  # a log axis has no zero


def _reach(lines: Sequence[Line]) -> tuple[float, float]:
    values = np.concatenate([line.values for line in lines])
    return float(np.nanmin(values)), float(np.nanmax(values))


def _upright(name: str, x: float, lines: Sequence[Line], colour: str) -> Line:
    """A dotted line over one ``x``, as high as the others reach."""
    return Line(name, [x, x], list(_reach(lines)), colour, "dot")


def plotly_of(drawn: Chart) -> Figure:
    """The chart as a plotly figure. Names are shown as they are: plotly knows some of HTML."""
    from plotly.graph_objects import Figure

    figure = Figure()
    (across, along) = "yx" if drawn.turned else "xy"
    for line in drawn.lines:
        x = [_as_it_is(label) if isinstance(label, str) else label for label in line.x]
        if line.bare and line.limits is not None:
            _add_bars(figure, x, line, across, along)
            continue
        style: dict[str, Any] = {"line": {"color": line.colour, "dash": line.dash}}
        if line.limits is not None and line.dash:
            _add_band(figure, x, line)
        if not line.dash:
            style = {"marker": {"color": line.colour, "size": 8}}
            if line.limits is None:
                style["marker"] |= {
                    "symbol": "diamond-open",
                    "size": 12,
                    "line": {"width": 2},
                }
            else:
                style[f"error_{along}"] = _bars_of(line.values, *line.limits)
        mode = (
            "markers" if not line.dash else "lines+markers" if line.marked else "lines"
        )
        values = {across: x, along: line.values}
        figure.add_scatter(**values, name=_as_it_is(line.name), mode=mode, **style)
    legend = {"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0}
    figure.update_layout(
        height=350, margin={"l": 8, "r": 8, "t": 8, "b": 40}, legend=legend
    )
    for axis, title in ((across, drawn.across), (along, drawn.titles[1])):
        kind = (
            {"type": "log", "dtick": "D2", "tickformat": "~g"}
            if axis in drawn.log
            else {}
        )
        figure.update_layout(
            {f"{axis}axis": {"title": title, "automargin": True, **kind}}
        )
    if drawn.turned:
        height = 90 + 26 * max(len(drawn.lines[0].x), 2)
        figure.update_layout(
            height=height, yaxis={"type": "category", "autorange": "reversed"}
        )
    if drawn.percent:
        whole = {"rangemode": "tozero"} if drawn.turned else {}
        figure.update_layout({f"{along}axis": {"tickformat": ".2~%", **whole}})
    return figure


def _bars_of(values: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> dict[str, Any]:
    """Bars from limit to limit; an end that is not known is not drawn.

    An estimate below 0 may lie outside its limits: one of the two distances is negative then.
    """
    below = np.asarray(values) - np.asarray(lower)
    above = np.asarray(upper) - np.asarray(values)
    return {
        "array": np.where(np.isfinite(above), above, 0),
        "arrayminus": np.where(np.isfinite(below), below, 0),
        "symmetric": False,
    }


def _add_bars(
    figure: Figure, x: Sequence[Any], line: Line, across: str, along: str
) -> None:
    """From limit to limit, with a gap after each, so that the legend shows a bar, too."""
    places: list[Any] = []
    values: list[float | None] = []
    for x_place, low, high in zip(x, *(line.limits or ((), ())), strict=True):
        places += [x_place, x_place, None]
        values += [float(low), float(high), None]
    style = {"color": line.colour, "width": 5}
    drawn = {across: places, along: values}
    figure.add_scatter(**drawn, name=_as_it_is(line.name), mode="lines", line=style)


def _add_band(figure: Figure, x: Sequence[Any], line: Line) -> None:
    light = ",".join(
        str(int(line.colour[digit : digit + 2], 16)) for digit in (1, 3, 5)
    )
    edge = {
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    lower, upper = line.limits or ((), ())
    figure.add_scatter(x=x, y=lower, **edge)
    figure.add_scatter(
        x=x, y=upper, fill="tonexty", fillcolor=f"rgba({light},0.25)", **edge
    )


def _as_it_is(text: str) -> str:
    return text.replace("<", "&lt;")


_CHARTS: dict[type, Callable[[Any], Chart]] = {
    Frontier: frontier_figure,
    QuestionPlan: question_figure,
    PaddingPlan: padding_figure,
    AnswerRatePlan: error_figure,
    OrderedEstimates: ordered_figure,
    SamplingPlan: decoys_figure,
}
