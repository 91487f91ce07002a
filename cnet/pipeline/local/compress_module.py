"""Compress a PyTorch module in one call: export it, compress the program, load the result back into the module."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cnet.bundle.loading import load_into
from cnet.data import DATASETS, Dataset
from cnet.data.dataset_facts import DatasetFacts
from cnet.data.dataset_reader import read_dataset_file
from cnet.data.readings import Reading, possible_readings
from cnet.errors import SpecError
from cnet.models.programs import ProgramManifest, read_program
from cnet.pipeline.inputs import RunObserver
from cnet.pipeline.local.compress_file import compress_file, load_dataset
from cnet.results.report import metrics
from cnet.spec import JobSpec
from cnet.training.tasks.program_architecture import ProgramArchitecture
from cnet.training.tasks.program_fit import check_dataset

if TYPE_CHECKING:
    from torch import Tensor, nn

Data = str | Path | Mapping[str, Any] | tuple[Any, Any]
"""A data set: a built-in name, the path of a file, arrays by the names of an npz file, or inputs and targets."""


@dataclass(frozen=True)
class CompressedModule:
    """What compressing a module gave. The module itself has the weights of the selected point already.

    Attributes:
        report: ``baseline``, ``points`` and the index of the ``selected`` one, as the HTTP API gives them.
        bundle: the file of the selected point; None where none was asked for.
        warnings: sentences on what the export does not carry.
    """

    report: dict[str, Any] = field(repr=False)
    bundle: Path | None
    warnings: tuple[str, ...]

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
            (``{"x_train": ..., ...}``), or inputs and targets, arrays or tensors of shape (n, ...). None: the weights
            are compressed without any data.
        spec: the other fields of a job specification, such as ``{"prune": {"name": "magnitude", "sparsity": 0.9}}``.
        task: what the module learns: ``classification``, ``regression``, ``distill`` or ``ctc``; or an object with its
            name and parameters, ``{"name": "ctc", "blank": 96}``.
        output: number or name of the output that is used; None: the only one that fits.
        example_inputs: a tensor for each argument of ``forward``, of any shape whose first axis counts samples, two or
            more; None: the first samples of ``data``, uint8 scaled to 0..1.
        out: where to write the bundle; None: it is not kept.
        observer: receives progress and log.

    Raises:
        ProgramError: the module cannot be exported.
        CnetError: as ``cnet.pipeline.run``.
        OSError: a file cannot be written.
    """
    with exported_job(module, data, spec or {}, task=task, output=output, example_inputs=example_inputs) as job:
        bundle = Path(out) if out is not None else job.folder / "bundle.npz"
        outcome = compress_file(None, JobSpec.parse(job.spec), bundle, observer)
        load_into(module, bundle)
        report = metrics(outcome.baseline, outcome.points, outcome.selected)
        return CompressedModule(report, Path(out) if out is not None else None, job.warnings)


@contextmanager
def exported_job(
    module: nn.Module,
    data: Data | None,
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

    if isinstance(module, str | os.PathLike):
        raise SpecError(
            f"module: it is the path {os.fspath(module)}, not a torch.nn.Module. Load the weights into their module and"
            f" give that, or compress the file with the command `cnet compress {os.fspath(module)}`."
        )
    taken = sorted({"architecture", "checkpoint", "dataset"} & set(spec))
    if taken:
        raise SpecError(f"spec: it names {', '.join(taken)}, which the arguments give. Leave that out of the spec.")
    with tempfile.TemporaryDirectory(prefix="cnet-") as name:
        folder = Path(name)
        dataset = _dataset_file(data, folder) if data is not None else None
        if example_inputs is None:
            if dataset is None:
                raise SpecError("example_inputs: without data they are needed. Give a batch for each input of forward.")
            example_inputs = fitting_examples(module, *_readings(dataset))
        exported = export_program(module, example_inputs, folder / "program.pt2")
        architecture = {
            "program": str(folder / "program.pt2"),
            "task": task if isinstance(task, str) else dict(task),
            "output": output,
        }
        document = {**spec, "architecture": architecture, "dataset": dataset}
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


def _dataset_file(data: Data, folder: Path) -> str:
    """The name or path of a data set; arrays are written to a file."""
    if isinstance(data, str | Path):
        return str(data)
    arrays = dict(zip(("x", "y"), data, strict=True)) if isinstance(data, tuple) else dict(data)
    path = folder / "data.npz"
    np.savez(path, **{name: _array(values) for name, values in arrays.items()})  # type: ignore[arg-type] # names are any
    return str(path)


def _readings(name: str) -> tuple[Dataset, list[dict[str, Reading]]]:
    """A data set, and the readings of its inputs to try on a module: first the axes that the arrays of npz files have.

    Args:
        name: a built-in name, or the path of a file.
    """
    if name in DATASETS.names():
        dataset, first = load_dataset(name), Reading.AS_STORED
    else:
        found = read_dataset_file(Path(name))
        dataset, first = found.dataset, Reading.of_layout(found.layout) if found.format == "npz" else Reading.AS_STORED
    choices = [possible_readings(shape) for shape in dataset.input_shapes.values()]
    ordered = [sorted(each, key=lambda reading: reading is not first) for each in choices]
    return dataset, [dict(zip(dataset.input_shapes, each, strict=True)) for each in product(*ordered)]


def _array(values: Any) -> np.ndarray[Any, Any]:
    """An array of any shape from an array, a list or a tensor on any device."""
    return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)
