"""``cnet evaluate``: how well a model's file does on data, without training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.files.program_files import weights_and_program
from app.commands.jobspec import SpecOptions
from app.commands.option_groups import with_groups
from app.commands.options import FILES, Architecture, Assignments, Dataset, Json, Program, Quiet, SpecFile, WeightsKey
from app.commands.parts_help import CommandWithParts
from app.console.output import columns, emit_json, emit_line, note

if TYPE_CHECKING:
    from cnet.results.measurements import Scores

_NOTED = ("architecture", "dataset", "preprocess", "validation", "training")


@dataclass(frozen=True)
class EvaluationOptions:
    """What a model is evaluated as, and on."""

    architecture: Architecture = None
    program: Program = None
    dataset: Dataset = None
    spec: SpecFile = None
    assignments: Assignments = None


def add_to(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command(cls=CommandWithParts, rich_help_panel=FILES)(with_groups(evaluate))


def evaluate(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="A checkpoint, a bundle or a program. Not needed with --program."),
    ] = None,
    *,
    options: EvaluationOptions,
    weights_key: WeightsKey = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure the accuracy of a checkpoint, a bundle or a program on a data set, without training.

    With a program its own weights are the original, which the file is compared with (kl, agreement). A bundle remembers
    the job that made it: what no option names is taken from there. `--set` reaches the same fields
    as in a job, such as preprocess.mean or training.device.
    """
    from app.console.progress import ProgressBar
    from cnet.pipeline.local.evaluate_file import evaluate_file
    from cnet.spec import JobSpec

    file, program = weights_and_program(file, options.program)
    named = program is not None or options.architecture is not None or options.spec is not None
    named = named or any(text.startswith("architecture") for text in options.assignments or ())
    noted = _noted(file, with_program=program is not None, network_named=named) if file is not None else {}
    chosen = SpecOptions(
        spec=options.spec,
        architecture=options.architecture,
        program=program,
        dataset=options.dataset,
        assignments=options.assignments,
    )
    document = chosen.document(file.name if file else None, noted)
    job = JobSpec.parse({**document, "checkpoint": file.name[:200]} if file else document)
    with ProgressBar("evaluate", quiet=quiet) as bar:
        scores = evaluate_file(file, job, bar, weights_key=weights_key)
    if json:
        emit_json({"file": str(file or program), "dataset": job.dataset, **_document(scores)})
    else:
        emit_line(columns(("SCORE", "TEST", "VALIDATION"), _rows(scores)))


def _noted(file: Path, *, with_program: bool, network_named: bool) -> dict[str, Any]:
    """What a bundle has noted of the network and the data of its job; nothing for other files.

    Args:
        file: a bundle, or another file.
        with_program: whether the program is named again; the notes then have its task and its output.
        network_named: whether an option names the network, as a program or otherwise.

    Raises:
        typer.BadParameter: the network is that of a program, and no option names one.
    """
    from cnet.bundle import open_bundle
    from cnet.formats import is_bundle

    if not is_bundle(file):
        return {}
    spec: dict[str, Any] = (open_bundle(file).extra or {}).get("spec") or {}
    found = {name: spec[name] for name in _NOTED if spec.get(name) is not None}
    architecture = found.get("architecture")
    if isinstance(architecture, dict) and "program" in architecture:  # a digest: the file has to be named again
        kept = {name: value for name, value in architecture.items() if name != "program" and value is not None}
        found["architecture"] = kept
        if not network_named:
            raise typer.BadParameter(
                f"{file} was made with a program, which a bundle does not hold. Name the file of the program again.",
                param_hint="--program",
            )
        if not with_program or not kept:
            del found["architecture"]
    if found:
        note(f"{file}: taken from its notes where no option says otherwise: {', '.join(found)}")
    return found


def _document(scores: Scores) -> dict[str, Any]:
    """The scores as JSON: those on the test split by name, ``metric`` and ``validation``."""
    from cnet.results.baseline import finite_values

    metric = {
        "name": scores.name,
        "unit": scores.unit,
        "value": scores.value,
        "validation": scores.validation_value,
        "higher_is_better": scores.higher_is_better,
    }
    validation = None if scores.validation is None else dict(scores.validation)
    return finite_values({**scores.test, "metric": metric, "validation": validation})


def _rows(scores: Scores) -> list[tuple[str, str, str]]:
    """A row for each score, that of the task first."""
    names = [scores.name, *(name for name in scores.test if name != scores.name)]
    percent = {scores.name: scores.unit == "percent", "accuracy": True, "top5": True, "f1": True, "agreement": True}
    validation = scores.validation or {}

    def cell(split: Mapping[str, float], name: str) -> str:
        return _text(split.get(name), percent=percent.get(name, False))

    return [(name, cell(scores.test, name), cell(validation, name)) for name in names]


def _text(value: float | None, *, percent: bool) -> str:
    if value is None:
        return "-"
    return f"{value:.2f} %" if percent else f"{value:.6g}"
