"""The points to cluster: sorted distinct values with their counts, or groups of nearly equal values.

Grouping bounds time and memory. A group is an interval of values that share sign, exponent and the first 11 bits of
the mantissa, at most 1/2,048 of the value wide, which is far less than one of some hundred clusters.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.errors import SpecError
from cnet.quantize.kmeans1d.partitions import Floats
from cnet.quantize.quantizer import ValueChunks

_PENDING_GROUPS = 2**16  # groups of single chunks that are collected before they are merged
_DROPPED_BITS = 12
_HALF = 1 << (31 - _DROPPED_BITS)  # number of groups of one sign


@dataclass(frozen=True)
class GroupingLimits:
    """When values are grouped, and how much is done at a time.

    Attributes:
        exact_values: up to so many values are never grouped.
        points_per_cluster: groups are used only where there are more of them than so many for each cluster.
        distinct_values: so many distinct values can be counted one by one where the values are not in memory.
        sorted_values: number of values that are sorted at a time.
    """

    exact_values: int = 2**16
    points_per_cluster: int = 32
    distinct_values: int = 2**22
    sorted_values: int = 2**18


@dataclass(frozen=True, eq=False)
class WeightedPoints:
    """Values and how often each occurs.

    Attributes:
        values: ascending, distinct, float32 or float64, shape (points,).
        counts: float64, shape (points,).
    """

    values: npt.NDArray[np.floating]
    counts: Floats


def weighted_points(chunks: ValueChunks, clusters: int, limits: GroupingLimits) -> WeightedPoints:
    """The distinct values; groups of them where there are many float32 values and few clusters.

    Args:
        chunks: gives all values, chunk by chunk, from the start each time it is called; one chunk only if the values
            are in memory.
        clusters: how many clusters are to be found.
        limits: when to group.

    Raises:
        SpecError: ``cannot_stream``, where values that are not in memory have too many distinct ones for so many
            clusters.
    """
    count = sum(len(chunk) for chunk in chunks())
    given = list(itertools.islice(chunks(), 2)) if count > limits.exact_values else list(chunks())
    if count > limits.exact_values and given[0].dtype == np.float32:
        with np.errstate(invalid="ignore"):  # the caller refuses NaN
            points = group_values((chunk.view(np.float32) for chunk in chunks()), limits.sorted_values)
        if len(points.values) > limits.points_per_cluster * clusters:
            return points
        if len(given) > 1:
            found = count_distinct_chunks(chunks(), limits.distinct_values)
            if found is None:
                detail = (
                    f"kmeans: {clusters} clusters of {count} values, of which more than {limits.distinct_values} are "
                    "distinct, need all values in memory. Do not stream, or ask for fewer clusters."
                )
                raise SpecError(detail, code="cannot_stream")
            return found
    return count_distinct(given[0] if len(given) == 1 else np.concatenate([np.empty(0, np.float32), *given]))


def count_distinct(values: npt.NDArray[np.floating]) -> WeightedPoints:
    """The distinct values of an array of shape (n,), float32 or float64, and how often each occurs."""
    ordered = np.sort(values)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    starts = np.flatnonzero(is_new)
    return WeightedPoints(ordered[starts], np.diff(starts, append=len(ordered)).astype(np.float64))


def count_distinct_chunks(chunks: Iterable[npt.NDArray[np.floating]], limit: int) -> WeightedPoints | None:
    """The distinct values of float32 chunks, shape (n,) each; None where there are more than ``limit``."""
    values, counts = np.empty(0, np.float32), np.empty(0)
    for chunk in chunks:
        own, own_counts = np.unique(chunk, return_counts=True)
        union, position = np.unique(np.concatenate([values, own]), return_inverse=True)
        counts = np.bincount(position, np.concatenate([counts, own_counts]), len(union)).astype(np.float64)
        values = union
        if len(values) > limit:
            return None
    return WeightedPoints(values, counts)


def group_values(chunks: Iterable[npt.NDArray[np.float32]], sorted_values: int) -> WeightedPoints:
    """The mean of each group of nearly equal values, and how many values it has.

    Memory grows with the number of groups, not with the number of values. The result does not depend on how the values
    are divided into chunks.

    Args:
        chunks: all values, float32, shape (n,) each.
        sorted_values: number of values that are sorted at a time.
    """
    groups, pending = _Groups.none(), list[_Groups]()
    for chunk in rechunk(chunks, sorted_values):
        pending.append(_Groups.of(chunk))
        if sum(len(each.keys) for each in pending) > _PENDING_GROUPS:
            groups, pending = _Groups.merge([groups, *pending]), []
    groups = _Groups.merge([groups, *pending])
    return WeightedPoints(groups.sums / groups.counts, groups.counts)


@dataclass(frozen=True, eq=False)
class _Groups:
    """Groups of values.

    Attributes:
        keys: one integer for each group, ascending as the values are.
        counts: number of values of each group.
        sums: sum of the values of each group.
    """

    keys: npt.NDArray[np.int32]
    counts: Floats
    sums: Floats

    @classmethod
    def none(cls) -> _Groups:
        """No groups."""
        return cls(np.empty(0, np.int32), np.empty(0), np.empty(0))

    @classmethod
    def of(cls, values: npt.NDArray[np.float32]) -> _Groups:
        """The groups of some values, shape (n,), n at least 1."""
        ordered = np.sort(values)
        bits = ordered.view(np.int32) >> np.int32(_DROPPED_BITS)
        starts = np.flatnonzero(np.concatenate(([True], bits[1:] != bits[:-1])))
        found = bits[starts]
        keys = np.where(found < 0, -_HALF - 1 - found, found).astype(np.int32)  # bits of negative values descend
        counts = np.diff(starts, append=len(ordered)).astype(np.float64)
        return cls(keys, counts, np.add.reduceat(ordered, starts, dtype=np.float64))

    @classmethod
    def merge(cls, parts: Sequence[_Groups]) -> _Groups:
        """The groups of the values of all parts."""
        full = [part for part in parts if len(part.keys)]
        if len(full) == 1:
            return full[0]
        keys = np.concatenate([part.keys for part in parts])
        distinct, position = np.unique(keys, return_inverse=True)
        counts = np.bincount(position, np.concatenate([part.counts for part in parts]), len(distinct))
        sums = np.bincount(position, np.concatenate([part.sums for part in parts]), len(distinct))
        return cls(distinct, counts.astype(np.float64), sums.astype(np.float64))


def rechunk(chunks: Iterable[npt.NDArray[np.float32]], size: int) -> Iterator[npt.NDArray[np.float32]]:
    """The values of ``chunks``, each of shape (k,), in chunks of shape (size,), the last one shorter.

    Sums over the result do not depend on how the values were divided before.
    """
    rest: list[npt.NDArray[np.float32]] = []
    for chunk in chunks:
        start = min(len(chunk), size - sum(map(len, rest))) if rest else 0
        if rest:
            rest.append(chunk[:start])
            if sum(map(len, rest)) < size:
                continue
            yield np.concatenate(rest)
        stop = start + (len(chunk) - start) // size * size
        for first in range(start, stop, size):
            yield chunk[first : first + size]
        rest = [chunk[stop:]] if stop < len(chunk) else []
    if rest:
        yield np.concatenate(rest)
