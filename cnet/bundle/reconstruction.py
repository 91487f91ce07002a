"""How a bundle stores dither and scales, by which a weight differs from its centroid (``cnet.reconstruction``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.bundle.container.errors import inconsistent
from cnet.coding import Streams, SymbolDecoder
from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes
from cnet.documents import StrictDocument
from cnet.errors import BundleError
from cnet.reconstruction import (
    AxisScales,
    Dither,
    Reconstruction,
    Scales,
    axis_factors,
    row_sizes,
    sides_of,
    tensor_sizes,
)

Array = npt.NDArray[np.generic]


class DitherEntry(StrictDocument):
    """A dither, which follows from its seed and step."""

    kind: Literal["dither"] = "dither"
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    step: Annotated[float, Field(gt=0)]


class ScalesEntry(StrictDocument):
    """Factors of rows, of tensors, or of tensors with their axes: the last ``length`` elements of ``centroids``."""

    kind: Literal["scales", "tensor_scales", "axis_scales"] = "scales"
    length: Annotated[int, Field(ge=1, le=2**62)]


ReconstructionEntry = Annotated[DitherEntry | ScalesEntry, Field(discriminator="kind")]


def append_factors(
    reconstruction: Reconstruction | None, streams: Streams, shapes: Sequence[tuple[int, ...]]
) -> tuple[Streams, ReconstructionEntry | None]:
    """The streams with the factors of rows, columns or tensors at the end of ``centroids``, and the manifest's entry.

    Args:
        reconstruction: of the symbols.
        streams: of the encoder.
        shapes: of the compressible tensors, in order of w_net.

    Raises:
        BundleError: the factors are not those of tensors of these shapes.
    """
    if reconstruction is None:
        return streams, None
    if isinstance(reconstruction, Dither):
        return streams, DitherEntry(seed=reconstruction.seed, step=reconstruction.step)
    centroids, factors = streams["centroids"], reconstruction.factors
    kind = _kind_of(reconstruction, shapes)
    tail: Array = np.frombuffer(pack_planes(factors), np.uint8) if centroids.dtype == np.uint8 else factors
    joined: Array = np.concatenate([centroids, tail])
    return {**streams, "centroids": joined}, ScalesEntry(kind=kind, length=len(tail))


def _kind_of(
    scales: Scales | AxisScales, shapes: Sequence[tuple[int, ...]]
) -> Literal["scales", "tensor_scales", "axis_scales"]:
    """Whose factors they are. Raises BundleError where they are not of tensors of these shapes."""
    count = len(scales.factors)
    if isinstance(scales, AxisScales):
        if count == axis_factors(shapes) and np.array_equal(scales.sides, sides_of(shapes)):
            return "axis_scales"
    elif np.array_equal(scales.sizes, row_sizes(shapes)):
        return "scales"
    elif np.array_equal(scales.sizes, tensor_sizes(shapes)):
        return "tensor_scales"
    raise BundleError(
        f"bundle: {count} factors fit neither the rows of the tensors nor the tensors nor their axes. Quantize these "
        "weights again."
    )


def split_factors(streams: Streams, entry: ReconstructionEntry | None) -> tuple[Streams, Array]:
    """The streams as the encoder wrote them, and the factors as they are stored. Raises BundleError."""
    if not isinstance(entry, ScalesEntry):
        return streams, np.empty(0, np.uint8)
    centroids = streams.get("centroids", np.empty(0, np.uint8))
    if len(centroids) < entry.length:
        raise inconsistent(f"{entry.length} bytes of factors do not fit into {len(centroids)} bytes of centroids")
    end = len(centroids) - entry.length
    return {**streams, "centroids": centroids[:end]}, centroids[end:]


def apply_entry(
    decoded: SymbolDecoder, entry: ReconstructionEntry | None, tail: Array, shapes: Sequence[tuple[int, ...]]
) -> SymbolDecoder:
    """The decoder with what positions do to centroids.

    Args:
        decoded: the decoder of the symbols.
        entry: from the manifest.
        tail: factors as they are stored; uint8 where they are packed, else of the centroids' type.
        shapes: of the compressible tensors, in order of w_net.

    Raises:
        BundleError: the factors do not belong to the tensors, or some weight would not be finite.
    """
    if entry is None:
        return decoded
    centroids = decoded.centroids
    if centroids is None:
        raise inconsistent("it has a dither or factors, and no centroids that they could change")
    if isinstance(entry, DitherEntry):
        reconstruction: Reconstruction = Dither(entry.seed, entry.step)
    else:
        reconstruction = _scales(entry, centroids.dtype, tail, shapes)
    largest = float(np.max(np.abs(centroids), initial=0.0))
    if not reconstruction.bound(largest) <= float(np.finfo(centroids.dtype).max):
        raise inconsistent("some of its weights are not finite")
    return decoded.with_reconstruction(reconstruction)


def _scales(
    entry: ScalesEntry, dtype: np.dtype[np.floating], tail: Array, shapes: Sequence[tuple[int, ...]]
) -> Scales | AxisScales:
    by_axis = entry.kind == "axis_scales"
    sizes = row_sizes(shapes) if entry.kind == "scales" else tensor_sizes(shapes)
    count = axis_factors(shapes) if by_axis else len(sizes)
    packed = tail.dtype == np.uint8
    factors = unpack_planes(memoryview(tail.tobytes()), count, dtype) if packed else tail
    if factors.dtype != dtype or len(factors) != count:
        raise inconsistent(
            f"{len(factors)} factors of type {factors.dtype} do not fit {count} rows, columns or tensors"
        )
    real = factors.view(np.float64) if dtype == np.float64 else factors.view(np.float32)
    if not np.all(np.isfinite(real) & (real > 0)):
        raise inconsistent("some of its factors are not positive finite numbers")
    return AxisScales(real, sides_of(shapes)) if by_axis else Scales(real, sizes)
