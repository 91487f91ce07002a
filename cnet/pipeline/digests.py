"""Digests that tell whether two runs are the same run: of weights, data set and specification."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cnet import arrays
from cnet.data import DATASETS, Dataset
from cnet.models.programs import StoredProgram
from cnet.search import resolved_document
from cnet.spec import JobSpec

STATE_VERSION = 3
"""Version of the saved state of a run. It rises with each change, so that no release resumes the state of another."""

_NOT_IN_BUNDLES = ("name", "labels", "checkpoint", "time_limit", "resources", "webhook")
_AFTER_TRAINING = ("quantize", "encode", "target")
"""Fields of a spec that matter only after the fine-tuning."""

_AFTER_RATE = ("prune", "recover")
"""Fields that matter only after it where its learning rate is known: a rate is chosen for all epochs of a job."""


def spec_document(spec: JobSpec) -> dict[str, Any]:
    """The resolved spec as the manifest of a bundle has it.

    Without what does not change the weights of a bundle (name, labels, time limit, resources, webhook, ids of the
    checkpoint and of an uploaded data set), and without the fields that are searched for: their defaults would read as
    what the user asked for. The name of a built-in data set stays.
    """
    document = {key: value for key, value in resolved_document(spec).items() if key not in _NOT_IN_BUNDLES}
    if spec.dataset not in DATASETS.names():
        document.pop("dataset", None)
    if spec.calibrate is not None and spec.calibrate.inputs not in DATASETS.names():
        document["calibrate"] = {name: value for name, value in document["calibrate"].items() if name != "inputs"}
    return document


def with_program_digest(spec: JobSpec, program: StoredProgram | None) -> JobSpec:
    """The spec with the digest of its program in place of the program's id, which says nothing about the program."""
    if spec.program is None or program is None:
        return spec
    architecture = spec.program.model_copy(update={"program": f"sha256:{program.digest()}"})
    return spec.model_copy(update={"architecture": architecture})


def dataset_digest(dataset: Dataset) -> str:
    """SHA-256, hex, of the element types, shapes and values of all arrays, and of the names of several inputs."""
    values = [values for split in dataset.splits.values() for values in split.arrays()]
    names = tuple(dataset.train.inputs)
    if len(names) == 1 and dataset.validation is None:
        return arrays.digest(values)
    splits = [[name, *map(len, split.arrays())] for name, split in dataset.splits.items()]
    return hashlib.sha256(_json([names, splits, arrays.digest(values)])).hexdigest()


def run_key(spec: JobSpec, weights: str | None, dataset: str | None, calibration: str | None = None) -> str:
    """SHA-256, hex, of everything that decides the results of a run.

    ``weights``, ``dataset`` and ``calibration`` are digests, hex.
    """
    inputs = [weights, dataset] if calibration is None else [weights, dataset, calibration]
    return hashlib.sha256(_json([STATE_VERSION, spec_document(spec), *inputs])).hexdigest()


def trainings_key(spec: JobSpec, weights: str | None, dataset: str | None, *, rate_is_open: bool) -> str:
    """SHA-256, hex, of everything that decides the weights before pruning.

    Args:
        spec: the job, as for ``run_key``.
        weights: digest of the checkpoint, hex.
        dataset: digest of the data set, hex.
        rate_is_open: whether the run finds the learning rate of the fine-tuning itself.
    """
    later = _AFTER_TRAINING if rate_is_open else (*_AFTER_TRAINING, *_AFTER_RATE)
    document = {name: value for name, value in spec_document(spec).items() if name not in later}
    return hashlib.sha256(_json([STATE_VERSION, document, weights, dataset])).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
