"""Commands that need no server: ``compress``, ``unpack``, ``verify``, ``inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.jobspec import SpecOptions
from app.commands.options import (
    Architecture,
    Assignments,
    Clusters,
    Dataset,
    Encoder,
    Json,
    Method,
    Sparsity,
    SpecFile,
    Streaming,
)
from app.commands.parts_help import CommandWithParts
from app.console.output import columns, emit_json, emit_line

if TYPE_CHECKING:
    from cnet.bundle import Bundle

BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, as `compress` writes it.")]


def add_to(app: typer.Typer) -> None:
    """Make the commands known."""
    app.command(cls=CommandWithParts)(compress)
    for command in (unpack, verify, inspect):
        app.command()(command)


def compress(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint: safetensors, PyTorch, npz or ONNX.")],
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="BUNDLE", help="Where to write the bundle.")],
    spec: SpecFile = None,
    sparsity: Sparsity = None,
    clusters: Clusters = None,
    encode: Encoder = None,
    method: Method = None,
    dataset: Dataset = None,
    architecture: Architecture = None,
    assignments: Assignments = None,
    streaming: Streaming = None,
    json: Json = False,
) -> None:
    """Compress a checkpoint here, by the same pipeline as on a server.

    With a data set and an architecture the net is fine-tuned; without, its weights are pruned and quantized as they
    are. Several values of --sparsity or --clusters make several points; the selected one's bundle is written.
    """
    from app.console.progress import ProgressBar
    from cnet.pipeline.compress_file import compress_file
    from cnet.report import metrics, table
    from cnet.spec import JobSpec

    _check_readable(file)
    _check_folder(out)
    options = SpecOptions(spec, sparsity, clusters, encode, method, dataset, architecture, assignments)
    job = JobSpec.parse({**options.document(file.name), "checkpoint": file.name[:200]})
    with ProgressBar("load", quiet=json) as bar:
        outcome = compress_file(file, job, out, bar, streaming=streaming)
    point = outcome.points[outcome.selected]
    if json:
        emit_json({**metrics(outcome.baseline, outcome.points, outcome.selected), "bundle": str(out)})
        return
    emit_line(table(outcome.baseline, outcome.points, outcome.selected).rstrip("\n"))
    emit_line(f"{out}: {point.bytes.total:,} bytes, {point.ratio:.2f} times smaller; sha256 {point.sha256}")


def unpack(
    bundle: BundleFile,
    *,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="FILE", help="Suffix names the format: .safetensors .pt .pth .npz .onnx"),
    ],
    like: Annotated[
        Path | None,
        typer.Option("--like", metavar="ONNX", help="For .onnx: a file of the same net, to run the weights in."),
    ] = None,
    json: Json = False,
) -> None:
    """Decode a bundle into a file that other tools read.

    A bundle holds no graph: an .onnx file has the tensors alone, unless --like names a file to take the graph from.
    """
    from cnet.bundle import open_bundle
    from cnet.bundle.convert import format_of
    from cnet.bundle.convert import unpack as write

    kind = format_of(out)
    _check_readable(bundle)
    if like is not None:
        _check_readable(like)
    _check_folder(out)
    opened = open_bundle(bundle)
    write(opened, out, kind, like)
    tensors, size = len(opened), out.stat().st_size
    if json:
        emit_json({"file": str(out), "format": kind, "tensors": tensors, "size_bytes": size})
    else:
        emit_line(f"{out}: {tensors} tensors, {size:,} bytes ({kind})")


def verify(bundle: BundleFile, *, json: Json = False) -> None:
    """Check every byte of a bundle; exit code 1 where it is damaged."""
    from cnet.bundle import open_bundle

    _check_readable(bundle)
    opened = open_bundle(bundle)
    opened.verify()
    if json:
        emit_json({"file": str(bundle), "valid": True, "tensors": len(opened)})
    else:
        emit_line(f"{bundle}: whole and unchanged, {len(opened)} tensors")


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint or a bundle.")],
    *,
    json: Json = False,
) -> None:
    """Show what is in a checkpoint or in a bundle."""
    from app.commands.inspection import is_bundle
    from cnet.bundle import open_bundle

    _check_readable(file)
    document = _about_bundle(open_bundle(file)) if is_bundle(file) else _about_checkpoint(file)
    if json:
        emit_json({"file": str(file), "size_bytes": file.stat().st_size, **document})
        return
    tensors = document.pop("tensors")
    rows = [(str(row["name"]), "x".join(map(str, row["shape"])) or "scalar", str(row["dtype"])) for row in tensors]
    emit_line(columns(("TENSOR", "SHAPE", "TYPE"), rows))
    emit_line("")
    emit_line(columns(("FACT", "VALUE"), [(name, _shown(value)) for name, value in document.items()]))


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part:,}" for name, part in value.items())
    return "-" if value is None else str(value)


def _about_checkpoint(file: Path) -> dict[str, Any]:
    from cnet.formats import read_checkpoint

    checkpoint = read_checkpoint(file)
    weights = checkpoint.weights
    return {
        "kind": "checkpoint",
        "format": checkpoint.format,
        "weights_key": checkpoint.weights_key,
        "stripped_prefix": checkpoint.stripped_prefix,
        "parameters": weights.parameters,
        "compressible_parameters": weights.compressible_parameters,
        "tensors": [{"name": t.name, "shape": list(t.shape), "dtype": t.dtype} for t in weights],
    }


def _about_bundle(bundle: Bundle) -> dict[str, Any]:
    from dataclasses import asdict

    weights, symbols = bundle.weights(), bundle.symbols()
    return {
        "kind": "bundle",
        "parameters": weights.parameters,
        "compressible_parameters": weights.compressible_parameters,
        "sparsity": symbols.sparsity,
        "clusters": symbols.clusters,
        "bytes": {name: value for name, value in asdict(bundle.sizes).items() if name != "sha256"},
        "tensors": [{"name": t.name, "shape": list(t.shape), "dtype": t.dtype} for t in weights],
    }


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder, not a file")
    if not path.exists():
        raise typer.BadParameter(f"there is no file {path}")


def _check_folder(path: Path) -> None:
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise typer.BadParameter(f"cannot write {path}: its folder does not exist, or it is a folder itself")
