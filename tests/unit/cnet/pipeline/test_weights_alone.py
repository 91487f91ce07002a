"""Jobs without a data set: prune, quantize, encode, and nothing else changes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet import dtypes
from cnet.bundle import open_bundle
from cnet.errors import CheckpointError, ConstraintNotMetError, SpecError
from cnet.formats import read_checkpoint
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.pipeline.digests import spec_document
from cnet.results import measures
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights
from tests.real_files import real_file
from tests.unit.cnet.pipeline.small_jobs import Recorder, blobs, compress, digests, random_weights, weights_spec


def test_every_pair_of_sparsity_and_clusters_is_one_point(tmp_path: Path) -> None:
    """In the order of the spec, sparsities outside; indexes count up."""
    points = compress(tmp_path).points
    pairs = [(p.index, p.sparsity_requested, p.clusters_requested) for p in points]
    assert pairs == [(0, 0.5, 4), (1, 0.5, 16), (2, 0.9, 4), (3, 0.9, 16)]


def test_metrics_of_a_point_match_its_file(tmp_path: Path) -> None:
    """Digest, size, ratios, sparsity and mse are counted again on the bundle's bytes."""
    outcome = compress(tmp_path)
    weights = random_weights()
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        content = path.read_bytes()
        decoded = open_bundle(path).weights().vector()
        assert point.sha256 == hashlib.sha256(content).hexdigest()
        assert point.bytes.total == len(content)
        assert point.ratio == measures.npz_bytes(weights) / len(content)
        assert point.sparsity == np.mean(decoded == 0) == round(point.sparsity_requested * len(decoded)) / len(decoded)
        assert point.mse == pytest.approx(np.mean((decoded.astype(np.float64) - weights.vector()) ** 2))
        assert len(np.unique(decoded[decoded != 0])) == point.clusters


def test_parts_of_a_point_add_up(tmp_path: Path) -> None:
    """``total`` is the sum of the five parts."""
    for point in compress(tmp_path).points:
        parts = vars(point.bytes).copy()
        assert parts.pop("total") == sum(parts.values())


def test_layers_add_up_to_the_net(tmp_path: Path) -> None:
    """One row a compressible tensor; kept weights and squared errors sum up to the whole."""
    point = compress(tmp_path).points[3]
    assert [layer.name for layer in point.layers] == ["conv.weight", "fc.weight"]
    total = sum(layer.parameters for layer in point.layers)
    assert sum(layer.kept for layer in point.layers) == round(total * (1 - point.sparsity))
    assert sum(layer.mse * layer.parameters for layer in point.layers) == pytest.approx(point.mse * total)


def test_accuracies_are_null(tmp_path: Path) -> None:
    """Nothing is measured where there is nothing to measure on."""
    outcome = compress(tmp_path)
    assert outcome.baseline.accuracy is None
    assert {p.accuracy for p in outcome.points} == {p.loss for p in outcome.points} == {None}


def test_other_tensors_are_bit_equal(tmp_path: Path) -> None:
    """Biases, batch norm and counters keep their types and bits."""
    weights = random_weights()
    for path in compress(tmp_path).bundles:
        decoded = open_bundle(path).weights()
        assert [(t.name, t.dtype, t.shape) for t in decoded] == [(t.name, t.dtype, t.shape) for t in weights]
        for tensor in weights:
            if tensor.name not in weights.compressible:
                assert decoded[tensor.name].data.tobytes() == tensor.data.tobytes()


def test_same_inputs_give_same_bundles_in_any_folder(tmp_path: Path) -> None:
    """No time, host, folder or id is in a bundle."""
    one = compress(tmp_path / "one")
    other = compress(tmp_path / "other", name="another", labels={"a": "b"}, checkpoint="ckpt_2")
    assert digests(one) == digests(other)


def test_bundle_holds_metrics_and_spec(tmp_path: Path) -> None:
    """What a reader of the file alone can know of it; strict JSON, and no name, label or id."""
    outcome = compress(tmp_path, name="secret name", labels={"team": "secret label"})
    bundle = open_bundle(outcome.bundles[1])
    metrics, extra = bundle.metrics, bundle.manifest["extra"]
    assert metrics is not None
    text = json.dumps([metrics, extra], allow_nan=False)
    assert metrics["mse"] == float(f"{outcome.points[1].mse:.6g}")
    measured = {name for name, value in outcome.baseline.to_json().items() if value is not None}
    assert measured <= set(metrics["baseline"]) <= set(outcome.baseline.to_json())
    assert metrics["baseline"]["npz_bytes"] == outcome.baseline.npz_bytes
    assert extra["spec"] == spec_document(weights_spec())
    assert extra["inputs"] == {"weights": random_weights().digest()[:32], "dataset": None}
    assert extra["spec"]["quantize"] == {"name": "kmeans", "scope": "network", "clusters": [4, 16]}
    assert not {"secret name", "secret label", "ckpt_1"} & set(text.split('"'))


def test_quantizer_none_at_sparsity_zero_is_lossless(tmp_path: Path) -> None:
    """The mask-only form keeps every value; the number of clusters is null."""
    outcome = compress(tmp_path, prune={"name": "magnitude", "sparsity": 0}, quantize={"name": "none"})
    decoded = open_bundle(outcome.bundles[0]).weights()
    assert decoded.vector().tobytes() == random_weights().vector().tobytes()
    assert (outcome.points[0].clusters, outcome.points[0].mse, outcome.points[0].label_entropy) == (None, 0.0, None)


def test_sparsity_1_gives_a_bundle_of_zeros(tmp_path: Path) -> None:
    """All weights are zero; the bundle holds the other tensors only."""
    outcome = compress(tmp_path, prune={"name": "magnitude", "sparsity": 1})
    assert [p.sparsity for p in outcome.points] == [1.0, 1.0]
    assert not open_bundle(outcome.bundles[0]).weights().vector().any()


def test_net_without_compressible_tensors_is_packed_as_it_is(tmp_path: Path) -> None:
    """A warning, and a bundle with the other tensors."""
    recorder = Recorder()
    outcome = compress(tmp_path, recorder, compressible={"exclude": ["*"]})
    assert any("no tensor is compressible" in line for line in recorder.of("log"))
    assert outcome.baseline.compressible_parameters == 0
    assert open_bundle(outcome.bundles[0]).weights()["fc.weight"].data.tobytes() == (
        random_weights()["fc.weight"].data.tobytes()
    )


def test_patterns_choose_what_is_compressed(tmp_path: Path) -> None:
    """``exclude`` keeps a weight layer exactly, ``include`` compresses a bias."""
    patterns = {"include": ["*.bias"], "exclude": ["fc.*"]}
    outcome = compress(tmp_path, compressible=patterns)
    assert [layer.name for layer in outcome.points[0].layers] == ["conv.weight", "conv.bias"]
    decoded = open_bundle(outcome.bundles[0]).weights()
    assert decoded["fc.weight"].data.tobytes() == random_weights()["fc.weight"].data.tobytes()


def test_phases_come_in_order_and_progress_rises_to_one(tmp_path: Path) -> None:
    """Without training there is no fine-tuning and no recovery; the fraction never falls."""
    recorder = Recorder()
    compress(tmp_path, recorder, prune={"name": "magnitude", "sparsity": 0.5}, quantize={"name": "kmeans"})
    assert recorder.of("phase") == ["load", "baseline", "prune", "quantize", "encode", "evaluate", "publish"]
    fractions = recorder.of("progress")
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0


def test_warnings_tell_what_a_user_would_not_expect(tmp_path: Path) -> None:
    """A layer that pruning emptied, natural zeros beyond the sparsity asked for, fewer values than clusters."""
    values = np.tile(np.array([1.0, 2.0, 0.0, 0.0], np.float32), 8)
    tensors = [
        Tensor("large", "float32", values.reshape(4, 8)),
        Tensor("small", "float32", np.full((2, 2), 1e-3, np.float32)),
    ]
    recorder = Recorder()
    spec = weights_spec(prune={"name": "magnitude", "sparsity": [0.1, 0.6]})
    run(spec, Inputs(Weights.select(tensors), None, tmp_path), recorder)
    warnings = [line for line in recorder.of("log") if line.startswith("warning")]
    assert any("all weights of tensor 'small' to zero" in line for line in warnings)
    assert any("sparsity 0.1 was asked for" in line and "0.4444" in line for line in warnings)
    assert any("16 clusters were asked for" in line and "only 3 " in line for line in warnings)


def test_size_target_selects_the_lowest_error_that_fits(tmp_path: Path) -> None:
    """All points are made; of those small enough the one of lowest mse wins."""
    free = compress(tmp_path / "free")
    limit = sorted(point.bytes.total for point in free.points)[2]
    outcome = compress(tmp_path / "bound", target={"max_bytes": limit + 200})
    fitting = [point for point in outcome.points if point.bytes.total <= limit + 200]
    assert outcome.selected == min(fitting, key=lambda point: point.mse).index


def test_target_without_sparsity_is_searched(tmp_path: Path) -> None:
    """Few real points, none twice, the selected one meets the target, and no other that does has a lower error."""
    outcome = compress(tmp_path, prune=None, quantize={"name": "kmeans", "clusters": 16}, target={"min_ratio": 3.5})
    sparsities = [point.sparsity_requested for point in outcome.points]
    assert len(set(sparsities)) == len(sparsities) <= 12
    assert outcome.points[outcome.selected].ratio >= 3.5
    extra = open_bundle(outcome.bundles[0]).manifest["extra"]
    assert extra["spec"]["prune"]["name"] == "magnitude"
    assert "sparsity" not in extra["spec"]["prune"]
    assert all(p.ratio < 3.5 for p in outcome.points if p.mse < outcome.points[outcome.selected].mse)


@pytest.mark.parametrize("target", [{"min_snr": 25.0}, {"max_bytes": 2600}])
def test_a_target_without_other_choices_is_met_by_one_factor_of_all_steps(
    tmp_path: Path, target: dict[str, Any]
) -> None:
    """Nothing is pruned; the point next to the selected one, finer or coarser, misses the target or is worse."""
    outcome = compress(tmp_path, prune=None, quantize=None, encode={"name": "compact"}, target=target)
    best = outcome.points[outcome.selected]

    assert {(point.quantizer, point.sparsity_requested) for point in outcome.points} == {("auto", 0.0)}
    assert best.snr_db is not None
    if "min_snr" in target:
        assert 25 <= best.snr_db < 28
    else:
        assert best.bytes.total <= 2600
        assert best.mse == min(point.mse for point in outcome.points if point.bytes.total <= 2600)


def test_target_that_nothing_meets_fails_after_all_points(tmp_path: Path) -> None:
    """The points were told of before the error."""
    recorder = Recorder()
    with pytest.raises(ConstraintNotMetError):
        compress(tmp_path, recorder, target={"max_bytes": 1})
    assert len(recorder.of("point")) == 4


@pytest.mark.parametrize(
    "inputs", [{"weights": None, "dataset": None}, {"weights": random_weights(), "dataset": blobs()}]
)
def test_inputs_that_are_not_those_of_the_spec_are_refused(tmp_path: Path, inputs: dict[str, None]) -> None:
    """A checkpoint that is named and not given, a data set that is given and not named."""
    with pytest.raises(SpecError) as caught:
        run(weights_spec(), Inputs(folder=tmp_path, **inputs), SilentRunObserver())
    assert caught.value.phase == "load"


@pytest.mark.real
def test_real_resnet32(tmp_path: Path) -> None:
    """Sparsity 0.9 with 16 and 256 clusters: exact zeros, names and types as they came, the rest bit-equal."""
    weights = read_checkpoint(real_file("checkpoints/resnet32-d509ac18.th")).weights
    spec = weights_spec(
        prune={"name": "magnitude", "sparsity": 0.9}, quantize={"name": "kmeans", "clusters": [16, 256]}
    )
    outcome = run(spec, Inputs(weights, None, tmp_path), SilentRunObserver())
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        decoded = open_bundle(path).weights()
        vector = decoded.vector()
        assert np.count_nonzero(vector == 0) == round(0.9 * len(vector))
        assert len(np.unique(vector)) == point.clusters_requested + 1  # type: ignore[operator]
        assert [(t.name, t.dtype, t.shape) for t in decoded] == [(t.name, t.dtype, t.shape) for t in weights]
        for tensor in weights:
            if tensor.name not in weights.compressible:
                assert decoded[tensor.name].data.tobytes() == tensor.data.tobytes()
        assert point.ratio > 15


@pytest.mark.parametrize(
    ("quantize", "dtype"),
    [({"name": "universal", "step": 0.5}, "float16"), ({"name": "uniform", "bits": 3, "scope": "channel"}, "bfloat16")],
)
def test_numbers_that_outgrow_their_type_are_refused(tmp_path: Path, quantize: dict[str, Any], dtype: str) -> None:
    """Steps may end above the largest number of a type: no bundle may hold the infinities that they are rounded to."""
    largest = {"float16": 65504.0, "bfloat16": 3.38e38}[dtype]
    values = np.random.default_rng(1).normal(size=(30, 40)).clip(-1, 1) * largest
    weights = Weights.select([Tensor("w", dtype, dtypes.narrow(values, dtype))])
    spec = weights_spec(quantize=quantize)

    with pytest.raises(CheckpointError, match="tensor 'w': compressed weights are larger") as caught:
        run(spec, Inputs(weights, None, tmp_path), SilentRunObserver())

    assert caught.value.code == "not_finite"
    assert not list(tmp_path.rglob("point-*.npz"))


def network_with_tables() -> Weights:
    """A detector: convolutions of size 0.05, anchors up to 373, a mask of -inf."""
    rng = np.random.default_rng(0)
    anchors = np.array([10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326])
    tensors = [
        Tensor("conv.weight", "float32", (rng.normal(size=(32, 16, 3, 3)) * 0.05).astype(np.float32)),
        Tensor("head.boxes", "float32", anchors.reshape(3, 3, 2).astype(np.float32)),
        Tensor("mask", "float32", np.triu(np.full((16, 16), -np.inf, np.float32), 1)),
    ]
    return Weights.select(tensors)


@pytest.mark.parametrize(("encode", "streaming"), [("npz", False), ("compact", False), ("compact", True)])
def test_tables_are_kept_and_do_not_spoil_the_weights(tmp_path: Path, encode: str, streaming: bool) -> None:
    """Anchors and a mask come back bit for bit, and the weights are as good as without them."""
    weights = network_with_tables()
    spec = weights_spec(
        prune={"name": "magnitude", "sparsity": 0.0},
        quantize={"name": "kmeans", "clusters": 16},
        encode={"name": encode},
    )
    alone = run(spec, Inputs(Weights.select(weights.tensors[:1]), None, tmp_path / "alone"), SilentRunObserver())

    outcome = run(spec, Inputs(weights, None, tmp_path / "all", streaming), SilentRunObserver())

    decoded = open_bundle(outcome.bundles[0]).weights()
    assert outcome.points[0].mse == alone.points[0].mse
    assert decoded.compressible == ("conv.weight",)
    for name in ("head.boxes", "mask"):
        assert decoded[name].data.tobytes() == weights[name].data.tobytes()


def test_included_tables_are_compressed_and_must_be_finite(tmp_path: Path) -> None:
    """What the user includes counts as a weight."""
    weights = network_with_tables()
    boxes = weights_spec(compressible={"include": ["*boxes"]})
    outcome = run(boxes, Inputs(weights, None, tmp_path / "boxes"), SilentRunObserver())
    assert open_bundle(outcome.bundles[0]).weights().compressible == ("conv.weight", "head.boxes")

    mask = weights_spec(compressible={"include": ["mask"]})
    with pytest.raises(CheckpointError) as caught:
        run(mask, Inputs(weights, None, tmp_path / "mask"), SilentRunObserver())
    assert caught.value.code == "not_finite"


def test_values_beyond_float32_warn_nobody(tmp_path: Path) -> None:
    """A float64 tensor with 1e300 printed a warning of NumPy; in these tests a warning is an error."""
    values = np.random.default_rng(0).normal(size=(16, 16))
    values[0, 0] = 1e300
    weights = Weights.select([Tensor("w", "float64", values)])

    outcome = run(weights_spec(), Inputs(weights, None, tmp_path / "run"), SilentRunObserver())

    assert open_bundle(outcome.bundles[0])["w"][0, 0] == 1e300
    uniform = weights_spec(quantize={"name": "uniform"})
    with pytest.raises(CheckpointError, match="larger than its element type can hold"):
        run(uniform, Inputs(weights, None, tmp_path / "uniform"), SilentRunObserver())


def test_the_default_changes_weights_by_little_and_says_what_is_unknown(tmp_path: Path) -> None:
    """No zeros, 44 dB, and a warning that nothing was measured."""
    spec = JobSpec.parse({"checkpoint": "c"})
    outcome = run(spec, Inputs(random_weights(), None, tmp_path), SilentRunObserver())
    point = outcome.points[0]

    assert (point.quantizer, point.sparsity_requested) == ("auto", 0.0)
    assert point.snr_db == pytest.approx(44, abs=2)
    assert [warning.code for warning in point.warnings] == ["accuracy_unknown"]


def test_pruning_that_ruins_a_network_is_obeyed_and_warned_about(tmp_path: Path) -> None:
    """In the point and in the log."""
    recorder = Recorder()
    spec = JobSpec.parse({"checkpoint": "c", "prune": {"name": "magnitude", "sparsity": [0.95]}})
    point = run(spec, Inputs(random_weights(), None, tmp_path), recorder).points[0]

    assert point.sparsity == pytest.approx(0.95, abs=0.01)
    assert "likely_ruined" in [warning.code for warning in point.warnings]
    assert any("likely_ruined" in line for line in recorder.of("log"))
