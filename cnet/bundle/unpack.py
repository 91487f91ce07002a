"""Decode a bundle to a checkpoint file that other tools read."""

from __future__ import annotations

from pathlib import Path

from cnet.bundle import Bundle
from cnet.formats import TensorDescription, TensorsToWrite, write_checkpoint


def unpack(bundle: Bundle, path: Path, format: str, like: Path | None = None) -> None:  # noqa: A002 - the API's word
    """Decode a bundle to a checkpoint file, completely or not at all.

    Tensors are decoded chunk by chunk where the format allows it; the product of two factors is one chunk.

    Args:
        bundle: what to decode.
        path: the file, replaced where it exists.
        format: name of the format, as in ``cnet.formats.write_checkpoint``.
        like: for ``onnx``, a file of the same network, whose graph is copied.

    Raises:
        BundleError: the bundle is damaged; nothing is written.
        CnetError: as ``write_checkpoint``.
    """
    noted = (bundle.extra or {}).get("metadata")
    metadata = {key: text for key, text in noted.items() if isinstance(text, str)} if isinstance(noted, dict) else {}
    descriptions = [TensorDescription(name, *bundle.described(name)) for name in bundle]
    write_checkpoint(TensorsToWrite(descriptions, bundle.chunks, bundle.tied, metadata), path, format, like)
