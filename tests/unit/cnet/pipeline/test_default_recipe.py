"""What a job gives that names nothing but the net, the data, the epochs and the sparsity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cnet.bundle import open_bundle
from cnet.data import DATASETS
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.spec import JobSpec
from cnet.weights import Weights

DIGITS = DATASETS.create("digits").load()
JOB: dict[str, Any] = {"architecture": {"name": "lenet300_100"}, "dataset": "digits"}
BASELINE = {
    "training": {"epochs": 0},
    "baseline": {"epochs": 10},
    "recover": {"epochs": 0, "centroid_epochs": 0},
    "prune": {"name": "magnitude", "sparsity": 0.0},
    "quantize": {"name": "none"},
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Weights, float]:
    """A net trained on digits, and its accuracy."""
    outcome = run(
        JobSpec.parse({**JOB, **BASELINE}), Inputs(None, DIGITS, tmp_path_factory.mktemp("net")), SilentRunObserver()
    )
    assert outcome.baseline.accuracy is not None
    return open_bundle(outcome.bundles[0]).weights(), outcome.baseline.accuracy


def _point(weights: Weights, folder: Path, **members: Any) -> tuple[float, int]:
    """Accuracy and bytes at 95 % sparsity and 16 clusters."""
    spec = JobSpec.parse(
        {
            **JOB,
            "checkpoint": "ckpt_1",
            "training": {"epochs": 10},
            "recover": {"epochs": 5},
            "prune": {"name": "magnitude", "sparsity": 0.95},
            "quantize": {"name": "kmeans", "clusters": 16},
            **members,
        }
    )
    point = run(spec, Inputs(weights, DIGITS, folder), SilentRunObserver()).points[0]
    assert point.accuracy is not None
    return point.accuracy, point.bytes.total


def test_the_default_recipe_at_95_percent_is_as_good_as_no_method(
    trained: tuple[Weights, float], tmp_path: Path
) -> None:
    """At most half a point below it, at most two below the baseline, and in fewer bytes."""
    weights, before = trained
    accuracy, size = _point(weights, tmp_path / "default")
    plain, plain_size = _point(weights, tmp_path / "none", method={"name": "none"})
    assert accuracy >= plain - 0.5
    assert accuracy >= before - 2.0
    assert size < plain_size
