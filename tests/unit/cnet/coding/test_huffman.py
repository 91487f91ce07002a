"""Deep Compression's encoding: the code is Huffman's, symbols come back, and nonsense is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.symbols import Symbols
from cnet.weights import Weights
from tests.unit.cnet.coding.symbols import assert_equal
from tests.unit.cnet.nets import compress, tensor

HUFFMAN = ENCODERS.create("huffman")
SHAPES = [(6, 50), (3, 2, 4, 4), (700,), (0, 4)]


def symbols(sparsity: float, clusters: int | None, seed: int = 0) -> Symbols:
    """Random symbols of tensors of ``SHAPES``."""
    rng = np.random.default_rng(seed)
    keep = rng.random(sum(int(np.prod(shape)) for shape in SHAPES)) >= sparsity
    kept = int(np.count_nonzero(keep))
    if clusters is None:
        return Symbols(keep, None, rng.normal(size=kept).astype(np.float32))
    labels = np.minimum(rng.geometric(0.3, kept) - 1, clusters - 1)
    centroids = np.arange(1, clusters + 1, dtype=np.float32)
    return Symbols(keep, labels.astype(np.uint8 if clusters <= 256 else np.uint16), centroids)


@pytest.mark.parametrize("clusters", [None, 1, 2, 16, 256, 300])
@pytest.mark.parametrize("sparsity", [0.0, 0.5, 0.9, 0.995, 1.0])
def test_symbols_round_trip(sparsity: float, clusters: int | None) -> None:
    """Matrices, kernels, vectors, empty tensors; runs longer than any symbol."""
    given_ = symbols(sparsity, clusters)
    streams, header = HUFFMAN.encode(given_, SHAPES)
    assert_equal(HUFFMAN.decode(streams, header, SHAPES), given_)


@given(st.lists(st.booleans(), max_size=600), st.integers(0, 60))
def test_any_mask_round_trips(keep: list[bool], gap: int) -> None:
    """Short and long runs, at the start and at the end."""
    mask = np.array([*([False] * gap * 10), *keep], np.bool_)
    given_ = Symbols(mask, np.zeros(int(mask.sum()), np.uint8), np.float32([1.0]))
    for shape in [(len(mask),), (1, len(mask))]:
        streams, header = HUFFMAN.encode(given_, [shape])
        assert_equal(HUFFMAN.decode(streams, header, [shape]), given_)


def test_a_network_without_compressible_tensors_is_encoded() -> None:
    """Mask and labels are empty."""
    given_ = Symbols(np.zeros(0, np.bool_), np.zeros(0, np.uint8), np.zeros(0, np.float32))
    streams, header = HUFFMAN.encode(given_, [])
    assert_equal(HUFFMAN.decode(streams, header, []), given_)


def test_labels_cost_no_more_than_a_bit_above_their_entropy() -> None:
    """Shannon's bounds, the table apart."""
    rng = np.random.default_rng(0)
    labels = np.minimum(rng.geometric(0.3, 5000) - 1, 15).astype(np.uint8)
    centroids = np.arange(1, 17, dtype=np.float32)
    streams, _ = HUFFMAN.encode(Symbols(np.ones(5000, np.bool_), labels, centroids), [(50, 100)])
    shares = np.bincount(labels) / 5000
    entropy = -float((shares * np.log2(shares)).sum())
    spent = 8 * (len(streams["labels"]) - 16) / 5000
    assert entropy <= spent < entropy + 0.1


def test_a_huffman_bundle_is_smaller_than_an_npz_bundle(tmp_path: Path) -> None:
    """Both decode to the same weights, at 95 % sparsity and 16 clusters."""
    weights = Weights.select([tensor("a.weight", "float32", (200, 300)), tensor("a.bias", "float32", (200,))])
    made = compress(weights, 0.95, 16)
    sizes = {}
    for name in ("npz", "huffman"):
        sizes[name] = write_bundle(tmp_path / name, weights, made, ENCODERS.create(name), None).total
        decoded = open_bundle(tmp_path / name)
        assert np.array_equal(decoded.weights().vector(), made.vector())
    assert sizes["huffman"] < sizes["npz"]


Streams = dict[str, npt.NDArray[Any]]


def damaged() -> list[tuple[str, Streams, dict[str, Any]]]:
    """Bundles that contradict themselves."""
    streams, header = HUFFMAN.encode(symbols(0.9, 16), SHAPES)
    whole = dict(streams)
    deep = whole["mask"].copy()
    deep[:32] = 99
    return [
        ("mask cut", {**whole, "mask": whole["mask"][:-9]}, header),
        ("labels cut", {**whole, "labels": whole["labels"][:-9]}, header),
        ("table cut", {**whole, "labels": whole["labels"][:5]}, header),
        ("more than its codes", {**whole, "mask": np.append(whole["mask"], np.uint8([0, 0]))}, header),
        ("no code", {**whole, "mask": deep}, header),
        ("type", {**whole, "mask": whole["mask"].astype(np.int16)}, header),
        ("no header", whole, {}),
        ("negative", whole, {**header, "kept": [-1, 1, 1, 0]}),
        ("truth", whole, {**header, "kept": [True, 1, 1, 0]}),
        ("huge", whole, {**header, "runs": [2**60, 1, 1, 0]}),
        ("one less", whole, {**header, "kept": [header["kept"][0] - 1, *header["kept"][1:]]}),
        ("values", {"mask": whole["mask"], "labels": whole["labels"]}, header),
        ("no labels", {"mask": whole["mask"]}, header),
        ("NaN", {**whole, "centroids": np.full(16, np.nan, np.float32)}, header),
        ("few centroids", {**whole, "centroids": whole["centroids"][:3]}, header),
    ]


@pytest.mark.parametrize(("streams", "header"), [row[1:] for row in damaged()], ids=[row[0] for row in damaged()])
def test_contradictions_are_refused(streams: Streams, header: dict[str, Any]) -> None:
    """With our own error, whatever is wrong."""
    with pytest.raises(BundleError):
        HUFFMAN.decode(streams, header, SHAPES)


@given(st.integers(0, 2**32 - 1))
def test_noise_is_refused_or_decodes(seed: int) -> None:
    """Nothing else than symbols or our own error comes out of flipped bytes."""
    rng = np.random.default_rng(seed)
    streams, header = HUFFMAN.encode(symbols(0.8, 16), SHAPES)
    name = ("mask", "labels")[seed % 2]
    noisy = streams[name].copy()
    noisy[rng.integers(0, len(noisy), 3)] = rng.integers(0, 256, 3)
    try:
        found = HUFFMAN.decode({**streams, name: noisy}, header, SHAPES)
    except BundleError:
        return
    assert found.labels is not None
    assert len(found.labels) == np.count_nonzero(found.keep)
