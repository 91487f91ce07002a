"""Commands that need no server: ``compress``, ``unpack``, ``verify``, ``inspect``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.jobspec import SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import Json, Streaming, WeightsKey
from app.commands.parts_help import CommandWithParts, CommandWithWrittenFormats
from app.commands.paths import check_output, check_readable
from app.commands.programs import describe_program, facts_table
from app.console.output import columns, emit_json, emit_line

if TYPE_CHECKING:
    from app.console.progress import ProgressBar
    from cnet.bundle import Bundle
    from cnet.formats import Checkpoint
    from cnet.pipeline import Outcome
    from cnet.spec import JobSpec

BundleFile = Annotated[Path, typer.Argument(metavar="BUNDLE", help="A bundle, as `compress` writes it.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command(cls=CommandWithParts)(with_groups(compress))
    app.command(cls=CommandWithWrittenFormats)(unpack)
    for command in (verify, inspect):
        app.command()(command)


def compress(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="A checkpoint: safetensors, PyTorch, npz or ONNX; or a program (.pt2). Not needed with --program.",
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="BUNDLE", help="Where to write the bundle.")],
    options: SpecOptions,
    weights_key: WeightsKey = None,
    streaming: Streaming = None,
    json: Json = False,
) -> None:
    """Compress a checkpoint on this machine, by the same pipeline as on a server.

    With a data set and an architecture or program the network is fine-tuned; without them, its weights are pruned and
    quantized as they are. A program holds weights too: they are taken where no checkpoint is given. Several values of
    --sparsity or --clusters make several points; the bundle of the selected one is written.
    """
    from app.console.progress import ProgressBar
    from cnet.pipeline.local.compress_file import compress_file
    from cnet.spec import JobSpec

    file, program = _weights_and_program(file, options.program)
    options = replace(options, program=program)
    check_output(out, file, options.spec, *(Path(name) for name in (options.dataset, program) if name))
    document = options.document(file.name if file else None)
    job = JobSpec.parse({**document, "checkpoint": file.name[:200]} if file else document)
    with ProgressBar("load", quiet=json) as bar:
        checkpoint = _read_checkpoint(file, job, weights_key, bar) if file else None
        outcome = compress_file(checkpoint, job, out, bar, streaming=streaming)
    _print_outcome(out, outcome, checkpoint, json=json)


def _weights_and_program(file: Path | None, program: str | None) -> tuple[Path | None, str | None]:
    """The checkpoint and the program of a command; a program given in place of a checkpoint is taken as one."""
    from cnet.models.programs import is_program

    for path in filter(None, (file, Path(program) if program else None)):
        check_readable(path)
    if file is not None and program is None and is_program(file):
        return None, str(file)
    return file, program


def _read_checkpoint(file: Path, job: JobSpec, weights_key: str | None, bar: ProgressBar) -> Checkpoint:
    """The checkpoint; the user is told which entry holds the weights, where that was left open."""
    from cnet.pipeline.local.compress_file import read_source

    checkpoint = read_source(file, job, weights_key)
    if checkpoint.weights_key is not None and weights_key is None:
        bar.log(f"{file}: the weights are those of the entry {checkpoint.weights_key!r}")
    return checkpoint


def _print_outcome(out: Path, outcome: Outcome, checkpoint: Checkpoint | None, *, json: bool) -> None:
    from cnet.results.damage import verdict
    from cnet.results.report import metrics, table

    point = outcome.points[outcome.selected]
    if json:
        facts = {"bundle": str(out), **(checkpoint_facts(checkpoint) if checkpoint else {})}
        emit_json({**metrics(outcome.baseline, outcome.points, outcome.selected), **facts})
        return
    emit_line(table(outcome.baseline, outcome.points, outcome.selected).rstrip("\n"))
    emit_line(f"{out}: {point.bytes.total:,} bytes, {point.ratio:.2f} times smaller; sha256 {point.sha256}")
    emit_line(verdict(outcome.baseline, point))


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


def inspect(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A checkpoint, a program or a bundle.")],
    *,
    weights_key: WeightsKey = None,
    json: Json = False,
) -> None:
    """Show what a checkpoint, a program (.pt2) or a bundle contains."""
    check_readable(file)
    document = _describe(file, weights_key)
    if json:
        emit_json({"file": str(file), "size_bytes": file.stat().st_size, **document})
        return
    tensors, warnings = document.pop("tensors"), document.pop("warnings", [])
    rows = [(str(row["name"]), "x".join(map(str, row["shape"])) or "scalar", str(row["dtype"])) for row in tensors]
    emit_line(columns(("TENSOR", "SHAPE", "TYPE"), rows))
    emit_line("")
    is_program = document["kind"] == "program"
    facts = facts_table(document) if is_program else [(name, _cell(value)) for name, value in document.items()]
    emit_line(columns(("FIELD", "VALUE"), facts))
    for warning in warnings:
        about = "" if warning["tensor"] is None else f"tensor {warning['tensor']!r}: "
        emit_line(f"warning ({warning['code']}): {about}{warning['detail']}")


def _describe(file: Path, weights_key: str | None) -> dict[str, Any]:
    from cnet.bundle import open_bundle
    from cnet.formats import is_bundle
    from cnet.models.programs import is_program

    if is_bundle(file):
        return _describe_bundle(open_bundle(file))
    return describe_program(file) if is_program(file) else _describe_checkpoint(file, weights_key)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part:,}" for name, part in value.items())
    return "-" if value is None else str(value)


def _describe_checkpoint(file: Path, weights_key: str | None) -> dict[str, Any]:
    from cnet.formats import read_checkpoint

    checkpoint = read_checkpoint(file, weights_key=weights_key)
    weights = checkpoint.weights
    return {
        "kind": "checkpoint",
        "format": checkpoint.format,
        **checkpoint_facts(checkpoint),
        "parameters": weights.parameters,
        "compressible_parameters": weights.compressible_parameters,
        "tensors": [{"name": t.name, "shape": list(t.shape), "dtype": t.dtype} for t in weights],
    }


def checkpoint_facts(checkpoint: Checkpoint) -> dict[str, Any]:
    """What was decided about a checkpoint and what its user should know, as JSON."""
    from dataclasses import asdict

    return {
        "weights_key": checkpoint.weights_key,
        "stripped_prefix": checkpoint.stripped_prefix,
        "warnings": [asdict(warning) for warning in checkpoint.warnings],
    }


def _describe_bundle(bundle: Bundle) -> dict[str, Any]:
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
