"""How a bundle stores ``cnet.reconstruction``; the format is specified in ``cnet.bundle.reader``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.coding import Streams, SymbolDecoder
from cnet.coding.primitives.byte_planes import pack_planes, unpack_planes
from cnet.documents import StrictDocument
from cnet.errors import BundleError
from cnet.reconstruction import Dither, Local, Scales, rows_of

Array = npt.NDArray[np.generic]


class DitherEntry(StrictDocument):
    """A dither, whole."""

    kind: Literal["dither"] = "dither"
    seed: Annotated[int, Field(ge=0, lt=2**64)]
    step: Annotated[float, Field(gt=0)]


class ScalesEntry(StrictDocument):
    """Factors of rows, which are the last ``length`` elements of the member ``centroids``."""

    kind: Literal["scales"] = "scales"
    length: Annotated[int, Field(ge=1, le=2**62)]


LocalEntry = Annotated[DitherEntry | ScalesEntry, Field(discriminator="kind")]


def stored(
    local: Local | None, streams: Streams, shapes: Sequence[tuple[int, ...]]
) -> tuple[Streams, LocalEntry | None]:
    """The streams with all factors in them, and what the manifest says. Raises BundleError where they do not fit."""
    if local is None:
        return streams, None
    if isinstance(local, Dither):
        return streams, DitherEntry(seed=local.seed, step=local.step)
    centroids, factors = streams["centroids"], local.factors
    if not np.array_equal(local.sizes, rows_of(shapes)):
        raise BundleError("the factors of the symbols are not those of the tensors' rows")
    tail: Array = np.frombuffer(pack_planes(factors), np.uint8) if centroids.dtype == np.uint8 else factors
    joined: Array = np.concatenate([centroids, tail])
    return {**streams, "centroids": joined}, ScalesEntry(length=len(tail))


def parted(streams: Streams, entry: LocalEntry | None) -> tuple[Streams, Array]:
    """The streams as the encoder made them, and the factors as they are stored. Raises BundleError."""
    if not isinstance(entry, ScalesEntry):
        return streams, np.empty(0, np.uint8)
    centroids = streams.get("centroids", np.empty(0, np.uint8))
    if len(centroids) < entry.length:
        raise BundleError("the bundle contradicts itself: it has fewer factors than its manifest says")
    cut = len(centroids) - entry.length
    return {**streams, "centroids": centroids[:cut]}, centroids[cut:]


def attached(
    decoded: SymbolDecoder, entry: LocalEntry | None, tail: Array, shapes: Sequence[tuple[int, ...]]
) -> SymbolDecoder:
    """The decoder of the same symbols with what their places do to them.

    Raises:
        BundleError: the factors are not those of the tensors, or some weight is no finite number.
    """
    if entry is None:
        return decoded
    centroids = decoded.centroids
    if centroids is None:
        raise BundleError("the bundle contradicts itself: values kept as they are have neither dither nor scale")
    local = Dither(entry.seed, entry.step) if isinstance(entry, DitherEntry) else _scales(centroids.dtype, tail, shapes)
    largest = float(np.max(np.abs(centroids), initial=0.0))
    if not local.bound(largest) <= float(np.finfo(centroids.dtype).max):
        raise BundleError("the bundle holds weights that are no numbers")
    return decoded.with_local(local)


def _scales(dtype: np.dtype[np.floating], tail: Array, shapes: Sequence[tuple[int, ...]]) -> Scales:
    sizes = rows_of(shapes)
    packed = tail.dtype == np.uint8
    factors = unpack_planes(memoryview(tail.tobytes()), len(sizes), dtype) if packed else tail
    if factors.dtype != dtype or len(factors) != len(sizes):
        raise BundleError("the bundle contradicts itself: its factors are not those of its tensors' rows")
    real = factors.view(np.float64) if dtype == np.float64 else factors.view(np.float32)
    if not np.all(np.isfinite(real) & (real > 0)):
        raise BundleError("the bundle holds factors that are not positive numbers")
    return Scales(real, sizes)
