"""Programs over HTTP, read by the real sandbox."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from app.core.clock import utc_now
from app.core.db.tables import programs
from tests.api_bench import Bench, add_job, small_weights, start
from tests.real_files import real_file
from tests.small_program import small_network, small_program
from tests.unit.app.api.http.test_problems import check_problem
from tests.unit.cnet.models.programs.test_reader import MODEL, Change, edited, nodes, rewritten

FIELDS = {
    *(
        "id",
        "owner",
        "filename",
        "inputs",
        "outputs",
        "parameters",
        "tensors",
        "trainable",
        "train_graph",
        "tied",
        "operators",
    ),
    *("torch_version", "sha256", "size_bytes", "warnings", "created_at", "expires_at"),
}


def test_upload_and_read_back(bench: Bench) -> None:
    """What was uploaded is described and listed."""
    answer = bench.client.post("/v1/programs?filename=net.pt2", content=small_program())

    made = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/programs/{made['id']}")
    assert set(made) == FIELDS
    assert made["id"].startswith("prog_")
    assert made["inputs"] == [{"name": "input", "shape": [None, 1, 8, 8], "dtype": "float32"}]
    assert [(row["shape"], row["dtype"]) for row in made["outputs"]] == [([None, 10], "float32")]
    assert made["parameters"] == sum(tensor.numel() for tensor in small_network().state_dict().values())
    assert (made["tensors"], made["trainable"], made["train_graph"], made["tied"]) == (9, True, True, [])
    assert "aten.batch_norm.default" in made["operators"]
    assert made["sha256"] == hashlib.sha256(small_program()).hexdigest()
    assert bench.client.get(f"/v1/programs/{made['id']}").json() == made
    assert bench.client.get("/v1/programs").json()["data"] == [made]
    assert bench.leftovers() == []


def test_multipart_and_the_digest(bench: Bench) -> None:
    """A form's file keeps its name; a wrong digest is refused."""
    made = bench.client.post("/v1/programs", files={"file": ("mine.pt2", small_program())})
    assert (made.status_code, made.json()["filename"]) == (201, "mine.pt2")
    wrong = bench.client.post("/v1/programs", params={"sha256": "0" * 64}, content=small_program())
    check_problem(wrong, 422, "digest_mismatch")


def test_a_repeated_request_makes_one_program(bench: Bench) -> None:
    """The same idempotency key gives the same answer, and refuses another body."""
    headers = {"Idempotency-Key": "once"}
    first, again = (
        bench.client.post("/v1/programs", content=small_program(), headers=headers).json() for _ in range(2)
    )
    assert first == again
    assert len(bench.client.get("/v1/programs").json()["data"]) == 1
    other = bench.client.post("/v1/programs", content=small_weights(), headers=headers)
    check_problem(other, 422, "idempotency_mismatch")


def test_other_owners_see_nothing(bench: Bench) -> None:
    """Another owner's program is 404, and not in the list."""
    made = bench.client.post("/v1/programs", content=small_program()).json()
    _, secret = bench.backend.keys.create("ann")
    ann = {"Authorization": f"Bearer {secret}"}
    assert bench.client.get("/v1/programs", headers=ann).json()["data"] == []
    check_problem(bench.client.get(f"/v1/programs/{made['id']}", headers=ann), 404, "not_found")
    check_problem(bench.client.delete(f"/v1/programs/{made['id']}", headers=ann), 404, "not_found")


def test_delete_waits_for_jobs(bench: Bench) -> None:
    """While a job that has not ended needs it, deleting is 409."""
    made = bench.client.post("/v1/programs", content=small_program()).json()
    job = add_job(bench, program_id=made["id"])
    check_problem(bench.client.delete(f"/v1/programs/{made['id']}"), 409, "in_use")
    bench.client.delete(f"/v1/jobs/{job.id}")
    assert bench.client.delete(f"/v1/programs/{made['id']}").status_code == 204
    check_problem(bench.client.get(f"/v1/programs/{made['id']}"), 404, "not_found")


def test_an_expired_program_answers_410(bench: Bench) -> None:
    """After its time a program is 410."""
    made = bench.client.post("/v1/programs", content=small_program()).json()
    with bench.backend.database.write() as connection:
        connection.execute(programs.update().values(expires_at=utc_now() - timedelta(seconds=1)))
    check_problem(bench.client.get(f"/v1/programs/{made['id']}"), 410, "gone")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "empty_file"),
        (small_weights(), "not_a_program"),
        (b"no zip at all", "not_a_program"),
        (b"PK\x03\x04 and nothing else", "truncated"),
    ],
)
def test_refused_files(bench: Bench, body: bytes, code: str) -> None:
    """What cannot be a program is 422 with its code, and leaves no object."""
    check_problem(bench.client.post("/v1/programs", content=body), 422, code)
    assert bench.client.get("/v1/programs").json()["data"] == []
    assert list(bench.backend.blobs.list()) == []


def _target(document: dict[str, Any]) -> None:
    nodes(document)[0]["target"] = "torch.ops.aten.from_file.default"


EVIL = b"cos\nabort\n(tR."
HOSTILE: list[tuple[dict[str, Change], str]] = [
    ({"data/aotinductor/model/x.so": b"\x7fELF"}, "program_compiled"),
    ({"data/constants/custom_obj_0": EVIL}, "program_custom_object"),
    ({"data/constants/opaque_obj_0": EVIL}, "program_custom_object"),
    ({"data/weights/model.pt": EVIL}, "program_version"),
    ({"archive_version": b"1"}, "program_version"),
    ({"../../x": b""}, "unsafe_archive"),
    ({MODEL: edited(_target)}, "program_operator"),
    ({MODEL: edited(lambda document: document["schema_version"].update(major=9))}, "program_version"),
    ({MODEL: b"[" * 200_000}, "corrupt"),
    ({MODEL: None}, "not_a_program"),
    ({"data/weights/weight_0": b""}, "truncated"),
]


@pytest.mark.parametrize(("changes", "code"), HOSTILE)
def test_hostile_archives_are_refused(bench: Bench, tmp_path: Path, changes: dict[str, Change], code: str) -> None:
    """By name, with what to do; nothing of them is run, and the server goes on."""
    (tmp_path / "net.pt2").write_bytes(small_program())
    changed = rewritten(tmp_path / "net.pt2", tmp_path / "changed.pt2", changes)
    answer = bench.client.post("/v1/programs", content=changed.read_bytes())
    assert check_problem(answer, 422, code)["detail"].endswith(".")


def test_pickled_example_inputs_are_not_opened(bench: Bench, tmp_path: Path) -> None:
    """An archive whose examples would run code is read without them."""
    (tmp_path / "net.pt2").write_bytes(small_program())
    changed = rewritten(tmp_path / "net.pt2", tmp_path / "changed.pt2", {"data/sample_inputs/model.pt": EVIL})
    assert bench.client.post("/v1/programs", content=changed.read_bytes()).status_code == 201


def test_a_cut_file_is_refused(bench: Bench) -> None:
    """An upload that lost its end."""
    check_problem(bench.client.post("/v1/programs", content=small_program()[:-2000]), 422, "truncated")


def test_too_large_an_upload_is_refused(tmp_path: Path) -> None:
    """By its length, before it is read."""
    with start(tmp_path, max_upload_bytes=1000) as bench:
        check_problem(bench.client.post("/v1/programs", content=small_program()), 413, "too_large")


@pytest.mark.real
def test_a_published_program(bench: Bench) -> None:
    """A network of 52 convolutions, exported by torch alone."""
    made = bench.client.post("/v1/programs", content=real_file("programs/efficientnet_lite0.pt2").read_bytes()).json()
    assert made["inputs"] == [{"name": "inputs", "shape": [None, 3, 224, 224], "dtype": "float32"}]
    assert (made["outputs"][0]["shape"], made["parameters"], made["trainable"]) == ([None, 1000], 4694073, True)
