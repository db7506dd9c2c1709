"""Charts as drawings: the lines, points and bands of a plotly figure, for pages without scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_WIDTH, _LEFT, _RIGHT, _BOTTOM, _LEGEND = 760, 110, 16, 48, 18
_DASHES = {"dash": "6 4", "dot": "2 3", "dashdot": "6 3 2 3", "longdash": "10 4"}
_TICKS = 6


class _Axis:
    """Values to places on the page, and where the ticks stand."""

    def __init__(self, layout: Any, values: Sequence[Any], low: float, high: float) -> None:
        self.layout, self.log = layout, layout.type == "log"
        self.names = list(dict.fromkeys(values)) if any(isinstance(v, str) for v in values) else []
        self.low, self.high = low, high
        found = [self.scaled(value) for value in values]
        known = [value for value in found if math.isfinite(value)] or [0.0, 1.0]
        least, most = min(known), max(known)
        if layout.rangemode == "tozero":
            least = min(least, 0.0)
        pad = 0.04 * (most - least) or 0.5
        self.range = layout.range or (least - pad, most + pad)
        if layout.autorange == "reversed":
            self.range = self.range[::-1]

    def scaled(self, value: Any) -> float:
        if value is None:
            return math.nan
        if self.names:
            return float(self.names.index(value)) if value in self.names else float(value)
        if self.log:
            return math.log10(value) if value > 0 else math.nan
        return float(value)

    def place(self, value: Any) -> float:
        share = (self.scaled(value) - self.range[0]) / (self.range[1] - self.range[0])
        return self.low + share * (self.high - self.low)

    def ticks(self) -> list[tuple[float, str]]:
        layout = self.layout
        if self.names:
            step = -(-len(self.names) // 12)
            return [(self.place(name), name) for name in self.names[::step]]
        values = self._values() if layout.tickvals is None else list(layout.tickvals)
        said = [self._said(value) for value in values]
        return [(self.place(v), t) for v, t in zip(values, layout.ticktext or said, strict=True)]

    def _values(self) -> list[float]:
        low, high = sorted(self.range)
        if self.log:
            decades = range(math.floor(low), math.ceil(high) + 1)
            steps = (1, 2, 5) if high - low < 3 else (1,)
            every = [step * 10.0**decade for decade in decades for step in steps]
            return [value for value in every if low <= math.log10(value) <= high]
        rough = (high - low) / _TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
        first = math.ceil(low / step)
        return [step * k for k in range(first, math.floor(high / step + 1e-9) + 1)]

    def _said(self, value: float) -> str:
        return f"{100 * value:.3g} %" if "%" in (self.layout.tickformat or "") else f"{value:,.4g}"


def svg_of(figure: Figure, alt: str) -> str:
    """The drawing of a chart of lines, points with error bars, and bands between two lines."""
    layout, traces = figure.layout, figure.data
    named = [trace for trace in traces if trace.name and trace.showlegend is not False]
    top, height = 12 + _LEGEND * len(named), int(layout.height or 360) + _LEGEND * len(named)
    x = _Axis(layout.xaxis, [v for t in traces for v in t.x], _LEFT, _WIDTH - _RIGHT)
    y = _Axis(layout.yaxis, [v for t in traces for v in t.y], height - _BOTTOM, top)
    parts = [_text(place, y.low + 18, said, "middle") for place, said in x.ticks()]
    for place, said in y.ticks():
        parts.append(_text(_LEFT - 8, place + 4, said, "end"))
        parts.append(_line((_LEFT, place), (_WIDTH - _RIGHT, place), "#e5e5e5"))
    before: list[tuple[float, float]] = []
    for trace in traces:
        before = _trace(parts, trace, x, y, before)
    for shape in layout.shapes:
        across = [shape.x0, shape.x1] if shape.xref == "x" else None
        ends = [x.place(v) for v in across] if across else [_LEFT, _WIDTH - _RIGHT]
        along = [y.low, y.high] if shape.yref != "y" else [y.place(shape.y0), y.place(shape.y1)]
        parts.append(_line((ends[0], along[0]), (ends[1], along[1]), shape.line.color, "dot"))
    for place, trace in enumerate(named):
        level = 12 + _LEGEND * place
        parts.append(_line((_LEFT, level), (_LEFT + 24, level), _colour(trace), trace.line.dash))
        parts.append(_text(_LEFT + 32, level + 4, trace.name, "start"))
    title = layout.yaxis.title.text or ""
    parts.append(_text(_WIDTH / 2, height - 8, layout.xaxis.title.text or "", "middle"))
    middle = (y.low + y.high) / 2
    parts.append(
        f'<text x="14" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:.1f})">{escape(title)}</text>'
    )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'font-size="12" font-family="system-ui, sans-serif"><title>{escape(alt)}</title>\n'
        + "\n".join(parts)
        + "\n</svg>"
    )


def _trace(
    parts: list[str], trace: Any, x: _Axis, y: _Axis, before: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """Draw one trace; gives back its points, to which a band may reach."""
    places = [(x.place(u), y.place(v)) for u, v in zip(trace.x, trace.y, strict=True)]
    known = [point for point in places if not any(map(math.isnan, point))]
    written = " ".join(f"{u:.1f},{v:.1f}" for u, v in known)
    if trace.fill == "tonexty":
        back = " ".join(f"{u:.1f},{v:.1f}" for u, v in reversed(before))
        parts.append(f'<polygon points="{written} {back}" fill="{trace.fillcolor}"/>')
    if "lines" in trace.mode and trace.line.width != 0:
        dash = _dash(trace.line.dash)
        width = trace.line.width or 2
        parts.append(
            f'<polyline points="{written}" fill="none" stroke="{_colour(trace)}" '
            f'stroke-width="{width}"{dash}/>'
        )
    if "markers" in trace.mode:
        errors = trace.error_x
        if errors.array is not None:
            less = errors.array if errors.arrayminus is None else errors.arrayminus
            for u, v, minus, plus in zip(trace.x, trace.y, less, errors.array, strict=True):
                ends = (x.place(u - minus), y.place(v)), (x.place(u + plus), y.place(v))
                parts.append(_line(*ends, _colour(trace), width=3))
        colour = _colour(trace)
        parts += [f'<circle cx="{u:.1f}" cy="{v:.1f}" r="4" fill="{colour}"/>' for u, v in known]
    return places


def _colour(trace: Any) -> str:
    found = trace.line.color or trace.marker.color or trace.fillcolor or "#7F7F7F"
    return str(found) if isinstance(found, str) else "#7F7F7F"


def _dash(name: str | None) -> str:
    return f' stroke-dasharray="{_DASHES[name]}"' if name in _DASHES else ""


def _line(
    start: tuple[float, float],
    end: tuple[float, float],
    colour: str,
    dash: str = "",
    width: int = 1,
) -> str:
    (u, v), (s, t) = start, end
    place = f'x1="{u:.1f}" y1="{v:.1f}" x2="{s:.1f}" y2="{t:.1f}"'
    return f'<line {place} stroke="{colour}" stroke-width="{width}"{_dash(dash)}/>'


def _text(x: float, y: float, said: Any, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(said))}</text>'
