"""Decode a bundle to a file of any format, with the graph of an ONNX file or of a program where it has one."""

from __future__ import annotations

import tempfile
from pathlib import Path

from cnet.bundle import Bundle
from cnet.bundle.packed_onnx import PackedReport
from cnet.bundle.unpack import unpack, unpack_formats
from cnet.errors import CnetError
from cnet.models.programs import is_program, read_program


def unpack_file(bundle: Bundle, path: Path, format_name: str, like: Path | None = None) -> PackedReport | None:
    """As ``cnet.bundle.unpack.unpack``; ``like`` may also be a program, which is written as ONNX first.

    Raises:
        BundleError: the bundle is damaged; nothing is written.
        ProgramError: the program cannot be used, or not be written as ONNX.
        CnetError: as ``write_checkpoint``; ``onnx_missing`` where packages for ONNX are missing.
        OSError: a file cannot be read or written.
    """
    if format_name not in unpack_formats():
        raise CnetError(
            f"format {format_name!r}: it cannot be written. Use one of: {', '.join(unpack_formats())}.",
            code="unknown_format",
        )
    if like is None or not format_name.startswith("onnx") or not is_program(like):
        return unpack(bundle, path, format_name, like)
    from cnet.training.programs.onnx_graph import write_onnx_graph  # it needs PyTorch, which the others do not

    with tempfile.TemporaryDirectory() as folder:
        graph = Path(folder) / f"{like.stem}.onnx"
        write_onnx_graph(read_program(like), graph)
        return unpack(bundle, path, format_name, graph)
