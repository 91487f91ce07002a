"""Commands for bundles: ``unpack``, ``verify``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.commands.options import FILES, Json
from app.commands.parts_help import CommandWithWrittenFormats
from app.commands.paths import check_output, check_readable
from app.console.output import emit_json, emit_line

BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, as `compress` writes it.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(cls=CommandWithWrittenFormats, rich_help_panel=FILES)(unpack)
    app.command(rich_help_panel=FILES)(verify)


def unpack(
    bundle: BundleFile,
    *,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="File to write; its suffix chooses the format.",
        ),
    ],
    like: Annotated[
        Path | None,
        typer.Option(
            "--like", metavar="ONNX", help="For .onnx: an ONNX file of the same network, whose graph is used."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Decode a bundle into a file that other tools read.

    A bundle holds no graph: an .onnx file has only the tensors, unless --like names a file to take the graph from.
    """
    from cnet.bundle import open_bundle
    from cnet.bundle.unpack import unpack as write
    from cnet.formats import format_by_suffix

    kind = format_by_suffix(out)
    check_readable(bundle)
    if like is not None:
        check_readable(like)
    check_output(out, bundle, like)
    opened = open_bundle(bundle)
    write(opened, out, kind, like)
    tensors, size = len(opened), out.stat().st_size
    if json:
        emit_json({"file": str(out), "format": kind, "tensors": tensors, "size_bytes": size})
    else:
        emit_line(f"{out}: {tensors} tensors, {size:,} bytes ({kind})")


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
