"""Compress a checkpoint file to a bundle file, without a server."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import nullcontext
from pathlib import Path

from cnet.data import DATASETS, Dataset
from cnet.data.dataset_reader import read_dataset_file
from cnet.errors import DatasetError
from cnet.files import atomic_path
from cnet.formats import Checkpoint, read_checkpoint, refuse_lone_shard
from cnet.models.programs import StoredProgram, filled_weights, read_program
from cnet.pipeline import Inputs, Outcome, RunObserver, SilentRunObserver, run
from cnet.spec import JobSpec


def compress_file(
    source: Path | Checkpoint | None,
    spec: JobSpec,
    out: Path,
    observer: RunObserver | None = None,
    *,
    folder: Path | None = None,
    streaming: bool | None = None,
) -> Outcome:
    """Compress a checkpoint file as ``spec`` says and write the selected bundle to ``out``.

    Args:
        source: the checkpoint, in any format that ``read_checkpoint`` reads, or what ``read_source`` read; None takes
            the weights of the program, or trains a baseline of a built-in architecture from scratch.
        spec: the job. Its ``dataset`` is a built-in name or the path of a file, its program the path of an archive; the
            name of a file as ``source`` takes the place of its ``checkpoint``.
        out: the bundle, replaced where it exists; written only if the run succeeds.
        observer: receives every event.
        folder: where the run keeps its state, so that the same call continues where it ended; None: a temporary
            folder, removed at the end.
        streaming: as in ``cnet.pipeline.Inputs``.

    Raises:
        CheckpointError, DatasetError, ProgramError: a file that cannot be read.
        ArchitectureMismatchError: the checkpoint does not fill the program.
        CnetError: as ``cnet.pipeline.run``.
    """
    observer = observer or SilentRunObserver()
    if not isinstance(source, Checkpoint):
        spec = spec.model_copy(update={"checkpoint": source.name if source else None})
        source = read_source(source, spec) if source else None
    weights = source.weights if source else None
    for warning in source.warnings if source else ():
        observer.log(f"warning: {warning}")
    dataset = load_dataset(spec.dataset, observer) if spec.dataset else None
    calibration = load_calibration(spec, dataset, observer)
    program = load_program(Path(spec.program.program), observer) if spec.program else None
    if program is not None:
        weights = filled_weights(program, weights) if weights else program.state_dict
    with nullcontext(folder) if folder else tempfile.TemporaryDirectory(prefix="cnet-") as place:
        inputs = Inputs(weights, dataset, Path(place), streaming, program=program, calibration=calibration)
        return _into(out, run(spec, inputs, observer))


def load_calibration(spec: JobSpec, dataset: Dataset | None, observer: RunObserver) -> Dataset | None:
    """The data set that ``calibrate.inputs`` names, or the job's own; None where the job does not calibrate."""
    if spec.calibrate is None:
        return None
    named = spec.calibrate.inputs
    return dataset if named in (None, spec.dataset) else load_dataset(named, observer, "calibration inputs")


def load_program(path: Path, observer: RunObserver) -> StoredProgram:
    """The program of a file; the observer is told all that the reader noticed."""
    archive = read_program(path)
    for warning in archive.warnings:
        observer.log(f"warning: {warning.detail}")
    return StoredProgram(archive.program, archive.weights)


def read_source(path: Path, spec: JobSpec, weights_key: str | None = None) -> Checkpoint:
    """The checkpoint that a file holds; only the tensors that ``spec`` makes compressible must be finite.

    Args:
        path: the file.
        spec: the job.
        weights_key: the entry that holds the weights; None: the one that ``read_checkpoint`` finds.

    Raises:
        CheckpointError: the file cannot be used.
        OSError: it cannot be opened.
    """
    refuse_lone_shard(path.name)
    selection = spec.compressible.selection() if spec.compressible else None
    return read_checkpoint(path, weights_key=weights_key, selection=selection)


def load_dataset(name: str, observer: RunObserver | None = None, what: str = "data set") -> Dataset:
    """The built-in data set called ``name``, or that of the file with this path.

    Args:
        name: of a built-in data set, or a path.
        observer: told all that the reader noticed.
        what: what the data set is for, as a message begins.

    Raises:
        DatasetError: there is neither, or the file cannot be used.
    """
    if name in DATASETS.names():
        return DATASETS.create(name).load()
    check_dataset_path(name, what)
    uploaded = read_dataset_file(Path(name))
    for warning in uploaded.warnings:
        (observer or SilentRunObserver()).log(f"warning: {warning.detail}")
    return uploaded.dataset


def check_dataset_path(name: str, what: str = "data set") -> None:
    """Raise DatasetError where there is no file at the path ``name``; the message begins with ``what`` it is for."""
    path, code, known = Path(name), "unknown_dataset", ", ".join(DATASETS.names())
    if path.is_file():
        return
    if path.is_dir():
        raise DatasetError(f"{what} {name!r}: it is a folder. Pack it in a zip or tar archive.", code=code)
    if path.suffix or path.parent.name:
        raise DatasetError(f"{what} {name!r}: there is no such file. Check the path.", code=code)
    raise DatasetError(
        f"{what} {name!r}: it is neither a file nor a built-in data set. Give the path of a file, or one of: {known}.",
        code=code,
    )


def _into(out: Path, outcome: Outcome) -> Outcome:
    """Copy the selected bundle to ``out``, whole or not at all."""
    try:
        with atomic_path(out) as draft:
            shutil.copyfile(outcome.bundles[outcome.selected], draft)
    except OSError as error:
        error.filename, error.filename2 = str(out), None  # a full disk is reported under the name of the source
        raise
    return outcome
