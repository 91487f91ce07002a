"""Write a checkpoint in any format that can be written.

Every tensor is written under its canonical name with its shape. Tied tensors are written under each of their names.
"""

from __future__ import annotations

from pathlib import Path

from cnet.errors import CnetError
from cnet.files import atomic_path
from cnet.formats.checkpoint_format import FORMATS, writable_formats
from cnet.formats.writing import TensorsToWrite
from cnet.weights import Weights


def write_checkpoint(
    tensors: Weights | TensorsToWrite,
    path: Path,
    format: str,  # noqa: A002 - the word of the HTTP API
    template: Path | None = None,
) -> None:
    """Write tensors to ``path``, completely or not at all. The same tensors give the same bytes.

    Args:
        tensors: what to write.
        path: the file, replaced where it exists.
        format: name of the format: ``safetensors``, ``torch``, ``npz`` (bfloat16 and float8 as the
            unsigned integers of their bits, since NumPy has no such types), ``onnx``, or one of a plug-in.
        template: for ``onnx``, a file of the same network, whose graph is copied.

    Raises:
        CnetError: ``unknown_format``; ``too_large`` for the format; ``unwritable``;
            ``not_onnx`` or ``not_alike`` where the template cannot be used.
    """
    writable = writable_formats()
    if format not in writable:
        raise CnetError(
            f"format {format!r}: it cannot be written. Use one of: {', '.join(writable)}.",
            code="unknown_format",
        )
    chosen = FORMATS.create(format)
    if template is not None and not chosen.takes_template:
        raise CnetError(
            f"format {format!r}: its files have no graph, so that none can be copied. "
            "Write onnx, or leave the template out.",
            code="unknown_format",
        )
    with atomic_path(path) as draft:
        chosen.write(draft, TensorsToWrite.of(tensors) if isinstance(tensors, Weights) else tensors, template)


def format_by_suffix(path: Path) -> str:
    """Name of the writable format that the suffix of a file name stands for. Raises CnetError (``unknown_format``)."""
    formats = {suffix: name for name in writable_formats() for suffix in FORMATS.get(name).suffixes}
    suffix = path.suffix.lower()
    if suffix not in formats:
        raise CnetError(
            f"file {path.name!r}: no format has this suffix. Use one of: {', '.join(sorted(formats))}.",
            code="unknown_format",
        )
    return formats[suffix]
