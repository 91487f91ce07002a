"""Commands for bundles: ``unpack``, ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.commands.options import FILES, Json
from app.commands.parts_help import CommandWithWrittenFormats
from app.commands.paths import check_output, check_readable
from app.console.output import emit_json, emit_line

if TYPE_CHECKING:
    from cnet.bundle.packed_onnx import PackedReport

BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, as `compress` writes it.")]

UnpackedFile = Annotated[
    Path, typer.Option("--out", "-o", metavar="FILE", help="File to write; its suffix chooses the format.")
]
UnpackedFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help="Format of the file: `onnx-packed` keeps the weights packed within an ONNX model.",
        show_default="by the suffix of --out",
    ),
]
GraphFile = Annotated[
    Path | None,
    typer.Option(
        "--like",
        metavar="FILE",
        help="For .onnx: an ONNX file or a program (.pt2) of the same network, whose graph is used.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(cls=CommandWithWrittenFormats, rich_help_panel=FILES)(unpack)
    app.command(rich_help_panel=FILES)(verify)


def unpack(
    bundle: BundleFile,
    *,
    out: UnpackedFile,
    format_: UnpackedFormat = None,
    like: GraphFile = None,
    json: Json = False,
) -> None:
    """Decode a bundle into a file that other tools read.

    A bundle holds no graph: an .onnx file has only the tensors, unless --like names a file to take the graph from.
    """
    from cnet.bundle import open_bundle
    from cnet.formats import format_by_suffix
    from cnet.pipeline.local.unpack_file import unpack_file

    kind = format_ or format_by_suffix(out)
    check_readable(bundle)
    if like is not None:
        check_readable(like)
    check_output(out, bundle, like)
    opened = open_bundle(bundle)
    _show_unpacked(out, kind, len(opened), unpack_file(opened, out, kind, like), json=json)


def _show_unpacked(out: Path, kind: str, tensors: int, report: PackedReport | None, *, json: bool) -> None:
    size = out.stat().st_size
    packed = {} if report is None else {"packed_tensors": len(report.packed), "packed_weights": report.packed_elements}
    if json:
        emit_json({"file": str(out), "format": kind, "tensors": tensors, "size_bytes": size, **packed})
        return
    emit_line(f"{out}: {tensors} tensors, {size:,} bytes ({kind})")
    if report is not None:
        emit_line(f"packed: {len(report.packed)} tensors with {report.packed_elements:,} weights")


def verify(bundle: BundleFile, *, json: Json = False) -> None:
    """Check every byte of a bundle. The exit code is 1 if it is damaged."""
    from cnet.bundle import open_bundle

    check_readable(bundle)
    opened = open_bundle(bundle)
    opened.verify()
    if json:
        emit_json({"file": str(bundle), "valid": True, "tensors": len(opened)})
    else:
        emit_line(f"{bundle}: undamaged, {len(opened)} tensors")
