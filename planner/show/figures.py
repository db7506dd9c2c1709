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
POINTS = ""  # in place of a dash: points alone, and no line through them
_MOST_DRAWN_LEVELS = 8  # a chart of more lines cannot be read
_MOST_OVER_ROUNDS = 5  # as many as there are colours
# Times the best error: beyond it the curves would flatten the rest.
_HIDDEN_ABOVE = 30.0
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
        title, _ = self.titles
        return "; ".join(filter(None, (title, self.left_out)))


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
    """The chart of a plan or result, before anything draws it; None if it has none."""
    draw = _CHARTS.get(type(plan))
    if draw is None:
        return None
    return draw(plan)


def question_figure(plan: QuestionPlan) -> Chart:
    """The errors of all mechanisms, best first; of two rounds the loss against decoys."""
    sampling = plan.fact(SamplingPlan)
    if sampling is not None:
        return decoys_figure(sampling)
    chosen = plan.planned.name
    planned: list[Option] = []
    others: list[Option] = []
    for option in plan.options:
        if option.name == chosen:
            planned.append(option)
        else:
            others.append(option)
    lines = list[Line]()
    if planned:  # a legend has no entry for nothing
        lines.append(_error_bars("this plan", BLUE, planned))
    if others:
        lines.append(_error_bars("others", GREY, others))
    titles = ("", f"error, {plan.question.unit}")
    return Chart(lines, titles, turned=True)


def _error_bars(name: str, colour: str, options: Sequence[Option]) -> Line:
    """The error of each mechanism as a bar from 0, so that lengths may be compared."""
    titles = [option.title for option in options]
    errors = [option.error for option in options]
    zeros = [0.0] * len(options)
    return Line(name, titles, errors, colour, POINTS, (zeros, errors))


def frontier_figure(curve: Frontier) -> Chart:
    """Error against the common scale of the budgets, in total and of at most eight levels."""
    kept = curve.names[:_MOST_DRAWN_LEVELS]
    in_total = "error"
    if kept:  # beside the errors of its levels it has to be told from them
        in_total = "all answers"
    errors_in_total = _positive(curve.total_error)
    total = Line(in_total, curve.scale, errors_in_total, GREY)
    of_levels = {}
    for name, errors in zip(kept, curve.level_errors.T, strict=False):
        of_levels[f"one answer of {name!r}"] = errors
    lines = [total, *_lines(curve.scale, of_levels)]
    here = _upright("these budgets", 1.0, lines, RED)
    titles = f"budgets times {_MORE_PRIVATE}", "error, share of the people"
    lines.append(here)
    left_out = _of(kept, curve.names)
    return Chart(lines, titles, log="xy", percent=True, left_out=left_out)


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
    lines = []
    for line in drawn.lines:
        values = written(np.asarray(line.values))
        lines.append(replace(line, values=values))
    across, _ = drawn.titles
    return replace(drawn, lines=lines, titles=(across, f"error, {unit}"))


def explored_figure(plan: QuestionPlan, curve: Frontier, level: str = "") -> Chart:
    """A plan's errors against the scale of its budgets, or the budget of one ``level``.

    With where it is, where the level's budget saturates, and what its targets ask for.
    """
    whole = plan.part.whole
    policy = plan.deployed.policy
    drawn = frontier_figure(curve)
    # Of all budgets together the axis is their common factor, which is 1 as they are.
    current = 1.0
    across = "all budgets, times"
    if level:
        current = float(policy.epsilons[policy.names.index(level)])
        across = f"budget of {level!r}, nats"
    lines = list[Line]()
    for line in drawn.lines:
        x = current * np.asarray(line.x)
        values = whole * np.asarray(line.values)
        lines.append(replace(line, x=x, values=values))
    *curves, here = lines
    first = current * float(curve.scale[0])
    last = current * float(curve.scale[-1])
    marks = list[Line]()
    limit = plan.saturation_epsilon
    if level and limit is not None and first < limit < last:
        line = _upright(f"more buys {level!r} nothing", limit, curves, GREY)
        marks.append(line)
    for target in plan.targets:
        asked = target.target
        name = "target"
        if asked.level is not None:
            name = f"target, {asked.level!r}"
        # Other targets, of a chance to see a difference say, are no height in this chart.
        if asked.kind == "error" and asked.level in (None, *curve.names):
            height = whole * asked.value
            line = Line(name, (first, last), [height, height], SKY, "dash")
            marks.append(line)
        # The smallest budgets scale all levels: on the axis of one level they have no point.
        smallest = target.budgets
        if level or smallest is None or not smallest.possible:
            continue
        if first < smallest.scale < last:
            line = _upright("targets met", smallest.scale, curves, SKY)
            marks.append(line)
    titles = f"{across} {_MORE_PRIVATE}", f"error, {plan.question.unit}"
    lines = [*curves, *marks, here]
    return replace(drawn, lines=lines, titles=titles, percent=False)


def padding_figure(padding: PaddingPlan, length: int | None = None) -> Chart:
    """Expected total error in people against the padding length, and its two parts."""
    errors = {
        "total": padding.in_people(padding.mse),
        "too small, as sets are cut": padding.in_people(padding.bias2),
        "noise of the reports": padding.in_people(padding.variance),
    }
    lines = _lines(padding.lengths, errors)
    drawn = [*lines, _upright("the best length", padding.length, lines, GREY)]
    # Beyond the lengths of the curve there is no error to read off.
    if length is not None and length <= padding.lengths[-1]:
        here = _upright("this length", length, lines, RED)
        drawn.append(here)
    titles = ("padding length", "error, people")
    return Chart(drawn, titles, log="y")


def error_figure(plan: AnswerRatePlan) -> Chart:
    """Predicted error of a mean against the budget: BiSample-MD, forced answers, a channel."""
    curve = plan.curve
    best = plan.best_planned
    budget = curve.epsilon
    lines = [
        Line("BiSample-MD", budget, curve.mean_rmse),
        Line("forced, at the top", budget, curve.top_rmse, ORANGE, "dash"),
        Line("forced, at random", budget, curve.random_rmse, GREEN, "dot"),
    ]
    if plan.channels is not None:
        errors = plan.channels.channel_errors(budget)
        lines.append(Line("best channel", budget, errors, PURPLE))
    highest = _HIDDEN_ABOVE * plan.best.rmse
    visible = list[Line]()
    for line in lines:
        values = np.where(line.values < highest, line.values, np.nan)
        visible.append(replace(line, values=values))
    drawn = visible
    # Where the best is at the end of the curve, it is flat beyond what was computed, too.
    if plan.best.epsilon < budget[-1]:
        name = f"within {100 * FLAT:g} % of the best"
        ends = [best.flat_lower, best.flat_upper]
        low, high = _reach(visible)
        band = ([low] * 2, [high] * 2)
        nothing = [np.nan, np.nan]  # the band alone, and no line
        flat = Line(name, ends, nothing, GREY, limits=band)
        drawn = [flat, *visible]  # what is drawn later lies above the band
    return _over_budgets(plan, drawn, "predicted error of the mean", log="y")


def answering_figure(plan: AnswerRatePlan) -> Chart:
    """Who answers at each budget."""
    lines = [Line("who answer", plan.curve.epsilon, plan.curve.answer_rate)]
    return _over_budgets(plan, lines, "people who answer", percent=True)


def parts_figure(plan: AnswerRatePlan) -> Chart:
    """A mean's predicted error against the budget, and its parts: noise, and what refusals add."""
    budget = plan.curve.epsilon
    total, noise, added = plan.error_parts(budget)
    far = ~(total < _HIDDEN_ABOVE * np.nanmin(total))

    def near(curve: Array) -> Any:
        return _positive(np.where(far, np.nan, curve))

    lines = [
        Line("error of the mean", budget, near(total)),
        Line("noise, if everybody answered", budget, near(noise), GREEN, "dot"),
        Line("what refusals add", budget, near(added), ORANGE, "dash"),
    ]
    return _over_budgets(plan, lines, "predicted error of the mean", log="y")


def _over_budgets(
    plan: AnswerRatePlan, lines: list[Line], title: str, **axes: Any
) -> Chart:
    if plan.offered is not None:
        offered = float(plan.offered.epsilon[0])
        here = _upright("this budget", offered, lines, RED)
        lines = [here, *lines]
    titles = (f"epsilon {_MORE_PRIVATE}", title)
    return Chart(lines, titles, **axes)


def decoys_figure(plan: SamplingPlan) -> Chart:
    """What a report of a value says in round two, against how often others send it as a decoy."""
    mechanism = plan.mechanism
    decoys = np.array(mechanism.decoys)
    # Some room on both sides of what is planned. Who is sampled sends no decoy: both together
    # are at most everybody.
    fewest = max(decoys.min() / 4, 1e-9)
    most = min(4 * decoys.max(), 1 - mechanism.sampling)
    across = np.geomspace(fewest, most, 50)
    sampled = f"{100 * mechanism.sampling:.3g} % are sampled"
    losses = mechanism.losses_with(across)
    lines = [Line(sampled, across, losses, GREY)]
    levels = plan.question.levels[:_MOST_DRAWN_LEVELS]
    first = 0
    for level, colour in zip(levels, cycle(CYCLE), strict=False):
        # One point a level, that of its first value: more would hide each other.
        decoy = [decoys[first]]
        loss = mechanism.losses_with(decoy)
        point = Line(repr(level.name), decoy, loss, colour, POINTS)
        lines.append(point)
        first += len(level.yes_counts)
    titles = "chance of a decoy, of each value", "loss in round two, nats"
    left_out = _of(levels, plan.question.levels)
    return Chart(lines, titles, log="x", left_out=left_out)


def _of(shown: Sized, every: Sized, what: str = "levels") -> str:
    """What is left out, if it is."""
    if len(shown) >= len(every):
        return ""
    return f"{len(shown)} of {len(every)} {what}"


def ordered_figure(
    estimates: OrderedEstimates, truth: ArrayLike | None = None
) -> Chart:
    """Consistent cumulative shares in their band, and between which answers the median lies.

    ``truth`` are true shares up to each answer, shape ``(d,)``, if they are known.
    """
    answers = list(estimates.answers)
    shares = estimates.consistent
    percent = f"{100 * estimates.confidence:.3g} %"
    said = f"estimated; the band holds all at once, {percent} confidence"
    median = estimates.quantile()
    first = answers.index(median.lower)
    last = answers.index(median.upper)
    between = answers[first : last + 1]
    halves = [0.5] * len(between)
    where = f"median {median.answer}"
    if len(between) > 1:
        where += ", and where it may be"
    lines = [
        Line(said, answers, shares, limits=estimates.band, marked=True),
        Line(where, between, halves, RED, marked=True),
    ]
    if truth is not None:
        points = Line("true", answers, np.asarray(truth), ORANGE, POINTS)
        lines.append(points)
    titles = ("answer, the lowest first", "people up to the answer")
    return Chart(lines, titles, percent=True)


def seen_figure(part: AnyPart) -> Chart:
    """The curve of a number that would be seen at a budget, with its limits: all at once."""
    edges, expected = expected_curve(part)
    lower, upper = expected.band
    limits = (np.append(0.0, lower), np.append(0.0, upper))
    shares = np.append(0.0, expected.consistent)
    line = Line("seen on average, and its 95 % limits", edges, shares, limits=limits)
    titles = ("answer", "people up to the answer")
    return Chart([line], titles, percent=True)


def one_survey_figure(survey: OneSurvey) -> Chart:
    """True counts or a true mean, and estimates with their own 95 % intervals."""
    labels = survey.labels
    limits = survey.lower, survey.upper
    estimated = "estimated, 95 % interval"
    lines = [
        Line(estimated, labels, survey.estimates, BLUE, POINTS, limits),
        Line("true", labels, survey.truth, ORANGE, POINTS),
    ]
    # Estimates below 0 are drawn as they are, beside a line that says what they stand for.
    below = survey.unit == "people" and np.min(survey.lower) < 0
    if below and len(labels) > 1:
        ends = [labels[0], labels[-1]]
        said = "nobody: what is left of it counts as 0"
        nobody = Line(said, ends, [0.0, 0.0], GREY, "dot")
        lines.append(nobody)
    left_out = _of(labels, range(survey.every), "answers")
    titles = ("", survey.unit)
    return Chart(lines, titles, turned=True, left_out=left_out)


def beliefs_figure(
    names: Sequence[str], prior: float, low: Array, high: Array, every: int
) -> Chart:
    """How likely an answer of a level may be held after a report, and was before."""
    priors = [prior] * len(names)
    limits = (low, high)
    after = Line("after a report", names, priors, BLUE, POINTS, limits, bare=True)
    before = Line("before", names, priors, ORANGE, POINTS)
    return Chart(
        [after, before],
        ("", "held to be so likely"),
        percent=True,
        turned=True,
        left_out=_of(names, range(every)),
    )


def rounds_figure(part: AnyPart, planned: Option) -> Chart:
    """Errors of a round, of the average and of a change against how often a question is asked."""
    asked = part.asked.rounds.count
    counts = np.arange(2, 2 * asked + 1)
    squared: dict[str, list[Any]] = {
        "a round": [],
        "the average, if answers stay": [],
        "a change, if answers stay": [],
    }
    for count in counts.tolist():
        _, schemes = own_ways(part, planned, count)
        scheme = schemes[0]
        of_scheme = (scheme.each, scheme.average_stays, scheme.change_stays)
        for errors, error in zip(squared.values(), of_scheme, strict=True):
            errors.append(error)
    totals = {}
    for name, errors in squared.items():
        if None not in errors:  # some schemes have no error of an average or a change
            totals[name] = [part.total(error) for error in errors]
    lines = _lines(counts, totals)
    here = _upright("these rounds", asked, lines, RED)
    titles = ("rounds", f"error, {part.asked.unit}")
    return Chart([*lines, here], titles, log="y")


def estimates_figure(rows: DataFrame) -> Chart:
    """Estimated people by answer, with their intervals; rows are those of an estimates file."""
    answers = rows["answer"].tolist()
    estimates = rows["estimate"].to_numpy()
    limits = rows["lower"].to_numpy(), rows["upper"].to_numpy()
    line = Line("people", answers, estimates, BLUE, POINTS, limits)
    titles = ("", "people")
    return Chart([line], titles, turned=True)


def distribution_figure(
    edges: ArrayLike, rows: DataFrame, smoothed: DataFrame
) -> Chart:
    """The two curves of a number whose distribution was asked for.

    ``rows`` of an estimates file are those up to the end of each cell but the last, of which the
    ``edges`` are the ends; ``smoothed`` those of the smoothed curve, the last up to the upper end.
    """
    ends = np.asarray(edges, dtype=np.float64)
    everybody = smoothed["estimate"].iloc[-1]
    # Both ends are sure: nobody is below the lower one, and everybody up to the upper one.
    columns = {}
    for name in ("processed", "joint_lower", "joint_upper"):
        from_nobody = np.append(0.0, rows[name])
        columns[name] = np.append(from_nobody, everybody)
    said = "consistent; the band holds all of it"
    limits = (columns["joint_lower"], columns["joint_upper"])
    consistent = Line(said, ends, columns["processed"], limits=limits)
    values = smoothed["answer"].str.removeprefix("up to ").astype(float)
    fine = np.append(ends[0], values)
    estimates = np.append(0.0, smoothed["estimate"])
    curve = Line("smoothed (EMS), no limits", fine, estimates, ORANGE, "dash")
    titles = ("answer", "people up to the answer")
    return Chart([consistent, curve], titles)


def over_rounds_figure(rows: DataFrame) -> Chart:
    """The answers with the largest estimates over the rounds, with their intervals as bands."""
    # Over all rounds together, so that an answer that became frequent late is drawn, too.
    by_answer = rows.groupby("answer")["estimate"].sum()
    largest = by_answer.nlargest(_MOST_OVER_ROUNDS).index
    lines = list[Line]()
    for answer, colour in zip(largest, CYCLE, strict=False):
        of_answer = rows[rows["answer"] == answer]
        number = of_answer["of"].str.removeprefix("round ").astype(int)
        estimates = of_answer["estimate"]
        limits = (of_answer["lower"], of_answer["upper"])
        line = Line(answer, number, estimates, colour, limits=limits, marked=True)
        lines.append(line)
    left_out = _of(lines, by_answer, "answers")
    titles = ("round", "estimate")
    return Chart(lines, titles, left_out=left_out)


def _lines(x: Any, values: Mapping[str, ArrayLike]) -> list[Line]:
    """Lines by their names, on an axis that is logarithmic, in colours and dashes of their own."""
    lines = list[Line]()
    colours = cycle(CYCLE)
    dashes = cycle(DASHES)
    for name, y in values.items():
        shown = _positive(y)
        line = Line(name, x, shown, next(colours), next(dashes))
        lines.append(line)
    return lines


def _positive(values: ArrayLike) -> Any:
    return np.where(np.asarray(values) > 0, values, np.nan)  # a log axis has no zero


def _reach(lines: Sequence[Line]) -> tuple[float, float]:
    values = np.concatenate([line.values for line in lines])
    return float(np.nanmin(values)), float(np.nanmax(values))


def _upright(name: str, x: float, lines: Sequence[Line], colour: str) -> Line:
    """A dotted line over one ``x``, as high as the others reach."""
    low, high = _reach(lines)
    return Line(name, [x, x], [low, high], colour, "dot")


def plotly_of(drawn: Chart) -> Figure:
    """The chart as a plotly figure. Names are shown as they are: plotly knows some of HTML."""
    from plotly.graph_objects import Figure

    figure = Figure()
    # plotly's letters of the axis of names or budgets, and of the axis of values.
    across = "x"
    along = "y"
    if drawn.turned:
        across = "y"
        along = "x"
    for line in drawn.lines:
        x = list(map(_axis_label, line.x))
        if line.bare and line.limits is not None:
            _add_bars(figure, x, line, across, along)
            continue
        if line.limits is not None and line.dash:
            _add_band(figure, x, line)
        style = _style(line)
        if line.limits is not None and not line.dash:
            style[f"error_{along}"] = _bars_of(line)
        values = {across: x, along: line.values}
        name = _as_it_is(line.name)
        figure.add_scatter(**values, name=name, mode=_mode(line), **style)
    figure.update_layout(
        height=350,
        margin={"l": 8, "r": 8, "t": 8, "b": 40},  # left, right, top and bottom
        # In a row above the chart.
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0},
    )
    _style_axes(figure, drawn, across, along)
    return figure


def _style(line: Line) -> dict[str, Any]:
    """How plotly draws a line, or its points: open diamonds where they have no limits."""
    if line.dash:
        return {"line": {"color": line.colour, "dash": line.dash}}
    marker: dict[str, Any] = {"color": line.colour, "size": 8}
    if line.limits is None:
        marker["symbol"] = "diamond-open"
        marker["size"] = 12
        marker["line"] = {"width": 2}
    return {"marker": marker}


def _style_axes(figure: Figure, drawn: Chart, across: str, along: str) -> None:
    """Titles, kinds and ends of both axes, and the height that names need."""
    _, title_along = drawn.titles
    for axis, title in ((across, drawn.across), (along, title_along)):
        look: dict[str, Any] = {"title": title, "automargin": True}
        if axis in drawn.log:  # marks at 1, 2 and 5 times a power of ten
            look |= {"type": "log", "dtick": "D2", "tickformat": "~g"}
        figure.update_layout({f"{axis}axis": look})
    if drawn.turned:  # as high as its names need, the first on top
        names = len(drawn.lines[0].x)
        height = 90 + 26 * max(names, 2)
        figure.update_layout(height=height)
        figure.update_yaxes(type="category", autorange="reversed")
    if drawn.percent:
        shares = {"tickformat": ".2~%"}
        if drawn.turned:  # bars are compared by their lengths, which begin at 0
            shares["rangemode"] = "tozero"
        figure.update_layout({f"{along}axis": shares})


def _axis_label(value: Any) -> Any:
    """A name as plotly shall show it; numbers stay."""
    if isinstance(value, str):
        return _as_it_is(value)
    return value


def _mode(line: Line) -> str:
    """How plotly draws a line: as points alone, through them, or both."""
    if not line.dash:
        return "markers"
    if line.marked:
        return "lines+markers"
    return "lines"


def _bars_of(line: Line) -> dict[str, Any]:
    """Bars from limit to limit; an end that is not known is not drawn.

    An estimate below 0 may lie outside its limits: one of the two distances is negative then.
    """
    values = np.asarray(line.values)
    lower, upper = line.limits or (values, values)
    below = values - np.asarray(lower)
    above = np.asarray(upper) - values
    return {
        "array": np.where(np.isfinite(above), above, 0),
        "arrayminus": np.where(np.isfinite(below), below, 0),
        "symmetric": False,
    }


def _add_bars(
    figure: Figure, x: Sequence[Any], line: Line, across: str, along: str
) -> None:
    """Add bars from limit to limit, a gap after each, so that the legend shows a bar, too."""
    positions: list[Any] = []
    ends: list[float | None] = []
    lower, upper = line.limits or ((), ())
    for position, low, high in zip(x, lower, upper, strict=True):
        positions += [position, position, None]
        ends += [float(low), float(high), None]
    style = {"color": line.colour, "width": 5}
    name = _as_it_is(line.name)
    drawn = {across: positions, along: ends}
    figure.add_scatter(**drawn, name=name, mode="lines", line=style)


def _add_band(figure: Figure, x: Sequence[Any], line: Line) -> None:
    # The line's colour as plotly takes a transparent one: red, green and blue in 0 to 255.
    red, green, blue = bytes.fromhex(line.colour.removeprefix("#"))
    light = f"rgba({red},{green},{blue},0.25)"
    # Two lines that nobody sees, with the room between them filled.
    edge = {
        "mode": "lines",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    lower, upper = line.limits or ((), ())
    figure.add_scatter(x=x, y=lower, **edge)
    figure.add_scatter(x=x, y=upper, fill="tonexty", fillcolor=light, **edge)


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
