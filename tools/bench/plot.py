"""A plot of cost against N as a plain SVG: both axes logarithmic, a line for each program."""

import math
from collections.abc import Callable
from typing import NamedTuple
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 720, 420, 70, 30, 130, 50
ROOM = 40
"""Between two counts that are named at the axis."""
COLOURS = ("#0b6e4f", "#8a8d91", "#4c4f54", "#c8553d", "#5b5f97", "#d1a10f", "#2a7fbf", "#a23b72")


class Curve(NamedTuple):
    name: str
    points: dict[int, float]
    """N -> microseconds an entity, or what else the plot says."""


def svg(title: str, curves: list[Curve], axis: str, unit: str = "µs") -> str:
    counts = sorted({count for curve in curves for count in curve.points})
    costs = [cost for curve in curves for cost in curve.points.values()]
    low, high = _powers(min(costs), max(costs))
    first, last = math.log10(counts[0]), math.log10(counts[-1])

    def x(count: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(count) - first) / ((last - first) or 1)

    def y(cost: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (math.log10(cost) - low) / (high - low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        ' font-family="sans-serif" font-size="13">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        f'<text x="{LEFT}" y="18" font-weight="bold">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        for step in (1, 2, 5) if power < high else (1,):
            cost = step * 10.0**power
            parts.append(f'<path d="M{LEFT} {y(cost):.1f}H{WIDTH - RIGHT}" stroke="#dddddd"/>')
            parts.append(f'<text x="{LEFT - 8}" y="{y(cost) + 4:.1f}" text-anchor="end">{_said(cost, unit)}</text>')
    parts += [
        f'<text x="{x(count):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{count:,}</text>'
        for count in _apart(counts, x)
    ]
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 10}" text-anchor="middle">{axis}</text>')
    taken: list[float] = []
    for curve, colour in zip(curves, COLOURS, strict=False):
        points = [(x(count), y(cost)) for count, cost in sorted(curve.points.items())]
        line = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="3.5" fill="{colour}"/>' for px, py in points]
        at = points[-1][1] + 4
        while any(abs(at - other) < 15 for other in taken):
            at += 1
        taken.append(at)
        parts.append(f'<text x="{WIDTH - RIGHT + 12}" y="{at:.1f}" fill="{colour}">{escape(curve.name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _said(cost: float, unit: str) -> str:
    """A value at the axis, in as few digits as its room has."""
    for size, larger in ((1e6, "s"), (1e3, "ms")):
        if unit == "µs" and cost >= size:
            return f"{cost / size:g} {larger}"
    return f"{cost:,.0f} {unit}" if cost >= 1 else f"{cost:g} {unit}"


def _apart(counts: list[int], x: Callable[[float], float]) -> list[int]:
    """Those that have room to be named: powers of ten first."""
    named: list[int] = []
    for count in sorted(counts, key=lambda count: (not math.log10(count).is_integer(), count)):
        if all(abs(x(count) - x(other)) >= ROOM for other in named):
            named.append(count)
    return named


def _powers(least: float, most: float) -> tuple[int, int]:
    """The powers of ten around two values."""
    low = math.floor(math.log10(least))
    return low, max(math.ceil(math.log10(most)), low + 1)
