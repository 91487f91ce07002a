"""Labels in the order of w_net: the same from any source of weights, of which little is read at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding.segments import SEGMENT_WEIGHTS
from cnet.quantize import QUANTIZERS
from cnet.quantize.grid_labels import LabelsInOrder, WeightsInMemory, symbols_of

SHAPES = [(8, 3, 3, 3), (0, 5), (3, SEGMENT_WEIGHTS // 2), (7, 40)]
SIZE = 8 * 27 + 3 * (SEGMENT_WEIGHTS // 2) + 280


class Recorder:
    """Weights that are almost all zero, and notes how many are asked for at once."""

    dtype: np.dtype[np.floating] = np.dtype(np.float32)

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.covered = 0

    def read(self, parts: Iterable[slice]) -> Iterator[tuple[npt.NDArray[np.bool_], npt.NDArray[np.floating]]]:
        """One weight of each part is kept."""
        self.covered = 0
        for part in parts:
            assert part.start == self.covered
            self.covered = part.stop
            self.sizes.append(part.stop - part.start)
            keep = np.zeros(part.stop - part.start, np.bool_)
            keep[0] = True
            yield keep, np.zeros(1, np.float32)


def test_no_more_than_a_segment_is_read_at_once() -> None:
    """However large a tensor is."""
    weights, quantizer = Recorder(), QUANTIZERS.create("auto")
    assert isinstance(quantizer, LabelsInOrder)
    grids = quantizer.grids(weights, SHAPES)

    assert grids is not None
    assert len(grids.units) == 3
    assert sum(len(part) for part in grids.multiples) == SIZE
    assert weights.covered == SIZE
    assert max(weights.sizes) <= SEGMENT_WEIGHTS


def test_kept_weights_in_memory_are_read_in_their_order() -> None:
    """Masks and values of each slice."""
    vector = np.arange(6, dtype=np.float32)
    weights = WeightsInMemory(vector, vector % 2 > 0)

    parts = list(weights.read([slice(0, 4), slice(4, 6)]))
    assert [keep.tolist() for keep, _ in parts] == [[False, True, False, True], [False, True]]
    assert [values.tolist() for _, values in parts] == [[1.0, 3.0], [5.0]]


def test_a_codebook_is_asked_for_where_labels_have_no_order() -> None:
    """Lossless values have no grid."""
    weights = WeightsInMemory(np.ones(3, np.float32), np.ones(3, np.bool_))
    quantizer = QUANTIZERS.create("auto", quality="lossless")
    assert isinstance(quantizer, LabelsInOrder)

    with pytest.raises(ValueError, match="Ask it for its codebook"):
        symbols_of(quantizer, weights, [(3,)])
