"""Results over HTTP: points, bundles, models, metrics."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from safetensors.numpy import load

from app.api.http.errors import UnprocessableError
from app.api.results.decoded_models import DecodedModels
from app.core.jobs import Job
from app.core.states import Status
from cnet.bundle import Bundle, open_bundle
from cnet.bundle.unpack import unpack
from cnet.errors import CnetError
from cnet.files import file_sha256
from tests.api_bench import Bench, add_baseline, add_job, add_point, claim, finish
from tests.stored_blobs import damage
from tests.unit.app.api.http.test_problems import check_problem


def done(bench: Bench, name: str | None = None, points: int = 2) -> Job:
    """A job that has succeeded; point 1 is selected."""
    job = claim(bench, add_job(bench, name=name))
    add_baseline(bench, job)
    for index in range(points):
        add_point(bench, job, index)
    finish(bench, job, selected=1)
    return job


def test_results_grow_while_the_job_runs(bench: Bench) -> None:
    """Baseline and points appear as soon as they are made, the selection at the end."""
    job = claim(bench, add_job(bench))
    url = f"/v1/jobs/{job.id}/results"
    assert bench.client.get(url).json() == {"baseline": None, "points": [], "selected": None}
    add_baseline(bench, job)
    add_point(bench, job)
    running = bench.client.get(url).json()
    assert (running["baseline"]["npz_bytes"], len(running["points"]), running["selected"]) == (300, 1, None)
    finish(bench, job, selected=0)
    assert bench.client.get(url).json()["selected"] == 0


def test_point_has_the_contracts_members(bench: Bench) -> None:
    """A point has the members of the HTTP contract, and its parts add up to its file."""
    job = done(bench)
    point = bench.client.get(f"/v1/jobs/{job.id}/results").json()["points"][1]
    assert set(point) >= {
        *("index", "sparsity_requested", "sparsity", "clusters", "accuracy", "accuracy_before_quantize", "loss"),
        *("ratio", "ratio_weights", "ratio_raw", "bits_per_parameter", "label_entropy", "bytes", "mse", "sha256"),
        "bundle_url",
    }
    assert point["bytes"]["total"] == sum(size for part, size in point["bytes"].items() if part != "total")
    body = bench.client.get(point["bundle_url"]).content
    assert (len(body), hashlib.sha256(body).hexdigest()) == (point["bytes"]["total"], point["sha256"])


def test_bundle_headers(bench: Bench) -> None:
    """The selected bundle, with validator, digest and a name."""
    job = done(bench, name="my job")
    answer = bench.client.get(f"/v1/jobs/{job.id}/bundle")
    digest = hashlib.sha256(answer.content)
    assert answer.headers["etag"] == f'"{digest.hexdigest()}"'
    assert answer.headers["repr-digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    assert "my_job-point1.npz" in answer.headers["content-disposition"]
    with np.load(io.BytesIO(answer.content), allow_pickle=False) as members:
        assert "manifest" in members


def test_bundle_in_two_ranges(bench: Bench) -> None:
    """HEAD, ranges and validators work together to resume a download."""
    job = done(bench)
    url = f"/v1/jobs/{job.id}/bundle"
    whole = bench.client.get(url)
    head = bench.client.head(url)
    assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", whole.headers["etag"])
    assert head.headers["content-length"] == str(len(whole.content))
    tag = {"If-Range": head.headers["etag"]}
    first = bench.client.get(url, headers={"Range": "bytes=0-99", **tag})
    rest = bench.client.get(url, headers={"Range": "bytes=100-", **tag})
    assert (first.status_code, rest.status_code) == (206, 206)
    assert first.content + rest.content == whole.content
    assert first.headers["repr-digest"] == whole.headers["repr-digest"]
    changed = bench.client.get(url, headers={"Range": "bytes=0-99", "If-Range": '"other"'})
    assert (changed.status_code, changed.content) == (200, whole.content)
    cached = bench.client.get(url, headers={"If-None-Match": head.headers["etag"]})
    assert (cached.status_code, cached.content, cached.headers["etag"]) == (304, b"", head.headers["etag"])


@pytest.mark.parametrize("name", ["модель", 'a"b', "x" * 200, "ünï", ".."])
def test_bundle_of_a_job_of_any_name(bench: Bench, name: str) -> None:
    """No job name breaks the header that names the file."""
    job = done(bench, name=name)
    disposition = bench.client.get(f"/v1/jobs/{job.id}/bundle").headers["content-disposition"]
    assert disposition.startswith('attachment; filename="')
    assert disposition.isascii()


def test_bundle_that_is_not_there(bench: Bench) -> None:
    """Before a selection 409; without one, and for an index too high, 404."""
    job = claim(bench, add_job(bench))
    url = f"/v1/jobs/{job.id}/bundle"
    check_problem(bench.client.get(url), 409, "not_ready")
    check_problem(bench.client.get(f"{url}?point=0"), 404, "not_found")
    check_problem(bench.client.get(f"{url}?point=-1"), 422, "invalid_request")
    add_point(bench, job)
    assert bench.client.get(f"{url}?point=0").status_code == 200
    finish(bench, job, Status.FAILED, code="constraint_not_met", detail="no")
    check_problem(bench.client.get(url), 404, "not_found")
    assert bench.client.get(f"{url}?point=0").status_code == 200


def test_model_as_safetensors(bench: Bench) -> None:
    """The decoded model has every tensor, with the values of the codebook."""
    job = done(bench)
    answer = bench.client.get(f"/v1/jobs/{job.id}/model")
    tensors = load(answer.content)
    assert tensors["weight"].tolist() == [[-1.5, 0.0], [0.0, 1.5]]
    assert tensors["bias"].tolist() == [1.0, 1.0]
    assert answer.headers["content-disposition"].endswith('.safetensors"')
    first = bench.client.get(f"/v1/jobs/{job.id}/model?point=0")
    assert first.headers["etag"] != answer.headers["etag"]


def test_model_as_npz_and_in_parts(bench: Bench) -> None:
    """The npz file is the same at each request, and can be read in ranges."""
    job = done(bench)
    url = f"/v1/jobs/{job.id}/model?format=npz"
    whole = bench.client.get(url)
    with np.load(io.BytesIO(whole.content), allow_pickle=False) as arrays:
        assert arrays["weight"].shape == (2, 2)
    assert bench.client.get(url, headers={"Range": "bytes=10-19"}).content == whole.content[10:20]
    assert bench.client.head(url).headers["content-length"] == str(len(whole.content))


@pytest.mark.parametrize("name", ["torch", "pt"])
def test_model_for_pytorch(bench: Bench, name: str) -> None:
    """Report J: a state dict that ``torch.load`` reads, under both names, written without PyTorch."""
    answer = bench.client.get(f"/v1/jobs/{done(bench).id}/model?format={name}")

    state = torch.load(io.BytesIO(answer.content), weights_only=True)
    assert state["weight"].tolist() == [[-1.5, 0.0], [0.0, 1.5]]
    assert answer.headers["content-disposition"].endswith('.pt"')


def test_model_as_onnx(bench: Bench) -> None:
    """The ONNX file that the library writes."""
    job = done(bench)
    url = f"/v1/jobs/{job.id}/model?format=onnx"
    assert b"weight" in bench.client.get(url).content
    assert bench.client.get(url).headers["content-disposition"].endswith('.onnx"')


def test_model_as_packed_onnx(bench: Bench) -> None:
    """A model without inputs, whose outputs are the tensors."""
    answer = bench.client.get(f"/v1/jobs/{done(bench).id}/model?format=onnx-packed")
    session = onnxruntime.InferenceSession(answer.content)
    names = [output.name for output in session.get_outputs()]
    tensors = dict(zip(names, session.run(None, {}), strict=True))
    assert tensors["weight"].tolist() == [[-1.5, 0.0], [0.0, 1.5]]
    assert answer.headers["content-disposition"].endswith('.packed.onnx"')


def test_a_model_that_is_too_large_for_its_format(bench: Bench, tmp_path: Path) -> None:
    """The error of the library becomes the one of the HTTP contract, with its advice."""
    bundle = bench.client.get(f"/v1/jobs/{done(bench).id}/bundle").content

    def refuse(*_: object) -> None:
        raise CnetError("ONNX file: it is too large. Use safetensors.", code="too_large")

    models = DecodedModels(tmp_path / "models", 0, refuse)
    with pytest.raises(UnprocessableError, match="Use safetensors") as caught:
        models.open(bench.backend.blobs, hashlib.sha256(bundle).hexdigest(), "onnx")
    assert caught.value.code == "unsupported_format"


def test_only_the_last_decoded_models_are_cached(bench: Bench) -> None:
    """Older ones are deleted."""
    job = done(bench, points=7)
    for index in range(7):
        assert bench.client.get(f"/v1/jobs/{job.id}/model?point={index}").status_code == 200
    assert len(list((bench.backend.settings.scratch_dir / "models").iterdir())) == 4


def test_two_requests_at_once_both_get_the_whole_model(bench: Bench, tmp_path: Path) -> None:
    """The second begins and ends after the first has written its file and before it moved it into place."""
    bundle = tmp_path / "b.npz"
    bundle.write_bytes(bench.client.get(f"/v1/jobs/{done(bench).id}/bundle").content)
    digest = file_sha256(bundle)
    unpack(open_bundle(bundle), tmp_path / "expected.safetensors", "safetensors")
    expected = (tmp_path / "expected.safetensors").read_bytes()
    bodies: list[bytes] = []

    def ask() -> None:
        started.append(True)
        file, size = models.open(bench.backend.blobs, digest, "safetensors")
        with file:
            bodies.append(file.read())
        assert size == len(expected)

    def interrupted(opened: Bundle, path: Path, model_format: str) -> None:
        unpack(opened, path, model_format)
        if len(started) < 2:
            ask()

    models, started = DecodedModels(tmp_path / "scratch" / "models", 0, interrupted), []
    ask()

    assert bodies == [expected, expected]
    assert [path.name for path in (tmp_path / "scratch").rglob("*")] == ["models", f"{digest}.safetensors"]


@pytest.mark.parametrize("model_format", ["hf_sharded", "exe", "../x"])
def test_model_in_another_format(bench: Bench, model_format: str) -> None:
    """The error lists the available formats."""
    job = done(bench)
    answer = bench.client.get(f"/v1/jobs/{job.id}/model", params={"format": model_format})
    problem = check_problem(answer, 422, "unsupported_format")
    assert "npz, onnx, onnx-packed, safetensors, torch" in problem["detail"]


def test_metrics(bench: Bench) -> None:
    """JSON has all metrics, also of the layers; CSV has a row for each point."""
    job = done(bench)
    url = f"/v1/jobs/{job.id}/metrics"
    document = bench.client.get(url).json()
    assert document["baseline"]["accuracy"] == 98.0
    assert document["points"][0]["layers"][0]["name"] == "weight"
    assert document["selected"] == 1
    table = bench.client.get(url, headers={"Accept": "text/csv"})
    assert table.headers["content-type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert [(row["index"], row["selected"]) for row in rows] == [("0", "false"), ("1", "true")]


def test_damaged_bundle_is_never_given_as_a_model(bench: Bench) -> None:
    """A damaged stored bundle is a fault of the server; no wrong model is sent."""
    job = claim(bench, add_job(bench))
    row = add_point(bench, job)
    damage(bench.backend.blobs, row.blob)
    answer = bench.client.get(f"/v1/jobs/{job.id}/model?point=0")
    check_problem(answer, 500, "damaged")
