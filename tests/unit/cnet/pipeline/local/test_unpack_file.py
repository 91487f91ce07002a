"""Bundles as files of any format; a program as the source of the graph is in ``training/programs/test_onnx_graph``."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.bundle import Bundle
from cnet.errors import CnetError
from cnet.formats import read_checkpoint
from cnet.pipeline.local.unpack_file import unpack_file
from cnet.weights import Tensor, Weights
from tests.unit.cnet.nets import bundled, compress


@pytest.fixture
def bundle(tmp_path: Path) -> Bundle:
    """One tensor of four values and a zero."""
    values = np.random.default_rng(0).standard_normal((40, 50)).astype(np.float32)
    weights = Weights.select([Tensor("weight", "float32", values)])
    return bundled(tmp_path / "net.npz", weights, compress(weights, 0.5, 4))


def test_only_the_packed_format_reports_what_is_packed(tmp_path: Path, bundle: Bundle) -> None:
    """Half a byte for each weight."""
    assert unpack_file(bundle, tmp_path / "net.safetensors", "safetensors") is None
    assert np.array_equal(read_checkpoint(tmp_path / "net.safetensors").weights["weight"].data, bundle["weight"])
    report = unpack_file(bundle, tmp_path / "net.onnx", "onnx-packed")
    assert report is not None
    assert report.packed_elements == 2000
    assert (tmp_path / "net.onnx").stat().st_size < 1000 + 700


def test_an_unknown_format_lists_the_known_ones(tmp_path: Path, bundle: Bundle) -> None:
    """The packed one too."""
    with pytest.raises(CnetError, match="Use one of: npz, onnx, onnx-packed,") as caught:
        unpack_file(bundle, tmp_path / "net.h5", "h5")
    assert caught.value.code == "unknown_format"


def test_a_format_without_a_graph_takes_no_template(tmp_path: Path, bundle: Bundle) -> None:
    """Also where the template is no ONNX file."""
    (tmp_path / "net.pt2").write_bytes(b"a program")
    with pytest.raises(CnetError, match="its files have no graph"):
        unpack_file(bundle, tmp_path / "net.safetensors", "safetensors", tmp_path / "net.pt2")
