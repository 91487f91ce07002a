"""The inputs of a job, read from what the API stored."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from app.core.blobs import BlobStore
from app.core.db.engine import Database
from app.core.errors import GoneError, NotFoundError
from app.core.jobs import Job
from app.core.uploaded_files import UploadedFile, UploadedFiles
from cnet.data import DATASETS, Dataset
from cnet.data.canonical_dataset import read_dataset
from cnet.formats.canonical_file import read_canonical
from cnet.models.programs import StoredProgram, filled_weights, read_canonical_program
from cnet.pipeline import Inputs
from cnet.spec import JobSpec
from cnet.weights import Weights


class BorrowedFiles:
    """The files of uploads on this machine, borrowed from the blob store until the stack is closed."""

    def __init__(self, blobs: BlobStore, stack: ExitStack) -> None:
        self._blobs = blobs
        self._stack = stack

    def of(self, stored: UploadedFile | None, kind: str) -> Path:
        """The file of an upload, in its canonical form.

        Args:
            stored: the row of the upload.
            kind: name of its kind in error messages, such as ``checkpoint``.

        Raises:
            GoneError: the upload was deleted.
            DamagedBlobError: the bytes of the file have changed.
        """
        gone = f"the job's {kind} was deleted. Upload it again and submit a new job."
        if stored is None:
            raise GoneError(gone)
        try:
            return self._stack.enter_context(self._blobs.lend(stored.blob))
        except NotFoundError as error:
            raise GoneError(gone) from error


def load_inputs(job: Job, spec: JobSpec, database: Database, files: BorrowedFiles, folder: Path) -> Inputs:
    """Weights, data set and program of a job. Their arrays are mapped from the borrowed files.

    Args:
        job: the row of the job.
        spec: its specification.
        database: of the service.
        files: lends the files of checkpoint, data set and program.
        folder: where the run saves its training state.

    Raises:
        GoneError: the checkpoint, the data set or the program was deleted.
        DamagedBlobError: the bytes of one of them have changed.
        CnetError: what is stored cannot be read.

    """
    weights: Weights | None = None
    if job.checkpoint_id is not None:
        stored = UploadedFiles.checkpoints(database).get(job.checkpoint_id)
        weights = read_canonical(files.of(stored, "checkpoint"))
    program: StoredProgram | None = None
    if job.program_id is not None:
        program = read_canonical_program(files.of(UploadedFiles.programs(database).get(job.program_id), "program"))
        weights = filled_weights(program, weights) if weights is not None else program.state_dict
    dataset = _dataset(job.dataset_id, spec.dataset, database, files)
    calibration: Dataset | None = None
    if spec.calibrate is not None:
        named = spec.calibrate.inputs
        own = named in (None, spec.dataset)
        calibration = dataset if own else _dataset(job.calibration_id, named, database, files)
    return Inputs(weights, dataset, folder, program=program, calibration=calibration)


def _dataset(stored_id: str | None, name: str | None, database: Database, files: BorrowedFiles) -> Dataset | None:
    """An uploaded data set, or the built-in one of this name; None where neither is named."""
    if stored_id is not None:
        return read_dataset(files.of(UploadedFiles.datasets(database).get(stored_id), "data set"))
    return None if name is None else DATASETS.create(name).load()
