"""Jobs over HTTP, from upload to bundle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cnet
from cnet.client import ApiError, Client
from tests.acceptance.service import Up, until_phase
from tests.processes import until

TINY = {
    "architecture": {"name": "lenet300_100"},
    "dataset": "digits",
    "training": {"epochs": 5, "batch_size": 64, "optimizer": {"name": "adam", "learning_rate": 0.003}},
    "prune": {"name": "magnitude", "sparsity": [0.8, 0.9]},
    "recover": {"epochs": 1},
    "quantize": {"name": "kmeans", "clusters": 16},
}

INTERRUPTED = {
    **TINY,
    "training": {"epochs": 25, "batch_size": 64},
    "baseline": {"epochs": 1},
    "prune": {"name": "magnitude", "sparsity": 0.9, "gradual": {"epochs": 1}},
}
"""Long in the fine-tuning, in which a test interrupts it, and short after it."""


def test_a_training_job_from_scratch_gives_points_with_accuracies(client: Client, tmp_path: Path) -> None:
    """A baseline is trained, then two points; the selected one's bundle holds what was measured."""
    job = client.submit(TINY)
    events = list(client.events(job["id"]))
    job = client.job(job["id"])
    results = client.results(job["id"])
    digest = client.download(job["id"], tmp_path / "model.npz")

    assert job["status"] == "succeeded", job["error"]
    assert job["progress"] == 1.0
    assert events[-1]["status"] == "succeeded"
    assert [event["id"] for event in events] == list(range(1, len(events) + 1))
    assert [point["sparsity_requested"] for point in results["points"]] == [0.8, 0.9]
    assert all(point["accuracy"] > 60 for point in results["points"])
    chosen = results["points"][results["selected"]]
    assert (digest, chosen["bytes"]["total"]) == (chosen["sha256"], (tmp_path / "model.npz").stat().st_size)
    bundle = cnet.open_bundle(tmp_path / "model.npz")
    bundle.verify()
    assert np.count_nonzero(np.concatenate([bundle[name].ravel() for name in bundle if name.endswith("weight")]) == 0)


def test_the_same_job_again_gives_the_same_bytes(client: Client, checkpoint: Path) -> None:
    """Digests of all points are equal."""
    spec = {
        "checkpoint": client.upload_checkpoint(checkpoint)["id"],
        "prune": {"name": "magnitude", "sparsity": [0.5, 0.9]},
        "quantize": {"name": "kmeans", "clusters": [4, 32]},
    }

    jobs = [client.wait(client.submit(spec)["id"], timeout=120.0) for _ in range(2)]
    digests = [[point["sha256"] for point in client.results(job["id"])["points"]] for job in jobs]

    assert [job["status"] for job in jobs] == ["succeeded", "succeeded"]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 4


def test_a_job_whose_target_cannot_be_met_says_so_and_keeps_its_points(client: Client, checkpoint: Path) -> None:
    """The code is ``constraint_not_met``."""
    spec = {
        "checkpoint": client.upload_checkpoint(checkpoint)["id"],
        "prune": {"name": "magnitude", "sparsity": 0.5},
        "quantize": {"name": "kmeans", "clusters": 16},
        "target": {"min_ratio": 1000.0},
    }

    job = client.wait(client.submit(spec)["id"], timeout=120.0)

    assert (job["status"], job["error"]["code"]) == ("failed", "constraint_not_met")
    assert len(client.results(job["id"])["points"]) == 1


def test_a_spec_with_an_unknown_field_is_refused_by_name(client: Client) -> None:
    """422, and where it is."""
    with pytest.raises(ApiError) as refused:
        client.submit({**TINY, "prune": {"name": "magnitude", "sparsity": 1.5}, "colour": "red"})

    assert refused.value.status == 422
    assert {".".join(map(str, issue.loc)).split(".")[-1] for issue in refused.value.issues} >= {"colour"}


def test_a_checkpoint_of_another_net_is_refused_at_submit(client: Client, checkpoint: Path) -> None:
    """The problem names tensors."""
    uploaded = client.upload_checkpoint(checkpoint)

    with pytest.raises(ApiError, match=r"fc|body") as refused:
        client.submit({**TINY, "checkpoint": uploaded["id"]})

    assert refused.value.code == "architecture_mismatch"


def test_a_cancelled_job_ends_and_the_next_one_runs(service: Up, client: Client, checkpoint: Path) -> None:
    """It is cancelled during training, and its runner has ended."""
    long = {**TINY, "architecture": {"name": "resnet20"}, "training": {"epochs": 500}, "baseline": {"epochs": 0}}
    job = client.submit(long)
    until_phase(client, job["id"], 1)
    before = service.processes()

    client.cancel(job["id"])
    ended = client.wait(job["id"], timeout=10.0)

    assert ended["status"] == "cancelled"
    until(lambda: len(service.processes()) < len(before), what="the runner's end")
    weights = client.upload_checkpoint(checkpoint)["id"]
    following = client.wait(client.submit({"checkpoint": weights})["id"], timeout=120.0)
    assert following["status"] == "succeeded"
