"""A module is compressed in one call, and has the weights of the result afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import cnet
from cnet.errors import DatasetError, SpecError
from tests.small_program import small_network

SPEC = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 16}}


def test_weights_alone(tmp_path: Path) -> None:
    """Without data an example batch is enough; the bundle is what the module was loaded from."""
    module = small_network().train()
    result = cnet.compress(module, spec=SPEC, example_inputs=torch.rand(4, 1, 8, 8), out=tmp_path / "out.npz")

    assert module.training
    assert result.bundle == tmp_path / "out.npz"
    assert result.point["sparsity"] == pytest.approx(0.5, abs=0.01)
    assert (module.state_dict()["5.weight"] == 0).float().mean() > 0.4
    for name, tensor in cnet.open_bundle(tmp_path / "out.npz").state_dict().items():
        assert torch.equal(module.state_dict()[name], tensor)


def test_what_cannot_be_done_leaves_the_module_as_it_was() -> None:
    """No example inputs, a spec that names what the arguments give, data that do not fit."""
    module = small_network()
    with pytest.raises(SpecError, match="example_inputs"):
        cnet.compress(module, spec=SPEC)
    with pytest.raises(SpecError, match="dataset"):
        cnet.compress(module, spec={"dataset": "digits"}, example_inputs=torch.rand(4, 1, 8, 8))
    with pytest.raises(DatasetError):
        cnet.compress(module, (np.zeros((9, 1, 8, 8), np.uint8), np.zeros(8)), spec=SPEC)
    assert all(torch.equal(a, b) for a, b in zip(module.parameters(), small_network().parameters(), strict=True))


def test_importing_cnet_loads_no_torch() -> None:
    """Before one of the two functions that need it is used."""
    check = "assert 'torch' not in sys.modules; cnet.export_program; print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys, cnet, cnet.client; {check}"], capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
