"""The plot of size against accuracy."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from app.figures import svg
from app.figures.score import Score
from app.figures.size_accuracy import Series, pareto_front, plot
from cnet.results.points import Point, TaskScore
from tests.figure_points import BASELINE, point

POINTS = [point(0, 3000, 97.0), point(1, 2000, 97.5), point(2, 1000, 95.0), point(3, 2500, 96.0)]


def classes(root: ET.Element, name: str) -> list[ET.Element]:
    """The elements that have this class."""
    return [each for each in root.iter() if name in each.get("class", "").split()]


def drawn(series: list[Series]) -> ET.Element:
    """The plot, read again from its text."""
    root = plot(series, "a plot")
    assert root is not None
    return ET.fromstring(svg.markup(root))  # noqa: S314 - made here


def test_the_front_has_the_points_that_none_beats() -> None:
    """Point 1 is smaller and better than 0 and 3; point 2 is the smallest."""
    assert [each.index for each in pareto_front(POINTS, Score.shared_by(POINTS))] == [2, 1]


@given(st.lists(st.tuples(st.integers(1, 50), st.integers(0, 50)), min_size=1, max_size=30))
def test_no_point_of_the_front_is_beaten(rows: list[tuple[int, int]]) -> None:
    """And each other point is beaten by one of the front, or equal to it."""
    points = [point(index, 1000 + size, float(score)) for index, (size, score) in enumerate(rows)]

    front = pareto_front(points, Score.shared_by(points))

    def beats(one: Point, other: Point) -> bool:
        return one.bytes.total <= other.bytes.total and (one.accuracy or 0) >= (other.accuracy or 0)

    assert not any(beats(a, b) for a in front for b in front if a is not b)
    assert all(any(beats(a, b) for a in front) for b in points)


def test_smaller_is_better_where_the_task_says_so() -> None:
    """An error of a regression is better where it is lower."""
    scores = [TaskScore("mse", "", value, None, higher_is_better=False) for value in (0.5, 0.2)]
    points = [point(0, 1000, None, metric=scores[0]), point(1, 2000, None, metric=scores[1])]

    score = Score.shared_by(points)

    assert score.name == "Test MSE"
    assert [each.index for each in pareto_front(points, score)] == [0, 1]
    assert [each.index for each in pareto_front([points[1]], score)] == [1]


def test_every_point_has_a_mark_and_a_text() -> None:
    """The selected one has a ring; points on the front can be reached by keyboard; the original is a cross."""
    root = drawn([Series("job", BASELINE, POINTS, 1, 2, lambda index: f"?point={index}")])

    links = {each.get("href"): each for each in root.iter("a")}
    assert set(links) == {"?point=0", "?point=1", "?point=2", "?point=3"}
    assert links["?point=1"].get("tabindex") == "0"
    assert links["?point=3"].get("tabindex") == "-1"
    assert "accuracy 97.50 %" in (links["?point=1"].get("aria-label") or "")
    assert len(classes(root, "ring")) == 1
    assert len(classes(root, "shown")) == 1
    assert len(classes(root, "original")) == 1
    assert root.find("title") is not None


def test_jobs_without_data_are_compared_by_their_weights() -> None:
    """The signal-to-noise ratio stands for the accuracy; a point without one is not drawn."""
    points = [point(0, 1000, None, snr_db=20.0), point(1, 900, None, snr_db=10.0), point(2, 5000, None, snr_db=None)]

    root = drawn([Series("job", BASELINE, points, None)])

    assert len(classes(root, "point")) == 2
    assert classes(root, "original") == []


def test_jobs_without_data_are_not_compared_with_those_that_have_it() -> None:
    """The noise in weights that were trained further says nothing; only what was measured alike is drawn."""
    alone = [point(0, 1000, None, snr_db=20.0)]

    root = drawn([Series("measured", BASELINE, POINTS, 1), Series("alone", BASELINE, alone, 0)])

    assert len(classes(root, "point")) == len(POINTS)


def test_one_line_can_join_the_best_points_of_all_jobs() -> None:
    """Those of both jobs are on it, and no job has a line of its own."""
    root = plot([Series("one", BASELINE, POINTS[:2], 1), Series("two", BASELINE, POINTS[2:], 2)], "all", one_front=True)
    assert root is not None

    assert len(classes(root, "front")) == 1
    assert sorted(each.findtext("title", "")[:12] for each in classes(root, "on-front")) == [
        "one. Point 1",
        "two. Point 2",
    ]


def test_many_jobs_have_one_colour() -> None:
    """A legend of more than eight would not be read."""
    series = [Series(f"job {number}", BASELINE, [point(0, 1000 + number, 90.0)], 0) for number in range(9)]

    root = drawn(series)

    assert classes(root, "legend") == []
    assert len(classes(root, "colour-0")) == 9


def test_several_jobs_have_a_legend() -> None:
    """Each job has a colour of its own."""
    root = drawn([Series("one", BASELINE, POINTS[:2], 1), Series("<two>", BASELINE, POINTS[2:], 2)])

    assert [each.findtext("text") for each in classes(root, "legend")] == ["one", "<two>"]


def test_nothing_is_drawn_without_points() -> None:
    """A job that has just begun has no plot."""
    assert plot([Series("job", BASELINE, [], None)], "a plot") is None


def test_the_plot_as_a_file_contains_its_style() -> None:
    """It is well-formed, names its namespace, and loads nothing."""
    root = plot([Series("job", None, POINTS, None)], "a plot")
    assert root is not None

    text = svg.document(root)

    assert ET.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"  # noqa: S314 - made here
    assert "prefers-color-scheme: dark" in text
    assert "url(" not in text


def test_equal_originals_have_one_text() -> None:
    """Jobs of one network start at one place; words written over each other could not be read."""
    root = drawn([Series("one", BASELINE, POINTS, 1), Series("other", BASELINE, POINTS, 2)])

    assert [each.text for each in classes(root, "note")].count("original") == 1
    assert len(classes(root, "original")) == 2
