"""Sizes, errors and entropies that a compressed network is judged by."""

from __future__ import annotations

import io
import math
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cnet import arrays, dtypes
from cnet.weights import Weights

_RESERVED = {"file", "allow_pickle"}  # names of savez_compressed's own parameters, which no array can have

_NpzMember = tuple[str, np.dtype[Any], tuple[int, ...], Iterable[npt.NDArray[np.generic]]]
# Name, element type and shape of an array, and its elements in flat chunks.


def npz_bytes(weights: Weights) -> int:
    """Size of the file that ``numpy.savez_compressed`` writes of all tensors, tied tensors once.

    Each tensor is one member under its name; bfloat16 and float8 are unsigned integers of the same width.
    """
    names = {tensor.name for tensor in weights}
    own = (tensor for tensor in weights if tensor.name not in weights.copies)
    return _npz_size(
        (_allowed(tensor.name, names), tensor.data.dtype, tensor.shape, arrays.chunks(tensor.data)) for tensor in own
    )


def npz_vector_bytes(weights: Weights) -> int:
    """Size of the file that ``numpy.savez_compressed`` writes of w_net as one float32 vector."""
    member = ("arr_0", np.dtype(np.float32), (weights.compressible_parameters,), _float32_chunks(weights))
    return _npz_size([member])


def _float32_chunks(weights: Weights) -> Iterator[npt.NDArray[np.generic]]:
    for name in weights.compressible:
        tensor = weights[name]
        for chunk in arrays.chunks(tensor.data):
            with np.errstate(over="ignore"):  # float64 values beyond the range of float32 become infinite
                narrow = dtypes.widen(chunk, tensor.dtype).astype(np.float32, copy=False)
            yield narrow


def _npz_size(members: Iterable[_NpzMember]) -> int:
    """Size of the file that ``numpy.savez_compressed`` writes of arrays, which need not be in memory at once."""
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


def squared_error(original: npt.NDArray[np.floating], decoded: npt.NDArray[np.floating]) -> float:
    """Sum of (decoded - original)² in float64.

    Args:
        original: shape (n,), floating point.
        decoded: shape (n,), floating point.
    """
    total = 0.0
    for part in arrays.slices(len(original)):
        total += float(np.sum((decoded[part].astype(np.float64) - original[part].astype(np.float64)) ** 2))
    return total


def energy(vector: npt.NDArray[np.floating]) -> float:
    """Sum of the squares of values, floating point, shape (n,), in float64."""
    return sum(float(np.sum(np.square(part, dtype=np.float64))) for part in arrays.chunks(vector))


def entropy(populations: npt.NDArray[np.integer]) -> float:
    """Entropy in bits, the sum of -p log2 p; 0 where nothing is counted.

    Args:
        populations: how often each symbol occurs, shape (symbols,), integers.
    """
    shares = populations[populations > 0] / max(1, int(np.sum(populations)))
    return float(-np.sum(shares * np.log2(shares))) + 0.0


def _allowed(name: str, taken: set[str]) -> str:
    """The name, or where NumPy reserves it another one of the same length: the file has the same size."""
    if name not in _RESERVED:
        return name
    return next(other for letter in "_abcdefg" if (other := letter * len(name)) not in taken)


class _Counter(io.RawIOBase):
    """A file that keeps only its size."""

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


@dataclass(frozen=True, eq=False)
class WeightCounts:
    """What was counted over the weights of a decoded network, or of one of its tensors.

    Attributes:
        weights: number of weights; of tensors that are stored as two factors, those of the factors.
        nonzero: how many of them are not zero.
        compared: number of weights that were compared with the original; of products, their own.
        squared_error: sum of (decoded - original)² over these.
        populations: shape (clusters,), int64: how many weights have each label; None where there are no labels.
        energy: sum of the squares of the original weights.
    """

    weights: int
    nonzero: int
    compared: int
    squared_error: float
    populations: npt.NDArray[np.int64] | None
    energy: float = 0.0

    @property
    def snr_db(self) -> float | None:
        """Signal-to-noise ratio, 10 log10 of energy over squared error; None where either is 0 or beyond float64."""
        if not 0 < self.squared_error < math.inf or not 0 < self.energy < math.inf:
            return None
        return 10 * (math.log10(self.energy) - math.log10(self.squared_error))

    @property
    def sparsity(self) -> float:
        """Fraction of weights that are zero; 0 where there are no weights."""
        return (self.weights - self.nonzero) / self.weights if self.weights else 0.0

    @property
    def mse(self) -> float:
        """Mean of (decoded - original)², zeros included; 0 where there are no weights."""
        return self.squared_error / self.compared if self.compared else 0.0

    @property
    def label_entropy(self) -> float | None:
        """Entropy of the labels in bits per label; None where there are no labels."""
        return None if self.populations is None else entropy(self.populations)

    @property
    def entropy_per_weight(self) -> float | None:
        """Entropy of mask and labels in bits per weight; None where there are no labels or no weights."""
        if self.populations is None or not self.weights:
            return None
        kept = int(np.sum(self.populations))
        mask = entropy(np.array([kept, self.weights - kept], np.int64))
        return mask + entropy(self.populations) * kept / self.weights

    @property
    def clusters_in_use(self) -> int | None:
        """Number of labels that some weight has; None where there are no labels."""
        return None if self.populations is None else int(np.count_nonzero(self.populations))
