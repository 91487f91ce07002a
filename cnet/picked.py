"""The kept ones of an array, faster than by the mask itself."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

_CHUNK = 2**16

ValueT = TypeVar("ValueT", bound=np.generic)


def picked(values: npt.NDArray[ValueT], keep: npt.NDArray[np.bool_]) -> npt.NDArray[ValueT]:
    """``values[keep]``, both of shape (n,): taken by their places, in chunks that fit a processor's cache."""
    found = np.empty(np.count_nonzero(keep), values.dtype)
    place = 0
    for start in range(0, len(values), _CHUNK):
        at = np.flatnonzero(keep[start : start + _CHUNK])
        found[place : place + len(at)] = values[start : start + _CHUNK].take(at)
        place += len(at)
    return found
