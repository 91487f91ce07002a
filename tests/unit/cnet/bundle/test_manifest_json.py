"""The manifest's JSON: what is written is read, and what no writer wrote is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cnet.bundle import open_bundle
from cnet.bundle.container import ContainerReader
from cnet.bundle.manifest_json import parse, to_json
from cnet.errors import BundleError
from cnet.weights import Tensor, Weights
from tests.golden.write import FOLDER
from tests.unit.cnet.bundle.forging import Document, forged, set_value
from tests.unit.cnet.bundle.small_nets import LAYOUTS, content_of, net
from tests.unit.cnet.nets import compress


def read_all(content: bytes) -> None:
    """Open and read every tensor and every number."""
    bundle = open_bundle(content)
    for name in bundle:
        bundle[name]
    bundle.symbols()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.npz")), ids=lambda path: path.stem)
def test_a_manifest_that_was_parsed_is_written_again(path: Path) -> None:
    """Byte for byte."""
    text = ContainerReader(path).manifest

    assert to_json(parse(text)) == text


@pytest.mark.parametrize("encoder", LAYOUTS)
def test_empty_fields_are_not_written(tmp_path: Path, encoder: str) -> None:
    """Without ties, products, notes or a header the manifest has no such field."""
    document = json.loads(ContainerReader(content_of(tmp_path, encoder, net())).manifest)

    assert not {"header", "tied", "products", "reconstruction", "notes", "packing"} & set(document)
    assert document["version"] == 1


NAMES = st.lists(st.lists(st.sampled_from(["a", "b", "", "10", "größe"]), max_size=4).map(".".join), unique=True)


@settings(max_examples=200, deadline=None)
@given(NAMES)
def test_any_names_round_trip(tmp_path_factory: pytest.TempPathFactory, names: list[str]) -> None:
    """Names that share parts, with empty parts or none, and one that begins another."""
    weights = Weights.select([Tensor(name, "int8", np.zeros(1, np.int8)) for name in names])
    folder = tmp_path_factory.mktemp("names")

    assert list(open_bundle(content_of(folder, "compact", weights, compress(weights, 0, None)))) == names


def test_names_share_their_beginnings(tmp_path: Path) -> None:
    """A name that is written in full is read as well."""
    content = content_of(tmp_path, "compact", net())
    names = [tensor.name for tensor in net()]
    entries = open_bundle(content).manifest["tensors"]
    full = list(zip([entry[0] for entry in entries], names, strict=True))

    assert [len(entry) for entry in entries] == [2, 3, 2, 2, 2]
    assert list(open_bundle(forged(content, set_value("tensors", full)))) == names


def test_names_that_expand_to_too_much_memory_are_refused(tmp_path: Path) -> None:
    """Names that share a long beginning are refused before all of them are in memory."""
    content = content_of(tmp_path, "compact", net())
    entries = [[0, "x" * 2**16 + "."], *([0, 1, str(number)] for number in range(2**11))]
    with pytest.raises(BundleError, match="characters"):
        open_bundle(forged(content, set_value("tensors", entries)))


def test_shapes_that_expand_to_too_much_memory_are_refused(tmp_path: Path) -> None:
    """Tensors that share a shape of 64 sides are refused before each of them has it in memory."""
    content = content_of(tmp_path, "compact", net())

    def change(document: Document) -> None:
        document["kinds"] = {"other": {"float32": [[0] * 64]}}
        document["tensors"] = [[0, str(number)] for number in range(2**18 + 1)]

    with pytest.raises(BundleError, match="sides"):
        open_bundle(forged(content, change))


@pytest.mark.parametrize("version", [0, 2, 3, "1", True, 1.5, None])
@pytest.mark.parametrize("encoder", LAYOUTS)
def test_another_version_asks_for_a_newer_release(tmp_path: Path, encoder: str, version: Any) -> None:
    """Whatever else the manifest holds."""
    content = content_of(tmp_path, encoder, net())
    with pytest.raises(BundleError, match=r"format version.*newer release") as error:
        open_bundle(forged(content, lambda document: document.update(version=version, news=[])))

    assert error.value.code == "bundle_version"


EITHER = [
    set_value("encoder", "magic"),
    set_value("encoder", 3),
    set_value("header", {"values": "float32"}),
    set_value("header", []),
    set_value("format", "other"),
    set_value("tied", [[0, 1]]),
    set_value("tied", [[0]]),
    set_value("tied", [[99, 100]]),
    set_value("notes", 3),
    set_value("notes", "?"),
    set_value("metrics", {}),
    set_value("news", 1),
    lambda _: b"",
    lambda _: b"[1",
    lambda _: b"null",
    lambda _: b"[" * 100_000,
    lambda _: b'{"format": "cnet-bundle", "version": ' + b"9" * 5000 + b"}",
    lambda _: b"\xff\xfe",
    lambda document: document.pop("tensors") and None,
    lambda document: json.dumps(document | {"header": {"x": float("inf")}}).encode(),
]

SEPARATE = [
    set_value("encoder", "compact"),
    set_value("tensors.names", ["a"]),
    set_value("tensors.names.0", "b.weight"),
    set_value("tensors.dtypes.0", "int8"),
    set_value("tensors.dtypes.0", "float4"),
    set_value("tensors.dtypes.1", "float64"),
    set_value("tensors.shapes.0", [10**12, 10**12]),
    set_value("tensors.shapes.0", [10**15]),
    set_value("tensors.shapes.0", [-14, -3, 3, 3]),
    set_value("tensors.shapes.0", [14.0, 27]),
    set_value("tensors.shapes.0", [1] * 64 + [378]),
    set_value("tensors.shapes.0", [0, 2**60]),
    set_value("tensors.shapes.1", [2**40]),
    set_value("tensors.roles.0", "other"),
    set_value("tensors.roles.1", "tied"),
    set_value("tensors.roles.0", "boss"),
    set_value("members.mask.length", 10**12),
    set_value("members.mask.descr", "<f4"),
    set_value("members.mask.descr", "O"),
    set_value("members.mask.digest", "0" * 32),
    set_value("members.other.length", 3),
    set_value("members.evil", {"descr": "|u1", "length": 1, "digest": "0" * 22}),
    set_value("members", {}),
    lambda document: document["members"].pop("labels") and None,
    lambda document: document.pop("members") and None,
]

JOINED = [
    set_value("encoder", "npz"),
    set_value("kinds.compressible.float32.0", [10**9, 10**9]),
    set_value("kinds.compressible.float32.0", [2**50]),
    set_value("kinds.compressible.float32.0", [-14, 27]),
    set_value("kinds.compressible.float32.0", [13, 3, 3, 3]),
    set_value("kinds.other.float32.0", [2**50]),
    set_value("kinds.other.float32.0", [41]),
    set_value("kinds.boss", {"float32": [[1]]}),
    set_value("kinds.other", {"float4": [[40], []]}),
    set_value("tensors.0", [99, "a.weight"]),
    set_value("tensors.0", [-1, "a.weight"]),
    set_value("tensors.1", [0, "a.weight"]),
    set_value("tensors.0", [0, 1, "weight"]),
    set_value("tensors.1", [2, 3, "bias"]),
    set_value("tensors.1", [2, -1, "bias"]),
    set_value("tensors.1", [2, 1, "weight"]),
    set_value("tensors.1", [2]),
    set_value("sizes", [1, 2]),
    set_value("sizes", [10**15, 1, 1]),
    set_value("sizes.0", 0),
    set_value("others", []),
    set_value("others", [10**15]),
    set_value("packing", {"kind": "float16", "error": 0.0}),
    set_value("packing", {"kind": "zip", "error": 0.0}),
    set_value("packing", {"kind": "planes", "error": None}),
    set_value("digests", []),
    set_value("digests", ["A" * 22]),
    set_value("digests", ["?" * 22]),
    set_value("members", {}),
]


@pytest.mark.parametrize(
    ("encoder", "change"),
    [
        *(("npz", change) for change in EITHER + SEPARATE),
        *(("compact", change) for change in EITHER + JOINED),
    ],
)
def test_forged_manifests_are_refused(tmp_path: Path, encoder: str, change: Any) -> None:
    """A manifest that was changed and sealed again is refused before memory is spent on what it claims."""
    content = content_of(tmp_path, encoder, net())
    read_all(forged(content, lambda _: None))
    with pytest.raises(BundleError):
        read_all(forged(content, change))


@pytest.mark.parametrize(
    "change",
    [
        set_value("tensors.dtypes.0", "x" * 5000),
        set_value("tensors.roles.0", "\x00\n" * 5000),
        set_value("encoder", "x" * 5000),
        set_value("version", "x" * 5000),
        set_value("\x00" * 5000, 1),
    ],
)
def test_texts_of_forged_manifests_are_quoted_and_cut(tmp_path: Path, change: Any) -> None:
    """A refusal stays a paragraph that can be read."""
    content = forged(content_of(tmp_path, "npz", net()), change)

    with pytest.raises(BundleError) as refused:
        read_all(content)

    assert len(refused.value.detail) < 1000
    assert refused.value.detail.isprintable()
