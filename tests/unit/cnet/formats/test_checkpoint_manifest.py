"""The manifest describes the tensors of a checkpoint and survives JSON."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch

from cnet.errors import CheckpointError
from cnet.formats import read_checkpoint
from cnet.formats.checkpoint_manifest import CheckpointManifest
from tests.unit.cnet.formats.files import saved

SHARED = torch.arange(6.0).reshape(2, 3)
VALUE = {
    "odd": torch.tensor([1, 0, 1], dtype=torch.uint8),
    "tied.a": SHARED,
    "bf": torch.tensor([[1.5, -2.0]], dtype=torch.bfloat16),
    "tied.b": SHARED,
    "n": torch.tensor(2**53 + 1),
    "flag": torch.tensor([True, False]),
    "c": torch.tensor([1 + 2j], dtype=torch.complex64),
    "empty": torch.zeros(0, 4),
    "große Gewichte": torch.zeros(2, 2, dtype=torch.float64),
}


def test_the_manifest_describes_every_tensor(tmp_path: Path) -> None:
    """Tied tensors count once; statistics are float64, or null where there are none."""
    manifest = CheckpointManifest.of(read_checkpoint(saved(tmp_path, VALUE)))
    rows = {row.name: row for row in manifest.tensors}
    assert list(rows) == list(VALUE)
    assert (manifest.parameters, manifest.compressible_parameters) == (3 + 6 + 2 + 1 + 2 + 1 + 4, 6 + 2 + 4)
    assert manifest.dtypes == {
        "uint8": 3,
        "float32": 6,
        "bfloat16": 2,
        "int64": 1,
        "bool": 2,
        "complex64": 1,
        "float64": 4,
    }
    a = rows["tied.a"]
    assert (a.shape, a.parameters, a.bytes, a.compressible, a.min, a.max, a.mean, a.zeros) == (
        *((2, 3), 6, 24, True, 0.0, 5.0, 2.5, 1),
    )
    assert a.std == pytest.approx(math.sqrt(35 / 12), rel=1e-15)
    assert (rows["tied.b"].tied_to, rows["tied.b"].compressible) == ("tied.a", False)
    assert (rows["bf"].min, rows["bf"].mean) == (-2.0, -0.25)
    assert rows["n"].max == 2**53 + 1
    assert (rows["n"].shape, rows["empty"].min, rows["empty"].mean, rows["empty"].std) == ((), None, None, None)
    assert (rows["flag"].max, rows["flag"].zeros, rows["c"].mean) == (None, 1, None)


def test_the_manifest_survives_json(tmp_path: Path) -> None:
    """Strict JSON, and the same value again."""
    manifest = CheckpointManifest.of(
        read_checkpoint(saved(tmp_path, {"module.w": torch.ones(2, 2), "module.0": torch.ones(1)}))
    )
    text = manifest.to_json()
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{constant} is no JSON"))
    assert CheckpointManifest.from_json(text) == manifest
    assert manifest.stripped_prefix == "module."
    with pytest.raises(CheckpointError):
        CheckpointManifest.from_json(text[:-2])
