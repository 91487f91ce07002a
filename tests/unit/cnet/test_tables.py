"""Tensors that are not trained weights are recognized by their names or values, and real weights never are."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest

from cnet import dtypes
from cnet.formats import read_checkpoint
from cnet.tables import find_tables, without_tables
from cnet.weights import Selection, Tensor, Weights
from tests.real_files import real_file

Array = npt.NDArray[np.generic]


def weight(name: str, *shape: int, scale: float = 0.05) -> Tensor:
    """A trained weight, normally distributed."""
    rng = np.random.default_rng([len(shape), *name.encode()])
    return Tensor(name, "float32", (rng.normal(size=shape) * scale).astype(np.float32))


def table(values: Array, name: str = "buffer", dtype: str = "float32") -> Tensor:
    """Another tensor."""
    return Tensor(name, dtype, dtypes.narrow(values.astype(np.float64), dtype))


def reason(tensor: Tensor, selection: Selection | None = None) -> str | None:
    """Why the tensor is kept beside two ordinary weights; None where it is compressed."""
    found = find_tables([weight("conv1.weight", 32, 3, 3, 3), tensor, weight("fc.weight", 64, 64)], selection)
    assert set(found) <= {tensor.name}
    return found.get(tensor.name)


def positions(rows: int, columns: int, *, interleaved: bool) -> Array:
    """The sinusoidal table of positions of Vaswani et al., with sines and cosines in turn or one after the other."""
    angles = np.arange(rows)[:, None] / 10_000 ** (np.arange(0, columns, 2) / columns)
    parts = np.sin(angles), np.cos(angles)
    return np.stack(parts, -1).reshape(rows, columns) if interleaved else np.concatenate(parts, 1)


ANCHORS = np.array([10, 13, 16, 30, 33, 23, 30, 61, 62, 45, 59, 119, 116, 90, 156, 198, 373, 326.0])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
@pytest.mark.parametrize("masked", [-math.inf, math.inf, "lowest"])
def test_an_attention_mask_is_not_a_weight(dtype: str, masked: float | str) -> None:
    """A 2-D mask that holds infinity, or the lowest finite number of its type, beside normal weights."""
    lowest = {"float16": -65504.0, "bfloat16": -3.3895313892515355e38}.get(dtype, np.finfo(dtype.replace("b", "")).min)
    value = float(lowest) if isinstance(masked, str) else masked

    found = reason(table(np.triu(np.full((77, 77), value), 1), dtype=dtype))

    assert found is not None
    assert "mask" in found


def test_a_mask_may_have_many_other_values() -> None:
    """The causal mask of a network with linear biases (ALiBi) has a distance in each place that is seen."""
    distance = np.arange(32)[None, :] - np.arange(32)[:, None]

    assert reason(table(np.where(distance > 0, -np.inf, distance / 7)))


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_weight_that_diverged_is_not_a_mask(value: float) -> None:
    """It is still a weight, which reading then refuses."""
    values = weight("w", 32, 32).data.copy()
    values[3, 4] = value

    assert reason(Tensor("w", "float32", values)) is None


@pytest.mark.parametrize("values", [ANCHORS.reshape(3, 3, 2), ANCHORS.reshape(9, 2) / 8.5])
@pytest.mark.parametrize("name", ["model.24.anchors", "anchor_grid", "head.buffer"])
def test_anchors_are_not_weights(name: str, values: Array) -> None:
    """A detector's anchors are recognized by their name, their integers, or their scale."""
    assert reason(table(values, name))


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", [(50, 64), (1, 50, 64), (50, 1, 64)])
def test_a_sinusoidal_table_of_positions_is_not_a_weight(shape: tuple[int, ...], dtype: str, interleaved: bool) -> None:
    """Its values are up to 1, so that beside small weights pruning would keep them and remove the weights."""
    found = reason(table(positions(50, 64, interleaved=interleaved).reshape(shape), "pe", dtype))

    assert found is not None
    assert "sines" in found


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("layer.weight_scale", np.linspace(0.1, 0.2, 64).reshape(64, 1)),
        ("layer.zero_point", np.linspace(0.1, 0.2, 64).reshape(64, 1)),
        ("rope.cos_cached", np.cos(np.arange(640.0)).reshape(10, 64)),
        ("blur.kernel", np.outer([1, 3, 3, 1], [1, 3, 3, 1]) / 64),
        ("keep", np.tri(32)),
        ("constant", np.full((8, 8), 0.044)),
        ("cells", np.stack(np.meshgrid(np.arange(20), np.arange(20)))),
        ("large", np.linspace(3, 9, 600).reshape(20, 30)),
    ],
)
def test_other_tables_are_not_weights(name: str, values: Array) -> None:
    """They are recognized by a name, by few values, by integers alone, or by another scale."""
    assert reason(table(values, name))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("position_embeddings.weight", weight("p", 128, 64).data),
        ("scale.weight", weight("s", 16, 16).data),
        ("grid_encoder.conv", weight("g", 16, 16).data),
        ("zeros", np.zeros((16, 16))),
        ("head", weight("h", 2, 256, scale=0.8).data),
        ("small", np.array([[0.1, 0.2], [0.3, 0.4]])),
    ],
)
def test_trained_weights_of_unusual_names_and_scales_stay_weights(name: str, values: Array) -> None:
    """Trained positions, names that only contain a word of the list, a head of 16 times the scale, tiny tensors."""
    assert reason(table(values, name)) is None


def test_the_weights_of_a_quantized_network_stay_weights() -> None:
    """Few values are usual in a binary or ternary network, so they do not tell its tensors apart."""
    rng = np.random.default_rng(0)
    tensors = [Tensor(f"{i}", "float32", rng.choice([-0.1, 0, 0.1], (32, 32)).astype(np.float32)) for i in range(3)]

    assert find_tables([*tensors, weight("first", 32, 32)]) == {}


def test_a_tensor_of_six_numbers_is_no_reference_for_scale() -> None:
    """Compared with six numbers no tensor counts as of another scale."""
    assert find_tables([weight("a", 2, 3), table(np.full((16, 4), 100.0), "b")]) == {}


def test_the_patterns_of_the_user_come_first() -> None:
    """What ``include`` names is compressed all the same, and what ``exclude`` names is not mentioned."""
    anchors = table(ANCHORS.reshape(9, 2), "anchors")

    assert reason(anchors, Selection(include=("anch*",))) is None
    assert reason(anchors, Selection(exclude=("anch*",))) is None
    weights = [weight("w", 32, 32), anchors]
    assert Weights.select(weights, without_tables(Selection(), weights)).compressible == ("w",)
    included = without_tables(Selection(include=("anch*",)), weights)
    assert Weights.select(weights, included).compressible == ("w", "anchors")


@pytest.mark.parametrize(
    "name",
    [
        *("alex.pth", "handwriting_model.pth", "onet.pt", "pnet.pt", "resnet20-12fca82f.th", "resnet32-d509ac18.th"),
        *("silero_vad_16k.safetensors", "svhn.pth", "tiny.pth"),
    ],
)
@pytest.mark.real
def test_no_matrix_of_real_networks_is_a_table(name: str) -> None:
    """Each matrix of the real checkpoints is a weight, even a Fourier basis that is scaled by a window."""
    assert find_tables(read_checkpoint(real_file(f"checkpoints/{name}")).weights.tensors) == {}


def test_signalling_nans_cause_no_numpy_warning() -> None:
    """Each conversion of such a value sets a flag of the processor, of which NumPy would warn."""
    tensor = weight("odd.weight", 50, 100)
    tensor.data.view(np.uint32)[7, 7] = 0x7F800001

    assert reason(tensor) is None


def test_a_tensor_of_nan_is_no_table() -> None:
    """Weights of a training that diverged are refused by name, and not kept silently."""
    assert reason(Tensor("odd.weight", "float32", np.full((50, 100), np.nan, np.float32))) is None
