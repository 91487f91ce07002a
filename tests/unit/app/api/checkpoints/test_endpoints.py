"""Checkpoints over HTTP, read by the real sandbox."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from safetensors.numpy import load

from app.core.clock import utc_now
from app.core.db.tables import checkpoints
from cnet.formats.onnx.protobuf import encode_bytes as block
from cnet.formats.onnx.protobuf import encode_integer as number
from tests.api_bench import Bench, add_checkpoint, add_job, architecture_weights, npz, small_weights
from tests.real_files import real_file
from tests.unit.app.api.http.test_problems import check_problem

FIELDS = {
    *(
        "id",
        "owner",
        "filename",
        "format",
        "sha256",
        "size_bytes",
        "tensors",
        "parameters",
        "compressible_parameters",
        "dtypes",
    ),
    *("weights_key", "stripped_prefix", "tied", "warnings", "created_at", "expires_at"),
}


def test_upload_and_read_back(bench: Bench) -> None:
    """What was uploaded is described, listed, and there as safetensors."""
    answer = bench.client.post("/v1/checkpoints?filename=m.npz", content=small_weights())
    made = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/checkpoints/{made['id']}")
    assert set(made) == FIELDS
    assert (made["tensors"], made["parameters"], made["compressible_parameters"]) == (2, 15, 12)
    assert made["dtypes"] == {"float32": 15}
    assert made["created_at"].endswith("Z")
    assert bench.client.get(f"/v1/checkpoints/{made['id']}").json() == made
    content = bench.client.get(f"/v1/checkpoints/{made['id']}/content")
    assert load(content.content)["weight"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert bench.leftovers() == []


def test_an_onnx_model_is_uploaded(bench: Bench) -> None:
    """Its format is named and its initializers are its tensors. A model with external data is refused."""
    about = number(1, 2) * 2 + number(2, 1) + block(8, b"fc.weight")
    values = block(9, np.array([0, 1, 2, 3], "<f4").tobytes())
    model, lone = (number(1, 8) + block(7, block(5, about + rest)) for rest in (values, number(14, 1)))

    answer = bench.client.post("/v1/checkpoints?filename=net.onnx", content=model)
    refused = bench.client.post("/v1/checkpoints?filename=net.onnx", content=lone)

    made = answer.json()
    assert (answer.status_code, made["format"], made["compressible_parameters"]) == (201, "onnx", 4)
    content = bench.client.get(f"/v1/checkpoints/{made['id']}/content").content
    assert load(content)["fc.weight"].tolist() == [[0, 1], [2, 3]]
    assert (refused.status_code, refused.json()["code"]) == (422, "missing_shard")
    assert "'fc.weight'" in refused.json()["detail"]


def test_tensors(bench: Bench) -> None:
    """The tensors are listed with the numbers that describe them."""
    made = bench.client.post("/v1/checkpoints", content=small_weights()).json()
    rows = bench.client.get(f"/v1/checkpoints/{made['id']}/tensors").json()["data"]
    by_name = {row["name"]: row for row in rows}
    assert set(by_name) == {"weight", "bias"}
    weight = by_name["weight"]
    assert (weight["shape"], weight["min"], weight["max"], weight["zeros"]) == ([3, 4], 0.0, 11.0, 1)
    assert (weight["compressible"], by_name["bias"]["compressible"]) == (True, False)


@pytest.mark.real
def test_published_torch_checkpoint(bench: Bench) -> None:
    """The prefix ``module.`` of a published file is removed, unless the request says otherwise."""
    body = real_file("checkpoints/resnet32-d509ac18.th").read_bytes()
    made = bench.client.post("/v1/checkpoints", files={"file": ("resnet32.th", body)}).json()
    assert (made["format"], made["stripped_prefix"]) == ("torch", "module.")
    kept = bench.client.post("/v1/checkpoints?strip_prefix=false", content=body).json()
    assert kept["stripped_prefix"] is None


def test_lone_shard_is_refused_by_its_name(bench: Bench) -> None:
    """A file that is named as one shard of several is refused."""
    answer = bench.client.post(
        "/v1/checkpoints", params={"filename": "model-00001-of-00002.safetensors"}, content=b"never read"
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "missing_shard")


def test_list_goes_page_by_page(bench: Bench) -> None:
    """The pages together list each checkpoint once, newest first."""
    weights = architecture_weights("lenet300_100")
    made = [add_checkpoint(bench, weights).id for _ in range(5)]
    seen, after = [], None
    while True:
        page = bench.client.get("/v1/checkpoints", params={"limit": 2, **({"after": after} if after else {})}).json()
        seen += [row["id"] for row in page["data"]]
        after = page["next"]
        assert page["has_more"] is (after is not None)
        if after is None:
            break
    assert seen == sorted(made, reverse=True)


def test_delete(bench: Bench) -> None:
    """A deleted checkpoint can neither be read nor listed."""
    made = add_checkpoint(bench, architecture_weights("lenet300_100"))
    answer = bench.client.delete(f"/v1/checkpoints/{made.id}")
    assert (answer.status_code, answer.content) == (204, b"")
    check_problem(bench.client.get(f"/v1/checkpoints/{made.id}"), 404, "not_found")
    check_problem(bench.client.delete(f"/v1/checkpoints/{made.id}"), 404, "not_found")
    assert bench.client.get("/v1/checkpoints").json()["data"] == []


def test_delete_waits_for_jobs(bench: Bench) -> None:
    """While a job that has not ended needs it, deleting is 409."""
    made = add_checkpoint(bench, architecture_weights("lenet300_100"))
    job = add_job(bench, checkpoint_id=made.id)
    check_problem(bench.client.delete(f"/v1/checkpoints/{made.id}"), 409, "in_use")
    bench.client.post(f"/v1/jobs/{job.id}/cancel")
    assert bench.client.delete(f"/v1/checkpoints/{made.id}").status_code == 204


def test_an_expired_checkpoint_answers_410(bench: Bench) -> None:
    """After its time a checkpoint is 410."""
    made = add_checkpoint(bench, architecture_weights("lenet300_100"))
    with bench.backend.database.write() as connection:
        connection.execute(checkpoints.update().values(expires_at=utc_now() - timedelta(seconds=1)))
    check_problem(bench.client.get(f"/v1/checkpoints/{made.id}"), 410, "gone")
    check_problem(bench.client.post("/v1/jobs", json={"checkpoint": made.id}), 410, "gone")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n", "lfs_pointer"),
        (npz(x=[[float("nan"), 1.0]]), "not_finite"),
        (npz(x=["a", "b"]), "unsupported_dtype"),
        (small_weights()[:100], "truncated"),
    ],
)
def test_refused_files(bench: Bench, body: bytes, code: str) -> None:
    """What cannot be a checkpoint is 422 with its code, and leaves no object."""
    answer = bench.client.post("/v1/checkpoints", content=body)
    assert answer.json()["code"] in {code, "corrupt"}
    assert answer.status_code == 422
    assert bench.client.get("/v1/checkpoints").json()["data"] == []
    assert list(bench.backend.blobs.list()) == []
