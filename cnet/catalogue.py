"""The catalogue: every kind of part that a job can name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cnet.coding import ENCODERS
from cnet.data import DATASETS
from cnet.methods import METHODS
from cnet.models import ARCHITECTURES
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.registry import Registry
from cnet.transform import TRANSFORMS

REGISTRIES: Mapping[str, Registry[Any]] = {
    "transforms": TRANSFORMS,
    "methods": METHODS,
    "pruners": PRUNERS,
    "quantizers": QUANTIZERS,
    "encoders": ENCODERS,
    "architectures": ARCHITECTURES,
    "datasets": DATASETS,
}
"""The registry of each kind of part, by the kind's name in the API's catalogue."""


def describe_parts() -> dict[str, list[dict[str, Any]]]:
    """The rows ``{name, summary, source, parameters: JSON Schema}`` of each kind, sorted by name.

    Raises:
        PluginError: a plug-in is broken.
    """
    return {kind: registry.describe() for kind, registry in REGISTRIES.items()}
