"""Points of networks that are read chunk by chunk are those of networks in memory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from cnet.bundle import open_bundle
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.pipeline import Inputs, Outcome, StreamingSizes, run
from cnet.quantize.kmeans import KMeans
from cnet.quantize.kmeans1d import GroupingLimits
from cnet.spec import JobSpec
from cnet.weights import Weights
from tests.unit.cnet.nets import tensor
from tests.unit.cnet.pipeline.small_jobs import Recorder, random_weights, weights_spec


def spec_of(**parts: Any) -> JobSpec:
    """Two sparsities, two cluster counts."""
    return weights_spec(encode={"name": "compact"}, **parts)


def compressed(folder: Path, spec: JobSpec, *, streaming: bool, weights: Weights | None = None) -> tuple[Outcome, Any]:
    """The outcome and what the observer heard; few weights are read at once."""
    folder.mkdir(exist_ok=True)
    write_canonical(folder / "net.safetensors", weights or random_weights())
    recorder = Recorder()
    given = read_canonical(folder / "net.safetensors")
    inputs = Inputs(given, None, folder / "run", streaming, StreamingSizes(chunk=333, resident=1000))
    return run(spec, inputs, recorder), recorder


@pytest.mark.parametrize(
    "quantize",
    [
        {"name": "kmeans", "clusters": [4, 16]},
        {"name": "uniform", "bits": [3]},
        {"name": "none"},
        {"name": "auto"},
        {"name": "auto", "quality": "smallest"},
        {"name": "auto", "quality": "lossless"},
    ],
)
def test_points_are_those_of_a_run_in_memory(tmp_path: Path, quantize: dict[str, Any]) -> None:
    """The same numbers, and bundles that decode to the same bits; the error but for the order of a sum."""
    spec = spec_of(quantize=quantize)
    memory, heard = compressed(tmp_path / "memory", spec, streaming=False)
    stream, told = compressed(tmp_path / "stream", spec, streaming=True)

    assert stream.baseline == memory.baseline
    for one, other in zip(stream.points, memory.points, strict=True):
        alike = {"mse", "snr_db", "warnings", "sha256", "bytes", "label_entropy", "bits_per_parameter"}
        alike |= {"ratio", "ratio_raw"}
        for name, value in asdict(one).items():
            if name not in alike:
                assert value == asdict(other)[name], name
        assert one.mse == pytest.approx(other.mse, rel=1e-12)
        assert one.snr_db == pytest.approx(other.snr_db, rel=1e-12)
        assert one.label_entropy == pytest.approx(other.label_entropy)
        parts = ("mask", "labels", "centroids", "other_tensors")
        assert [getattr(one.bytes, part) for part in parts] == [getattr(other.bytes, part) for part in parts]
    for one_path, other_path in zip(stream.bundles, memory.bundles, strict=True):
        one, other = open_bundle(one_path), open_bundle(other_path)
        assert all(one[name].tobytes() == other[name].tobytes() for name in other)
        assert one.manifest["extra"] == other.manifest["extra"]
        assert set(one.metrics or {}) == set(other.metrics or {})
    assert [event for event in told.events if event[0] == "point"]
    assert {name for kind, name in told.events if kind == "phase"} == {
        name for kind, name in heard.events if kind == "phase"
    }


def test_metrics_of_a_network_without_labels_are_those_in_memory(tmp_path: Path) -> None:
    """Where everything is pruned there are no clusters and no bits per label, in both kinds of run."""
    spec = spec_of(prune={"name": "magnitude", "sparsity": 1.0}, quantize={"name": "kmeans", "clusters": 4})
    stream, memory = (compressed(tmp_path / name, spec, streaming=name == "stream")[0] for name in ("stream", "memory"))

    assert stream.points == memory.points
    assert stream.points[0].label_entropy == 0
    assert [(layer.clusters, layer.label_entropy) for layer in stream.points[0].layers] == [(0, 0), (0, 0)]


def test_sizes_and_digests_of_points_are_those_of_their_files(tmp_path: Path) -> None:
    """Sizes and digest are those of the published file."""
    stream, _ = compressed(tmp_path, spec_of(), streaming=True)
    for point, path in zip(stream.points, stream.bundles, strict=True):
        bundle = open_bundle(path)
        bundle.verify()
        assert asdict(bundle.sizes) == {**asdict(point.bytes), "sha256": point.sha256}


def test_a_second_run_reuses_finished_points(tmp_path: Path) -> None:
    """It has the same points, and makes none again."""
    first, _ = compressed(tmp_path, spec_of(), streaming=True)
    second, recorder = compressed(tmp_path, spec_of(), streaming=True)

    assert second.points == first.points
    assert "encode" not in [name for kind, name in recorder.events if kind == "phase"]


def test_warnings_are_the_same(tmp_path: Path) -> None:
    """Zeros that were there before, tensors that are pruned away, clusters that are too many."""
    tensors = [tensor("a", "float32", (30, 30)), tensor("b", "float32", (20, 20))]
    tensors[0].data[:20] = 0
    tensors[1].data[...] = 1e-9
    spec = spec_of(prune={"name": "magnitude", "sparsity": [0.2, 0.8]}, quantize={"name": "kmeans", "clusters": 999})
    weights = Weights.select(tensors)
    logs = []
    for streaming in (False, True):
        _, recorder = compressed(tmp_path / str(streaming), spec, streaming=streaming, weights=weights)
        logs.append({text for kind, text in recorder.events if kind == "log" and text.startswith("warning")})

    assert logs[0] == logs[1]
    assert len(logs[0]) >= 3


def test_zeros_of_the_quantizer_are_no_warning(tmp_path: Path) -> None:
    """At sparsity 0 nothing is said of zeros, and what a coarse grid rounds to zero was not zero already."""
    tensors = [tensor("a", "float32", (30, 30)), tensor("b", "float32", (20, 20))]
    tensors[0].data[:2] = 0
    tensors[1].data[...] *= 1e-3
    coarse = {"name": "uniform", "bits": 2}
    spec = spec_of(prune={"name": "magnitude", "sparsity": [0.0, 0.2]}, quantize=coarse)
    for streaming in (False, True):
        _, recorder = compressed(tmp_path / str(streaming), spec, streaming=streaming, weights=Weights.select(tensors))
        warnings = [text for text in recorder.of("log") if text.startswith("warning")]
        assert not [text for text in warnings if "zero" in text]


def test_points_that_need_all_values_are_made_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Found out on the way, told in the log, and no other than in a run in memory."""
    limits = GroupingLimits(exact_values=100, points_per_cluster=10**6, distinct_values=10)
    monkeypatch.setattr(KMeans, "grouping", limits)
    memory, _ = compressed(tmp_path / "memory", spec_of(), streaming=False)
    stream, recorder = compressed(tmp_path / "stream", spec_of(), streaming=True)

    assert [point.sha256 for point in stream.points] == [point.sha256 for point in memory.points]
    assert any("in memory" in text for kind, text in recorder.events if kind == "log")
