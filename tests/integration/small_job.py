"""A job without training: the weights of a small network."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.core.blobs import LocalBlobs
from app.core.jobs import Job
from app.core.uploaded_files import NewUploadedFile, UploadedFiles
from cnet.formats.canonical_file import write_canonical
from cnet.weights import Tensor, Weights
from tests.processes import Service


def submit_weights(service: Service, folder: Path) -> Job:
    """Store a checkpoint as the API does, and submit a job that compresses its weights."""
    values = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    weights = Weights.select([Tensor("layer.weight", "float32", values)])
    path = folder / "weights.safetensors"
    write_canonical(path, weights)
    blob = LocalBlobs(service.settings.blobs_dir).put_file(path)
    new = NewUploadedFile("local", "net.pt", blob, path.stat().st_size, {}, blob)
    stored = UploadedFiles.checkpoints(service.database).create(new)
    spec = {"checkpoint": stored.id, "prune": {"name": "magnitude", "sparsity": [0.5]}}
    return service.submit(spec, checkpoint_id=stored.id)
