"""The inputs of a job, read from what the API stored."""

from __future__ import annotations

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


def load_inputs(job: Job, spec: JobSpec, database: Database, blobs: BlobStore, folder: Path) -> Inputs:
    """Weights, data set and program of a job.

    Args:
        job: the row of the job.
        spec: its specification.
        database: of the service.
        blobs: content of checkpoints, data sets and programs.
        folder: where the run saves its training state.


    Raises:
        GoneError: the checkpoint, the data set or the program was deleted.
        CnetError: what is stored cannot be read.

    """
    weights: Weights | None = None
    if job.checkpoint_id is not None:
        weights = read_canonical(_blob(UploadedFiles.checkpoints(database).get(job.checkpoint_id), "checkpoint", blobs))
    program: StoredProgram | None = None
    if job.program_id is not None:
        program = read_canonical_program(_blob(UploadedFiles.programs(database).get(job.program_id), "program", blobs))
        weights = filled_weights(program, weights) if weights is not None else program.state_dict
    return Inputs(weights, _dataset(job, spec, database, blobs), folder, program=program)


def _dataset(job: Job, spec: JobSpec, database: Database, blobs: BlobStore) -> Dataset | None:
    if job.dataset_id is not None:
        return read_dataset(_blob(UploadedFiles.datasets(database).get(job.dataset_id), "data set", blobs))
    return None if spec.dataset is None else DATASETS.create(spec.dataset).load()


def _blob(stored: UploadedFile | None, kind: str, blobs: BlobStore) -> Path:
    gone = f"the job's {kind} was deleted. Upload it again and submit a new job."
    if stored is None:
        raise GoneError(gone)
    try:
        return blobs.path(stored.blob)
    except NotFoundError as error:
        raise GoneError(gone) from error
