"""Writing bundles: whole or not at all, and notes that are added later."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import add_notes, open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights
from tests.golden.write import FOLDER, local_net
from tests.golden.write import net as golden_net
from tests.unit.cnet.bundle.small_nets import LAYOUTS, content_of, net
from tests.unit.cnet.nets import compress, tensor

RUN_METRICS, RUN_EXTRA = json.loads((FOLDER / "notes.json").read_text())

NOTES = [
    pytest.param(None, None, id="none"),
    pytest.param({"accuracy": 91.5}, None, id="metrics"),
    pytest.param(None, {"größe": [1, None]}, id="extra"),
    pytest.param(RUN_METRICS, RUN_EXTRA, id="those of a run"),
]

NETS = [
    pytest.param(golden_net(), id="plain"),
    pytest.param(local_net("dither"), id="dither"),
    pytest.param(local_net("scales"), id="scales"),
]


@pytest.mark.parametrize("encoder", ENCODERS.names())
@pytest.mark.parametrize(("metrics", "extra"), NOTES)
@pytest.mark.parametrize("network", NETS)
def test_notes_added_later_give_the_bytes_of_notes_written_at_once(
    tmp_path: Path,
    network: tuple[Weights, Symbols],
    metrics: dict[str, Any] | None,
    extra: dict[str, Any] | None,
    encoder: str,
) -> None:
    """Whatever notes the file had before, and whichever encoder wrote it."""
    at_once, later = tmp_path / "at-once.npz", tmp_path / "later.npz"
    sizes = write_bundle(at_once, *network, ENCODERS.create(encoder), metrics, extra)
    write_bundle(later, *network, ENCODERS.create(encoder))

    add_notes(later, {"accuracy": 0.5}, {"long": "x" * 5000})
    added = add_notes(later, metrics, extra)

    assert later.read_bytes() == at_once.read_bytes()
    assert added == sizes
    open_bundle(later).verify()


def test_notes_that_json_cannot_hold_leave_the_bundle_as_it_was(tmp_path: Path) -> None:
    """They are refused before the file is touched."""
    path = tmp_path / "bundle.npz"
    write_bundle(path, *golden_net(), ENCODERS.create("npz"), {"accuracy": 91.5})
    before = path.read_bytes()

    with pytest.raises(BundleError):
        add_notes(path, {"accuracy": float("nan")}, None)

    assert path.read_bytes() == before


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_the_same_symbols_give_the_same_bytes(tmp_path: Path, encoder: str) -> None:
    """No time, host or path is in the file."""
    (tmp_path / "elsewhere").mkdir()
    notes = {"metrics": {"accuracy": 91.5}, "extra": {"spec": {"seed": 0}}}

    first = content_of(tmp_path, encoder, net(), **notes)
    second = content_of(tmp_path / "elsewhere", encoder, net(), **notes)

    assert first == second


@pytest.mark.parametrize("encoder", ENCODERS.names())
def test_sizes_add_up_to_the_file(tmp_path: Path, encoder: str) -> None:
    """Writer and reader agree on them."""
    weights = net()
    sizes = write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), ENCODERS.create(encoder))

    assert sizes.total == (tmp_path / "b.npz").stat().st_size
    parts = (sizes.mask, sizes.labels, sizes.centroids, sizes.other_tensors, sizes.container)
    assert sizes.total == sum(parts)
    assert min(parts) > 0
    assert open_bundle(tmp_path / "b.npz").sizes == sizes


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_numbers_of_numpy_become_those_of_json(tmp_path: Path, encoder: str) -> None:
    """Notes may hold NumPy scalars and tuples."""
    notes = {"metrics": {"accuracy": np.float32(0.5), "points": (1, np.int64(2))}, "extra": {"ü": None}}
    bundle = open_bundle(content_of(tmp_path, encoder, net(), **notes))

    assert bundle.metrics == {"accuracy": 0.5, "points": [1, 2]}
    assert bundle.extra == {"ü": None}


@pytest.mark.parametrize("notes", [{"metrics": {"loss": float("nan")}}, {"extra": {"x": object()}}])
def test_notes_that_json_cannot_hold_are_refused(tmp_path: Path, notes: dict[str, Any]) -> None:
    """Nothing is left behind in the folder."""
    with pytest.raises(BundleError):
        content_of(tmp_path, "npz", net(), **notes)

    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """The file is replaced as a whole or not at all."""
    before = content_of(tmp_path, "npz", net())

    with pytest.raises(BundleError, match="1 symbols do not fit"):
        content_of(tmp_path, "npz", net(), Symbols(np.ones(1, np.bool_), None, np.float32([1])))

    assert (tmp_path / "bundle.npz").read_bytes() == before


def test_names_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """A lone surrogate has no UTF-8."""
    weights = Weights.select([tensor("a", "float32", (2, 2))])
    broken = Weights((Tensor("\ud800", "float32", weights["a"].data),), ("\ud800",))
    with pytest.raises(BundleError, match="name"):
        content_of(tmp_path, "npz", broken)


def test_numpy_reads_a_member_for_each_part(tmp_path: Path) -> None:
    """Plain arrays under fixed names, without pickle."""
    with np.load(io.BytesIO(content_of(tmp_path, "npz", net())), allow_pickle=False) as arrays:
        kinds = {name: arrays[name].dtype.str for name in arrays.files}

    assert kinds == {"mask": "|u1", "labels": "|u1", "centroids": "<f4", "other": "|u1", "manifest": "|u1"}


def test_numpy_reads_one_member_with_all_parts(tmp_path: Path) -> None:
    """Two plain arrays under fixed names, without pickle."""
    with np.load(io.BytesIO(content_of(tmp_path, "compact", net())), allow_pickle=False) as arrays:
        kinds = {name: (arrays[name].dtype.str, arrays[name].ndim) for name in arrays.files}
        manifest = json.loads(bytes(arrays["manifest"]))
        length = len(arrays["data"])

    assert kinds == {"data": ("|u1", 1), "manifest": ("|u1", 1)}
    assert length == sum(manifest["sizes"]) + sum(manifest["others"])
    assert [entry[-1] for entry in manifest["tensors"]] == ["a.weight", "bias", "steps", "b.weight", "c.weight"]


def test_the_manifest_records_rounding_of_other_tensors(tmp_path: Path) -> None:
    """It says how they are packed, and the largest error."""
    weights = net()
    encoder = ENCODERS.create("compact", other="float16")
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), encoder)
    bundle = open_bundle(tmp_path / "b.npz")

    bias = weights["a.bias"].data
    np.testing.assert_array_equal(bundle["a.bias"], bias.astype(np.float16).astype(np.float32))
    error = float(np.max(np.abs(bundle["a.bias"].astype(np.float64) - bias)))
    assert bundle.manifest["packing"] == {"kind": "float16", "error": error}


def resnet32() -> Weights:
    """Names and shapes of a ResNet-32 for CIFAR-10, its values all zero."""
    tensors = [Tensor("conv1.weight", "float32", np.zeros((16, 3, 3, 3), np.float32))]

    def add_norm(name: str, width: int) -> None:
        parts = ("weight", "bias", "running_mean", "running_var")
        tensors.extend(Tensor(f"{name}.{part}", "float32", np.zeros(width, np.float32)) for part in parts)

    add_norm("bn1", 16)
    for stage, width in enumerate((16, 32, 64), 1):
        for block in range(5):
            before = width // 2 if block == 0 and stage > 1 else width
            for conv, columns in ((1, before), (2, width)):
                values = np.zeros((width, columns, 3, 3), np.float32)
                tensors.append(Tensor(f"layer{stage}.{block}.conv{conv}.weight", "float32", values))
                add_norm(f"layer{stage}.{block}.bn{conv}", width)
    tensors.append(Tensor("linear.weight", "float32", np.zeros((10, 64), np.float32)))
    return Weights.select([*tensors, Tensor("linear.bias", "float32", np.zeros(10, np.float32))])


def test_the_container_of_a_resnet_is_small(tmp_path: Path) -> None:
    """At most 600 bytes, and one byte a tensor for names and order."""
    weights = resnet32()
    sizes = write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.9, 16), ENCODERS.create("compact"))

    assert len(weights.tensors) == 157
    assert sizes.container <= 600 + 157
