"""Writing a bundle; the format is specified in ``cnet.bundle``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cnet.arrays import release_pages
from cnet.bundle.container import CHUNK, JOINED, Reader, Writer
from cnet.bundle.document import parse, to_json
from cnet.bundle.manifest import STREAMS, Joined, Manifest, Other, columns_of, plain, products_of, ties_of
from cnet.bundle.parts import parts_of
from cnet.bundle.reconstruction import stored
from cnet.bundle.spools import Spools
from cnet.coding import Encoder, SegmentEncoder
from cnet.coding.other_tensors import Array, Packing, after_packing, pack_arrays, split_tensors
from cnet.errors import BundleError
from cnet.files import atomic_write, file_sha256
from cnet.symbols import SymbolParts, whole
from cnet.weights import Tensor, Weights

Notes = tuple[Mapping[str, Any] | None, Mapping[str, Any] | None]
"""Metrics and extra."""


@dataclass(frozen=True)
class BundleSizes:
    """Bytes of the file by part, and its sha256 (hex).

    A part is its deflated member, in version 3 its bytes in ``data``; ``container`` is all the rest (zip records and
    manifest); ``total`` is the file.
    """

    mask: int
    labels: int
    centroids: int
    other_tensors: int
    container: int
    total: int
    sha256: str

    @classmethod
    def of(cls, parts: Mapping[str, int], total: int, sha256: str) -> BundleSizes:
        """The sizes of a file with these parts."""
        mask, labels, centroids, other = (parts.get(name, 0) for name in (*STREAMS, "other"))
        return cls(mask, labels, centroids, other, total - mask - labels - centroids - other, total, sha256)


def write_bundle(
    path: str | os.PathLike[str],
    weights: Weights,
    symbols: SymbolParts,
    encoder: Encoder,
    metrics: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> BundleSizes:
    """Write a bundle, whole or not at all (temporary file in the same folder, fsync, rename).

    Args:
        path: the file; replaced where it exists.
        weights: names, shapes, types, roles and ties, and the tensors that are not compressible. The values of
            compressible tensors are not looked at.
        symbols: what w_net decodes to.
        encoder: turns the symbols into arrays.
        metrics: numbers about the net, JSON without NaN.
        extra: anything else to keep in the manifest, such as the job spec; JSON without NaN.

    Raises:
        BundleError: symbols and weights do not fit, or a name or metric is nothing that JSON can hold.
        OSError: the file cannot be written.
    """
    if symbols.weights != weights.compressible_parameters:
        raise BundleError(f"{symbols.weights} symbols do not fit {weights.compressible_parameters} weights")
    with atomic_write(Path(path)) as file:
        if isinstance(encoder, SegmentEncoder):
            parts = _write_joined(file, weights, symbols, encoder, (metrics, extra))
        else:
            parts = _write_apart(file, weights, symbols, encoder, (metrics, extra))
        total = file.seek(0, os.SEEK_END)
        digest = file_sha256(file)
    return BundleSizes.of(parts, total, digest)


def add_notes(
    path: str | os.PathLike[str], metrics: Mapping[str, Any] | None, extra: Mapping[str, Any] | None
) -> BundleSizes:
    """Replace metrics and extra of a bundle in place; its other members are neither decoded nor moved.

    ``write_bundle`` without notes followed by ``add_notes`` gives the same bytes as ``write_bundle`` with the notes.
    The file must not be in use: a crash on the way leaves a file that is no bundle.

    Args:
        path: the bundle.
        metrics: as for ``write_bundle``.
        extra: as for ``write_bundle``.

    Raises:
        BundleError: the file is no bundle, or JSON cannot hold the notes.
        OSError: the file cannot be written.
    """
    reader = Reader(Path(path))
    manifest = parse(reader.manifest)
    notes = {"metrics": None if metrics is None else plain(metrics), "extra": None if extra is None else plain(extra)}
    text = to_json(manifest.model_copy(update=notes))
    others = [entry for name, entry in reader.entries.items() if name != "manifest"]
    with Path(path).open("r+b") as file:
        file.truncate(reader.entries["manifest"].offset)
        writer = Writer.resumed(file, reader.form, others)
        writer.add("manifest", "|u1", [np.frombuffer(text, np.uint8)])
        writer.seal()
        file.flush()
        os.fsync(file.fileno())
        total = file.seek(0, os.SEEK_END)
        digest = file_sha256(file)
    return BundleSizes.of(parts_of(reader, manifest).sizes, total, digest)


def _write_apart(
    file: BinaryIO, weights: Weights, symbols: SymbolParts, encoder: Encoder, notes: Notes
) -> dict[str, int]:
    """Version 1: a member for each part; the parts' sizes."""
    streams, header = encoder.encode(whole(symbols), _shapes(weights))
    streams, local = stored(symbols.local, streams, _shapes(weights))
    writer = Writer(file)
    members = {name: writer.add(name, streams[name].dtype.str, [streams[name]]) for name in STREAMS if name in streams}
    other = [tensor.data for tensor in _others(weights)]
    if any(data.size for data in other):
        members["other"] = writer.add("other", "|u1", other)
    form = {"version": 1, "members": {name: asdict(member) for name, member in members.items()}, "local": local}
    manifest = _manifest(weights, encoder, header, form, notes)
    writer.add("manifest", "|u1", [np.frombuffer(to_json(manifest), np.uint8)])
    return {entry.name: entry.packed for entry in writer.seal() if entry.name != "manifest"}


def _write_joined(
    file: BinaryIO, weights: Weights, symbols: SymbolParts, encoder: SegmentEncoder, notes: Notes
) -> dict[str, int]:
    """Version 3: all parts in one member; their sizes."""
    with Spools(Path(file.name).parent) as spools:
        heads, header = encoder.write(symbols, _shapes(weights), spools.write)
        for name, head in heads.items():
            spools.set_head(name, head)
        tail, local = stored(symbols.local, {"centroids": np.empty(0, np.uint8)}, _shapes(weights))
        spools.write("centroids", tail["centroids"].tobytes())
        sizes = {name: spools.size(name) for name in STREAMS if name in heads}
        others, error = _packed_others(weights, encoder.other_packing or "planes", spools)
        writer = Writer(file, JOINED)
        length = sum(sizes.values()) + sum(others)
        digests = writer.add_stored("data", length, spools.chunks([*sizes, "other"], CHUNK))
    other = Other(kind=encoder.other_packing or "planes", error=error)
    joined = Joined(sizes=sizes, others=tuple(others), digests=digests)
    form = {"version": 3, "joined": joined, "other": other, "local": local}
    manifest = _manifest(weights, encoder, header, form, notes)
    writer.add("manifest", "|u1", [np.frombuffer(to_json(manifest), np.uint8)])
    writer.seal()
    return {**sizes, "other": sum(others)}


def _shapes(weights: Weights) -> list[tuple[int, ...]]:
    return [weights[name].shape for name in weights.compressible]


def _others(weights: Weights) -> list[Tensor]:
    """The tensors that are not compressible, tied ones once."""
    known = {*weights.compressible, *weights.copies}
    return [tensor for tensor in weights if tensor.name not in known]


def _packed_others(weights: Weights, kind: Packing, spools: Spools) -> tuple[list[int], float]:
    """Write the blocks of other tensors; their sizes, and the largest error."""
    sizes, errors = [], [0.0]
    for block in split_tensors(_others(weights)):
        packed = pack_arrays(block, kind)
        spools.write("other", packed)
        sizes.append(len(packed))
        errors += [_error(dtype, array, kind) for dtype, array in block]
        release_pages(block[-1][1])
    return sizes, max(errors)


def _error(dtype: str, array: Array, kind: Packing) -> float:
    """How far the values are from what they are after packing."""
    kept = after_packing(dtype, array, kind)
    if kept is array or not array.size:
        return 0.0
    finite = np.isfinite(array)
    return float(np.max(np.abs(kept[finite].astype(np.float64) - array[finite].astype(np.float64)), initial=0.0))


def _manifest(
    weights: Weights, encoder: Encoder, header: Mapping[str, Any], form: Mapping[str, Any], notes: Notes
) -> Manifest:
    metrics, extra = (None if note is None else plain(note) for note in notes)
    document = {
        "encoder": encoder.model_dump()["name"],
        "header": plain(header),
        "tensors": columns_of(weights),
        "tied": ties_of(weights),
        "products": products_of(weights),
        "metrics": metrics,
        "extra": extra,
        **form,
    }
    try:
        return Manifest.model_validate(document)
    except ValueError as error:
        raise BundleError(f"these weights make no bundle: {error}") from error
