"""Points and baselines to test with, made of the few numbers that a test is about."""

from __future__ import annotations

from cnet.results.points import BaselineResult, LayerResult, PartBytes, Point


def a_baseline(accuracy: float | None = 90.0) -> BaselineResult:
    """A net of 1,000 parameters whose npz takes 4,000 bytes."""
    return BaselineResult(
        accuracy=accuracy,
        loss=None if accuracy is None else 0.25,
        raw_bytes=4096,
        npz_bytes=4000,
        compressible_npz_bytes=3600,
        parameters=1000,
        compressible_parameters=900,
    )


def a_point(index: int, size: int, accuracy: float | None = None, mse: float = 0.0, sparsity: float = 0.9) -> Point:
    """A point whose file has ``size`` bytes."""
    return Point(
        index=index,
        sparsity_requested=sparsity,
        sparsity=sparsity,
        clusters_requested=16,
        clusters=16,
        accuracy=accuracy,
        accuracy_before_quantize=accuracy,
        loss=None if accuracy is None else 0.5,
        ratio=4000 / size,
        ratio_weights=3600 / size,
        ratio_raw=4096 / size,
        bits_per_parameter=8 * size / 1000,
        label_entropy=3.5,
        bytes=PartBytes(mask=10, labels=20, centroids=30, other_tensors=40, container=size - 100, total=size),
        mse=mse,
        sha256="ab" * 32,
        layers=(LayerResult("conv.weight", (30, 30), 900, 90, 0.9, mse, 16, 3.5),),
    )
