"""Writing a bundle; the format is specified in ``cnet.bundle``."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cnet.bundle_manifest import Manifest, columns_of, plain, products_of, ties_of
from cnet.encode import Encoder
from cnet.encode._others import Array, Kind, pack_others, rounded
from cnet.errors import BundleError
from cnet.sealed_npz import Entry, Packed, Writer, file_sha256
from cnet.symbols import Symbols
from cnet.weights import Weights

STREAMS = ("mask", "labels", "centroids")
"""The members that encoders fill."""


@dataclass(frozen=True)
class BundleSizes:
    """Bytes of the file by part, and its sha256 (hex).

    A part is its deflated member; ``container`` is all the rest (zip records and manifest); ``total`` is the file.
    """

    mask: int
    labels: int
    centroids: int
    other_tensors: int
    container: int
    total: int
    sha256: str

    @classmethod
    def of(cls, entries: Mapping[str, Entry], total: int, sha256: str) -> BundleSizes:
        """The sizes of a file with these members."""
        parts = [entries[name].packed if name in entries else 0 for name in (*STREAMS, "other")]
        mask, labels, centroids, other = parts
        return cls(mask, labels, centroids, other, total - sum(parts), total, sha256)


def write_bundle(
    path: str | os.PathLike[str],
    weights: Weights,
    symbols: Symbols,
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
    if len(symbols.keep) != weights.compressible_parameters:
        raise BundleError(f"{len(symbols.keep)} symbols do not fit {weights.compressible_parameters} weights")
    streams, header = encoder.encode(symbols, [weights[name].shape for name in weights.compressible])
    with _replacing(Path(path)) as file:
        writer = Writer(file)
        packed = {
            name: writer.add(name, streams[name].dtype.str, [streams[name]]) for name in STREAMS if name in streams
        }
        compressible = {*weights.compressible, *weights.copies}
        other = [(t.dtype, t.data) for t in weights if t.name not in compressible]
        if any(data.size for _, data in other):
            packed["other"] = writer.add("other", "|u1", _packed(other, encoder.others))
        how = _how(other, encoder.others) if "other" in packed else None
        manifest = _manifest(weights, encoder, (header, how), packed, (metrics, extra))
        writer.add("manifest", "|u1", [np.frombuffer(manifest.to_json(), np.uint8)])
        entries = writer.seal()
        total = file.seek(0, os.SEEK_END)
        digest = file_sha256(file)
    return BundleSizes.of({entry.name: entry for entry in entries}, total, digest)


def _packed(arrays: Sequence[tuple[str, Array]], kind: Kind | None) -> list[Array]:
    if kind is None:
        return [array for _, array in arrays]
    return [np.frombuffer(pack_others(arrays, kind), np.uint8)]


def _how(arrays: Sequence[tuple[str, Array]], kind: Kind | None) -> dict[str, Any] | None:
    """What the manifest says of packed tensors."""
    if kind is None:
        return None
    errors = [0.0]
    for dtype, array in arrays:
        kept = rounded(dtype, array, kind)
        if kept is not array and array.size:
            finite = np.isfinite(array)
            errors.append(
                float(np.max(np.abs(kept[finite].astype(np.float64) - array[finite].astype(np.float64)), initial=0.0))
            )
    return {"kind": kind, "error": max(errors)}


def _manifest(
    weights: Weights,
    encoder: Encoder,
    decoding: tuple[Mapping[str, Any], dict[str, Any] | None],
    packed: Mapping[str, Packed],
    notes: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
) -> Manifest:
    metrics, extra = (None if note is None else plain(note) for note in notes)
    members = {name: asdict(member) for name, member in packed.items()}
    document = {
        "encoder": encoder.model_dump()["name"],
        "header": plain(decoding[0]),
        "version": 1 if decoding[1] is None else 2,
        "other": decoding[1],
        "tensors": columns_of(weights),
        "tied": ties_of(weights),
        "products": products_of(weights),
        "members": members,
        "metrics": metrics,
        "extra": extra,
    }
    try:
        return Manifest.model_validate(document)
    except ValueError as error:
        raise BundleError(f"these weights make no bundle: {error}") from error


@contextlib.contextmanager
def _replacing(path: Path) -> Iterator[BinaryIO]:
    """A temporary file that takes the place of ``path`` once all of it is on the disk."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
