"""Values that are not quantized, stored in the smallest element type that holds all of them exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import BundleError

_TYPES = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")


def narrow_exactly(values: npt.NDArray[np.floating]) -> tuple[str, npt.NDArray[np.generic]]:
    """The name of the first type that holds all values bit for bit, and the values in it, shape (n,).

    Args:
        values: shape (n,), float32 or float64.
    """
    fitting = ((name, store_as(values, name)) for name in candidate_types(values.dtype))
    return next((name, stored) for name, stored in fitting if stored is not None)


def candidate_types(dtype: np.dtype[np.generic]) -> list[str]:
    """Names of the types in which values of ``dtype`` are tried, in this order; the last holds all of them."""
    return ["float64"] if dtype == np.float64 else list(_TYPES[:-1])


def store_as(values: npt.NDArray[np.floating], name: str) -> npt.NDArray[np.generic] | None:
    """The values in the type called ``name``, or None where that changes a bit.

    Args:
        values: shape (n,), float32 or float64.
        name: of an element type of ``cnet.dtypes``.
    """
    if values.dtype == dtypes.by_name(name).numpy:
        return values
    stored = dtypes.narrow(values, name)
    wide = dtypes.widen(stored, name).astype(np.float32, copy=False)
    return stored if np.array_equal(wide.view(np.uint32), values.view(np.uint32)) else None


def stored_type(header: Mapping[str, Any]) -> np.dtype[np.generic]:
    """The NumPy type of the stored values. Raises BundleError where the header names no possible type."""
    name = header.get("values")
    if name not in _TYPES:
        raise BundleError(f"bundle header: {name!r} is not a type of values. Write the bundle again.")
    return dtypes.by_name(header["values"]).numpy


def restore_values(stored: npt.NDArray[np.generic], header: Mapping[str, Any]) -> npt.NDArray[np.floating]:
    """The values, shape (n,), float32 or float64.

    Args:
        stored: shape (n,), of the type that the header names.
        header: the encoder's; ``values`` is the name of the type.

    Raises:
        BundleError: the stored values are of another type.
    """
    name = str(header["values"])
    if stored.dtype != stored_type(header):
        raise BundleError(
            f"bundle values: they are {stored.dtype}, but the header says {name}. Write the bundle again."
        )
    return dtypes.widen(stored, name).astype(np.float64 if name == "float64" else np.float32, copy=False)
