"""Low rank: the best approximation of its rank, only where it saves numbers, and jobs that train and store factors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from pydantic import ValidationError

from cnet.bundle import open_bundle
from cnet.errors import CheckpointError
from cnet.formats import read_checkpoint
from cnet.models import ARCHITECTURES
from cnet.pipeline import Inputs, Outcome, SilentRunObserver, run
from cnet.products import multiply_products
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.networks.loaded import LoadedNetwork, fresh_weights
from cnet.transform.low_rank import LowRank
from cnet.weights import Selection, Tensor, Weights
from tests.real_files import real_file
from tests.unit.cnet.pipeline.small_jobs import (
    Recorder,
    blobs,
    digests,
    train_and_compress,
    training_spec,
    weights_spec,
)


def low_rank(**given: Any) -> LowRank:
    """From the JSON form."""
    return LowRank.model_validate({"name": "low_rank", **given})


def decaying(seed: int = 0, dtype: str = "float32") -> Weights:
    """A convolution (24, 10, 3, 3) and a matrix (30, 40) whose singular values fall by half each, and a bias."""
    rng = np.random.default_rng(seed)

    def matrix(rows: int, columns: int) -> npt.NDArray[np.float64]:
        left, _ = np.linalg.qr(rng.normal(size=(rows, rows)))
        right, _ = np.linalg.qr(rng.normal(size=(columns, columns)))
        count = min(rows, columns)
        product: npt.NDArray[np.float64] = (left[:, :count] * 0.5 ** np.arange(count)) @ right[:count]
        return product

    arrays = {
        "c.weight": matrix(24, 90).reshape(24, 10, 3, 3),
        "f.weight": matrix(30, 40),
        "f.bias": rng.normal(size=30),
    }
    return Weights.select([Tensor(name, dtype, array.astype(dtype)) for name, array in arrays.items()])


def test_energy_is_kept_by_the_least_rank() -> None:
    """Singular values 1, 1/2, 1/4 ...: k of them hold 1 - 4^-k of the energy; the error is the rest."""
    weights = decaying()
    for energy, rank in ((0.7, 1), (0.9, 2), (0.99, 4), (0.999, 5)):
        after = low_rank(energy=energy).transformed(weights)
        assert [after[product.left].shape[1] for product in after.products] == [rank, rank]
        for name in ("c.weight", "f.weight"):
            original = weights[name].data.astype(np.float64)
            lost = np.sum((multiply_products(after)[name].values() - original) ** 2) / np.sum(original**2)
            assert lost == pytest.approx(4.0**-rank, rel=1e-3)


def test_no_matrix_of_that_rank_is_nearer() -> None:
    """Eckart and Young: random rotations of the factors' column space only add error."""
    weights = decaying(1)
    matrix = weights["f.weight"].data.astype(np.float64)
    after = multiply_products(low_rank(rank=0.1).transformed(weights))["f.weight"].data
    rng = np.random.default_rng(0)
    left, _, _ = np.linalg.svd(matrix)
    for _ in range(50):
        basis, _ = np.linalg.qr(left[:, :3] + 0.05 * rng.normal(size=(30, 3)))
        assert np.sum((basis @ basis.T @ matrix - matrix) ** 2) > np.sum((after - matrix) ** 2)


def test_rank_is_a_fraction_rounded_up() -> None:
    """Of 24 and of 30."""
    after = low_rank(rank=0.21).transformed(decaying())
    assert [after[product.left].shape for product in after.products] == [(24, 6), (30, 7)]
    assert [after[product.right].shape for product in after.products] == [(6, 10, 3, 3), (7, 40)]


def test_an_error_in_either_factor_costs_the_same() -> None:
    """Column j of the left and row j of the right have the same length."""
    after = low_rank(rank=0.2).transformed(decaying())
    for product in after.products:
        left, right = after[product.left].data, after[product.right].data
        np.testing.assert_allclose(
            np.linalg.norm(left, axis=0), np.linalg.norm(right.reshape(len(right), -1), axis=1), rtol=1e-5
        )


def test_tensors_that_would_not_shrink_stay_as_they_are() -> None:
    """At rank r of (m, n) from r (m + n) >= m n on; at full energy none is factored."""
    weights = decaying()
    assert [p.name for p in low_rank(rank=0.6).transformed(weights).products] == ["c.weight"]
    full = low_rank(energy=1.0).transformed(weights)
    assert full.products == ()
    assert full.vector().tobytes() == weights.vector().tobytes()


def test_ties_and_what_is_not_compressible_stay() -> None:
    """An excluded layer, a bias, tied layers."""
    tensors = decaying().tensors
    twin = Tensor("f.twin", "float32", tensors[1].data)
    tied = Weights.select([*tensors, twin], tied=[("f.weight", "f.twin")])
    after = low_rank().transformed(tied)
    assert [product.name for product in after.products] == ["c.weight"]
    assert after.tied == tied.tied
    assert after.compressible == (
        "c.parametrizations.weight.original0",
        "c.parametrizations.weight.original1",
        "f.weight",
    )


@pytest.mark.parametrize(("dtype", "factor"), [("float64", "float64"), ("float16", "float32")])
def test_factors_are_as_exact_as_the_tensor_or_more(dtype: str, factor: str) -> None:
    """The product has the tensor's own type again."""
    after = low_rank().transformed(decaying(dtype=dtype))
    assert {after[product.left].dtype for product in after.products} == {factor}
    assert [t.dtype for t in multiply_products(after)] == [dtype] * 3


def test_one_rule_is_given() -> None:
    """Energy 0.9 where there is none; never two."""
    assert (low_rank().energy, low_rank().rank) == (0.9, None)
    assert low_rank(**low_rank(rank=0.5).model_dump()) == low_rank(rank=0.5)
    for wrong in ({"energy": 0.5, "rank": 0.5}, {"energy": 0.0}, {"rank": 1.5}):
        with pytest.raises(ValidationError):
            low_rank(**wrong)


def test_weights_that_are_not_finite_are_refused() -> None:
    """Before any algorithm meets them."""
    broken = Weights.select([Tensor("w", "float32", np.array([[1, np.inf]] * 9, np.float32))])
    with pytest.raises(CheckpointError, match="tensor 'w': some weights"):
        low_rank().transformed(broken)


def _alone(folder: Path, weights: Weights, **members: Any) -> Outcome:
    spec = weights_spec(prune={"name": "magnitude", "sparsity": 0}, **members)
    return run(spec, Inputs(weights, None, folder), SilentRunObserver())


def test_job_on_weights_alone_stores_factors_and_measures_products(tmp_path: Path) -> None:
    """Names and shapes are the checkpoint's; the error is that of the product against it; layers add up."""
    weights = decaying(3)
    outcome = _alone(tmp_path, weights, transform={"name": "low_rank", "energy": 0.99}, quantize={"name": "none"})
    bundle, point = open_bundle(outcome.bundles[0]), outcome.points[0]
    decoded = bundle.weights()

    assert [(t.name, t.dtype, t.shape) for t in decoded] == [(t.name, t.dtype, t.shape) for t in weights]
    assert point.mse == pytest.approx(np.mean((decoded.vector().astype(np.float64) - weights.vector()) ** 2))
    assert [(layer.name, layer.shape) for layer in point.layers] == [
        ("c.weight", (24, 10, 3, 3)),
        ("f.weight", (30, 40)),
    ]
    assert [layer.parameters for layer in point.layers] == [4 * (24 + 90), 4 * (30 + 40)]
    sizes = [weights[layer.name].size for layer in point.layers]
    assert sum(e.mse * n for e, n in zip(point.layers, sizes, strict=True)) == pytest.approx(point.mse * sum(sizes))
    plain = _alone(tmp_path / "plain", weights, quantize={"name": "none"}).points[0]
    assert point.bytes.total < plain.bytes.total / 2


def test_net_of_factors_computes_what_the_net_of_products_does() -> None:
    """The module has the factors as parameters under their names, and gradients reach them through the product."""
    builder = ArchitectureBuilder(ARCHITECTURES.create("lenet300_100"), (1, 6, 6), 4)
    fresh = fresh_weights(builder, 0, Selection())
    after = low_rank(rank=0.3).transformed(fresh)
    network = LoadedNetwork(builder, after)
    module = network.module
    images = torch.rand(5, 1, 6, 6, generator=torch.Generator().manual_seed(0))
    plain = LoadedNetwork(builder, multiply_products(after)).module

    assert len(after.products) > 1
    torch.testing.assert_close(module(images), plain(images))
    module(images).sum().backward()
    parameters = dict(module.named_parameters())
    assert all(parameters[name].grad is not None for name in after.compressible)
    assert network.to_weights(after).vector().tobytes() == after.vector().tobytes()


LOW_RANK: dict[str, Any] = {"transform": {"name": "low_rank", "rank": 0.3}}


def test_training_moves_the_factors(tmp_path: Path) -> None:
    """Fine-tuning, recovery and centroids work on them; the net learns, zeros of factors hold, a rerun is the same."""
    outcome = train_and_compress(tmp_path / "a", **LOW_RANK)
    bundle = open_bundle(outcome.bundles[0])
    stored = bundle.stored()

    assert len(stored.products) > 1
    assert outcome.points[0].sparsity == np.mean(stored.vector() == 0) == pytest.approx(0.5, abs=1e-3)
    assert outcome.points[0].accuracy is not None
    assert outcome.points[0].accuracy > 60  # of four classes
    assert [t.name for t in bundle.weights()][:2] == ["fc1.weight", "fc1.bias"]
    assert digests(train_and_compress(tmp_path / "b", **LOW_RANK)) == digests(outcome)


@pytest.mark.parametrize("phase", ["prune", "quantize"])
def test_resumed_run_is_bit_equal(tmp_path: Path, phase: str) -> None:
    """What lies in the run's folder tells which tensors are factors of what."""
    whole = digests(train_and_compress(tmp_path / "whole", **LOW_RANK))
    spec, inputs = training_spec(**LOW_RANK), Inputs(None, blobs(), tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        run(spec, inputs, Recorder(crash=lambda events: events[-1] == ("phase", phase)))

    assert digests(run(spec, inputs, SilentRunObserver())) == whole


@pytest.mark.real
def test_real_resnet20(tmp_path: Path) -> None:
    """Half the energy in far fewer numbers; the loss of energy is what was asked for or less."""
    weights = read_checkpoint(real_file("checkpoints/resnet20-12fca82f.th")).weights
    outcome = _alone(tmp_path, weights, transform={"name": "low_rank", "energy": 0.5}, quantize={"name": "none"})
    decoded = open_bundle(outcome.bundles[0]).weights()
    for name in weights.compressible:
        given = weights[name].data.astype(np.float64)
        assert np.sum((decoded[name].data - given) ** 2) < 0.5 * np.sum(given**2)
    assert outcome.points[0].ratio > 2
