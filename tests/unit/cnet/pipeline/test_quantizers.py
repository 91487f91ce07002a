"""Jobs with each quantizer whose weights are more than a list of shared values: the numbers stay true."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.coding import ENCODERS
from cnet.reconstruction import Dither
from cnet.results.measures import entropy
from cnet.training.networks.architectures import ArchitectureBuilder
from cnet.training.trainer import Trainer
from tests.unit.cnet.pipeline.small_jobs import (
    blobs,
    compress,
    digests,
    random_weights,
    train_and_compress,
    training_spec,
)

QUANTIZERS: dict[str, dict[str, Any]] = {
    "universal": {"name": "universal", "step": 0.5},
    "lattice": {"name": "universal", "step": 0.5, "dither": False},
    "binary": {"name": "binary"},
    "binary of channels": {"name": "binary", "scope": "channel"},
    "channels": {"name": "uniform", "bits": [3], "scope": "channel"},
}


@pytest.mark.parametrize("encoder", ENCODERS.names())
@pytest.mark.parametrize("name", QUANTIZERS)
def test_metrics_of_points_match_their_files(tmp_path: Path, name: str, encoder: str) -> None:
    """Error, sparsity, clusters and entropy are counted again on the bundle's bytes."""
    outcome = compress(tmp_path, quantize=QUANTIZERS[name], encode={"name": encoder})
    original = random_weights().vector()

    assert len(outcome.points) == 2
    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        bundle = open_bundle(path)
        decoded, symbols = bundle.weights().vector(), bundle.symbols()
        assert point.mse == pytest.approx(np.mean((decoded.astype(np.float64) - original) ** 2), rel=1e-6)
        assert point.sparsity == np.mean(decoded == 0)
        assert symbols.labels is not None
        assert point.label_entropy == entropy(np.bincount(symbols.labels))
        assert point.clusters == len(np.unique(symbols.labels)) == symbols.clusters
        assert sum(layer.kept for layer in point.layers) == np.count_nonzero(decoded)


@pytest.mark.parametrize("name", ["universal", "channels"])
def test_accuracy_is_that_of_the_net_in_the_file(tmp_path: Path, name: str) -> None:
    """After pruning, recovery and training of the shared values, where there are any."""
    recover = {"epochs": 1, "centroid_epochs": 1 if name == "universal" else 0}
    outcome = train_and_compress(tmp_path, quantize=QUANTIZERS[name], recover=recover)
    spec = training_spec().resolved()
    assert spec.architecture is not None
    assert spec.training is not None
    network = ArchitectureBuilder.for_dataset(spec.architecture, blobs())
    trainer = Trainer(network, blobs(), spec.training)

    for point, path in zip(outcome.points, outcome.bundles, strict=True):
        assert trainer.evaluate(open_bundle(path).weights()).accuracy == point.accuracy
        assert isinstance(open_bundle(path).symbols().reconstruction, Dither) == (name == "universal")


def test_sensitivity_makes_the_harm_to_the_loss_smaller(tmp_path: Path) -> None:
    """The pipeline measures the curvature at the pruned net: the labels differ, and the file decodes to them."""
    recover = {"epochs": 1, "centroid_epochs": 0}
    blind, seeing = (
        train_and_compress(
            tmp_path / str(sensitivity),
            quantize={"name": "ecsq", "step": 0.8, "sensitivity": sensitivity},
            recover=recover,
        )
        for sensitivity in (0.0, 1.0)
    )

    for one, other in zip(blind.points, seeing.points, strict=True):
        assert other.mse > one.mse
        assert other.bytes.total != one.bytes.total


def test_weights_of_binary_training_are_stored_exactly(tmp_path: Path) -> None:
    """The method's a * sign(w) are the quantizer's: nothing is lost between the two."""
    outcome = train_and_compress(
        tmp_path,
        method={"name": "binary"},
        prune={"name": "magnitude", "sparsity": 0},
        recover={"epochs": 0, "centroid_epochs": 0},
        quantize={"name": "binary"},
    )
    (point,) = outcome.points

    assert point.mse == 0
    assert point.accuracy == point.accuracy_before_quantize
    assert [layer.clusters for layer in point.layers] == [2] * len(point.layers)


def test_the_same_job_gives_the_same_bundles(tmp_path: Path) -> None:
    """The dither is no chance: it follows from the seed, and another seed is another job."""
    one, other, third = (
        digests(compress(tmp_path / str(number), quantize={**QUANTIZERS["universal"], "seed": seed}))
        for number, seed in enumerate([5, 5, 6])
    )

    assert one == other
    assert not set(one) & set(third)
