"""Results as objects and tables."""

from __future__ import annotations

import sys

import httpx2
import pytest

from cnet.client import ClientError
from cnet.results.report import csv_columns, metrics
from tests.unit.cnet.client.scripted import answers, client_of
from tests.unit.cnet.points_at_hand import a_baseline, a_point

POINTS = [a_point(0, 1500, 89.5), a_point(1, 500, 80.25)]
DOCUMENT = metrics(a_baseline(), POINTS, 1)


def test_points_are_typed_objects() -> None:
    """The JSON of the API stays beside them."""
    found = client_of(answers(httpx2.Response(200, json=DOCUMENT))).metrics("job_1")

    assert found.points == POINTS
    assert found.baseline == a_baseline()
    assert found.selected_point == POINTS[1]
    assert found["points"][0]["ratio"] == POINTS[0].ratio


def test_before_the_end_nothing_is_selected() -> None:
    """Neither baseline nor points need be there."""
    early = {"baseline": None, "points": [], "selected": None}

    found = client_of(answers(httpx2.Response(200, json=early))).results("job_1")

    assert (found.baseline, found.points, found.selected_point) == (None, [], None)


def test_results_are_a_table_of_pandas() -> None:
    """The columns of the CSV, a row for each point; and a row for each layer of each point."""
    found = client_of(answers(httpx2.Response(200, json=DOCUMENT))).metrics("job_1")

    table, layers = found.to_pandas(), found.layers_to_pandas()

    assert tuple(table.columns) == csv_columns()
    assert table["bytes_total"].tolist() == [1500, 500]
    assert table["selected"].tolist() == [False, True]
    assert layers["point"].tolist() == [0, 1]
    assert layers["name"].tolist() == ["conv.weight", "conv.weight"]


def test_without_pandas_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """It belongs to the client's errors."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    found = client_of(answers(httpx2.Response(200, json=DOCUMENT))).metrics("job_1")

    with pytest.raises(ClientError, match="pip install pandas") as caught:
        found.to_pandas()
    assert caught.value.code == "not_installed"
