"""Kept values that are not quantized, in the smallest type that holds all of them exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.errors import BundleError

_TYPES = ("float8_e4m3fn", "float8_e5m2", "float16", "bfloat16", "float32", "float64")


def narrowed(values: npt.NDArray[np.floating]) -> tuple[str, npt.NDArray[np.generic]]:
    """The name of the first type that gives the values back bit for bit, and the values in it."""
    fitting = ((name, narrowed_to(values, name)) for name in candidates(values.dtype))
    return next((name, stored) for name, stored in fitting if stored is not None)


def candidates(dtype: np.dtype[np.generic]) -> list[str]:
    """The names of the types that values of ``dtype`` are tried in, in their order; the last holds all of them."""
    return ["float64"] if dtype == np.float64 else list(_TYPES[:-1])


def narrowed_to(values: npt.NDArray[np.floating], name: str) -> npt.NDArray[np.generic] | None:
    """The values in the type called ``name``, or None where that loses a bit."""
    if values.dtype == dtypes.by_name(name).numpy:
        return values
    stored = dtypes.narrow(values, name)
    wide = dtypes.widen(stored, name).astype(np.float32, copy=False)
    return stored if np.array_equal(wide.view(np.uint32), values.view(np.uint32)) else None


def stored_type(header: Mapping[str, Any]) -> np.dtype[np.generic]:
    """The NumPy type of the stored values. Raises BundleError where the header names none that is possible."""
    if header.get("values") not in _TYPES:
        raise BundleError("the bundle contradicts itself: its values are of no type that it could have")
    return dtypes.by_name(header["values"]).numpy


def widened(stored: npt.NDArray[np.generic], header: Mapping[str, Any]) -> npt.NDArray[np.floating]:
    """The values, float32 or float64. Raises BundleError where they are not of the type that the header names."""
    if stored.dtype != stored_type(header):
        raise BundleError("the bundle contradicts itself: its values are not of the type that it names")
    name = str(header["values"])
    return dtypes.widen(stored, name).astype(np.float64 if name == "float64" else np.float32, copy=False)
