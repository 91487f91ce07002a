"""What makes two runs the same run: digests of weights, data set and spec."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet.arrays import chunks
from cnet.data import Dataset
from cnet.search import open_document
from cnet.spec import JobSpec
from cnet.weights import Weights

STATE_VERSION = 2
"""Rises when the saved state of a run changes its meaning, so that no release goes on from another's."""

_PART = 2**20

_NOT_IN_BUNDLES = ("name", "labels", "checkpoint", "dataset", "time_limit")


def spec_document(spec: JobSpec) -> dict[str, Any]:
    """The resolved spec less what does not change a bundle's weights: names, labels, ids, the time limit.

    What is searched for is left out: the defaults would read as what was asked for.
    """
    return {key: value for key, value in open_document(spec).items() if key not in _NOT_IN_BUNDLES}


def weights_digest(weights: Weights) -> str:
    """SHA-256, hex, over names, types, shapes, bits, ties and the choice of compressible tensors."""
    digest = hashlib.sha256()
    digest.update(_json([[t.name, t.dtype, list(t.shape)] for t in weights]))
    digest.update(_json([weights.compressible, weights.tied]))
    for tensor in weights:
        for part in chunks(tensor.data, _PART):
            digest.update(_buffer(part))
    return digest.hexdigest()


def dataset_digest(dataset: Dataset) -> str:
    """SHA-256, hex, over types, shapes and values of the four arrays."""
    digest = hashlib.sha256()
    for array in (dataset.x_train, dataset.y_train, dataset.x_test, dataset.y_test):
        digest.update(_json([array.dtype.str, array.shape]))
        digest.update(_buffer(array))
    return digest.hexdigest()


def run_key(spec: JobSpec, weights: str | None, dataset: str | None) -> str:
    """SHA-256, hex, over everything that decides a run's results. ``weights`` and ``dataset`` are digests."""
    return hashlib.sha256(_json([STATE_VERSION, spec_document(spec), weights, dataset])).hexdigest()


def _buffer(array: npt.NDArray[Any]) -> memoryview:
    """The array's bytes, without a copy where it lies in C order."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
