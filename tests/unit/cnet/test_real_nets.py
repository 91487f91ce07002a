"""The numeric core on the real ResNet-32: exact counts, near-optimal codebooks, lossless round trips."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from cnet.quantize import QUANTIZERS
from cnet.reconstruction import Dither
from cnet.results import measures
from cnet.weights import Tensor, Weights
from tests.real_files import real_file
from tests.unit.cnet.nets import assert_same_bits, bundled, compress

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def resnet() -> Weights:
    """The state dict of the file, read by PyTorch itself."""
    state = torch.load(real_file("checkpoints/resnet32-d509ac18.th"), map_location="cpu", weights_only=True)
    return Weights.select(
        [Tensor(name, "float32", np.ascontiguousarray(part.numpy())) for name, part in state["state_dict"].items()]
    )


@pytest.mark.parametrize(
    ("clusters", "optimum"), [(16, 2.268e-2), (32, 6.19e-3), (64, 1.52e-3), (128, 3.62e-4), (256, 8.6e-5)]
)
def test_codebooks_are_within_half_a_percent_of_the_known_optimum(
    resnet: Weights, clusters: int, optimum: float
) -> None:
    """Relative squared errors that an exact programme on all 461,872 weights gave, to their digits."""
    vector = resnet.vector()
    decoded = compress(resnet, 0, clusters).vector()

    assert measures.squared_error(vector, decoded) / np.sum(vector.astype(np.float64) ** 2) <= 1.005 * optimum


@pytest.mark.parametrize(("sparsity", "clusters"), [(0.9, 16), (0.9, 256), (0.0, None)])
def test_the_net_goes_through_a_bundle_bit_for_bit(
    tmp_path: Path, resnet: Weights, sparsity: float, clusters: int | None
) -> None:
    """Exactly round(p n) zeros; biases and batch-norm bit-equal; sparsity 0 unquantized is the original."""
    symbols = compress(resnet, sparsity, clusters)
    expected = resnet.with_vector(symbols.vector())
    bundle = bundled(tmp_path / "b.npz", resnet, symbols)

    assert_same_bits(bundle.weights(), expected if clusters else resnet)
    assert np.count_nonzero(symbols.vector() == 0) == round(sparsity * resnet.compressible_parameters)
    bundle.verify()


def test_the_bundle_is_smaller_than_three_npz_files(tmp_path: Path, resnet: Weights) -> None:
    """At 90 % and 16 clusters: fewer bytes than NumPy's own archives of the same three parts."""
    symbols = compress(resnet, 0.9, 16)
    parts = bundled(tmp_path / "b.npz", resnet, symbols).sizes
    files = [tmp_path / f"{name}.npz" for name in ("mask", "labels", "centroids")]
    for file, part in zip(files, (np.packbits(symbols.keep), symbols.labels, symbols.centroids), strict=True):
        np.savez_compressed(file, part)

    assert parts.mask + parts.labels + parts.centroids < 0.95 * sum(file.stat().st_size for file in files)


def test_dithered_and_scaled_weights_have_the_errors_that_they_should(tmp_path: Path, resnet: Weights) -> None:
    """Dither: step^2 / 12 to a hundredth. A step a channel: a third of a layer's error at 8 bits. All come back."""
    vector, keep = resnet.vector(), np.ones(resnet.compressible_parameters, np.bool_)
    shapes = [resnet[name].shape for name in resnet.compressible]
    made = {
        name: QUANTIZERS.create(kind, **options).symbols(vector, keep, clusters, shapes)
        for name, kind, options, clusters in (
            ("dither", "universal", {"step": 0.5}, None),
            ("layer", "uniform", {"scope": "layer"}, 256),
            ("channel", "uniform", {"scope": "channel"}, 256),
            ("binary", "binary", {"scope": "channel"}, None),
        )
    }
    errors = {name: measures.squared_error(vector, symbols.vector()) / len(vector) for name, symbols in made.items()}

    assert isinstance(made["dither"].reconstruction, Dither)
    assert errors["dither"] == pytest.approx(made["dither"].reconstruction.step ** 2 / 12, rel=0.01)
    assert errors["channel"] < errors["layer"] / 3
    for symbols in made.values():
        assert_same_bits(bundled(tmp_path / "b.npz", resnet, symbols).weights(), resnet.with_vector(symbols.vector()))
