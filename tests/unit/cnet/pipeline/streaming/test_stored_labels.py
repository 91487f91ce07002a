"""Labels in a file: written once, read in any slices, and the symbols of a network in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from cnet.equal_tensors import copy_mask, copy_symbols, find_equal_tensors
from cnet.pipeline.streaming import StreamedPruning, StreamedVector
from cnet.pipeline.streaming.stored_labels import MultiplesFile, StoredSymbols
from cnet.prune import PRUNERS
from cnet.quantize import QUANTIZERS
from cnet.quantize.grid_labels import LabelsInOrder
from cnet.reconstruction import AxisScales, Scales
from cnet.symbols import load_symbols
from cnet.weights import Weights
from tests.unit.cnet.test_equal_tensors import network


def with_units() -> Weights:
    """The network with equal tensors, whose last one has rows of different units."""
    weights = network()
    units = np.array([100, 0.01, 1, 1], np.float16)
    return weights.with_arrays({"kernel": weights["kernel"].data * units[:, None, None, None]})


def stored(folder: Path, sparsity: float, told: list[float], weights: Weights | None = None) -> StoredSymbols:
    """The symbols of a network with equal tensors, 500 weights at a time."""
    pruned = StreamedPruning.of(StreamedVector(weights or network(), 500), PRUNERS.create("magnitude"), sparsity)
    quantizer = QUANTIZERS.create("auto", quality="small")
    assert isinstance(quantizer, LabelsInOrder)
    weights = pruned.weights
    grids = quantizer.grids(pruned, [weights[name].shape for name in weights.compressible])
    assert grids is not None
    return StoredSymbols.of(pruned, grids, folder / "labels", told.append)


@pytest.mark.parametrize("sparsity", [0.0, 0.5])
@pytest.mark.parametrize(("make", "kind"), [(network, Scales), (with_units, AxisScales)])
def test_symbols_are_those_in_memory(
    tmp_path: Path, make: Callable[[], Weights], kind: type[Scales | AxisScales], sparsity: float
) -> None:
    """Bit for bit; copies and their factors too, and progress is told."""
    told: list[float] = []
    found = stored(tmp_path, sparsity, told, make())
    weights = found.pruned.weights
    vector = weights.vector().astype(np.float32)
    keep = copy_mask(PRUNERS.create("magnitude").keep(weights, sparsity), find_equal_tensors(weights))
    shapes = [weights[name].shape for name in weights.compressible]
    expected = QUANTIZERS.create("auto", quality="small").symbols(vector, keep, None, shapes)
    expected = copy_symbols(expected, find_equal_tensors(weights))
    one = load_symbols(found)

    np.testing.assert_array_equal(one.keep, expected.keep)
    np.testing.assert_array_equal(one.labels, expected.labels)
    np.testing.assert_array_equal(found.centroids, expected.centroids)
    assert isinstance(found.reconstruction, kind)
    assert isinstance(expected.reconstruction, kind)
    np.testing.assert_array_equal(found.reconstruction.factors, expected.reconstruction.factors)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_slices_are_parts_of_the_whole(tmp_path: Path) -> None:
    """In any sizes, as often as asked."""
    found = stored(tmp_path, 0.0, [])
    whole = load_symbols(found)
    for size in (97, 2000):
        parts = list(found.read(slice(s, min(s + size, found.weights)) for s in range(0, found.weights, size)))
        np.testing.assert_array_equal(np.concatenate([part.keep for part in parts]), whole.keep)
        labels = [part.labels for part in parts if part.labels is not None]
        np.testing.assert_array_equal(np.concatenate(labels), whole.labels)


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    """Of the whole range of int16."""
    chunks = [np.array([-32768, 0, 5], np.int16), np.array([32767], np.int16)]
    file = MultiplesFile.written(tmp_path / "file", iter(chunks), lambda _: None)

    assert file.read(slice(0, 4)).tolist() == [-32768, 0, 5, 32767]
    assert file.read(slice(2, 3)).tolist() == [5]
