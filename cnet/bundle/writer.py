"""Write a bundle; docs/bundle-format.md specifies its format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from cnet.arrays import release_pages
from cnet.bundle.container import DIGEST_CHUNK, ContainerReader, ContainerWriter
from cnet.bundle.container.errors import reason
from cnet.bundle.contents import contents_of
from cnet.bundle.manifest import STREAMS, JoinedLayout, Manifest, PackingEntry, columns_of, products_of, ties_of
from cnet.bundle.manifest_json import parse, to_json
from cnet.bundle.reconstruction import append_factors
from cnet.bundle.sizes import BundleSizes
from cnet.bundle.stream_buffers import StreamBuffers
from cnet.coding import Encoder, SegmentEncoder
from cnet.coding.other_tensors import Array, Packing, after_packing, pack_arrays, split_tensors
from cnet.errors import BundleError
from cnet.files import atomic_write, file_sha256
from cnet.symbols import SymbolSource, load_symbols
from cnet.weights import Tensor, Weights


def write_bundle(
    path: str | os.PathLike[str],
    weights: Weights,
    symbols: SymbolSource,
    encoder: Encoder,
    metrics: Mapping[str, Any] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> BundleSizes:
    """Write a bundle atomically: ``path`` is the complete file, or what it was before.

    Args:
        path: the file; replaced where it exists.
        weights: names, shapes, types, roles and ties of all tensors, and the values of those that are not
            compressible. The values of compressible tensors are not used.
        symbols: mask, labels and centroids of w_net.
        encoder: encodes the symbols.
        metrics: numbers about the network, JSON without NaN.
        extra: anything else to keep in the manifest, such as the job's spec; JSON without NaN.

    Raises:
        BundleError: symbols and weights do not fit, or JSON cannot hold a name, a metric or ``extra``.
        OSError: the file cannot be written.
    """
    if symbols.weights != weights.compressible_parameters:
        raise BundleError(
            f"bundle: {symbols.weights} symbols do not fit {weights.compressible_parameters} weights. "
            "Quantize the weights that are to be written."
        )
    with atomic_write(Path(path)) as file:
        writer = ContainerWriter(file)
        if isinstance(encoder, SegmentEncoder):
            manifest = _write_joined(writer, Path(path).parent, weights, symbols, encoder)
        else:
            manifest = _write_separate(writer, weights, symbols, encoder)
        _finish(writer, manifest.model_copy(update=_plain_notes(metrics, extra)))
        return _sizes(file)


def add_notes(
    path: str | os.PathLike[str], metrics: Mapping[str, Any] | None, extra: Mapping[str, Any] | None
) -> BundleSizes:
    """Replace metrics and extra of a bundle in place; its other members are neither decoded nor moved.

    ``write_bundle`` without notes followed by ``add_notes`` gives the same bytes as ``write_bundle`` with the notes.
    The file must not be in use: a crash on the way leaves a file that is not a bundle.

    Args:
        path: the bundle.
        metrics: as for ``write_bundle``.
        extra: as for ``write_bundle``.

    Raises:
        BundleError: the file is not a bundle, or JSON cannot hold the notes.
        OSError: the file cannot be written.
    """
    reader = ContainerReader(Path(path))
    manifest = parse(reader.manifest).model_copy(update=_plain_notes(metrics, extra))
    to_json(manifest)  # raises what it raises before the file is touched
    others = [entry for name, entry in reader.entries.items() if name != "manifest"]
    with Path(path).open("r+b") as file:
        file.truncate(reader.entries["manifest"].offset)
        _finish(ContainerWriter.resume(file, others), manifest)
        file.flush()
        os.fsync(file.fileno())
        return _sizes(file)


def _finish(writer: ContainerWriter, manifest: Manifest) -> None:
    """Write the manifest and what follows it."""
    writer.add("manifest", "|u1", [np.frombuffer(to_json(manifest), np.uint8)])
    writer.seal()


def _sizes(file: BinaryIO) -> BundleSizes:
    """Sizes of the complete file."""
    reader = ContainerReader(file)
    return BundleSizes.of(contents_of(reader, parse(reader.manifest)).sizes, reader.total, file_sha256(file))


def _plain_notes(metrics: Mapping[str, Any] | None, extra: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "metrics": None if metrics is None else _plain(metrics),
        "extra": None if extra is None else _plain(extra),
    }


def _plain(value: Any) -> Any:
    """A value for JSON: NumPy scalars and tuples in it become numbers and lists of Python."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _write_separate(writer: ContainerWriter, weights: Weights, symbols: SymbolSource, encoder: Encoder) -> Manifest:
    """Write a member for each part; returns the manifest, which has no notes yet."""
    streams, header = encoder.encode(load_symbols(symbols), _shapes(weights))
    streams, reconstruction = append_factors(symbols.reconstruction, streams, _shapes(weights))
    members = {name: writer.add(name, streams[name].dtype.str, [streams[name]]) for name in STREAMS if name in streams}
    other = [tensor.data for tensor in _others(weights)]
    if any(data.size for data in other):
        members["other"] = writer.add("other", "|u1", other)
    layout = {"members": {name: asdict(member) for name, member in members.items()}}
    return _manifest(weights, encoder, header, layout=layout, reconstruction=reconstruction)


def _write_joined(
    writer: ContainerWriter, folder: Path, weights: Weights, symbols: SymbolSource, encoder: SegmentEncoder
) -> Manifest:
    """Write one member with all parts; returns the manifest, which has no notes yet. ``folder``: temporary files."""
    packing = encoder.other_packing or "planes"
    with StreamBuffers(folder) as buffers:
        prefixes, header = encoder.write(symbols, _shapes(weights), buffers.append)
        for name, prefix in prefixes.items():
            buffers.set_prefix(name, prefix)
        tail, reconstruction = append_factors(
            symbols.reconstruction, {"centroids": np.empty(0, np.uint8)}, _shapes(weights)
        )
        buffers.append("centroids", tail["centroids"].tobytes())
        sizes = {name: buffers.size(name) for name in STREAMS if name in prefixes}
        others, error = _write_others(weights, packing, buffers)
        length = sum(sizes.values()) + sum(others)
        digests = writer.add_stored("data", length, buffers.chunks([*sizes, "other"], DIGEST_CHUNK))
    layout = JoinedLayout(
        sizes=sizes, others=tuple(others), packing=PackingEntry(kind=packing, error=error), digests=digests
    )
    return _manifest(weights, encoder, header, layout=layout, reconstruction=reconstruction)


def _shapes(weights: Weights) -> list[tuple[int, ...]]:
    return [weights[name].shape for name in weights.compressible]


def _others(weights: Weights) -> list[Tensor]:
    """The tensors that are not compressible, tied ones once."""
    known = {*weights.compressible, *weights.copies}
    return [tensor for tensor in weights if tensor.name not in known]


def _write_others(weights: Weights, kind: Packing, buffers: StreamBuffers) -> tuple[list[int], float]:
    """Write the blocks of other tensors; returns their sizes, and the largest error of a value."""
    sizes, errors = [], [0.0]
    for block in split_tensors(_others(weights)):
        packed = pack_arrays(block, kind)
        buffers.append("other", packed)
        sizes.append(len(packed))
        errors += [_error(dtype, array, kind) for dtype, array in block]
        release_pages(block[-1][1])
    return sizes, max(errors)


def _error(dtype: str, array: Array, kind: Packing) -> float:
    """Largest difference between a value and what it is after packing."""
    packed = after_packing(dtype, array, kind)
    if packed is array or not array.size:
        return 0.0
    finite = np.isfinite(array)
    return float(np.max(np.abs(packed[finite].astype(np.float64) - array[finite].astype(np.float64)), initial=0.0))


def _manifest(weights: Weights, encoder: Encoder, header: Mapping[str, Any], **layout: Any) -> Manifest:
    document = {
        "encoder": encoder.model_dump()["name"],
        "header": _plain(header),
        "tensors": columns_of(weights),
        "tied": ties_of(weights),
        "products": products_of(weights),
        "metrics": None,
        "extra": None,
        **layout,
    }
    try:
        return Manifest.model_validate(document)
    except ValueError as error:
        raise BundleError(
            f"bundle: these weights cannot be written ({reason(error)}). Change the checkpoint."
        ) from error
