"""Codebooks: centroids as bytes, one list or one for each tensor, and labels as signed integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cnet.coding.compact.codebooks import (
    Codebooks,
    find_labels,
    non_zeros_of_blocks,
    pack_centroids,
    signed_ranks,
    unpack_centroids,
)
from cnet.coding.segments import segments_of
from cnet.symbols import Symbols

SHAPES = [(20, 30), (10, 40), (0, 3)]
SEGMENTS = segments_of(SHAPES, 450)


def symbols(*, shared: bool) -> Symbols:
    """Two tensors with the same three centroids, or with three each."""
    centroids = np.float32([-3.5, -1, 2] if shared else [-3.5, -1, -0.25, 2, 4.5, 7])
    first = np.arange(600) % 3
    second = np.arange(400) % 3 + (0 if shared else 3)
    return Symbols(np.ones(1000, np.bool_), np.concatenate([first, second]).astype(np.uint8), centroids)


@pytest.mark.parametrize(("shared", "books"), [(True, 1), (False, 3)])
def test_tensors_have_codebooks_where_they_share_no_centroids(shared: bool, books: int) -> None:
    """A tensor without weights has an empty one."""
    made = symbols(shared=shared)
    codebooks = Codebooks.of(made, SEGMENTS, 3)
    found = Codebooks.unpack(memoryview(codebooks.pack()), 1000, 3)

    assert len(found.books) == books
    assert found.centroids().tobytes() == made.centroids.tobytes()


@pytest.mark.parametrize("shared", [True, False])
def test_labels_round_trip_as_signed_integers(shared: bool) -> None:
    """Segment by segment; the integers of one tensor are ranks in its own codebook."""
    made = symbols(shared=shared)
    codebooks = Codebooks.of(made, SEGMENTS, 3)
    tables = codebooks.signed_tables(multiples=False)
    parts = made.read(segment.place for segment in SEGMENTS)
    for segment, part in zip(SEGMENTS, parts, strict=True):
        signed = codebooks.to_signed(part, segment, tables)
        assert np.abs(signed).max() <= 3
        np.testing.assert_array_equal(codebooks.to_labels(segment, part.keep, signed, tables), part.labels)


def test_multiples_need_a_grid() -> None:
    """Ranks do not."""
    grid, other = Codebooks((np.float32([-1, 0.5, 1]),)), Codebooks((np.float32([-1, 0.37, 1]),))

    assert grid.signed_tables(multiples=True)[0].tolist() == [-2, 1, 2]
    with pytest.raises(ValueError, match="do not lie on a grid"):
        other.signed_tables(multiples=True)


def test_ranks_count_from_zero_outwards() -> None:
    """On either side."""
    assert signed_ranks(np.float32([-3, -1, 2, 5, 9])).tolist() == [-2, -1, 1, 2, 3]
    assert signed_ranks(np.float32([])).tolist() == []


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "values", [[], [0.3], [-0.1, 0.37, 9.0], np.arange(1, 400) * 0.25, np.linspace(1, 2, 999) ** 3]
)
def test_centroids_round_trip(dtype: type, values: npt.ArrayLike) -> None:
    """On a grid or not, of either type."""
    centroids = np.asarray(values, dtype)
    assert unpack_centroids(memoryview(pack_centroids(centroids)), 999).tobytes() == centroids.tobytes()


@pytest.mark.parametrize(
    "content",
    [b"", b"\5", b"\0\xff\xff\3", b"\1\0", b"\1\0\0\x80?\0\5", pack_centroids(np.float32([np.inf]))],
)
def test_other_bytes_are_refused(content: bytes) -> None:
    """Unknown forms, too many, cut off, not finite."""
    with pytest.raises(ValueError, match=r"centroids|integer|planes"):
        unpack_centroids(memoryview(content), 99)


@pytest.mark.parametrize(("signed", "table"), [([3], [-1, 1, 2]), ([0], [-1, 1]), ([1], [])])
def test_integers_without_a_centroid_are_refused(signed: list[int], table: list[int]) -> None:
    """They are beyond the table, in a gap of it, or there is no table."""
    with pytest.raises(ValueError, match="labels stream"):
        find_labels(np.int32(signed), np.int32(table))


def test_non_zeros_are_counted_by_block() -> None:
    """They follow each other."""
    segment = segments_of([(2, 3), (4,)])[0]
    keep = np.array([1, 0, 1, 0, 0, 0, 1, 1, 1, 0], np.bool_)

    assert non_zeros_of_blocks(segment, keep) == [slice(0, 2), slice(2, 5)]
