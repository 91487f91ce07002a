"""Tensors to write to a file, which need not be in memory all at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import raw_bytes
from cnet.weights import Tensor, Weights

Array = npt.NDArray[np.generic]


@dataclass(frozen=True)
class TensorDescription:
    """A tensor without its values: its name, the name of its element type, its shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return dtypes.by_name(self.dtype).numpy.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return math.prod(self.shape) * self.itemsize


@dataclass(frozen=True, eq=False)
class TensorsToWrite:
    """All tensors of a network, whose values are requested when they are written.

    Attributes:
        descriptions: every tensor, in the order of the network; names are unique.
        chunks: returns the values of the tensor of a name: arrays of shape (n,) in its storage type, in C order.
        tied: groups of names that share their values.
        metadata: text by key that a format writes where it can.
    """

    descriptions: Sequence[TensorDescription]
    chunks: Callable[[str], Iterable[Array]]
    tied: Sequence[Sequence[str]] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, weights: Weights) -> TensorsToWrite:
        """The tensors of ``weights``."""
        descriptions = [TensorDescription(tensor.name, tensor.dtype, tensor.shape) for tensor in weights]
        return cls(descriptions, lambda name: [weights[name].data.reshape(-1)], weights.tied, weights.metadata)

    def weights(self) -> Weights:
        """The tensors with their values, all in memory. None of them counts as compressible."""
        tensors = (Tensor(row.name, row.dtype, self._array(row)) for row in self.descriptions)
        return Weights(tuple(tensors), (), tuple(tuple(group) for group in self.tied))

    def _array(self, row: TensorDescription) -> Array:
        empty: Array = np.empty(0, dtypes.by_name(row.dtype).numpy)
        chunks = list(self.chunks(row.name))
        return (chunks[0] if len(chunks) == 1 else np.concatenate([empty, *chunks])).reshape(row.shape)


def write_chunks(file: IO[bytes], chunks: Iterable[Array]) -> None:
    """Write the values of one tensor, given in chunks of any shape and element type."""
    for chunk in chunks:
        if chunk.size:
            file.write(raw_bytes(chunk))
