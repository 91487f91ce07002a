"""A job without training: the weights of a small network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.core.blobs import open_blobs
from app.core.blobs.references import BlobCheck, store_with_row
from app.core.jobs import Job
from app.core.uploaded_files import NewUploadedFile, UploadedFile, UploadedFiles
from cnet.formats.canonical_file import write_canonical
from cnet.weights import Tensor, Weights
from tests.processes import Service


def submit_weights(service: Service, folder: Path) -> Job:
    """Store a checkpoint as the API does, and submit a job that compresses its weights."""
    values = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    weights = Weights.select([Tensor("layer.weight", "float32", values)])
    path = folder / "weights.safetensors"
    write_canonical(path, weights)

    def write(blob: str, check: BlobCheck) -> UploadedFile:
        new = NewUploadedFile("local", "net.pt", blob, path.stat().st_size, {}, blob)
        return UploadedFiles.checkpoints(service.database).create(new, check)

    stored = store_with_row(open_blobs(service.settings), path, write)
    spec = {"checkpoint": stored.id, "prune": {"name": "magnitude", "sparsity": [0.5]}}
    return service.submit(spec, checkpoint_id=stored.id)
