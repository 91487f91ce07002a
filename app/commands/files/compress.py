"""``cnet compress``: the pipeline without a server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.files.program_files import weights_and_program
from app.commands.jobspec import SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import FILES, Json, Quiet, Streaming, WeightsKey
from app.commands.parts_help import CommandWithParts
from app.commands.paths import check_output
from app.console.output import emit_json, emit_line

if TYPE_CHECKING:
    from app.console.progress import ProgressBar
    from cnet.formats import Checkpoint
    from cnet.pipeline import Outcome
    from cnet.spec import JobSpec


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(cls=CommandWithParts, rich_help_panel=FILES)(with_groups(compress))


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
    quiet: Quiet = False,
) -> None:
    """Compress a checkpoint on this machine, by the same pipeline as on a server.

    With a data set and an architecture or program the network is fine-tuned; with --inputs its weights are quantized by
    what errors do to its outputs; without either, they are quantized as they are, and pruned only where --sparsity asks
    for it. A program holds weights too: they are taken where no checkpoint is given. Several values of --sparsity or
    --clusters make several points; the bundle of the selected one is written.
    """
    from app.console.progress import ProgressBar
    from cnet.pipeline.local.compress_file import compress_file
    from cnet.spec import JobSpec

    file, program = weights_and_program(file, options.program)
    options = replace(options, program=program)
    check_output(out, file, options.spec, *(Path(name) for name in (options.dataset, options.inputs, program) if name))
    document = options.document(file.name if file else None)
    job = JobSpec.parse({**document, "checkpoint": file.name[:200]} if file else document)
    with ProgressBar("load", quiet=quiet) as bar:
        checkpoint = _read_checkpoint(file, job, weights_key, bar) if file else None
        outcome = compress_file(checkpoint, job, out, bar, streaming=streaming)
    _print_outcome(out, outcome, job, checkpoint, json=json)


def _read_checkpoint(file: Path, job: JobSpec, weights_key: str | None, bar: ProgressBar) -> Checkpoint:
    """The checkpoint; the user is told which entry holds the weights, where that was left open."""
    from cnet.pipeline.local.compress_file import read_source

    checkpoint = read_source(file, job, weights_key)
    if checkpoint.weights_key is not None and weights_key is None:
        bar.log(f"{file}: the weights are those of the entry {checkpoint.weights_key!r}")
    return checkpoint


def _print_outcome(out: Path, outcome: Outcome, job: JobSpec, checkpoint: Checkpoint | None, *, json: bool) -> None:
    from app.console.summary import Finished
    from cnet.results.report import metrics

    if json:
        facts = {"bundle": str(out), **(checkpoint_facts(checkpoint) if checkpoint else {})}
        emit_json({**metrics(outcome.baseline, outcome.points, outcome.selected), **facts})
        return
    finished = Finished(outcome.baseline, outcome.points, outcome.selected, job.target)
    emit_line(finished.table())
    emit_line("")
    emit_line(f"{out}: sha256 {outcome.points[outcome.selected].sha256}")
    loading = f'cnet unpack {out} -o model.safetensors, or in Python cnet.load_into(module, "{out}")'
    emit_line(finished.summary([loading]))


def checkpoint_facts(checkpoint: Checkpoint) -> dict[str, Any]:
    """What was decided about a checkpoint and what its user should know, as JSON."""
    from dataclasses import asdict

    return {
        "weights_key": checkpoint.weights_key,
        "stripped_prefix": checkpoint.stripped_prefix,
        "warnings": [asdict(warning) for warning in checkpoint.warnings],
    }
