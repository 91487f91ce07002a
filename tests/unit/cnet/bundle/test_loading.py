"""A bundle in PyTorch."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import cnet
from cnet.pipeline.local.compress_file import compress_file
from cnet.spec import JobSpec


def network(width: int = 16) -> nn.Sequential:
    """A network with batch norm, whose count of batches is an integer."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(32, width), nn.BatchNorm1d(width), nn.Linear(width, 10))


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A bundle of the network, all of it exact."""
    torch.save(network().state_dict(), tmp_path / "model.pth")
    spec = JobSpec.parse({"checkpoint": "model.pth", "quantize": {"name": "none"}})
    compress_file(tmp_path / "model.pth", spec, tmp_path / "b.npz")
    return tmp_path / "b.npz"


def test_the_state_dict_is_that_of_the_original(bundle: Path) -> None:
    """From a path, text, bytes, a file and an opened bundle."""
    with bundle.open("rb") as file:
        for source in (bundle, str(bundle), bundle.read_bytes(), file, cnet.open_bundle(bundle)):
            state = cnet.load_state_dict(source)
            for name, tensor in network().state_dict().items():
                assert torch.equal(state[name], tensor)


@pytest.mark.parametrize("wrap", [lambda net: net, nn.DataParallel, AveragedModel])
def test_a_module_gets_the_weights(bundle: Path, wrap: type[nn.Module]) -> None:
    """Under the prefix of a wrapper too."""
    other = wrap(network())
    for parameter in other.parameters():
        nn.init.zeros_(parameter)

    cnet.load_into(other, io.BytesIO(bundle.read_bytes()))

    assert all(torch.equal(a, b) for a, b in zip(other.parameters(), network().parameters(), strict=True))


def test_a_module_keeps_its_element_type(bundle: Path) -> None:
    """Values are converted."""
    half = network().half()

    cnet.load_into(half, bundle)

    assert half[0].weight.dtype == torch.float16


def test_a_module_of_another_network_is_refused_and_left_as_it_was(bundle: Path) -> None:
    """Names and both shapes are told."""
    other = network(8)
    before = other[0].weight.clone()

    with pytest.raises(cnet.ArchitectureMismatchError, match=r"0\.weight is 16x32 float32 in the bundle") as caught:
        cnet.load_into(other, bundle)

    assert caught.value.detail.endswith("Load it into a module of the network that was compressed.")
    assert torch.equal(other[0].weight, before)
    with pytest.raises(cnet.ArchitectureMismatchError, match=r"2 missing: 2\.weight, 2\.bias|unexpected"):
        cnet.load_into(other[:2], bundle)
