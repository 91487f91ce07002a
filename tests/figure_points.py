"""Points for the tests of figures and pages."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point

BASELINE = BaselineResult(98.0, 0.1, 24_000, 30_000, 20_000, 6000, 4000)


def point(index: int, size: int, accuracy: float | None, **more: Any) -> Point:
    """A point whose bundle has ``size`` bytes."""
    parts = PartBytes(size // 2, size // 4, 8, size - size // 2 - size // 4 - 8, 0, size)
    layers = (LayerResult("a.weight", (60, 60), 3600, 400, 0.88, 1e-5, 16, 3.5, 21.0),)
    made = Point(
        index=index,
        sparsity_requested=0.9,
        sparsity=0.9,
        clusters_requested=16,
        clusters=16,
        accuracy=accuracy,
        accuracy_before_quantize=None,
        loss=None,
        ratio=30_000 / size,
        ratio_weights=3.0,
        ratio_raw=1.0,
        bits_per_parameter=8.0,
        label_entropy=3.5,
        bytes=parts,
        mse=1e-5,
        sha256="0" * 64,
        layers=layers,
    )
    return replace(made, **more)
