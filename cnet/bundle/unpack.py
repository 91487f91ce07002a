"""Decode a bundle to a checkpoint file that other tools read."""

from __future__ import annotations

from pathlib import Path

from cnet.bundle import Bundle
from cnet.bundle.packed_onnx import PACKED_ONNX, PackedReport, write_packed_onnx
from cnet.formats import TensorDescription, TensorsToWrite, writable_formats, write_checkpoint


def unpack(
    bundle: Bundle,
    path: Path,
    format: str,  # noqa: A002 - the API's word
    like: Path | None = None,
) -> PackedReport | None:
    """Decode a bundle to a checkpoint file, completely or not at all.

    Tensors are decoded chunk by chunk where the format allows it; the product of two factors is one chunk.

    Args:
        bundle: what to decode.
        path: the file, replaced where it exists.
        format: one of ``unpack_formats()``: as in ``cnet.formats.write_checkpoint``, or ``onnx-packed``.
        like: for ``onnx`` and ``onnx-packed``, an ONNX file of the same network, whose graph is copied.

    Returns:
        which tensors are packed, for ``onnx-packed``; otherwise None.

    Raises:
        BundleError: the bundle is damaged; nothing is written.
        CnetError: as ``write_checkpoint``.
    """
    if format == PACKED_ONNX:
        return write_packed_onnx(bundle, path, like)
    noted = (bundle.extra or {}).get("metadata")
    metadata = {key: text for key, text in noted.items() if isinstance(text, str)} if isinstance(noted, dict) else {}
    descriptions = [TensorDescription(name, *bundle.described(name)) for name in bundle]
    write_checkpoint(TensorsToWrite(descriptions, bundle.chunks, bundle.tied, metadata), path, format, like)
    return None


def unpack_formats(*, without: str | None = None) -> tuple[str, ...]:
    """Names of the formats that a bundle can be decoded to, sorted; less those that need the package ``without``."""
    return tuple(sorted([*writable_formats(without=without), PACKED_ONNX]))
