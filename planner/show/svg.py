"""A chart as a drawing in a page: its legend above, lines, points and bands below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Any, NamedTuple

import numpy as np

from planner.show.figures import Chart, Line

Place = Callable[[Any], float]
"""Where a value or a name stands in a drawing."""
OnPage = tuple[float, float]


# readable on a telephone
_WIDTH = 560


_LEFT = 78


_RIGHT = 548


_PLOT = 280


_SVG_SIZES = 20


_MOST_AXIS_NAMES = 8


_MOST_LETTERS = 24


_LARGEST_WHOLE = 1e9  # a label of more digits has no room


_DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3"}


def svg_of(drawn: Chart, alt: str) -> str:
    """The drawing of a chart; ``alt`` is what somebody hears who does not see it.

    Of a chart that is turned what is named stands at the left, and numbers below.
    """
    named = []
    numbers = []
    for line in drawn.lines:
        named.extend(line.x)
        numbers.extend(line.values)
        for limit in line.limits or ():
            numbers.extend(limit)
    top = _SVG_SIZES * (len(drawn.lines) + 2)
    if drawn.turned:
        longest = max(map(len, named))
        left = 16 + 8 * min(longest, _MOST_LETTERS)
        bottom = top + 24 * max(len(set(named)), 2)
        across = _axis(numbers, left, _RIGHT, log="y" in drawn.log)
        up = _axis(named, top, bottom, log="x" in drawn.log)
        up = up._replace(written=list(dict.fromkeys(named)))  # there is room for all
        above = drawn.across
        below = drawn.titles[1]
    else:
        left = _LEFT
        bottom = top + _PLOT
        across = _axis(named, left, _RIGHT, log="x" in drawn.log)
        up = _axis(numbers, bottom, top, log="y" in drawn.log)
        above = drawn.titles[1]
        below = drawn.across

    def at(x: Any, y: Any) -> OnPage:
        if drawn.turned:
            return across.place(y), up.place(x)
        return across.place(x), up.place(y)

    parts = []
    for value in across.written:
        label = _label(value, percent=drawn.percent and drawn.turned)
        parts.append(_text(across.place(value), bottom + 18, label))
    for value in up.written:
        height = up.place(value)
        label = _label(value, percent=drawn.percent and not drawn.turned)
        parts.append(_text(left - 8, height + 4, label, "end"))
        parts.append(_path([(left, height), (_RIGHT, height)], "#9995", 1))
    for i, line in enumerate(drawn.lines):
        level = 12 + _SVG_SIZES * i
        parts.append(_path([(4, level), (28, level)], line.colour, 3, line.dash))
        parts.append(_text(36, level + 4, line.name, "start"))
        parts += _drawn(line, at)
    parts.append(_text((left + _RIGHT) / 2, bottom + 42, below))
    parts.append(_text(4, top - 10, above, "start"))
    height = bottom + 50
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    title = f"<title>{escape(alt)}</title>"
    opening = f'<svg {size} role="img" font-size="14" fill="currentColor">'
    return "\n".join([f"{opening}{title}", *parts, "</svg>"])


def _label(value: str | float, *, percent: bool) -> str:
    """What is written at an axis: a long name ends in three dots."""
    if isinstance(value, str):
        if len(value) <= _MOST_LETTERS:
            return value
        return f"{value[: _MOST_LETTERS - 1]}\u2026"
    if percent:
        return f"{100 * value:.3g} %"
    if 1_000 <= abs(value) < _LARGEST_WHOLE:  # people, whole as everywhere else
        return f"{value:,.0f}"
    return f"{value:,.4g}"


def _drawn(line: Line, scaled: Callable[[Any, Any], OnPage]) -> Iterator[str]:
    """A line with what surrounds it: a band if it is drawn through, else a bar at each point."""
    if line.limits is not None and line.dash:
        lower, upper = line.limits
        edge = _points(line, lower, scaled) + _points(line, upper, scaled)[::-1]
        style = f'fill="{line.colour}" opacity=".2"'
        yield f'<polygon points="{_places(edge)}" {style}/>'
    elif line.limits is not None:
        ends = []
        for limit in line.limits:  # an end that is open is not drawn
            shown = np.where(np.isfinite(limit), limit, line.values)
            ends.append(_points(line, shown, scaled))
        lower_ends, upper_ends = ends
        for lower_end, upper_end in zip(lower_ends, upper_ends, strict=True):
            yield _path([lower_end, upper_end], line.colour, 3)
    dots = _points(line, line.values, scaled)
    if line.dash:
        yield _path(dots, line.colour, 2, line.dash)
    if (line.marked or not line.dash) and not line.bare:
        for x, y in dots:
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{line.colour}"/>'


def _points(
    line: Line, values: Sequence[float], scaled: Callable[[Any, Any], OnPage]
) -> list[OnPage]:
    """Where these values of a line are on the page, those that are no number left out."""
    places = []
    for x, y in zip(line.x, values, strict=True):
        if isfinite(y):
            places.append(scaled(x, y))
    return places


class _Axis(NamedTuple):
    """Where a value is on the page, and which values are written there."""

    place: Place
    written: Sequence[str | float]


def _axis(values: Sequence[Any], start: float, end: float, *, log: bool) -> _Axis:
    """An axis from ``start`` to ``end`` on the page, of numbers, or names equally far apart."""
    names = []
    for value in dict.fromkeys(values):
        if isinstance(value, str):
            names.append(value)
    if names:
        return _axis_of_names(names, start, end)
    return _axis_of_numbers(values, start, end, log=log)


def _axis_of_names(names: Sequence[str], start: float, end: float) -> _Axis:
    step = (end - start) / len(names)
    places = {}
    for k, name in enumerate(names):
        places[name] = start + step * (k + 0.5)
    every = ceil(len(names) / _MOST_AXIS_NAMES)
    return _Axis(places.__getitem__, names[::every])


def _axis_of_numbers(
    values: Sequence[float], start: float, end: float, *, log: bool
) -> _Axis:
    scaled: Place = log10 if log else float
    finite = [scaled(value) for value in values if isfinite(value)]
    if not finite:
        finite = [0.0, 1.0]
    # A little room at both ends; half a unit where all values are the same.
    pad = 0.04 * (max(finite) - min(finite)) or 0.5
    low = min(finite) - pad
    high = max(finite) + pad

    def place(value: float) -> float:
        return start + (end - start) * (scaled(value) - low) / (high - low)

    if log:
        return _Axis(place, _log_marks(low, high))
    return _Axis(place, _marks(low, high))


def _marks(low: float, high: float) -> list[float]:
    """Multiples of 1, 2 or 5 times a power of ten, at most five steps of them."""
    rough = (high - low) / 5
    power = 10.0 ** floor(log10(rough))
    step = 10 * power
    for times in (5, 2, 1):
        if power * times >= rough:
            step = power * times
    first = ceil(low / step)
    last = floor(high / step)
    return [step * k for k in range(first, last + 1)]


def _log_marks(low: float, high: float) -> list[float]:
    """Powers of ten between these of their logarithms; with 2 and 5 times each if few."""
    times = [1]
    if high - low < 3:
        times = [1, 2, 5]
    marks = []
    for exponent in range(floor(low), ceil(high)):
        for factor in times:
            mark = 10.0**exponent * factor
            if low <= log10(mark) <= high:
                marks.append(mark)
    return marks


def _places(points: Iterable[OnPage]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _path(points: list[OnPage], colour: str, width: int, dash: str = "") -> str:
    dashes = ""
    if dash in _DASHES:
        dashes = f' stroke-dasharray="{_DASHES[dash]}"'
    style = f'stroke="{colour}" stroke-width="{width}"{dashes} fill="none"'
    return f'<polyline points="{_places(points)}" {style}/>'


def _text(x: float, y: float, said: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(said)}</text>'
