"""Plots of lines as SVG text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

_WIDTH, _HEIGHT, _MARGIN = 720, 440, 64
_COLOURS = (
    *("#0b6e99", "#d9730d", "#448361", "#9065b0", "#d44c47", "#787774", "#cb912f"),
    *("#1b2a49", "#c14c8a", "#3aa6a0", "#7a4b2a", "#8fae1b", "#5b5bd6", "#333333"),
)

Line = Sequence[tuple[float, float]]
Scale = Callable[[float], float]


def plot(lines: Mapping[str, Line], x: str, y: str, *, linear_y: bool = False) -> str:
    """An SVG plot of named lines over two logarithmic axes; with ``linear_y`` the vertical axis is linear."""
    scales: tuple[Scale, Scale] = (math.log10, float if linear_y else math.log10)
    points = [point for line in lines.values() for point in line]
    low = [min(point[axis] for point in points) for axis in (0, 1)]
    high = [max(point[axis] for point in points) for axis in (0, 1)]

    def part(axis: int, value: float) -> float:
        first, last = scales[axis](low[axis]), scales[axis](high[axis])
        return (scales[axis](value) - first) / ((last - first) or 1.0)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        across, up = (part(axis, point[axis]) for axis in (0, 1))
        return _MARGIN + across * (_WIDTH - 2 * _MARGIN), _HEIGHT - _MARGIN - up * (_HEIGHT - 2 * _MARGIN)

    body = [_axis_names(x, y)]
    for axis in (0, 1):
        ticks = (_even_ticks if axis and linear_y else _ticks)(low[axis], high[axis])
        body += [_tick(axis, value, place((low[0], value) if axis else (value, low[1]))) for value in ticks]
    top = _HEIGHT - _MARGIN - 18 * len(lines) if linear_y else _MARGIN  # in the corner that rising lines leave free
    for number, (name, line) in enumerate(lines.items()):
        colour = _COLOURS[number % len(_COLOURS)]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in map(place, sorted(line)))
        body.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        body += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3" fill="{colour}"/>' for px, py in map(place, line)]
        body.append(f'<text x="{_WIDTH - 200}" y="{top + 18 * number}" fill="{colour}">{escape(name)}</text>')
    box = f'viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box} font-family="sans-serif" font-size="13">'
    return "\n".join([head, f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>', *body, "</svg>", ""])


def _ticks(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**power for power in powers for m in (1, 2, 5) if low <= m * 10.0**power <= high]


def _even_ticks(low: float, high: float) -> list[float]:
    step = 10.0 ** math.floor(math.log10((high - low) or 1.0))
    step = step if (high - low) / step >= 3 else step / 5
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _tick(axis: int, value: float, place: tuple[float, float]) -> str:
    px, py = place
    if axis == 0:
        return f'<text x="{px:.1f}" y="{_HEIGHT - _MARGIN + 18}" text-anchor="middle">{value:g}</text>'
    return f'<text x="{_MARGIN - 8}" y="{py:.1f}" text-anchor="end">{value:g}</text>'


def _axis_names(x: str, y: str) -> str:
    return (
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 14}" text-anchor="middle">{escape(x)}</text>'
        f'<text x="12" y="{_MARGIN - 24}">{escape(y)}</text>'
    )
