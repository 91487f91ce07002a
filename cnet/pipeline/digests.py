"""What makes two runs the same run: digests of weights, data set and spec."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from cnet import arrays
from cnet.data import Dataset
from cnet.search import resolved_document
from cnet.spec import JobSpec

STATE_VERSION = 2
"""Rises when the saved state of a run changes its meaning, so that no release goes on from another's."""

_NOT_IN_BUNDLES = ("name", "labels", "checkpoint", "dataset", "time_limit")


def spec_document(spec: JobSpec) -> dict[str, Any]:
    """The resolved spec less what does not change a bundle's weights: names, labels, ids, the time limit.

    What is searched for is left out: the defaults would read as what was asked for.
    """
    return {key: value for key, value in resolved_document(spec).items() if key not in _NOT_IN_BUNDLES}


def dataset_digest(dataset: Dataset) -> str:
    """SHA-256, hex, of the element types, shapes and values of the four arrays."""
    return arrays.digest((dataset.x_train, dataset.y_train, dataset.x_test, dataset.y_test))


def run_key(spec: JobSpec, weights: str | None, dataset: str | None) -> str:
    """SHA-256, hex, over everything that decides a run's results. ``weights`` and ``dataset`` are digests."""
    return hashlib.sha256(_json([STATE_VERSION, spec_document(spec), weights, dataset])).hexdigest()


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
