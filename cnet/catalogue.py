"""The catalogue: every kind of part that can be added, those that a job names and the formats of files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cnet.coding import ENCODERS
from cnet.data import DATASET_FORMATS, DATASETS
from cnet.formats import FORMATS
from cnet.methods import METHODS
from cnet.models import ARCHITECTURES
from cnet.parts.registry import Registry
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.training.tasks import TASKS
from cnet.transform import TRANSFORMS

REGISTRIES: Mapping[str, Registry[Any]] = {
    "transforms": TRANSFORMS,
    "methods": METHODS,
    "pruners": PRUNERS,
    "quantizers": QUANTIZERS,
    "encoders": ENCODERS,
    "architectures": ARCHITECTURES,
    "tasks": TASKS,
    "datasets": DATASETS,
    "formats": FORMATS,
    "dataset_formats": DATASET_FORMATS,
}
"""The registry of each kind of part, by the kind's name in the API's catalogue."""


def describe_parts() -> dict[str, list[dict[str, Any]]]:
    """The rows ``{name, summary, source, parameters: JSON Schema}`` of each kind, sorted by name.

    Raises:
        PluginError: a plug-in is broken.
    """
    return {kind: registry.describe() for kind, registry in REGISTRIES.items()}
