"""The parts of a bundle's file, decoded when they are asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.bundle.container import ContainerReader
from cnet.bundle.contents import BundleContents, contents_of
from cnet.bundle.manifest_json import parse
from cnet.errors import BundleError
from cnet.quantize import QUANTIZERS
from cnet.weights import Weights
from tests.small_segments import small_segments
from tests.unit.cnet.bundle.forging import forged, set_value
from tests.unit.cnet.bundle.small_nets import LAYOUTS, content_of, net
from tests.unit.cnet.nets import assert_same_bits, compress, tensor


def contents(content: bytes) -> BundleContents:
    """The parts of a bundle."""
    reader = ContainerReader(content)
    return contents_of(reader, parse(reader.manifest))


@pytest.mark.parametrize("encoder", LAYOUTS)
@pytest.mark.parametrize("part", [slice(0, 0), slice(0, 1), slice(100, 900), slice(0, 1841), slice(1840, 1841)])
def test_any_weights_are_decoded(tmp_path: Path, encoder: str, part: slice) -> None:
    """As a new array, whatever tensors they belong to."""
    weights = net()
    symbols = compress(weights, 0.5, 4)
    values = contents(content_of(tmp_path, encoder, weights, symbols)).values(part)

    np.testing.assert_array_equal(values, symbols.vector()[part])
    assert values.flags.writeable


@pytest.mark.parametrize("encoder", LAYOUTS)
@pytest.mark.parametrize("part", [slice(0, 0), slice(3, 100), slice(0, 168)])
def test_any_bytes_of_other_tensors_are_decoded(tmp_path: Path, encoder: str, part: slice) -> None:
    """Biases and the counter, in the network's order."""
    weights = net()
    expected = weights["a.bias"].data.tobytes() + weights["steps"].data.tobytes()

    assert contents(content_of(tmp_path, encoder, weights)).other(part).tobytes() == expected[part]


def test_other_tensors_of_several_blocks_round_trip(tmp_path: Path) -> None:
    """A block ends within a tensor, and a block holds several."""
    parts = [tensor("w", "float32", (2, 2)), tensor("small", "int16", (5,)), tensor("large", "uint8", (2**24 + 9,))]
    weights = Weights.select([*parts, tensor("last", "float64", (3,))])
    bundle = open_bundle(content_of(tmp_path, "compact", weights))

    assert len(bundle.manifest["others"]) == 2
    assert bundle["large"].tobytes() == weights["large"].data.tobytes()
    assert bundle["last"].tobytes() == weights["last"].data.tobytes()
    assert bundle["small"].tobytes() == weights["small"].data.tobytes()


def test_codebooks_of_tensors_survive_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments end within tensors that have centroids of their own."""
    small_segments(monkeypatch, segment=2**16, adaptive=2**24)
    weights = Weights.select([tensor("a", "float32", (40, 1024)), tensor("b", "float32", (40, 1024))])
    keep = np.arange(weights.compressible_parameters) % 10 == 0
    shapes = [weights[name].shape for name in weights.compressible]
    symbols = QUANTIZERS.create("kmeans", clusters=8, scope="layer").symbols(weights.vector(), keep, 8, shapes)
    bundle = open_bundle(content_of(tmp_path, "compact", weights, symbols))

    assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
    np.testing.assert_array_equal(bundle.symbols().centroids, symbols.centroids)


def test_streams_divided_at_wrong_positions_are_refused(tmp_path: Path) -> None:
    """Their sizes still add up to the same, but they do not decode."""
    content = content_of(tmp_path, "compact", net())
    mask, labels, centroids = open_bundle(content).manifest["sizes"]
    for sizes in ([mask + 1, labels - 1, centroids], [mask, labels + 4, centroids - 4], [labels, mask, centroids]):
        with pytest.raises(BundleError):
            contents(forged(content, set_value("sizes", sizes))).verify()


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_an_unknown_encoder_asks_for_what_has_it(tmp_path: Path, encoder: str) -> None:
    """A newer release, or the package that adds it."""
    content = forged(content_of(tmp_path, encoder, net()), set_value("encoder", "magic"))
    with pytest.raises(BundleError, match=r"'magic'.*Install"):
        contents(content).symbols()
