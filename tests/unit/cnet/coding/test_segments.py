"""How a network is divided: every weight in one block, blocks of whole rows, segments of about one size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.coding.segments import RowBlock, segments_of
from tests.unit.cnet.coding.symbols import Shapes, tensor_shapes


@given(tensor_shapes(), st.sampled_from([1, 50, 2**21]))
def test_segments_cover_every_weight_once(shapes: Shapes, weights: int) -> None:
    """In the order of w_net, in blocks of whole rows."""
    found = segments_of(shapes, weights)
    ends = [segment.place.stop for segment in found]

    assert [segment.place.start for segment in found] == [0, *ends][: len(found)]
    assert sum(segment.size for segment in found) == sum(map(math.prod, shapes))
    for segment in found:
        assert segment.size == sum(block.size for block in segment.blocks)
        assert segment.size <= max(weights, *(block.size // block.sides[0] for block in segment.blocks))


@pytest.mark.parametrize(
    ("shape", "sides", "neighbourhood"),
    [
        ((5, 4, 3, 3), (5, 4, 9), (3, 3)),
        ((5, 4), (5, 4, 1), (16,)),
        ((7,), (1, 7, 1), (16,)),
        ((), (1, 1, 1), (16,)),
        ((2, 3, 40, 40), (2, 4800, 1), (16,)),
        ((2, 3, 5), (2, 3, 5), (5,)),
    ],
)
def test_tensors_are_rows_columns_and_kernels(
    shape: tuple[int, ...], sides: tuple[int, int, int], neighbourhood: tuple[int, ...]
) -> None:
    """A vector is one row; a very large kernel is columns."""
    (segment,) = segments_of([shape])

    assert segment.blocks[0].sides == sides
    assert segment.blocks[0].neighbourhood == neighbourhood


def test_near_positions_of_a_kernel_have_more_influence() -> None:
    """On later ones only."""
    influence = RowBlock(0, (1, 1, 9), (3, 3)).influence

    assert influence[4].tolist() == [6, 10, 6, 10, 0, 0, 0, 0, 0]
    assert influence[8, 0] == 4


def test_arrays_are_split_by_block() -> None:
    """Views, one a block."""
    (segment,) = segments_of([(2, 3), (4,)])
    flat = np.arange(10)

    assert [part.tolist() for part in segment.split(flat)] == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    assert segment.place_of(1) == slice(6, 10)


def test_small_slices_have_no_offsets() -> None:
    """A level for each of few weights would cost more than it saves."""
    block = RowBlock(0, (5, 3, 1), (1,))

    assert [block.has_offsets(axis) for axis in range(3)] == [False, True, False]
