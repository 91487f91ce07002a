"""Real checkpoints are read exactly as PyTorch and safetensors read them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from cnet.formats import read_checkpoint
from cnet.formats.canonical_file import read_canonical, write_canonical
from tests.real_files import real_file

pytestmark = pytest.mark.real

FILES = {  # weights key, stripped prefix, tensors, parameters
    "handwriting_model.pth": (None, None, 10, 390_410),
    "pnet.pt": (None, None, 13, 6_632),
    "onet.pt": (None, None, 21, 389_040),
    "alex.pth": (None, None, 5, 1_152),
    "svhn.pth": (None, None, 46, 815_920),
    "silero_vad_16k.safetensors": (None, None, 15, 309_633),
    "tiny.pth": (None, None, 44, 487_102),
    "resnet20-12fca82f.th": ("state_dict", "module.", 97, 271_098),
    "resnet32-d509ac18.th": ("state_dict", "module.", 157, 466_426),
}


def reference(path: Path, key: str | None) -> dict[str, torch.Tensor]:
    """The weights by the formats' own packages."""
    if path.suffix == ".safetensors":
        return load_file(path)
    value = torch.load(path, map_location="cpu", weights_only=True)
    return dict(value[key] if key else value)


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_read_exactly(tmp_path: Path, name: str) -> None:
    """Names in order, shapes, types and values; and again from the canonical form."""
    key, prefix, tensors, parameters = FILES[name]
    path = real_file(f"checkpoints/{name}")
    checkpoint = read_checkpoint(path)
    assert (checkpoint.weights_key, checkpoint.stripped_prefix, checkpoint.warnings) == (key, prefix, ())
    assert (len(checkpoint.weights.tensors), checkpoint.weights.parameters) == (tensors, parameters)
    expected = {n.removeprefix(prefix or ""): tensor for n, tensor in reference(path, key).items()}
    assert sorted(t.name for t in checkpoint.weights) == sorted(expected)
    write_canonical(tmp_path / "w", checkpoint.weights)
    for weights in (checkpoint.weights, read_canonical(tmp_path / "w")):
        for tensor in weights:
            other = expected[tensor.name]
            assert (tensor.shape, f"torch.{tensor.dtype}") == (tuple(other.shape), str(other.dtype))
            assert tensor.data.tobytes() == other.contiguous().numpy().tobytes()
