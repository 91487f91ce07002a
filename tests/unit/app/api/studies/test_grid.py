"""The grid of a study."""

from __future__ import annotations

import pytest

from app.api.studies.grid import check_grid, count_points, grid_points, values_at
from cnet.errors import SpecError

GRID = {"method.lambda": [0.1, 0.2], "training.seed": [0, 1, 2]}


def test_every_combination_is_a_job() -> None:
    """The last path varies fastest, and a place says which values it has."""
    points = grid_points({"dataset": "digits"}, GRID)

    assert [tuple(point.values.values()) for point in points] == [
        *((0.1, 0), (0.1, 1), (0.1, 2), (0.2, 0), (0.2, 1), (0.2, 2))
    ]
    assert [values_at(GRID, point.index) for point in points] == [point.values for point in points]
    assert count_points(GRID) == 6
    assert points[4].spec == {"dataset": "digits", "method": {"name": "cnet", "lambda": 0.2}, "training": {"seed": 1}}


def test_without_paths_there_is_one_job() -> None:
    """Its specification is the one that was sent."""
    (point,) = grid_points({"dataset": "digits"}, {})

    assert (point.values, point.spec, count_points({})) == ({}, {"dataset": "digits"}, 1)


def test_whole_parts_can_vary() -> None:
    """A value replaces what the specification says, and jobs do not share it."""
    parts = [{"name": "uniform", "step": 0.1}, {"name": "kmeans"}]
    spec = {"quantize": {"name": "kmeans", "clusters": 4}}

    first, second = grid_points(spec, {"quantize": parts})

    assert (first.spec["quantize"], second.spec["quantize"]) == tuple(parts)
    assert first.spec["quantize"] is not parts[0]
    assert spec == {"quantize": {"name": "kmeans", "clusters": 4}}


def test_a_part_without_a_name_is_the_one_that_has_the_field() -> None:
    """The default part where it has the field, otherwise the first that has."""
    (point,) = grid_points({}, {"quantize.quality": ["safe"], "prune.sparsity": [0.5]})

    assert point.spec == {
        "quantize": {"name": "auto", "quality": "safe"},
        "prune": {"name": "magnitude", "sparsity": 0.5},
    }


def test_a_path_through_a_value_is_refused() -> None:
    """The error names the place and what stands there."""
    with pytest.raises(SpecError, match=r"leads through architecture, which the spec sets to \"resnet32\". Write"):
        grid_points({"architecture": "resnet32"}, {"architecture.width": [1]})


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"a..b": [1]}, "not a path"),
        ({".a": [1]}, "not a path"),
        ({"prune": [None], "prune.sparsity": [1]}, "contains the path 'prune.sparsity'"),
        ({"training.seed": [1, 2, 1]}, "given twice"),
        ({"quantize": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}, "given twice"),
    ],
)
def test_grids_that_make_no_sense_are_refused(grid: dict[str, list[object]], message: str) -> None:
    """Each mistake has a location."""
    with pytest.raises(SpecError, match=message) as caught:
        check_grid(grid)

    assert caught.value.issues[0].loc[:1] == ("grid",)


def test_a_point_names_its_values() -> None:
    """Long values are shortened."""
    (point,) = grid_points({}, {"training.seed": [3], "name": ["x" * 100]})

    assert str(point).startswith('grid point 0 (training.seed = 3, name = "xxx')
    assert len(str(point)) < 120
