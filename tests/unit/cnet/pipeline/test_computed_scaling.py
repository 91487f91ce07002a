"""The scaling of inputs is computed from the training split, applied, and recorded in the bundles."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnet.bundle import open_bundle
from cnet.data.validation import with_validation
from cnet.pipeline.plan import with_computed_scaling
from tests.unit.cnet.pipeline.small_jobs import Recorder, blobs, train_and_compress, training_spec

SMALL = {"baseline": {"epochs": 1}, "training": {"epochs": 1, "device": "cpu"}, "recover": {"epochs": 0}}
POINT = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 4}}


def test_only_what_asks_for_it_is_computed() -> None:
    """And only where there are samples."""
    plain = training_spec()
    spec = training_spec(preprocess={"normalize": "auto"})

    assert with_computed_scaling(plain, blobs(), Recorder()) is plain
    assert with_computed_scaling(spec, None, Recorder()) is spec


def test_a_run_records_what_it_computed(tmp_path: Path) -> None:
    """The numbers of the training split alone; a run to which they are given has the same weights."""
    recorder = Recorder()
    outcome = train_and_compress(tmp_path / "a", recorder, preprocess={"normalize": "auto"}, **SMALL, **POINT)
    noted = open_bundle(outcome.bundles[0]).manifest["extra"]["spec"]["preprocess"]
    given = train_and_compress(tmp_path / "b", None, preprocess=noted, **SMALL, **POINT)
    pixels = with_validation(blobs(), 0.1, 0).train.input / 255

    assert noted["inputs"]["x"]["mean"] == pytest.approx([pixels.mean()], rel=1e-5)
    assert noted["inputs"]["x"]["std"] == pytest.approx([pixels.std()], rel=1e-5)
    assert any("input x is normalized by mean 0." in line for line in recorder.of("log"))
    assert given.points[0].sha256 == outcome.points[0].sha256
