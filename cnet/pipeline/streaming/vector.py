"""w_net, the vector of all compressible weights, read from a mapped file chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import release_pages, slices
from cnet.pipeline.inputs import StreamingSizes
from cnet.weights import Weights

Float32 = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class StreamedVector:
    """w_net of weights none of which is float64.

    Attributes:
        weights: the network; its arrays are views of one mapped file.
        chunk: how many weights are read at once where a caller asks for no other slices.
        resident: how many weights are read before the memory of the file is released.
    """

    weights: Weights
    chunk: int = StreamingSizes.chunk
    resident: int = StreamingSizes.resident

    @cached_property
    def _tensors(self) -> list[tuple[str, slice]]:
        """Each compressible tensor, and where it lies in w_net."""
        return list(self.weights.slices())

    def __len__(self) -> int:
        return self._tensors[-1][1].stop if self._tensors else 0

    def chunk_slices(self) -> Iterator[slice]:
        """Slices that cover w_net, ``chunk`` weights each; the last may be shorter."""
        return slices(len(self), self.chunk)

    def read(self, parts: Iterable[slice]) -> Iterator[Float32]:
        """The weights of slices that follow each other from the start of w_net; each a new array, float32."""
        first_tensor, unreleased = 0, 0
        for part in parts:
            chunk = np.empty(part.stop - part.start, np.float32)
            while first_tensor < len(self._tensors) and self._tensors[first_tensor][1].stop <= part.start:
                first_tensor += 1
            for name, place in self._tensors[first_tensor:]:
                if place.start >= part.stop:
                    break
                self._copy(name, place, part, chunk)
            unreleased += len(chunk)
            if unreleased >= self.resident:
                self._release()
                unreleased = 0
            yield chunk
        self._release()

    def _copy(self, name: str, place: slice, part: slice, chunk: Float32) -> None:
        """Copy what the tensor at ``place`` has of ``part`` into ``chunk``."""
        first, last = max(place.start, part.start), min(place.stop, part.stop)
        tensor = self.weights[name]
        stored = tensor.data.reshape(-1)[first - place.start : last - place.start]
        chunk[first - part.start : last - part.start] = dtypes.widen(stored, tensor.dtype)

    def _release(self) -> None:
        for tensor in self.weights.tensors[:1]:  # all tensors lie in one file
            release_pages(tensor.data)
