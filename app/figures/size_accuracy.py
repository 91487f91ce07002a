"""The plot of size against accuracy: every point of one or several jobs, the best of them, and the originals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from app import formatting
from app.figures.axis import Axis
from app.figures.frame import Area, frame
from app.figures.score import Score
from app.figures.svg import element, figure
from cnet.results.points import BaselineResult, Point

_WIDTH, _HEIGHT, _LEGEND_ROW = 680.0, 400.0, 22.0
_AREA = Area(left=86, right=664, top=40, bottom=340)
_COLOURS = 8  # more jobs have one colour and no legend
_RADIUS = 6.0
_WORD_WIDTH, _WORD_HEIGHT = 60.0, 14.0  # of "original" beside a mark, with some space


@dataclass(frozen=True)
class Series:
    """The points of one job.

    Attributes:
        name: of the job, for the legend.
        baseline: the network before compression; None where it is not known yet.
        points: the points so far.
        selected: index of the point that the job selected; None: none.
        shown: index of the point whose details the page shows; None: none.
        link: the address of the details of a point, by its index; None: points are no links.
    """

    name: str
    baseline: BaselineResult | None
    points: Sequence[Point]
    selected: int | None
    shown: int | None = None
    link: Callable[[int], str] | None = None


@dataclass(frozen=True)
class _Mark:
    point: Point
    x: float
    y: float
    on_front: bool


@dataclass(frozen=True)
class _OriginalMark:
    text: str
    x: float
    y: float


def plot(series: Sequence[Series], title: str, *, one_front: bool = False) -> Element | None:
    """The plot as SVG, size on a logarithmic axis; None while there is nothing to show.

    The line of a job joins its points that no other one beats in both size and score. Points on it can be reached by
    keyboard; the table of points has them all.

    Args:
        series: the jobs.
        title: of the plot.
        one_front: whether one line joins the best points of all jobs, in place of a line for each.
    """
    score = Score.shared_by([point for each in series for point in each.points])
    if not any(_scored(each, score) for each in series):
        return None
    axes = _axes(series, score)
    best = pareto_front([point for each in series for point in each.points], score) if one_front else None
    colours = [number if len(series) <= _COLOURS else 0 for number in range(len(series))]
    drawn = [_series(each, colour, axes, score, best) for each, colour in zip(series, colours, strict=True)]
    originals = _name_originals([_mark_of_original(each.baseline, axes, score) for each in series])
    lines = [] if best is None else [element("g", _line(_marks(best, axes, score, best)), class_="series colour-0")]
    named = series if 1 < len(series) <= _COLOURS else ()
    legend = [_legend_row(each.name, number) for number, each in enumerate(named)]
    height = _HEIGHT + _LEGEND_ROW * len(legend)
    words = _description(series, score)
    return figure(_WIDTH, height, title, frame(_AREA, *axes), *lines, *drawn, *originals, *legend, description=words)


def pareto_front(points: Sequence[Point], score: Score) -> list[Point]:
    """The points that no other one beats in both size and score, the smallest first."""
    sign = -1.0 if score.higher_is_better else 1.0
    scored = [
        (p.bytes.total, sign * v, order, p) for order, p in enumerate(points) if (v := score.of_point(p)) is not None
    ]
    front: list[Point] = []
    best = float("inf")
    for _, cost, _, point in sorted(scored, key=lambda row: row[:3]):
        if cost < best:
            best = cost
            front.append(point)
    return front


def _scored(series: Series, score: Score) -> list[Point]:
    return [point for point in series.points if score.of_point(point) is not None]


def _axes(series: Sequence[Series], score: Score) -> tuple[Axis, Axis]:
    baselines = [each.baseline for each in series if each.baseline is not None]
    sizes = [float(p.bytes.total) for each in series for p in _scored(each, score)]
    sizes += [float(b.npz_bytes) for b in baselines]
    scores = [score.of_point(p) for each in series for p in each.points] + [score.of_baseline(b) for b in baselines]
    x = Axis.around(sizes, _AREA.across, "Size of the file", formatting.round_size, logarithmic=True)
    y = Axis.around([value for value in scores if value is not None], _AREA.upwards, score.name)
    return x, y


def _series(
    series: Series, colour: int, axes: tuple[Axis, Axis], score: Score, best: Sequence[Point] | None
) -> Element:
    """The marks of one job, and its line where ``best``, the best points of all jobs, have none of their own."""
    front = pareto_front(series.points, score) if best is None else best
    marks = _marks(series.points, axes, score, front)
    line = [_line(marks)] if best is None else []
    shapes = [_point(mark, series, score) for mark in sorted(marks, key=lambda m: (m.on_front, m.x))]
    original = _mark_of_original(series.baseline, axes, score)
    before = [] if original is None else _original(original)
    return element("g", *line, *before, *shapes, class_=f"series colour-{colour}")


def _marks(points: Sequence[Point], axes: tuple[Axis, Axis], score: Score, front: Sequence[Point]) -> list[_Mark]:
    x, y = axes
    return [
        _Mark(p, x.position(p.bytes.total), y.position(value), any(p is each for each in front))
        for p in points
        if (value := score.of_point(p)) is not None
    ]


def _line(marks: Sequence[_Mark]) -> Element:
    best = sorted((mark for mark in marks if mark.on_front), key=lambda mark: mark.x)
    return element("polyline", points=" ".join(f"{mark.x:.1f},{mark.y:.1f}" for mark in best), class_="front")


def _point(mark: _Mark, series: Series, score: Score) -> Element:
    point = mark.point
    names = ["point"]
    names += ["on-front"] * mark.on_front
    names += ["selected"] * (point.index == series.selected)
    names += ["shown"] * (point.index == series.shown)
    text = f"{series.name}. {describe_point(point, score)}"
    text += ", selected" if point.index == series.selected else ""
    circles = [element("circle", cx=mark.x, cy=mark.y, r=_RADIUS * 2.2, class_="target")]
    if point.index == series.selected:
        circles.append(element("circle", cx=mark.x, cy=mark.y, r=_RADIUS * 1.9, class_="ring"))
    circles.append(element("circle", cx=mark.x, cy=mark.y, r=_RADIUS, class_="dot"))
    shapes = [element("title", text), *circles]
    if series.link is None:
        return element("g", *shapes, class_=" ".join(names))
    reach = "0" if mark.on_front else "-1"
    link = series.link(point.index)
    return element("a", *shapes, class_=" ".join(names), href=link, tabindex=reach, aria_label=text)


def describe_point(point: Point, score: Score) -> str:
    """A point in words, such as ``Point 3: 138 kB, accuracy 97.22 %, sparsity 90 %, 16 clusters``."""
    value = score.of_point(point)
    parts = [formatting.size(point.bytes.total), f"{formatting.times(point.ratio)} smaller"]
    if value is not None:
        parts.append(f"{score.quantity.lower()} {score.text(value)}")
    parts.append(f"sparsity {formatting.share(point.sparsity)}")
    if point.clusters is not None:
        parts.append(f"{point.clusters} clusters")
    return f"Point {point.index}: {', '.join(parts)}"


def _mark_of_original(baseline: BaselineResult | None, axes: tuple[Axis, Axis], score: Score) -> _OriginalMark | None:
    """The place of the network before compression; None where it has no score."""
    if baseline is None:
        return None
    value = score.of_baseline(baseline)
    if value is None:
        return None
    text = f"Original: {formatting.size(baseline.npz_bytes)}, {score.text(value)}"
    return _OriginalMark(text, axes[0].position(baseline.npz_bytes), axes[1].position(value))


def _original(mark: _OriginalMark) -> Iterator[Element]:
    """The mark of the network before compression, and the level of its score."""
    yield element("line", x1=_AREA.left, x2=_AREA.right, y1=mark.y, y2=mark.y, class_="level")
    cross = f"M{mark.x - 6:.1f} {mark.y - 6:.1f}l12 12m0 -12l-12 12"
    yield element("g", element("title", mark.text), element("path", d=cross), class_="original")


def _name_originals(marks: Sequence[_OriginalMark | None]) -> Iterator[Element]:
    """The word beside each mark of an original, once where marks of several jobs would write it over each other."""
    named: list[_OriginalMark] = []
    for mark in marks:
        if mark is None:
            continue
        if all(abs(mark.x - other.x) > _WORD_WIDTH or abs(mark.y - other.y) > _WORD_HEIGHT for other in named):
            named.append(mark)
            yield element("text", "original", x=mark.x - 12, y=mark.y - 10, text_anchor="end", class_="note")


def _legend_row(name: str, number: int) -> Element:
    y = _HEIGHT + _LEGEND_ROW * (number + 0.5)
    dot = element("circle", cx=_AREA.left + 6, cy=y - 4, r=_RADIUS, class_="dot")
    text = element("text", name[:80], x=_AREA.left + 20, y=y)
    return element("g", dot, text, class_=f"series legend colour-{number}")


def _description(series: Sequence[Series], score: Score) -> str:
    best = (f"{each.name}: {_summary(each, score)}" for each in series)
    return f"Size of the file against {score.name}. {'. '.join(best)}."


def _summary(series: Series, score: Score) -> str:
    count = len(series.points)
    chosen = next((p for p in series.points if p.index == series.selected), None)
    text = f"{count} point{'s' * (count != 1)}"
    return text if chosen is None else f"{text}, of which is selected {describe_point(chosen, score).lower()}"
