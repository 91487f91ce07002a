"""The bundle: what was written comes back, and no damage goes unnoticed."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import cnet
from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.container import ContainerReader
from cnet.bundle.container.members import npy_header
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.weights import Selection, Weights
from tests.unit.cnet.bundle.small_nets import LAYOUTS, content_of, net
from tests.unit.cnet.nets import EXACT, FLOATS, assert_same_bits, compress, every_type, shapes, tensor


def read_all(content: bytes) -> None:
    """Open and read every tensor and every number."""
    bundle = open_bundle(content)
    for name in bundle:
        bundle[name]
    bundle.symbols()


@pytest.mark.parametrize("encoder", LAYOUTS)
@pytest.mark.parametrize("sparsity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("clusters", [1, 16, 256, None])
def test_every_element_type_round_trips(tmp_path: Path, sparsity: float, clusters: int | None, encoder: str) -> None:
    """Compressible tensors are their symbols rounded to their type, all others are bit-equal; ties and shapes hold."""
    weights = every_type()
    symbols = compress(weights, sparsity, clusters)
    expected = weights.with_vector(symbols.vector())

    bundle = open_bundle(content_of(tmp_path, encoder, weights, symbols))

    assert_same_bits(bundle.weights(), expected)
    for part in expected:
        assert bundle[part.name].shape == part.shape
        assert bundle[part.name].tobytes() == part.values().tobytes()
    bundle.verify()


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_sparsity_0_without_quantizer_is_lossless(tmp_path: Path, encoder: str) -> None:
    """Every bit comes back, negative zeros included."""
    weights = every_type()
    weights["float32.weight"].data[0, :2] = [-0.0, 0.0]
    weights["bfloat16.weight"].data[0, :2] = [0x8000, 0]

    bundle = open_bundle(content_of(tmp_path, encoder, weights, compress(weights, 0, None)))

    assert_same_bits(bundle.weights(), weights)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(FLOATS + EXACT), shapes()), max_size=6),
    st.floats(0, 1),
    st.sampled_from([1, 2, 300, None]),
    st.sampled_from(LAYOUTS),
)
def test_any_network_round_trips(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], sparsity: float, clusters: int | None, encoder: str
) -> None:
    """Networks of any types and shapes, empty ones too, are as their symbols say."""
    tensors = [tensor(f"t{index}", *part) for index, part in enumerate(parts)]
    weights = Weights.select(tensors, Selection(include=("t[024]",)))
    symbols = compress(weights, sparsity, clusters)

    bundle = open_bundle(content_of(tmp_path_factory.mktemp("any"), encoder, weights, symbols))

    assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
    bundle.verify()


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_a_bundle_is_read_from_a_path_bytes_or_a_file(tmp_path: Path, encoder: str) -> None:
    """All sources give the same tensors, in any order of reading."""
    content = content_of(tmp_path, encoder, net())
    path = tmp_path / "bundle.npz"
    with path.open("rb") as file:
        bundles = [open_bundle(path), open_bundle(str(path)), open_bundle(content), open_bundle(file)]
        for name in reversed(list(bundles[0])):
            assert len({bundle[name].tobytes() for bundle in bundles}) == 1
    assert len(bundles[0]) == 5
    assert "nothing" not in bundles[0]


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_arrays_are_the_readers_own(tmp_path: Path, encoder: str) -> None:
    """Writing to an array that was read changes no later reading."""
    bundle = open_bundle(content_of(tmp_path, encoder, net()))
    for name in bundle:
        before = bundle[name].tobytes()
        bundle[name][...] = 7
        assert bundle[name].tobytes() == before


def test_notes_are_the_readers_own(tmp_path: Path) -> None:
    """Writing to metrics, extra or manifest changes no later reading."""
    bundle = open_bundle(content_of(tmp_path, "npz", net(), metrics={"a": [1]}, extra={"b": {"c": 2}}))
    for document in (bundle.metrics, bundle.extra, bundle.manifest):
        assert document is not None
        document.clear()

    assert (bundle.metrics, bundle.extra) == ({"a": [1]}, {"b": {"c": 2}})
    assert (bundle.manifest["metrics"], bundle.manifest["extra"]) == (bundle.metrics, bundle.extra)
    assert bundle.manifest["encoder"] == "npz"
    assert "notes" not in bundle.manifest


@pytest.mark.parametrize("size", [1, 4, 2**20])
def test_chunks_of_a_tensor_are_its_elements(tmp_path: Path, size: int) -> None:
    """In order, ``size`` at a time."""
    weights = every_type()
    bundle = open_bundle(content_of(tmp_path, "compact", weights))
    for part in bundle.weights():
        chunks = list(bundle.chunks(part.name, size))

        assert all(len(chunk) == size for chunk in chunks[:-1])
        assert b"".join(chunk.tobytes() for chunk in chunks) == part.data.tobytes()


def test_state_dict_has_the_original_types(tmp_path: Path) -> None:
    """PyTorch tensors of every type and shape, bit-equal; tied ones are one tensor."""
    weights = every_type()
    state = open_bundle(content_of(tmp_path, "npz", weights, compress(weights, 0, None))).state_dict()

    for part in weights:
        actual = state[part.name]
        assert actual.dtype == getattr(torch, part.dtype)
        assert tuple(actual.shape) == part.shape
        assert actual.reshape(-1).view(torch.uint8).numpy().tobytes() == part.data.tobytes()
    assert state["float32.head"] is state["float32.weight"]


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_every_flipped_byte_is_detected(tmp_path: Path, encoder: str) -> None:
    """By reading everything; ``verify`` also finds damage of the bytes that only other programs read."""
    content = content_of(tmp_path, encoder, net())
    bundle = open_bundle(content)
    only_others = range(0)
    if encoder == "compact":
        start = ContainerReader(content).data_offset("data")
        length = sum(bundle.manifest["sizes"]) + sum(bundle.manifest["others"])
        only_others = range(start, start + len(npy_header("data", "|u1", length)))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        with pytest.raises(BundleError):
            open_bundle(bytes(damaged)).verify()
        if place not in only_others:
            with pytest.raises(BundleError):
                read_all(bytes(damaged))


@pytest.mark.parametrize(("encoder", "cases"), [("npz", 100), ("compact", 20)])
def test_random_damage_of_a_larger_bundle_is_detected(tmp_path: Path, encoder: str, cases: int) -> None:
    """Flipped bits, cuts, insertions and exchanged bytes at random places."""
    weights = Weights.select([tensor("w", "float32", (300, 500)), tensor("b", "float32", (3000,))])
    symbols = compress(weights, 0.0, None) if encoder == "compact" else compress(weights, 0.9, 256)
    content = content_of(tmp_path, encoder, weights, symbols)
    chance = random.Random(0)  # noqa: S311 - a test's dice
    for _ in range(cases):
        one, other = sorted(chance.sample(range(1, len(content) - 8), 2))
        flipped = bytearray(content)
        flipped[one] ^= 1 << chance.randrange(8)
        exchanged = bytearray(content)
        exchanged[one], exchanged[other] = content[other], content[one]
        inserted = content[:one] + b"\0" + content[one:]
        for case in (bytes(flipped), content[:one], content[one:], inserted, bytes(exchanged)):
            if case != content:
                with pytest.raises(BundleError):
                    open_bundle(case).verify()


def test_members_of_two_bundles_cannot_be_mixed(tmp_path: Path) -> None:
    """The labels of another network of the same size are refused."""
    by_size: dict[int, bytes] = {}
    for seed in range(200):
        one = content_of(tmp_path, "npz", net(seed), compress(net(seed), 0.0, None))
        entry = ContainerReader(one).entries["labels"]
        if other := by_size.get(entry.packed):
            break
        by_size[entry.packed] = one
    start = ContainerReader(one).data_offset("labels")

    assert other
    assert ContainerReader(other).entries["labels"].offset == entry.offset
    mixed = one[:start] + other[start : start + entry.packed] + one[start + entry.packed :]
    with pytest.raises(BundleError, match="labels"):
        read_all(mixed)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x02}q\0.", b"<html>", b"\0" * 5000])
def test_other_files_are_refused(content: bytes) -> None:
    """The message says what to do."""
    with pytest.raises(BundleError, match="not a bundle"):
        open_bundle(content)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_random_bytes_are_refused(content: bytes) -> None:
    """With BundleError and nothing else."""
    with pytest.raises(BundleError):
        open_bundle(content)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    """There is no bundle that could be damaged."""
    with pytest.raises(FileNotFoundError):
        open_bundle(tmp_path / "none.npz")


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_a_bundle_that_is_replaced_while_open_is_noticed(tmp_path: Path, encoder: str) -> None:
    """Tensors of two files are never mixed."""
    path = tmp_path / "b.npz"
    write_bundle(path, net(1), compress(net(1), 0.5, 4), ENCODERS.create(encoder))
    bundle = open_bundle(path)
    write_bundle(path, net(2), compress(net(2), 0.1, 9), ENCODERS.create(encoder))

    with pytest.raises(BundleError):
        bundle["a.weight"]
    with pytest.raises(BundleError, match="Open it again"):
        bundle.verify()


def test_the_package_shows_its_public_names() -> None:
    """The names of the contract are importable from the package; the version is that of the distribution."""
    assert cnet.open_bundle is open_bundle
    assert issubclass(cnet.BundleError, cnet.CnetError)
    assert cnet.__version__.count(".") == 2
    with pytest.raises(AttributeError):
        cnet.nothing  # noqa: B018 - the access is the test


class CountingFile(io.BytesIO):
    """A file that counts the bytes that are read from it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read and count."""
        content = super().read(size)
        self.count += len(content)
        return content


def test_a_tensor_is_decoded_without_the_others(tmp_path: Path) -> None:
    """It needs a fraction of the file, which may be damaged elsewhere; all tensors in order read few bytes twice."""
    weights = Weights.select([tensor("first", "float32", (1200, 2048)), tensor("second", "float32", (1200, 2048))])
    symbols = compress(weights, 0.5, 256)
    content = content_of(tmp_path, "compact", weights, symbols)
    expected = weights.with_vector(symbols.vector())
    file = CountingFile(content)
    bundle = open_bundle(file)
    opened = file.count

    start = next(bundle.chunks("first", 5000))

    np.testing.assert_array_equal(start, expected["first"].data.reshape(-1)[:5000])
    assert opened < 5000
    assert file.count - opened < len(content) * 0.75
    file.count = 0
    assert_same_bits(open_bundle(file).weights(), expected)
    assert file.count < len(content) * 1.5
    damaged = bytearray(content)
    damaged[ContainerReader(content).data_offset("data") + sum(bundle.manifest["sizes"]) - 200_000] ^= 1
    survivor = open_bundle(bytes(damaged))
    np.testing.assert_array_equal(next(survivor.chunks("first", 5000)), start)
    with pytest.raises(BundleError, match="data of data"):
        survivor["second"]
