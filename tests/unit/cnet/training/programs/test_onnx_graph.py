"""A program as an ONNX model, run in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from cnet.bundle import open_bundle
from cnet.errors import CnetError, ProgramError
from cnet.models.programs import read_program
from cnet.pipeline.local.compress_file import compress_file
from cnet.pipeline.local.unpack_file import unpack_file
from cnet.spec import JobSpec
from cnet.training.programs import onnx_graph
from cnet.training.programs.onnx_graph import write_onnx_graph
from tests.small_program import small_network, small_program

IMAGES = np.random.default_rng(0).random((5, 1, 8, 8), np.float32)


def _run(path: Path) -> np.ndarray:
    session = onnxruntime.InferenceSession(str(path))
    (output,) = session.run(None, {session.get_inputs()[0].name: IMAGES})
    return np.asarray(output)


def test_a_bundle_of_a_program_runs_packed(tmp_path: Path) -> None:
    """Batches of any size; equal to the network in PyTorch with the decoded weights, packed and not."""
    program, bundle = tmp_path / "net.pt2", tmp_path / "net.npz"
    program.write_bytes(small_program())
    quantize = {"name": "kmeans", "clusters": 15}
    compress_file(None, JobSpec.parse({"architecture": {"program": str(program)}, "quantize": quantize}), bundle)
    opened = open_bundle(bundle)

    plain, packed = tmp_path / "plain.onnx", tmp_path / "packed.onnx"
    write_onnx_graph(read_program(program), tmp_path / "graph.onnx")
    unpack_file(opened, plain, "onnx", tmp_path / "graph.onnx")
    report = unpack_file(opened, packed, "onnx-packed", program)

    network = small_network().eval()
    network.load_state_dict(opened.state_dict())
    with torch.no_grad():
        expected = network(torch.from_numpy(IMAGES)).numpy()
    np.testing.assert_allclose(_run(plain), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_run(packed), expected, rtol=1e-4, atol=1e-5)
    assert report is not None
    assert report.packed == ("5.weight",)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    (tmp_path / "net.pt2").write_bytes(small_program())
    monkeypatch.setattr(onnx_graph.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(CnetError, match=r"pip install 'cnet\[onnx\]'") as caught:
        write_onnx_graph(read_program(tmp_path / "net.pt2"), tmp_path / "net.onnx")
    assert caught.value.code == "onnx_missing"


def test_what_the_exporter_refuses_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In its own words, and no file is left."""
    (tmp_path / "net.pt2").write_bytes(small_program())

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("No ONNX function found for aten.rare.default.")

    monkeypatch.setattr(torch.onnx, "export", refuse)
    with pytest.raises(
        ProgramError, match=r"No ONNX function found for aten\.rare\.default\. Name an ONNX file"
    ) as caught:
        write_onnx_graph(read_program(tmp_path / "net.pt2"), tmp_path / "net.onnx")
    assert caught.value.code == "program_operator"
    assert not (tmp_path / "net.onnx").exists()
