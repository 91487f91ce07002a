"""Reading chooses what is compressible, and only that must be finite."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from cnet.errors import CnetError
from cnet.formats import read_checkpoint, write_checkpoint
from cnet.formats.canonical_file import read_canonical, write_canonical
from cnet.weights import Selection
from tests.unit.cnet.formats.files import refusal, saved

RNG = torch.Generator().manual_seed(0)
WEIGHT = torch.randn(64, 32, generator=RNG) * 0.05


def test_tensors_that_are_no_weights_may_be_infinite(tmp_path: Path) -> None:
    """An attention mask, observers, and a best value are kept bit for bit, also in the canonical file."""
    state = {
        "layer.weight": WEIGHT,
        "mask": torch.full((77, 77), -math.inf).triu(1),
        "observer.min_val": torch.tensor([math.inf]),
        "best": torch.tensor(math.inf, dtype=torch.float16),
        "nan": torch.tensor([math.nan], dtype=torch.bfloat16),
    }

    checkpoint = read_checkpoint(saved(tmp_path, state))
    write_canonical(tmp_path / "canonical", checkpoint.weights)

    assert checkpoint.weights.compressible == ("layer.weight",)
    assert [(notice.code, notice.tensor) for notice in checkpoint.warnings] == [("not_a_weight", "mask")]
    for name, tensor in state.items():
        expected = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
        assert checkpoint.weights[name].data.tobytes() == expected
        assert read_canonical(tmp_path / "canonical")[name].data.tobytes() == expected


def test_an_excluded_tensor_may_be_infinite(tmp_path: Path) -> None:
    """``compressible.exclude`` helps, and ``include`` makes a mask a weight, which must be finite."""
    diverged = WEIGHT.clone()
    diverged[3, 4] = math.nan
    path = saved(tmp_path, {"fine": WEIGHT + 0, "diverged": diverged, "mask": torch.full((8, 8), -math.inf).triu(1)})

    assert refusal(path).code == "not_finite"
    assert read_checkpoint(path, selection=Selection(exclude=("div*",))).weights.compressible == ("fine",)
    error = refusal(path, selection=Selection(include=("mask",), exclude=("div*",)))
    assert (error.code, "'mask'" in error.detail) == ("not_finite", True)


def test_a_notice_says_why_a_table_is_kept_and_how_to_include_it(tmp_path: Path) -> None:
    """The anchors of a detector beside its weights."""
    path = saved(tmp_path, {"conv.weight": WEIGHT, "head.anchors": torch.tensor([[10.0, 13.0], [373.0, 326.0]])})

    (notice,) = read_checkpoint(path).warnings

    assert (notice.code, notice.tensor) == ("not_a_weight", "head.anchors")
    assert "compressible.include" in str(notice)
    assert str(notice).startswith("tensor 'head.anchors': its name")
    assert read_checkpoint(path, selection=Selection(include=("*anchors",))).warnings == ()


@pytest.mark.parametrize("name", ["w", "deep.w"])
def test_a_tied_mask_is_kept_under_all_its_names(tmp_path: Path, name: str) -> None:
    """Many layers share one mask."""
    mask = torch.full((16, 16), -math.inf).triu(1)

    weights = read_checkpoint(saved(tmp_path, {"a": mask, name: mask, "weight": WEIGHT})).weights

    assert weights.compressible == ("weight",)
    assert weights.tied == (("a", name),)
    np.testing.assert_array_equal(weights[name].data, mask.numpy())


@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_complex_tensors_are_kept_exactly(tmp_path: Path, dtype: torch.dtype) -> None:
    """Also in the canonical file; they are never compressed. Views that conjugate are resolved."""
    tensor = torch.randn(8, 4, dtype=dtype, generator=RNG)

    weights = read_checkpoint(saved(tmp_path, {"freqs_cis": tensor, "conj": tensor.conj(), "w": WEIGHT})).weights
    write_canonical(tmp_path / "canonical", weights)

    assert weights.compressible == ("w",)
    for read in (weights, read_canonical(tmp_path / "canonical")):
        np.testing.assert_array_equal(read["freqs_cis"].data, tensor.numpy())
        np.testing.assert_array_equal(read["conj"].data, tensor.numpy().conj())


def test_complex128_has_no_place_in_safetensors(tmp_path: Path) -> None:
    """The message names the formats that have it, and they return it bit for bit."""
    tensor = torch.randn(4, 4, dtype=torch.complex128, generator=RNG)
    weights = read_checkpoint(saved(tmp_path, {"c": tensor})).weights

    with pytest.raises(CnetError, match="Write torch or npz") as caught:
        write_checkpoint(weights, tmp_path / "x.safetensors", "safetensors")

    assert caught.value.code == "unwritable"
    for kind in ("torch", "npz", "onnx"):
        write_checkpoint(weights, tmp_path / kind, kind)
        assert read_checkpoint(tmp_path / kind).weights["c"].data.tobytes() == tensor.numpy().tobytes()
