"""Format version 3: all parts in one member, little around them, every byte sealed, any tensor without the rest."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.bundle import open_bundle, write_bundle
from cnet.bundle.container import JOINED, Reader
from cnet.coding import ENCODERS, other_tensors
from cnet.coding.compact.decoder import SegmentDecoder
from cnet.errors import BundleError
from cnet.quantize import QUANTIZERS
from cnet.symbols import Symbols
from cnet.weights import Selection, Tensor, Weights
from tests.small_segments import small_segments
from tests.unit.cnet.bundle.forging import forged_joined as forged
from tests.unit.cnet.nets import EXACT, FLOATS, assert_same_bits, compress, every_type, shapes, tensor

COMPACT = ENCODERS.create("compact")


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Segments of 500 weights in the quick form, and blocks of 64 bytes of other tensors."""
    with monkeypatch.context() as patch:
        make_small(patch)
        yield


def make_small(patch: pytest.MonkeyPatch) -> None:
    """Cut nets of any size into many parts."""
    small_segments(patch)
    patch.setattr(other_tensors, "BLOCK_BYTES", 64)


def net(seed: int = 0) -> Weights:
    """Three layers with biases and a counter."""
    parts = [
        tensor("a.weight", "float32", (14, 3, 3, 3), seed),
        tensor("a.bias", "float32", (40,), seed),
        tensor("steps", "int64", (), seed),
        tensor("b.weight", "float16", (70, 20), seed),
        tensor("c.weight", "float32", (7, 9), seed),
    ]
    return Weights.select(parts)


def content_of(weights: Weights, symbols: Symbols, folder: Path, **notes: Any) -> bytes:
    """The bytes of the bundle."""
    write_bundle(folder / "bundle.npz", weights, symbols, COMPACT, **notes)
    return (folder / "bundle.npz").read_bytes()


@pytest.mark.parametrize("sparsity", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("clusters", [1, 16, 256, None])
def test_every_element_type_comes_back(tmp_path: Path, sparsity: float, clusters: int | None) -> None:
    """Compressible tensors are their symbols rounded to their type, all others are bit-equal; ties and shapes hold."""
    weights = every_type()
    symbols = compress(weights, sparsity, clusters)

    bundle = open_bundle(content_of(weights, symbols, tmp_path))

    assert bundle.manifest["version"] == 3
    assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
    bundle.verify()


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(FLOATS + EXACT), shapes()), max_size=6),
    st.floats(0, 1),
    st.sampled_from([1, 2, 300, None]),
)
def test_any_net_comes_back_from_many_parts(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], sparsity: float, clusters: int | None
) -> None:
    """Nets of any types and shapes, cut anywhere, are as their symbols say."""
    tensors = [tensor(f"t{index}", *part) for index, part in enumerate(parts)]
    weights = Weights.select(tensors, Selection(include=("t[024]",)))
    symbols = compress(weights, sparsity, clusters)
    with pytest.MonkeyPatch.context() as patch:
        make_small(patch)
        patch.setattr(other_tensors, "BLOCK_BYTES", 16)
        bundle = open_bundle(content_of(weights, symbols, tmp_path_factory.mktemp("any")))

        assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
        bundle.verify()


def test_sizes_add_up_to_the_file(tmp_path: Path) -> None:
    """A part is its bytes in the member, container the rest, and all of it is the file; writer and reader agree."""
    weights = net()
    sizes = write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), COMPACT)

    assert sizes.total == (tmp_path / "b.npz").stat().st_size
    parts = (sizes.mask, sizes.labels, sizes.centroids, sizes.other_tensors, sizes.container)
    assert sizes.total == sum(parts)
    assert min(parts) > 0
    assert open_bundle(tmp_path / "b.npz").sizes == sizes


def resnet() -> list[Tensor]:
    """Names and shapes as in a ResNet-32 for CIFAR-10, its values all zero."""
    found = [Tensor("conv1.weight", "float32", np.zeros((16, 3, 3, 3), np.float32))]

    def norm(name: str, width: int) -> None:
        parts = ("weight", "bias", "running_mean", "running_var")
        found.extend(Tensor(f"{name}.{part}", "float32", np.zeros(width, np.float32)) for part in parts)

    norm("bn1", 16)
    for stage, width in enumerate((16, 32, 64), 1):
        for block in range(5):
            before = width // 2 if block == 0 and stage > 1 else width
            for conv, columns in ((1, before), (2, width)):
                place = f"layer{stage}.{block}"
                values = np.zeros((width, columns, 3, 3), np.float32)
                found.append(Tensor(f"{place}.conv{conv}.weight", "float32", values))
                norm(f"{place}.bn{conv}", width)
    found.append(Tensor("linear.weight", "float32", np.zeros((10, 64), np.float32)))
    return [*found, Tensor("linear.bias", "float32", np.zeros(10, np.float32))]


def test_the_container_of_a_resnet_is_small(tmp_path: Path) -> None:
    """At most 600 bytes and a byte a tensor for names and order."""
    weights = Weights.select(resnet())
    symbols = compress(weights, 0.9, 16)
    sizes = write_bundle(tmp_path / "b.npz", weights, symbols, COMPACT)

    assert len(weights.tensors) == 157
    assert sizes.container <= 600 + 157


NAMES = st.lists(st.lists(st.sampled_from(["a", "b", "", "10", "größe"]), max_size=4).map(".".join), unique=True)


@settings(max_examples=200, deadline=None)
@given(NAMES)
def test_any_names_come_back(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Names with parts in common, empty parts or none, and one that begins another."""
    weights = Weights.select([Tensor(name, "int8", np.zeros(1, np.int8)) for name in names])
    bundle = open_bundle(content_of(weights, compress(weights, 0, None), tmp_path_factory.mktemp("names")))

    assert list(bundle) == names


def test_names_as_they_were_written_before_are_read(tmp_path: Path) -> None:
    """Each name whole."""
    content = content_of(net(), compress(net(), 0.5, 4), tmp_path)
    names = [tensor.name for tensor in net()]
    kinds = [entry[0] for entry in open_bundle(content).manifest["tensors"]]

    assert [len(entry) for entry in open_bundle(content).manifest["tensors"]] == [2, 3, 2, 2, 2]
    assert list(open_bundle(forged(content, _set("tensors", list(zip(kinds, names, strict=True)))))) == names


def test_few_bytes_make_no_endless_names(tmp_path: Path) -> None:
    """Names that share a long beginning are refused before all of them are in memory."""
    content = content_of(net(), compress(net(), 0.5, 4), tmp_path)
    entries = [[0, "x" * 2**16 + "."], *([0, 1, str(number)] for number in range(2**11))]
    with pytest.raises(BundleError) as caught:
        open_bundle(forged(content, _set("tensors", entries)))

    assert "longer than any" in str(caught.value)


def test_few_bytes_make_no_endless_shapes(tmp_path: Path) -> None:
    """Tensors that share a shape of 64 dimensions are refused before each of them has it in memory."""
    content = content_of(net(), compress(net(), 0.5, 4), tmp_path)

    def many(document: dict[str, Any]) -> None:
        document["kinds"] = {"other": {"float32": [[0] * 64]}}
        document["tensors"] = [[0, str(number)] for number in range(2**18 + 1)]

    with pytest.raises(BundleError, match="more dimensions"):
        open_bundle(forged(content, many))


def test_numpy_reads_it_without_pickle(tmp_path: Path) -> None:
    """Two plain arrays under our own names; the parts follow each other in one of them."""
    weights = net()
    content = content_of(weights, compress(weights, 0.5, 4), tmp_path)
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        kinds = {name: (arrays[name].dtype.str, arrays[name].ndim) for name in arrays.files}
        manifest = json.loads(bytes(arrays["manifest"]))
        length = len(arrays["data"])

    assert kinds == {"data": ("|u1", 1), "manifest": ("|u1", 1)}
    assert length == sum(manifest["sizes"]) + sum(manifest["others"])
    assert [entry[-1] for entry in manifest["tensors"]] == ["a.weight", "bias", "steps", "b.weight", "c.weight"]


def read_all(content: bytes) -> None:
    """Open and read every tensor and every number."""
    bundle = open_bundle(content)
    for name in bundle:
        bundle[name]
    bundle.symbols()


def test_every_flipped_byte_is_detected(tmp_path: Path) -> None:
    """No byte of a small bundle can change unnoticed; those of records that only other readers use, by ``verify``."""
    weights = net()
    content = content_of(weights, compress(weights, 0.5, 4), tmp_path)
    header = Reader(content).start("data")
    unread = range(header, header + len(JOINED.npy_header("|u1", sum(open_bundle(content)._parts.sizes.values()))))
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        with pytest.raises(BundleError):
            open_bundle(bytes(damaged)).verify()
        if place not in unread:
            with pytest.raises(BundleError):
                read_all(bytes(damaged))


def test_random_damage_of_many_chunks_is_detected(tmp_path: Path) -> None:
    """Flipped bits, cuts, insertions and swapped pieces at random places of a bundle of more than two chunks."""
    weights = Weights.select([tensor("w", "float32", (1500, 500)), tensor("b", "float32", (3000,))])
    content = content_of(weights, compress(weights, 0.0, None), tmp_path)
    chance = random.Random(0)  # noqa: S311 - a test's dice
    assert len(open_bundle(content).manifest["digests"]) > 2
    for _ in range(30):
        one, other = sorted(chance.sample(range(1, len(content) - 8), 2))
        flipped = bytearray(content)
        flipped[one] ^= 1 << chance.randrange(8)
        swapped = bytearray(content)
        swapped[one], swapped[other] = content[other], content[one]
        inserted = content[:one] + b"\0" + content[one:]
        for case in (bytes(flipped), content[:one], content[one:], inserted, bytes(swapped)):
            if case != content:
                with pytest.raises(BundleError):
                    open_bundle(case).verify()


class Watched(io.BytesIO):
    """A file that counts what is read of it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read and count."""
        content = super().read(size)
        self.count += len(content)
        return content


def test_a_tensor_is_read_without_the_rest(tmp_path: Path) -> None:
    """One tensor of a bundle of many chunks needs a fraction of its bytes; damage elsewhere does not matter."""
    weights = Weights.select([tensor("first", "float32", (1200, 2048)), tensor("second", "float32", (1200, 2048))])
    symbols = compress(weights, 0.5, 256)
    content = content_of(weights, symbols, tmp_path)
    expected = weights.with_vector(symbols.vector())
    file = Watched(content)
    bundle = open_bundle(file)
    opened = file.count

    rows = bundle._parts.values(slice(0, 5000))

    np.testing.assert_array_equal(rows, expected["first"].data.reshape(-1)[:5000])
    assert opened < 5000
    assert file.count - opened < len(content) * 0.75
    damaged = bytearray(content)
    damaged[Reader(content).start("data") + sum(bundle.manifest["sizes"]) - 200_000] ^= 1
    survivor = open_bundle(bytes(damaged))
    np.testing.assert_array_equal(survivor._parts.values(slice(0, 5000)), rows)
    with pytest.raises(BundleError, match="data"):
        survivor["second"]


@pytest.mark.usefixtures("small_parts")
def test_each_segment_is_decoded_once_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading all tensors in their order decodes no segment twice."""
    weights = net()
    bundle = open_bundle(content_of(weights, compress(weights, 0.5, 4), tmp_path))
    calls: list[int] = []
    decode = SegmentDecoder.prepare
    monkeypatch.setattr(SegmentDecoder, "prepare", lambda self, number: calls.append(number) or decode(self, number))

    for name in bundle:
        bundle[name]

    assert calls == list(range(len(calls)))
    assert len(calls) > 3


@pytest.mark.usefixtures("small_parts")
def test_a_codebook_for_each_tensor_survives_cutting(tmp_path: Path) -> None:
    """Segments end within tensors that have centroids of their own."""
    weights = net()
    keep = np.ones(weights.compressible_parameters, np.bool_)
    shapes_of = [weights[name].shape for name in weights.compressible]
    symbols = QUANTIZERS.create("kmeans", clusters=8, scope="layer").symbols(weights.vector(), keep, 8, shapes_of)
    bundle = open_bundle(content_of(weights, symbols, tmp_path))

    assert_same_bits(bundle.weights(), weights.with_vector(symbols.vector()))
    np.testing.assert_array_equal(bundle.symbols().centroids, symbols.centroids)


def _set(path: str, value: Any) -> Any:
    def change(document: Any) -> None:
        *parents, last = path.split(".")
        for key in parents:
            document = document[int(key) if key.isdigit() else key]
        document[int(last) if last.isdigit() else last] = value

    return change


HOSTILE = [
    _set("encoder", "magic"),
    _set("encoder", "npz"),
    _set("header", {"values": "float32"}),
    _set("format", "other"),
    _set("version", 1),
    _set("version", 2),
    _set("kinds.compressible.float32.0", [10**9, 10**9]),
    _set("kinds.compressible.float32.0", [2**50]),
    _set("kinds.compressible.float32.0", [-14, 27]),
    _set("kinds.compressible.float32.0", [13, 3, 3, 3]),
    _set("kinds.other.float32.0", [2**50]),
    _set("kinds.other.float32.0", [41]),
    _set("kinds.boss", {"float32": [[1]]}),
    _set("kinds.other", {"float4": [[40], []]}),
    _set("tensors.0", [99, "a.weight"]),
    _set("tensors.0", [-1, "a.weight"]),
    _set("tensors.1", [0, "a.weight"]),
    _set("tensors.0", [0, 1, "weight"]),
    _set("tensors.1", [2, 3, "bias"]),
    _set("tensors.1", [2, -1, "bias"]),
    _set("tensors.1", [2, 1, "weight"]),
    _set("tensors.1", [2]),
    _set("tied", [[0, 1]]),
    _set("sizes", [1, 2]),
    _set("sizes", [10**15, 1, 1]),
    _set("sizes.0", 0),
    _set("others", []),
    _set("others", [10**15]),
    _set("packing", {"kind": "float16", "error": 0.0}),
    _set("packing", {"kind": "zip", "error": 0.0}),
    _set("digests", []),
    _set("digests", ["A" * 22]),
    _set("digests", ["?" * 22]),
    _set("news", 1),
    lambda _: b"[1",
    lambda document: document.pop("tensors") and None,
]


@pytest.mark.parametrize("change", HOSTILE)
def test_forged_manifests_are_refused(tmp_path: Path, change: Any) -> None:
    """A manifest that was changed and sealed anew is refused before memory is spent on what it claims."""
    content = content_of(net(), compress(net(), 0.5, 4), tmp_path)
    read_all(forged(content, lambda _: None))
    with pytest.raises(BundleError):
        read_all(forged(content, change))


def test_parts_that_change_places_are_refused(tmp_path: Path) -> None:
    """Sizes that add up and cut the data elsewhere decode to nothing else."""
    content = content_of(net(), compress(net(), 0.5, 4), tmp_path)
    mask, labels, centroids = open_bundle(content).manifest["sizes"]
    for sizes in ([mask + 1, labels - 1, centroids], [mask, labels + 4, centroids - 4], [labels, mask, centroids]):
        with pytest.raises(BundleError):
            read_all(forged(content, _set("sizes", sizes)))


def test_rounding_of_other_tensors_is_told(tmp_path: Path) -> None:
    """The manifest says how they are packed and how far their values are off at most."""
    weights = net()
    encoder = ENCODERS.create("compact", other="float16")
    write_bundle(tmp_path / "b.npz", weights, compress(weights, 0.5, 4), encoder)
    bundle = open_bundle(tmp_path / "b.npz")

    bias = weights["a.bias"].data
    np.testing.assert_array_equal(bundle["a.bias"], bias.astype(np.float16).astype(np.float32))
    error = float(np.max(np.abs(bundle["a.bias"].astype(np.float64) - bias)))
    assert bundle.manifest["packing"] == {"kind": "float16", "error": error}
