"""Tensors that are equal, or transposes of each other, are equal in the output too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.equal_tensors import EqualTensor, copy_symbols, find_equal_tensors
from cnet.pipeline import Inputs, SilentRunObserver, run
from cnet.pipeline.inputs import StreamingSizes
from cnet.reconstruction import AxisScales, axis_factors, sides_of
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights
from tests.unit.cnet.pipeline.small_jobs import weights_spec


def network(dtype: str = "float16", seed: int = 0) -> Weights:
    """An embedding, its copy, its transpose, and other weights between them; half precision has many equal values."""
    rng = np.random.default_rng(seed)

    def matrix(*shape: int) -> np.ndarray:
        return (rng.normal(size=shape) * 0.02).astype(dtype)

    embedding = matrix(48, 20)
    tensors = {
        "first": matrix(20, 48),
        "embedding": embedding,
        "middle": matrix(30, 30),
        "head": embedding.copy(),
        "transposed": np.ascontiguousarray(embedding.T),
        "kernel": matrix(4, 4, 3, 3),
    }
    return Weights.select([Tensor(name, dtype, values) for name, values in tensors.items()])


def test_copies_and_transposes_are_found() -> None:
    """Each with its source; tensors of the same shape are told apart."""
    assert find_equal_tensors(network()) == (
        EqualTensor(slice(2820, 3780), slice(960, 1920), (48, 20), transposed=False),
        EqualTensor(slice(3780, 4740), slice(960, 1920), (20, 48), transposed=True),
    )


def test_a_copy_knows_the_positions_of_its_source() -> None:
    """For the transpose, row and column change places."""
    _, transposed = find_equal_tensors(network())
    positions = np.arange(960)

    assert transposed.positions_in_source(positions).tolist() == positions.reshape(48, 20).T.reshape(-1).tolist()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    ("quantizer", "streaming"),
    [
        ({"name": "kmeans", "clusters": 8}, False),
        ({"name": "kmeans", "clusters": 8}, True),
        ({"name": "none"}, False),
        ({"name": "none"}, True),
        ({"name": "uniform", "bits": 4}, False),
        ({"name": "ecsq", "step": 0.004}, False),
        ({"name": "auto"}, False),
        ({"name": "auto"}, True),
        ({"name": "auto", "quality": "smallest"}, False),
    ],
)
def test_equal_tensors_stay_equal(tmp_path: Path, quantizer: dict[str, object], seed: int, streaming: bool) -> None:
    """Ties at the threshold are broken by position, and ecsq weighs the cost of a label in its place."""
    weights = network(seed=seed)
    spec = weights_spec(
        prune={"name": "magnitude", "sparsity": [0.5, 0.9]}, quantize=quantizer, encode={"name": "compact"}
    )
    inputs = Inputs(weights, None, tmp_path / "run", streaming, StreamingSizes(chunk=700))

    outcome = run(spec, inputs, SilentRunObserver())

    for point, bundle in zip(outcome.points, outcome.bundles, strict=True):
        decoded = open_bundle(bundle).weights()
        np.testing.assert_array_equal(decoded["head"].data, decoded["embedding"].data)
        np.testing.assert_array_equal(decoded["transposed"].data, decoded["embedding"].data.T)
        assert point.sparsity == pytest.approx(
            point.sparsity_requested, abs=0.02 if quantizer["name"] not in ("ecsq", "auto") else 1
        )


def test_streaming_gives_the_same_bits(tmp_path: Path) -> None:
    """The mask of a copy follows its source there too."""
    spec = weights_spec(prune={"name": "magnitude", "sparsity": [0.5, 0.8]}, encode={"name": "compact"})
    for seed in range(3):
        weights = network(seed=seed)
        memory, stream = (
            run(
                spec,
                Inputs(weights, None, tmp_path / f"{seed}{streaming}", streaming, StreamingSizes(chunk=300)),
                SilentRunObserver(),
            )
            for streaming in (False, True)
        )
        assert [point.sha256 for point in memory.points] == [point.sha256 for point in stream.points]


def test_copies_have_the_factors_of_their_source() -> None:
    """Those of rows and columns change places in the transpose; other tensors keep their own."""
    weights = network("float32")
    copies, shapes = find_equal_tensors(weights), [weights[name].shape for name in weights.compressible]
    count = weights.compressible_parameters
    factors = np.random.default_rng(0).uniform(1, 2, axis_factors(shapes)).astype(np.float32)
    labels = (np.arange(count) % 5).astype(np.uint8)
    scales = AxisScales(factors, sides_of(shapes))
    symbols = Symbols(np.ones(count, np.bool_), labels, np.arange(1, 6, dtype=np.float32), scales)

    before, after = symbols.vector(), copy_symbols(symbols, copies).vector()

    for copy in copies:
        np.testing.assert_array_equal(after[copy.part], copy.copied(after))
    np.testing.assert_array_equal(after[:2820], before[:2820])
    np.testing.assert_array_equal(after[4740:], before[4740:])
