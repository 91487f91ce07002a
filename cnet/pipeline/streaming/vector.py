"""w_net in a mapped file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import release_pages, slices
from cnet.weights import Weights

Float32 = npt.NDArray[np.float32]

PART = 2**21
"""Weights that are read together where nothing asks for others."""

_HELD = 2**24  # weights that are read before the file's memory is given back


@dataclass(frozen=True, eq=False)
class StreamedVector:
    """w_net of weights none of which is float64, read a part at a time.

    Attributes:
        weights: the net; its arrays are views of a mapped file.
    """

    weights: Weights

    @cached_property
    def _slices(self) -> list[tuple[str, slice]]:
        return list(self.weights.slices())

    def __len__(self) -> int:
        return self._slices[-1][1].stop if self._slices else 0

    def cuts(self) -> Iterator[slice]:
        """All of w_net in parts of equal length."""
        return slices(len(self), PART)

    def parts(self, cuts: Iterable[slice]) -> Iterator[Float32]:
        """Slices that follow each other from the start of w_net; each a new array."""
        place, held = 0, 0
        for cut in cuts:
            found = np.empty(cut.stop - cut.start, np.float32)
            while place < len(self._slices) and self._slices[place][1].stop <= cut.start:
                place += 1
            for name, part in self._slices[place:]:
                if part.start >= cut.stop:
                    break
                self._copy(name, part, cut, found)
            held += len(found)
            if held >= _HELD:
                self._release()
                held = 0
            yield found
        self._release()

    def _copy(self, name: str, part: slice, cut: slice, found: Float32) -> None:
        first, last = max(part.start, cut.start), min(part.stop, cut.stop)
        tensor = self.weights[name]
        bits = tensor.data.reshape(-1)[first - part.start : last - part.start]
        found[first - cut.start : last - cut.start] = dtypes.widen(bits, tensor.dtype)

    def _release(self) -> None:
        for tensor in self.weights.tensors[:1]:  # all tensors lie in one file
            release_pages(tensor.data)
