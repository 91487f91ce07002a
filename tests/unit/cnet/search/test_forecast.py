"""Sizes and errors foretold from the weights, against those of real bundles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import write_bundle
from cnet.coding import ENCODERS
from cnet.prune import PRUNERS
from cnet.results.measurements import BaselineMeasurement
from cnet.results.metrics import compute
from cnet.results.points import BaselineResult
from cnet.search import CandidateGrid, Forecast
from cnet.spec import JobSpec
from cnet.weights import Tensor, Weights


def _weights() -> Weights:
    """Heavy-tailed, as trained ones are; a tenth is zero already."""
    rng = np.random.default_rng(0)
    array = rng.laplace(0.0, 0.05, (200, 300)).astype(np.float32)
    array[rng.random(array.shape) < 0.1] = 0
    return Weights.select([Tensor("weight", "float32", array), Tensor("bias", "float32", array[0].copy())])


def _grid(quantizer: str) -> CandidateGrid:
    spec = {"checkpoint": "c", "target": {"min_ratio": 2}, "quantize": {"name": quantizer}}
    return CandidateGrid.of(JobSpec.parse(spec))


@pytest.mark.parametrize(
    ("quantize", "tolerance"),
    [
        ({"name": "kmeans"}, 0.2),
        ({"name": "ecsq"}, 0.35),  # whose zeros depend on the coder
        ({"name": "uniform"}, 0.2),
        ({"name": "kmeans", "clusters": 16}, 0.2),
    ],
)
def test_forecast_is_near_the_measured_size_and_error(
    tmp_path: Path, quantize: dict[str, Any], tolerance: float
) -> None:
    """Sizes within a fifth (ecsq: a third) or a kilobyte, squared errors within a factor of two."""
    weights = _weights()
    spec = {"checkpoint": "ckpt_1", "target": {"min_ratio": 2}, "quantize": quantize}
    prune = {"name": "magnitude", "sparsity": [0.0, 0.5, 0.9, 0.98]}
    grid = CandidateGrid.of(JobSpec.parse({**spec, "prune": prune}))
    forecast = Forecast.of(grid, weights.vector(), compute(BaselineResult, BaselineMeasurement(weights, None)))
    vector = weights.vector()
    for row in range(0, len(grid.candidates), 7):
        candidate = grid.candidates[row]
        keep = PRUNERS.create("magnitude").keep(weights, candidate.sparsity)
        symbols = candidate.quantizer.symbols(vector, keep, candidate.clusters, [(200, 300)])
        total = write_bundle(tmp_path / "one.npz", weights, symbols, ENCODERS.create("compact"), None).total
        assert np.exp(forecast.sizes[row]) == pytest.approx(total, rel=tolerance, abs=1000)
        error = float(np.mean((symbols.vector().astype(np.float64) - vector) ** 2))
        assert abs(forecast.errors[row] - np.log(max(error, 1e-9))) < np.log(2) or error < 1e-6


def test_forecast_of_a_net_without_weights_is_its_other_tensors() -> None:
    """Nothing compressible: every candidate weighs the same and is exact."""
    grid = CandidateGrid.of(
        JobSpec.parse({"checkpoint": "c", "target": {"min_ratio": 2}, "quantize": {"name": "none"}})
    )
    weights = Weights.select([Tensor("bias", "float32", np.ones(100, np.float32))])
    forecast = Forecast.of(grid, weights.vector(), compute(BaselineResult, BaselineMeasurement(weights, None)))
    assert len(set(forecast.sizes.tolist())) == 1


def test_forecast_counts_the_factors_of_a_transform() -> None:
    """A tensor that became factors takes as much as the factors do: of a tenth of the numbers, about a tenth."""
    grid = CandidateGrid.of(
        JobSpec.parse({"checkpoint": "c", "target": {"min_ratio": 2}, "quantize": {"name": "none"}})
    )
    weights = _weights()
    baseline = compute(BaselineResult, BaselineMeasurement(weights, None))
    whole = Forecast.of(grid, weights.vector(), baseline)
    tenth = Forecast.of(grid, weights.vector()[::10], baseline)
    other = weights["bias"].data.nbytes + 540
    assert np.exp(tenth.sizes[0]) - other == pytest.approx((np.exp(whole.sizes[0]) - other) / 10, rel=0.02)


def test_a_stored_forecast_is_read_back() -> None:
    """A run that is resumed goes on from the same numbers."""
    grid = CandidateGrid.of(
        JobSpec.parse({"checkpoint": "c", "target": {"min_ratio": 2}, "quantize": {"name": "uniform"}})
    )
    weights = _weights()
    forecast = Forecast.of(grid, weights.vector(), compute(BaselineResult, BaselineMeasurement(weights, None)))
    again = Forecast.from_json(forecast.to_json())
    assert np.array_equal(again.sizes, forecast.sizes)
    assert np.array_equal(again.errors, forecast.errors)
