"""Stored tensors: arrays that were read already, and the limits on what a file may claim."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import CheckpointError
from cnet.formats import Limits, StoredArray
from cnet.formats.parsing.contents import check_limits, contiguous

FLOAT32 = np.dtype("<f4")


def test_an_array_becomes_a_stored_tensor() -> None:
    """In C order and little-endian, whatever it was."""
    values = np.arange(6, dtype=">f4").reshape(2, 3).T

    stored = StoredArray.of("w", values)
    tensor = stored.load("w")

    assert (stored.elements, stored.nbytes, stored.identity) == (6, 24, None)
    assert (tensor.dtype, tensor.data.dtype, tensor.data.flags.c_contiguous) == ("float32", FLOAT32, True)
    np.testing.assert_array_equal(tensor.data, values)


def test_an_array_of_another_type_is_refused_by_name() -> None:
    """The message lists the types that are supported."""
    with pytest.raises(CheckpointError, match=r"tensor 'w': .* complex256 .* Convert it to one of these .* float32"):
        StoredArray.of("w", np.zeros(2, np.clongdouble))


def test_a_contiguous_array_is_not_copied() -> None:
    """Others are; a 0-d array stays one."""
    array = np.zeros((2, 3), FLOAT32)

    assert contiguous(array, FLOAT32) is array
    assert contiguous(array.T, FLOAT32).flags.c_contiguous
    assert contiguous(np.array(1.0, ">f4"), FLOAT32).shape == ()


@pytest.mark.parametrize("limits", [Limits(elements=5), Limits(free_bytes=0, expansion=2)])
def test_tensors_beyond_the_limits_are_refused(limits: Limits) -> None:
    """By the number of elements, and by bytes in proportion to the file."""
    tensors = {"w": StoredArray("float32", (2, 3), lambda: pytest.fail("was read"))}

    check_limits(tensors, 10, Limits())
    with pytest.raises(CheckpointError) as caught:
        check_limits(tensors, 10, limits)

    assert caught.value.code == "too_many_elements"
