"""A module is compressed in one call, and has the weights of the result afterwards."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import cnet
from cnet.errors import DatasetError, ProgramError, SpecError
from tests.small_program import small_network

# The networks are random, and a sparsity of a half makes other ones of them.
pytestmark = pytest.mark.filterwarnings("ignore:the compressed network is likely ruined")

SPEC = {"prune": {"name": "magnitude", "sparsity": 0.5}, "quantize": {"name": "kmeans", "clusters": 16}}
BRIEF = {"training": {"epochs": 1}, "recover": {"epochs": 1, "centroid_epochs": 0}}


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


def test_arrays_bring_their_own_validation_samples() -> None:
    """Of three samples the accuracy is a multiple of a third."""
    rng = np.random.default_rng(0)
    data = {f"x_{name}": rng.random((count, 1, 8, 8), np.float32) for name, count in (("train", 40), ("val", 3))}
    data |= {"y_train": np.arange(40) % 10, "y_val": np.arange(3)}

    result = cnet.compress(small_network(), data, spec={**SPEC, **BRIEF})

    assert round(result.report["baseline"]["accuracy_validation"] * 3, 6) in (0, 100, 200, 300)


def test_warnings_about_the_selected_point_are_those_of_the_result() -> None:
    """A single class, which a green verdict would hide."""
    data = (np.random.default_rng(0).random((40, 1, 8, 8), np.float32), np.zeros(40, np.int64))

    result = cnet.compress(small_network(), data, spec={**SPEC, **BRIEF})

    assert [text for text in result.warnings if text.startswith("all samples of the splits ")]


def test_a_path_or_weights_are_not_a_module() -> None:
    """The message says how a file is compressed."""
    with pytest.raises(SpecError, match=r"cnet compress model\.pth"):
        cnet.compress("model.pth", "model.npz")  # type: ignore[arg-type] # the mistake that is made
    with pytest.raises(SpecError, match="dictionary of weights"):
        cnet.compress(small_network().state_dict())  # type: ignore[arg-type] # the mistake that is made


def test_where_nothing_can_be_written_nothing_is_done(tmp_path: Path) -> None:
    """The folder is checked before the module is."""
    with pytest.raises(SpecError, match="its folder does not exist"):
        cnet.compress(small_network(), out=tmp_path / "none" / "x.npz")


@pytest.mark.parametrize("place", ["array", "arrays", "file"])
def test_unlabelled_inputs_calibrate(tmp_path: Path, place: str) -> None:
    """In memory or in a file; nothing is trained."""
    x = np.random.default_rng(0).random((40, 1, 8, 8)).astype(np.float32)
    np.savez(tmp_path / "x.npz", x=x)
    given = {"array": x, "arrays": {"x": x}, "file": tmp_path / "x.npz"}[place]

    result = cnet.compress(small_network(), inputs=given)

    assert result.point["agreement"] is not None
    assert result.report["points"][result.report["selected"]]["accuracy"] is None
    assert "agreement" in repr(result)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_modules_of_other_precisions_are_compressed(dtype: torch.dtype) -> None:
    """With inputs of their own type; they keep it, and the noise is that of the weights."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 5)).to(dtype)
    inputs = torch.randn(40, 12, dtype=dtype)
    expected = module(inputs[:32])

    result = cnet.compress(module, inputs=inputs, spec={"quantize": {"name": "calibrated", "divergence": 1e-3}})

    assert {tensor.dtype for tensor in module.parameters()} == {dtype}
    assert 0 < result.point["kl"] < 0.01
    assert (module(inputs[:32]) - expected).square().mean() < 0.1 * expected.square().mean()


@pytest.mark.parametrize("example_inputs", [None, torch.rand(4, 1, 8, 8)])
def test_inputs_that_are_no_file_are_named(example_inputs: torch.Tensor | None) -> None:
    """Whether the module is exported by them or by example inputs."""
    with pytest.raises(DatasetError, match=r"'none/x\.npz': there is no such file\. Check the path\."):
        cnet.compress(small_network(), inputs="none/x.npz", example_inputs=example_inputs)


def test_a_network_of_one_number_is_not_calibrated_as_a_classifier() -> None:
    """A divergence of 0 would be reported whatever is left of it; the tasks binary and regression take it."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 1))
    inputs = torch.randn(40, 12)
    with pytest.raises(SpecError, match=r"shape \(any, 1\).*Take the task binary for .* or regression"):
        cnet.compress(module, inputs=inputs)

    point = cnet.compress(module, inputs=inputs, task="regression").point
    assert point["kl"] is None
    assert point["output_snr_db"] > 30


def test_one_array_is_no_labelled_data() -> None:
    """The message names both ways to give it; both at once are refused."""
    x = np.zeros((9, 1, 8, 8), np.float32)
    with pytest.raises(SpecError, match="unlabelled inputs as `inputs`"):
        cnet.compress(small_network(), x)  # type: ignore[arg-type] # the mistake that is made
    with pytest.raises(SpecError, match="not both"):
        cnet.compress(small_network(), (x, np.zeros(9)), inputs=x)


def test_a_ruined_network_is_a_warning() -> None:
    """The caller hears of it, and the result says it."""
    ruin = {"prune": {"name": "magnitude", "sparsity": 0.999}}
    with pytest.warns(UserWarning, match="likely ruined"):
        result = cnet.compress(small_network(), spec=ruin, example_inputs=torch.rand(4, 1, 8, 8))
    assert any("dB below" in each for each in result.warnings)


def _series_network() -> nn.Module:
    return nn.Sequential(nn.Conv1d(2, 8, 5, 2), nn.ReLU(), nn.AdaptiveAvgPool1d(2), nn.Flatten(), nn.Linear(16, 3))


NETWORKS = {
    "series": (_series_network, (2, 40), np.float32),
    "one channel": (lambda: nn.Sequential(nn.Conv1d(1, 4, 5), nn.Flatten(), nn.Linear(4 * 36, 3)), (1, 40), np.float32),
    "steps": (lambda: nn.Sequential(nn.Linear(6, 8), nn.Flatten(), nn.Linear(80, 3)), (10, 6), np.float32),
    "channels last": (lambda: nn.Sequential(nn.Linear(3, 4), nn.Flatten(), nn.Linear(120, 3)), (5, 6, 3), np.float32),
    "volumes": (lambda: nn.Sequential(nn.Conv3d(1, 2, 2), nn.Flatten(), nn.Linear(54, 3)), (1, 4, 4, 4), np.float32),
    "grey images": (small_network, (8, 8), np.uint8),
    "vectors": (lambda: nn.Sequential(nn.Linear(12, 3)), (12,), np.float32),
}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("place", ["memory", "file"])
def test_data_of_any_shape_fit_a_module_that_takes_them(name: str, place: str, tmp_path: Path) -> None:
    """Series, volumes and channels in the last axis as well as images, under the plain names x and y."""
    make, shape, dtype = NETWORKS[name]
    x = (np.random.default_rng(0).random((40, *shape)) * 200).astype(dtype)
    y = np.arange(40) % 3
    np.savez(tmp_path / "data.npz", x=x, y=y)

    result = cnet.compress(make(), (x, y) if place == "memory" else tmp_path / "data.npz", spec={**SPEC, **BRIEF})

    assert result.point["accuracy"] is not None


def test_data_that_the_module_refuses_are_named() -> None:
    """With each shape that was tried, and what the module said."""
    with pytest.raises(ProgramError, match=r"data: .*for float32 \(4, 7, 40\): .*for float32 \(4, 1, 7, 40\): "):
        cnet.compress(_series_network(), (np.zeros((9, 7, 40), np.float32), np.zeros(9, np.int64)), spec=SPEC)
