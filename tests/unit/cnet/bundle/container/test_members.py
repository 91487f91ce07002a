"""Headers of .npy files."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnet.bundle.container.members import JOINED, SEPARATE, npy_bytes, npy_header


@pytest.mark.parametrize("member", [*SEPARATE, *JOINED])
@pytest.mark.parametrize("length", [0, 1, 10**18])
def test_numpy_reads_the_header(member: str, length: int) -> None:
    """It finds the type and the length that were written."""
    header = io.BytesIO(npy_header(member, "<u2", length))

    assert np.lib.format.read_magic(header) == (1, 0)
    assert np.lib.format.read_array_header_1_0(header) == ((length,), False, np.dtype("<u2"))
    assert header.read() == b""


@pytest.mark.parametrize("member", SEPARATE[:-1])
def test_headers_of_parts_are_those_that_numpy_writes(member: str) -> None:
    """Padded to a multiple of 64 bytes."""
    file = io.BytesIO()
    array = np.zeros(7, np.float32)
    np.lib.format.write_array(file, array, version=(1, 0))

    assert npy_header(member, "<f4", 7) == file.getvalue()[: -array.nbytes]
    assert npy_bytes(member, "<f4", 7) == len(file.getvalue())
