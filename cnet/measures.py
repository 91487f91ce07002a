"""The numbers that a compressed net is judged by, exactly as the contract defines them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import arrays
from cnet.symbols import Symbols
from cnet.weights import Weights

_RESERVED = {"file", "allow_pickle"}  # parameters of savez_compressed, which takes the members' names beside them

Member = tuple[str, np.dtype[Any], tuple[int, ...], Iterable[npt.NDArray[np.generic]]]
"""Name, element type and shape of an array, and its elements in parts."""


def npz_bytes(weights: Weights) -> int:
    """Size of ``numpy.savez_compressed`` of all tensors, one member each under its name; tied tensors once.

    bfloat16 and float8 are stored as unsigned integers of the same width.
    """
    names = {tensor.name for tensor in weights}
    own = (tensor for tensor in weights if tensor.name not in weights.copies)
    return _npz_size(
        (_allowed(tensor.name, names), tensor.data.dtype, tensor.shape, arrays.chunks(tensor.data)) for tensor in own
    )


def npz_vector_bytes(parts: Iterable[npt.NDArray[np.generic]], length: int) -> int:
    """Size of ``numpy.savez_compressed`` of w_net as one float32 vector: the numerator of ``ratio_weights``.

    Args:
        parts: w_net in parts of any length, in order.
        length: of all of it.
    """
    narrow = (part.astype(np.float32, copy=False) for part in parts)
    return _npz_size([("arr_0", np.dtype(np.float32), (length,), narrow)])


def _npz_size(members: Iterable[Member]) -> int:
    """Size of the file that ``numpy.savez_compressed`` writes of arrays, which need not be in memory."""
    counter = _Counter()
    with zipfile.ZipFile(counter, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, dtype, shape, parts in members:
            description = np.lib.format.dtype_to_descr(dtype)
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                header = {"descr": description, "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                for part in parts:
                    file.write(part.tobytes())
    return counter.size


def mse(original: npt.NDArray[np.floating], decoded: npt.NDArray[np.floating]) -> float:
    """Mean of (decoded - original)^2 over w_net, zeros included, in float64; 0 for an empty net."""
    total = 0.0
    for part in arrays.slices(len(original)):
        total += float(np.sum((decoded[part].astype(np.float64) - original[part].astype(np.float64)) ** 2))
    return total / len(original) if len(original) else 0.0


def label_entropy(symbols: Symbols) -> float | None:
    """Bits a label: the sum of -p log2 p over cluster populations; None where there are no labels."""
    if symbols.labels is None:
        return None
    return entropy(np.bincount(symbols.labels))


def entropy(populations: npt.NDArray[np.integer]) -> float:
    """The sum of -p log2 p over populations, in bits; 0 where all are empty."""
    shares = populations[populations > 0] / max(1, int(np.sum(populations)))
    return float(-np.sum(shares * np.log2(shares))) + 0.0


def _allowed(name: str, taken: set[str]) -> str:
    """The name, or one of the same length, and so of the same size in the file, where NumPy reserves it."""
    if name not in _RESERVED:
        return name
    return next(other for letter in "_abcdefg" if (other := letter * len(name)) not in taken)


class _Counter(io.RawIOBase):
    """A file that keeps nothing but how long it is."""

    def __init__(self) -> None:
        self.size = 0
        self._place = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._place = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        return self._place

    def write(self, data: object) -> int:
        length = memoryview(data).nbytes  # type: ignore[arg-type]
        self._place += length
        self.size = max(self.size, self._place)
        return length
