"""The bundle: what goes in comes out, in one file that NumPy reads and that no damage gets past."""

from __future__ import annotations

import io
import json
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
from cnet.bundle.container import Packed, Reader, Writer
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.symbols import Symbols
from cnet.weights import Selection, Tensor, Weights
from tests.unit.cnet.nets import EXACT, FLOATS, assert_same_bits, bundled, compress, every_type, shapes, tensor

NPZ = ENCODERS.create("npz")


def net(seed: int = 0) -> Weights:
    """Two layers with biases and a counter: 122 compressible weights."""
    parts = [
        tensor("a.weight", "float32", (4, 3, 3, 3), seed),
        tensor("a.bias", "float32", (4,), seed),
        tensor("steps", "int64", (), seed),
        tensor("b.weight", "float32", (7, 2), seed),
    ]
    return Weights.select(parts)


def content_of(path: Path, weights: Weights, symbols: Symbols, **notes: Any) -> bytes:
    """The bytes of the bundle."""
    write_bundle(path / "bundle.npz", weights, symbols, NPZ, **notes)
    return (path / "bundle.npz").read_bytes()


def read_all(content: bytes) -> None:
    """Open and read every tensor and every number."""
    bundle = open_bundle(content)
    for name in bundle:
        bundle[name]
    bundle.symbols()


def forged(content: bytes, change: Any) -> bytes:
    """The same bundle with its manifest changed and sealed again, as an attacker would."""
    reader = Reader(content)
    document = json.loads(reader.manifest)
    file = io.BytesIO()
    writer = Writer(file)
    for name, member in document["members"].items():
        array = reader.member(name, Packed(member["descr"], member["length"], member["sha256"]))
        writer.add(name, member["descr"], [array])
    text = change(document)
    text = text if isinstance(text, bytes) else json.dumps(document).encode()
    writer.add("manifest", "|u1", [np.frombuffer(text, np.uint8)])
    writer.seal()
    return file.getvalue()


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("clusters", [1, 16, 256, None])
def test_every_element_type_comes_back(tmp_path: Path, sparsity: float, clusters: int | None) -> None:
    """Compressible tensors are their symbols rounded to their type, all others are bit-equal; ties and shapes hold."""
    weights = every_type()
    symbols = compress(weights, sparsity, clusters)
    expected = weights.with_vector(symbols.vector())

    bundle = bundled(tmp_path / "b.npz", weights, symbols)

    assert_same_bits(bundle.weights(), expected)
    for part in expected:
        assert bundle[part.name].shape == part.shape
        assert bundle[part.name].tobytes() == part.values().tobytes()
    bundle.verify()


def test_sparsity_nought_without_quantizer_is_lossless(tmp_path: Path) -> None:
    """Every bit comes back, negative zeros included."""
    weights = every_type()
    weights["float32.weight"].data[0, :2] = [-0.0, 0.0]
    weights["bfloat16.weight"].data[0, :2] = [0x8000, 0]

    bundle = bundled(tmp_path / "b.npz", weights, compress(weights, 0, None))

    assert_same_bits(bundle.weights(), weights)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(FLOATS + EXACT), shapes()), max_size=6),
    st.floats(0, 1),
    st.sampled_from([1, 2, 300, None]),
)
def test_any_net_comes_back(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], sparsity: float, clusters: int | None
) -> None:
    """Nets of any types and shapes, empty ones too, are as their symbols say."""
    tensors = [tensor(f"t{index}", *part) for index, part in enumerate(parts)]
    weights = Weights.select(tensors, Selection(include=("t[024]",)))
    symbols = compress(weights, sparsity, clusters)

    bundle = bundled(tmp_path_factory.mktemp("any") / "b.npz", weights, symbols)

    assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
    bundle.verify()


def test_the_same_symbols_give_the_same_bytes(tmp_path: Path) -> None:
    """No time, host or path is in the file."""
    (tmp_path / "elsewhere").mkdir()
    weights, notes = net(), {"metrics": {"accuracy": 91.5}, "extra": {"spec": {"seed": 0}}}

    first = content_of(tmp_path, weights, compress(weights, 0.5, 4), **notes)
    second = content_of(tmp_path / "elsewhere", net(), compress(net(), 0.5, 4), **notes)

    assert first == second


def test_sizes_add_up_to_the_file(tmp_path: Path) -> None:
    """A part is its deflated member, container the rest, and all of it is the file; writer and reader agree."""
    weights = net()
    sizes = write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), NPZ)
    bundle = open_bundle(tmp_path / "b.npz")

    assert sizes.total == (tmp_path / "b.npz").stat().st_size
    parts = (sizes.mask, sizes.labels, sizes.centroids, sizes.other_tensors, sizes.container)
    assert sizes.total == sum(parts)
    assert min(parts) > 0
    assert bundle.sizes == sizes


def test_notes_come_back(tmp_path: Path) -> None:
    """Metrics and extra are kept; NumPy numbers become JSON's."""
    weights = net()
    notes = {"metrics": {"accuracy": np.float32(0.5), "points": (1, np.int64(2))}, "extra": {"ü": None}}
    bundle = open_bundle(content_of(tmp_path, weights, compress(weights, 0, 4), **notes))

    assert bundle.metrics == {"accuracy": 0.5, "points": [1, 2]}
    assert bundle.manifest["extra"] == {"ü": None}
    assert bundle.manifest["encoder"] == "npz"


@pytest.mark.parametrize("notes", [{"metrics": {"loss": float("nan")}}, {"extra": {"x": object()}}])
def test_notes_that_json_cannot_hold_are_refused(tmp_path: Path, notes: dict[str, Any]) -> None:
    """NaN is no JSON number; nothing is left behind in the folder."""
    weights = net()
    with pytest.raises(BundleError):
        write_bundle(tmp_path / "b.npz", weights, compress(weights, 0, 4), NPZ, **notes)

    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    """The file is replaced whole or not at all."""
    weights = net()
    before = content_of(tmp_path, weights, compress(weights, 0, 4))

    with pytest.raises(BundleError, match="symbols do not fit"):
        write_bundle(tmp_path / "bundle.npz", weights, Symbols(np.ones(1, np.bool_), None, np.float32([1])), NPZ)

    assert (tmp_path / "bundle.npz").read_bytes() == before


def test_it_is_read_from_a_path_bytes_or_a_file(tmp_path: Path) -> None:
    """All three sources give the same tensors, in any order of reading."""
    weights = net()
    content = content_of(tmp_path, weights, compress(weights, 0.5, 4))
    path = tmp_path / "bundle.npz"
    with path.open("rb") as file:
        bundles = [open_bundle(path), open_bundle(str(path)), open_bundle(content), open_bundle(file)]
        for name in reversed(list(bundles[0])):
            assert len({bundle[name].tobytes() for bundle in bundles}) == 1
    assert len(bundles[0]) == 4
    assert "nothing" not in bundles[0]


def test_arrays_are_the_readers_own(tmp_path: Path) -> None:
    """Writing to an array that was read changes no later reading."""
    weights = net()
    bundle = bundled(tmp_path / "b.npz", weights, compress(weights, 0, 4))
    for name in bundle:
        before = bundle[name].tobytes()
        bundle[name][...] = 7
        assert bundle[name].tobytes() == before


def test_state_dict_has_the_true_types(tmp_path: Path) -> None:
    """PyTorch tensors of every type and shape, bit-equal; tied ones are one tensor."""
    weights = every_type()
    state = bundled(tmp_path / "b.npz", weights, compress(weights, 0, None)).state_dict()

    for part in weights:
        actual = state[part.name]
        assert actual.dtype == getattr(torch, part.dtype)
        assert tuple(actual.shape) == part.shape
        assert actual.reshape(-1).view(torch.uint8).numpy().tobytes() == part.data.tobytes()
    assert state["float32.head"] is state["float32.weight"]


def test_numpy_reads_it_without_pickle(tmp_path: Path) -> None:
    """The members are plain arrays under our own names."""
    weights = net()
    with np.load(io.BytesIO(content_of(tmp_path, weights, compress(weights, 0.5, 4))), allow_pickle=False) as arrays:
        kinds = {name: arrays[name].dtype.str for name in arrays.files}

    assert kinds == {"mask": "|u1", "labels": "|u1", "centroids": "<f4", "other": "|u1", "manifest": "|u1"}


def test_every_flipped_byte_is_detected(tmp_path: Path) -> None:
    """No byte of a small bundle can change unnoticed."""
    weights = net()
    content = content_of(tmp_path, weights, compress(weights, 0.5, 4))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        with pytest.raises(BundleError):
            read_all(bytes(damaged))
        with pytest.raises(BundleError):
            open_bundle(bytes(damaged)).verify()


def test_random_damage_of_a_larger_bundle_is_detected(tmp_path: Path) -> None:
    """Single flipped bits, cuts and swapped pieces at random places of a bundle of 100,000 weights."""
    weights = Weights.select([tensor("w", "float32", (200, 500)), tensor("b", "float32", (3000,))])
    content = content_of(tmp_path, weights, compress(weights, 0.9, 256))
    chance = random.Random(0)  # noqa: S311 - a test's dice
    for _ in range(150):
        one, other = sorted(chance.sample(range(1, len(content) - 8), 2))
        flipped = bytearray(content)
        flipped[one] ^= 1 << chance.randrange(8)
        swapped = bytearray(content)
        swapped[one], swapped[other] = content[other], content[one]
        cases = [bytes(flipped), content[:one], content[one:], content[:one] + content[other:], bytes(swapped)]
        for case in cases:
            if case != content:
                with pytest.raises(BundleError):
                    read_all(case)


def test_members_of_two_bundles_cannot_be_mixed(tmp_path: Path) -> None:
    """The labels of another net of the same size are refused."""
    by_size: dict[int, bytes] = {}
    for seed in range(100):
        one = content_of(tmp_path, net(seed), compress(net(seed), 0.0, None))
        entry = Reader(one).entries["labels"]
        if other := by_size.get(entry.packed):
            break
        by_size[entry.packed] = one
    start = entry.data(2**31)

    assert other
    assert Reader(other).entries["labels"].offset == entry.offset
    mixed = one[:start] + other[start : start + entry.packed] + one[start + entry.packed :]
    with pytest.raises(BundleError, match="labels"):
        read_all(mixed)


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x02}q\0.", b"<html>", b"\0" * 5000])
def test_other_files_are_no_bundles(content: bytes) -> None:
    """Anything else is refused as what it is: no bundle."""
    with pytest.raises(BundleError):
        open_bundle(content)


def test_an_ordinary_npz_is_no_bundle() -> None:
    """NumPy's own archive lacks the seal."""
    file = io.BytesIO()
    np.savez_compressed(file, manifest=np.zeros(3, np.uint8))
    with pytest.raises(BundleError):
        open_bundle(file)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_junk_is_refused(content: bytes) -> None:
    """Random bytes raise BundleError and nothing else."""
    with pytest.raises(BundleError):
        open_bundle(content)


def test_a_newer_version_is_named_in_the_refusal(tmp_path: Path) -> None:
    """A bundle of a later release asks for one."""
    content = content_of(tmp_path, net(), compress(net(), 0.5, 4))
    with pytest.raises(BundleError, match="format version 4") as error:
        open_bundle(forged(content, lambda document: document.update(version=4, news=[])))

    assert error.value.code == "bundle_version"


def _set(path: str, value: Any) -> Any:
    def change(document: Any) -> None:
        *parents, last = path.split(".")
        for key in parents:
            document = document[int(key) if key.isdigit() else key]
        document[int(last) if last.isdigit() else last] = value

    return change


HOSTILE = [
    _set("encoder", "magic"),
    _set("encoder", 3),
    _set("header", {"values": "float32"}),
    _set("header", []),
    _set("format", "other"),
    _set("version", "1"),
    _set("tensors.names", ["a"]),
    _set("tensors.names.0", "b.weight"),
    _set("tensors.dtypes.0", "int8"),
    _set("tensors.dtypes.0", "float4"),
    _set("tensors.dtypes.1", "float64"),
    _set("tensors.shapes.0", [10**12, 10**12]),
    _set("tensors.shapes.0", [10**15]),
    _set("tensors.shapes.0", [-4, -3, 3, 3]),
    _set("tensors.shapes.0", [4.0, 27]),
    _set("tensors.shapes.0", [1] * 64 + [108]),
    _set("tensors.shapes.0", [0, 2**60]),
    _set("tensors.shapes.1", [2**40]),
    _set("tensors.roles.0", "other"),
    _set("tensors.roles.1", "tied"),
    _set("tensors.roles.0", "boss"),
    _set("tied", [[0, 1]]),
    _set("tied", [[0]]),
    _set("tied", [[99, 100]]),
    _set("members.mask.length", 10**12),
    _set("members.mask.descr", "<f4"),
    _set("members.mask.descr", "O"),
    _set("members.other.length", 3),
    _set("members.evil", {"descr": "|u1", "length": 1, "sha256": "0" * 32}),
    _set("metrics", 3),
    lambda _: b"",
    lambda _: b"null",
    lambda _: b"[" * 100_000,
    lambda _: b'{"format": "cnet-bundle", "version": ' + b"9" * 5000 + b"}",
    lambda _: b"\xff\xfe",
    lambda document: document.pop("tensors") and None,
    lambda document: document["members"].pop("labels") and None,
    lambda document: json.dumps(document | {"metrics": {"x": float("inf")}}).encode(),
]


@pytest.mark.parametrize("change", HOSTILE)
def test_forged_manifests_are_refused(tmp_path: Path, change: Any) -> None:
    """A manifest that was changed and sealed anew is refused before memory is spent on what it claims."""
    content = forged(content_of(tmp_path, net(), compress(net(), 0.5, 4)), change)
    with pytest.raises(BundleError):
        read_all(content)


def test_names_that_are_no_text_are_refused_at_writing(tmp_path: Path) -> None:
    """A lone surrogate has no UTF-8."""
    weights = Weights.select([tensor("a", "float32", (2, 2))])
    broken = Weights((Tensor("\ud800", "float32", weights["a"].data),), ("\ud800",))
    with pytest.raises(BundleError):
        write_bundle(tmp_path / "b.npz", broken, compress(broken, 0, 2), NPZ)


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    """No bundle is there to be damaged."""
    with pytest.raises(FileNotFoundError):
        open_bundle(tmp_path / "none.npz")


def test_a_bundle_replaced_while_open_is_noticed(tmp_path: Path) -> None:
    """Reading on in another file of the same path does not mix the two."""
    path = tmp_path / "b.npz"
    bundle = bundled(path, net(1), compress(net(1), 0.5, 4))
    write_bundle(path, net(2), compress(net(2), 0.1, 9), NPZ)

    with pytest.raises(BundleError):
        bundle["a.weight"]
    with pytest.raises(BundleError):
        bundle.verify()


def test_the_package_shows_its_public_names() -> None:
    """The names of the contract are importable from the package; the version is that of the distribution."""
    assert cnet.open_bundle is open_bundle
    assert issubclass(cnet.BundleError, cnet.CnetError)
    assert cnet.__version__.count(".") == 2
    with pytest.raises(AttributeError):
        cnet.nothing  # noqa: B018 - the access is the test
