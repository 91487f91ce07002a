"""Data sets over HTTP, read by the real sandbox."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from cnet.data import DATASETS
from tests.api_bench import Bench, add_job, npz, small_dataset
from tests.unit.app.api.http.test_problems import check_problem
from tests.unit.cnet.data.formats.archives import packed, split_images


def test_upload_and_read_back(bench: Bench) -> None:
    """What was uploaded is described and listed."""
    made = bench.client.post("/v1/datasets?filename=d.npz", content=small_dataset()).json()
    assert made["splits"] == {"train": 40, "test": 20}
    assert (made["input_shape"], made["classes"], made["dtype"], made["format"]) == ([1, 8, 8], 10, "uint8", "npz")
    assert bench.client.get(f"/v1/datasets/{made['id']}").json() == made
    assert bench.client.get("/v1/datasets").json()["data"] == [made]


def test_a_table_is_read(bench: Bench) -> None:
    """Its name does not matter; warnings tell how it was understood."""
    table = "\n".join(f"{number},0.5,{number % 2}" for number in range(10)).encode()
    made = bench.client.post("/v1/datasets?filename=d.txt", content=gzip.compress(table)).json()
    assert (made["format"], made["splits"], made["input_shape"]) == ("csv", {"train": 8, "test": 2}, [2])
    assert [warning["code"] for warning in made["warnings"]] == ["target_column", "split_made"]


def test_images_are_read_within_the_limits_of_the_sandbox(bench: Bench, tmp_path: Path) -> None:
    """Pillow is imported there; layout and names of classes are shown."""
    pytest.importorskip("PIL")
    made = bench.client.post("/v1/datasets", content=packed(tmp_path, split_images(), "tar.gz").read_bytes()).json()
    assert (made["format"], made["class_names"], made["layout"]) == ("image_folder", ["cat", "dog"], None)
    assert made["inputs"] == [{"name": "x", "shape": [1, 4, 6], "dtype": "uint8"}]
    bad = packed(tmp_path, {**split_images(), "../x.png": b""}).read_bytes()
    check_problem(bench.client.post("/v1/datasets", content=bad), 422, "unsafe_archive")


def test_a_set_without_test_data_is_split_with_a_warning(bench: Bench) -> None:
    """Of ``x`` and ``y`` a part becomes test data, and a warning says so."""
    body = npz(x=np.zeros((50, 8, 8), np.uint8), y=np.arange(50) % 5)
    made = bench.client.post("/v1/datasets", content=body).json()
    assert made["splits"] == {"train": 40, "test": 10}
    assert made["warnings"]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (npz(x_train=np.zeros((4, 8, 8), np.uint8)), "missing_arrays"),
        (npz(x=np.zeros((4, 8, 8), np.uint8), y=np.arange(3)), "length_mismatch"),
        (npz(x=np.zeros((4, 0, 8), np.uint8), y=np.arange(4)), "bad_shape"),
        (npz(x=np.zeros((4, 8, 8), np.uint8), y=np.full(4, -1)), "bad_labels"),
        (npz(x=np.full((10, 8, 8), np.nan), y=np.zeros(10, int)), "not_finite"),
    ],
)
def test_refused_files(bench: Bench, body: bytes, code: str) -> None:
    """What cannot be a data set is 422 with its code."""
    check_problem(bench.client.post("/v1/datasets", content=body), 422, code)


def test_delete_waits_for_jobs(bench: Bench) -> None:
    """While a job that has not ended needs it, deleting is 409."""
    made = bench.client.post("/v1/datasets", content=small_dataset()).json()
    job = add_job(bench, dataset_id=made["id"])
    check_problem(bench.client.delete(f"/v1/datasets/{made['id']}"), 409, "in_use")
    bench.client.delete(f"/v1/jobs/{job.id}")
    assert bench.client.delete(f"/v1/datasets/{made['id']}").status_code == 204
    check_problem(bench.client.get(f"/v1/datasets/{made['id']}"), 404, "not_found")


@pytest.mark.parametrize("name", DATASETS.names())
def test_builtin_shape_and_classes_are_those_of_the_data(name: str) -> None:
    """They are declared, so that the data need not be loaded, and they are correct."""
    builtin = DATASETS.create(name)
    data = builtin.load()
    assert (builtin.input_shape, builtin.classes) == (data.input_shape, data.classes)
