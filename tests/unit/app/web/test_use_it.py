"""The programs of the "Use it" box run as they are copied."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import nn
from typer.testing import CliRunner

from app.cli import app
from app.web.use_it import snippets
from cnet.bundle import open_bundle

FILE = 'my "net"_v1.5-point0.npz'


class MyNetwork(nn.Module):
    """The network that a user has compressed."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The scores of ten classes."""
        scores: torch.Tensor = self.head(x)
        return scores


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which holds the bundle and the user's own export of the network."""
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    torch.save(MyNetwork().state_dict(), "net.pt")
    made = CliRunner().invoke(app, ["compress", "net.pt", "-o", FILE, "--sparsity", "0.5"])
    assert made.exit_code == 0, made.output
    weights = [
        numpy_helper.from_array(tensor.numpy(), name)
        for name, tensor in torch.load("net.pt", weights_only=True).items()
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 10])
    node = helper.make_node("Gemm", ["x", "head.weight", "head.bias"], ["y"], transB=1)
    graph = helper.make_graph([node], "net", [x], [y], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), "original.onnx")
    return tmp_path


def run(text: str, **names: Any) -> dict[str, Any]:
    """Run a copied program; the names that it has defined."""
    exec(compile(text, "copied", "exec"), names)  # noqa: S102 - the program under test
    return names


def test_the_program_for_pytorch_loads_the_decoded_weights(folder: Path) -> None:
    """Into the user's own class, in the mode for evaluation."""
    model = run(snippets(FILE)["torch"], MyNetwork=MyNetwork)["model"]

    decoded = open_bundle(folder / FILE)["head.weight"]
    assert not model.training
    assert np.array_equal(model.head.weight.detach().numpy(), decoded)
    assert np.count_nonzero(decoded == 0) >= decoded.size // 2


def test_the_program_for_onnx_runtime_computes_with_the_decoded_weights(folder: Path) -> None:
    """The command in it writes the graph that the program opens."""
    text = snippets(FILE)["onnx"]
    command = shlex.split(next(line for line in text.splitlines() if "cnet unpack" in line).removeprefix("# "))
    done = CliRunner().invoke(app, command[1:])
    assert done.exit_code == 0, done.output
    session = run(text)["session"]

    x = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    bundle = open_bundle(folder / FILE)
    expected = x @ bundle["head.weight"].T + bundle["head.bias"]
    np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=1e-5, atol=1e-5)


def test_the_program_for_numpy_prints_every_tensor(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its shape and element type."""
    assert (folder / FILE).exists()

    run(snippets(FILE)["numpy"])

    assert capsys.readouterr().out.splitlines() == ["head.weight (10, 64) float32", "head.bias (10,) float32"]
