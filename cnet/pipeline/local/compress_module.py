"""Compress a PyTorch module in one call: export it, compress the program, load the result back into the module."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cnet.bundle.loading import load_into
from cnet.data import DATASETS, Dataset
from cnet.data.dataset_facts import DatasetFacts
from cnet.data.dataset_reader import read_dataset_file
from cnet.data.readings import Reading, possible_readings
from cnet.errors import SpecError
from cnet.files import can_hold_a_file
from cnet.models.programs import ProgramManifest, read_program
from cnet.pipeline.inputs import RunObserver
from cnet.pipeline.local.compress_file import check_dataset_path, compress_file, load_dataset
from cnet.pipeline.local.data_files import Arrays, Data, dataset_file, inputs_file
from cnet.results.damage import RUINED_CODE
from cnet.results.report import metrics
from cnet.spec import JobSpec
from cnet.training.tasks.program_architecture import ProgramArchitecture
from cnet.training.tasks.program_fit import check_dataset

if TYPE_CHECKING:
    from torch import Tensor, nn


@dataclass(frozen=True)
class CompressedModule:
    """What compressing a module gave. The module itself has the weights of the selected point already.

    Attributes:
        report: ``baseline``, ``points`` and the index of the ``selected`` one, as the HTTP API gives them.
        bundle: the file of the selected point; None where none was asked for.
        warnings: sentences on what the export does not carry, and on what the selected point has lost.
    """

    report: dict[str, Any] = field(repr=False)
    bundle: Path | None
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, report: dict[str, Any], bundle: Path | None, exported: tuple[str, ...]) -> CompressedModule:
        """The result of a run, which warns the caller where the network was ruined.

        Args:
            report: of the run.
            bundle: the file that was written; None: none.
            exported: sentences on what the export does not carry.
        """
        found = report["points"][report["selected"]]["warnings"] or ()
        for each in found:
            if each["code"] == RUINED_CODE:
                warnings.warn(f"the compressed network is likely ruined: {each['detail']}", UserWarning, stacklevel=3)
        return cls(report, bundle, (*exported, *(each["detail"] for each in found)))

    def __repr__(self) -> str:
        """How much smaller, and what is left of the score, the agreement or the outputs."""
        point, before = self.point, self.report.get("baseline") or {}
        said = [f"{point['ratio']:.2f} times smaller"]
        if point.get("accuracy") is not None:
            said.append(f"accuracy {before.get('accuracy') or float('nan'):.2f} % -> {point['accuracy']:.2f} %")
        elif point.get("agreement") is not None:
            said.append(f"agreement {point['agreement']:.2f} %")
        elif point.get("output_snr_db") is not None:
            said.append(f"outputs at {point['output_snr_db']:.1f} dB")
        said += [f"{len(self.warnings)} warnings"] if self.warnings else []
        return f"<CompressedModule: {', '.join(said)}{f', {self.bundle}' if self.bundle else ''}>"

    @property
    def point(self) -> dict[str, Any]:
        """The numbers of the selected point."""
        found: dict[str, Any] = self.report["points"][self.report["selected"]]
        return found


@dataclass(frozen=True)
class ExportedJob:
    """A module that was exported to the files that a job reads.

    Attributes:
        program: the archive.
        spec: the job's specification as JSON, with paths of files in place of ids.
        folder: a folder for further files, removed after use.
        warnings: sentences on what the export does not carry.
    """

    program: Path
    spec: dict[str, Any]
    folder: Path
    warnings: tuple[str, ...]


def compress(  # noqa: PLR0913 - the module, its data, and options that most callers leave out
    module: nn.Module,
    data: Data | None = None,
    *,
    inputs: Arrays | None = None,
    spec: Mapping[str, Any] | None = None,
    task: str | Mapping[str, Any] = "classification",
    output: int | str | None = None,
    example_inputs: Sequence[Tensor] | Tensor | None = None,
    out: str | Path | None = None,
    observer: RunObserver | None = None,
) -> CompressedModule:
    """Compress a module on this machine and load the result into it.

    Args:
        module: any module that ``cnet.export_program`` can export. Where the call fails it is left as it was.
        data: what to train and evaluate with: a built-in name, the path of a file, arrays by the names of an npz file
            (``{"x_train": ..., ...}``, also ``x_validation`` and ``y_validation``), or inputs and targets, arrays or
            tensors of shape (n, ...). None: the weights are compressed without any data.
        inputs: unlabelled inputs to calibrate with in place of ``data``, nothing is trained then: an array or tensor of
            shape (n, ...), arrays by the names of forward's arguments, or the path of a file.
        spec: the other fields of a job specification, such as ``{"prune": {"name": "magnitude", "sparsity": 0.9}}``.
        task: what the module learns: ``classification``, ``binary``, ``regression``, ``distill`` or ``ctc``; or an
            object with its name and parameters, ``{"name": "ctc", "blank": 96}``.
        output: number or name of the output that is used; None: the only one that fits.
        example_inputs: a tensor for each argument of ``forward``, of any shape whose first axis counts samples, two or
            more; None: the first samples of ``data``, uint8 scaled to 0..1.
        out: where to write the bundle; None: it is not kept.
        observer: receives progress and log.

    A UserWarning says so where the network is likely ruined.

    Raises:
        ProgramError: the module cannot be exported.
        CnetError: as ``cnet.pipeline.run``.
        OSError: a file cannot be written.
    """
    check_writable(out)
    with exported_job(module, data, inputs, spec or {}, task=task, output=output, example_inputs=example_inputs) as job:
        bundle = Path(out) if out is not None else job.folder / "bundle.npz"
        outcome = compress_file(None, JobSpec.parse(job.spec), bundle, observer)
        load_into(module, bundle)
        report = metrics(outcome.baseline, outcome.points, outcome.selected)
        return CompressedModule.of(report, Path(out) if out is not None else None, job.warnings)


@contextmanager
def exported_job(  # noqa: PLR0913 - as ``compress``
    module: nn.Module,
    data: Data | None,
    inputs: Arrays | None,
    spec: Mapping[str, Any],
    *,
    task: str | Mapping[str, Any],
    output: int | str | None,
    example_inputs: Sequence[Tensor] | Tensor | None,
) -> Iterator[ExportedJob]:
    """Write a module, and its data where they are in memory, to files of a temporary folder.

    The arguments are those of ``compress``; ``example_inputs`` are tensors of any shape, samples along the first axis.

    Raises:
        ProgramError, DatasetError: the module cannot be exported, the data cannot be used.
        SpecError: ``spec`` names an architecture, a checkpoint or a data set, or there are no example inputs.
    """
    from cnet.training.programs import export_program, fitting_examples

    _check_module(module)
    if data is not None and inputs is not None:
        raise SpecError("inputs: data are given too. Give labelled data, or inputs without labels, and not both.")
    taken = sorted({"architecture", "checkpoint", "dataset"} & set(spec))
    if taken:
        raise SpecError(f"spec: it names {', '.join(taken)}, which the arguments give. Leave that out of the spec.")
    with tempfile.TemporaryDirectory(prefix="cnet-") as name:
        folder = Path(name)
        dataset = dataset_file(data, folder / "data.npz") if data is not None else None
        calibrating = inputs_file(inputs, module, folder / "inputs.npz") if inputs is not None else None
        if example_inputs is None:
            named = dataset or calibrating
            if named is None:
                raise SpecError("example_inputs: without data they are needed. Give a batch for each input of forward.")
            example_inputs = fitting_examples(module, *_readings(named))
        exported = export_program(module, example_inputs, folder / "program.pt2")
        architecture = {
            "program": str(folder / "program.pt2"),
            "task": task if isinstance(task, str) else dict(task),
            "output": output,
        }
        document = {**spec, "architecture": architecture, "dataset": dataset}
        if calibrating is not None:
            document["calibrate"] = {**spec.get("calibrate", {}), "inputs": calibrating}
        yield ExportedJob(folder / "program.pt2", document, folder, exported.warnings)


def check_dataset_fits(job: ExportedJob) -> None:
    """Check the data set of an exported module before both are uploaded; that of a server is left to the server.

    Raises:
        DatasetError: the module does not take its inputs, or its targets are not those of the task.
        ProgramError: the module cannot be trained.
        SpecError: the output that the job names does not exist, or the task is unknown.
    """
    name = job.spec["dataset"]
    if name in DATASETS.names():
        facts = DatasetFacts.of_builtin(name)
    elif name is not None and Path(name).is_file():
        facts = DatasetFacts.of_file(Path(name))
    else:
        return
    program = cast(ProgramArchitecture, JobSpec.parse(job.spec).program)
    check_dataset(ProgramManifest.of(read_program(job.program)), program, facts)


def check_writable(out: str | Path | None) -> None:
    """Raise SpecError where no file can be written at ``out``, before any work is done."""
    if out is not None and not can_hold_a_file(Path(out)):
        raise SpecError(f"out: {out} is a folder, or its folder does not exist. Name a file in an existing folder.")


def _check_module(module: object) -> None:
    """Raise SpecError where a path or weights are given in place of a module."""
    if isinstance(module, str | os.PathLike):
        raise SpecError(
            f"module: it is the path {os.fspath(module)}, not a torch.nn.Module. Load the weights into their module and"
            f" give that, or compress the file with the command `cnet compress {os.fspath(module)}`."
        )
    if isinstance(module, Mapping):
        raise SpecError(
            "module: it is a dictionary of weights, not a torch.nn.Module. Load it into its module and give that, or "
            "save it and compress the file with the command `cnet compress FILE`."
        )


def _readings(name: str) -> tuple[Dataset, list[dict[str, Reading]]]:
    """A data set, and the readings of its inputs to try on a module: first the axes that the arrays of npz files have.

    Args:
        name: a built-in name, or the path of a file.
    """
    if name in DATASETS.names():
        dataset, first = load_dataset(name), Reading.AS_STORED
    else:
        check_dataset_path(name)
        found = read_dataset_file(Path(name))
        dataset, first = found.dataset, Reading.of_layout(found.layout) if found.format == "npz" else Reading.AS_STORED
    choices = [possible_readings(shape) for shape in dataset.input_shapes.values()]
    ordered = [sorted(each, key=lambda reading: reading is not first) for each in choices]
    return dataset, [dict(zip(dataset.input_shapes, each, strict=True)) for each in product(*ordered)]
