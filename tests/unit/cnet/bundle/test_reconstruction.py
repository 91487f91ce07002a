"""Dither and factors in a bundle: they come back exactly, cost little, and no forged ones get past."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.quantize import QUANTIZERS
from cnet.reconstruction import AxisScales, Dither, Scales, axis_factors, sides_of
from cnet.symbols import Symbols
from cnet.weights import Tensor, Weights
from tests.unit.cnet.bundle.forging import forged, forged_arrays
from tests.unit.cnet.nets import FLOATS, tensor

KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "dither": ("universal", {"step": 0.3, "seed": 2**32 - 1}),
    "scales": ("uniform", {"bits": (5,), "scope": "channel"}),
    "tensor_scales": ("auto", {}),
    "axis_scales": ("auto", {}),
}


def net(*types: str) -> Weights:
    """Two compressible tensors for each type, and a bias."""
    tensors = [
        tensor(f"{name}.{place}", name, shape) for name in types for place, shape in enumerate([(5, 7), (6, 2, 3)])
    ]
    return Weights.select([*tensors, tensor("bias", "float32", (5,))])


def symbols_of(weights: Weights, kind: str) -> Symbols:
    """Two thirds of the weights kept, the net quantized so that places matter."""
    name, settings = KINDS[kind]
    quantizer = QUANTIZERS.create(name, **settings)
    vector = weights.vector()
    shapes = [weights[name].shape for name in weights.compressible]
    symbols = quantizer.symbols(vector, np.arange(len(vector)) % 3 > 0, quantizer.cluster_counts()[0], shapes)
    if kind != "axis_scales":
        return symbols
    factors = (np.arange(axis_factors(shapes)) * 5 % 8 + 1).astype(symbols.centroids.dtype) / 3
    return replace(symbols, reconstruction=AxisScales(factors, sides_of(shapes)))


def content_of(path: Path, encoder: str, kind: str, *types: str) -> bytes:
    """The bytes of a bundle."""
    weights = net(*types)
    write_bundle(path / "b.npz", weights, symbols_of(weights, kind), ENCODERS.create(encoder))
    return (path / "b.npz").read_bytes()


@pytest.mark.parametrize("types", [("float32", "bfloat16"), FLOATS])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("encoder", ENCODERS.names())
def test_every_weight_round_trips(tmp_path: Path, encoder: str, kind: str, types: tuple[str, ...]) -> None:
    """Symbols and weights are bit for bit what was written, in float32 and in float64."""
    weights = net(*types)
    symbols = symbols_of(weights, kind)
    bundle = open_bundle(content_of(tmp_path, encoder, kind, *types))

    bundle.verify()
    assert bundle.weights().vector().tobytes() == weights.with_vector(symbols.vector()).vector().tobytes()
    assert bundle.symbols().vector().tobytes() == symbols.vector().tobytes()
    assert type(bundle.symbols().reconstruction) is type(symbols.reconstruction)


def test_numpy_decodes_scaled_weights_by_the_specification(tmp_path: Path) -> None:
    """The file's arrays and manifest are enough: ``centroids`` ends with one factor for each row."""
    path = tmp_path / "b.npz"
    path.write_bytes(content_of(tmp_path, "npz", "scales", "float32"))
    with np.load(path, allow_pickle=False) as members:
        arrays = dict(members)
    length = json.loads(arrays["manifest"].tobytes())["reconstruction"]["length"]
    centroids, factors = np.split(arrays["centroids"], [-length])
    vector = np.unpackbits(arrays["mask"], count=71).astype(np.float32)
    vector[vector == 1] = centroids[arrays["labels"]]

    assert length == 5 + 6
    decoded = vector * np.repeat(factors, [7] * 5 + [6] * 6)
    np.testing.assert_array_equal(decoded, open_bundle(path).weights().vector())


@pytest.mark.parametrize("encoder", ENCODERS.names())
def test_a_channel_costs_about_two_bytes(tmp_path: Path, encoder: str) -> None:
    """And not the 2^bits centroids that it uses."""
    rng = np.random.default_rng(0)
    data = (rng.normal(size=(2000, 60)) * rng.uniform(0.1, 1, (2000, 1))).astype(np.float32)
    weights, keep = Weights.select([Tensor("w", "float32", data)]), np.ones(data.size, np.bool_)
    sizes = {}
    for scope in ("network", "channel"):
        symbols = QUANTIZERS.create("uniform", scope=scope).symbols(data.reshape(-1), keep, 256, [data.shape])
        sizes[scope] = write_bundle(tmp_path / "b.npz", weights, symbols, ENCODERS.create(encoder)).centroids

    assert sizes["channel"] < sizes["network"] + 2000 * 2


def test_bundles_without_dither_and_scales_have_no_such_field(tmp_path: Path) -> None:
    """The manifest is that of the format's first release."""
    weights = net("float32")
    keep = np.ones(weights.compressible_parameters, np.bool_)
    write_bundle(
        tmp_path / "b.npz",
        weights,
        QUANTIZERS.create("kmeans").symbols(weights.vector(), keep, 4),
        ENCODERS.create("npz"),
    )

    assert "reconstruction" not in open_bundle(tmp_path / "b.npz").manifest


def test_factors_that_do_not_fit_the_rows_are_refused(tmp_path: Path) -> None:
    """Symbols made for one network do not fit another with as many weights."""
    weights = Weights.select([tensor("w", "float32", (2, 3))])
    symbols = Symbols(
        np.ones(6, bool), np.zeros(6, np.uint8), np.float32([1]), Scales(np.ones(3, np.float32), np.full(3, 2))
    )

    with pytest.raises(BundleError, match="rows"):
        write_bundle(tmp_path / "b.npz", weights, symbols, ENCODERS.create("npz"))


FORGED: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "an unknown kind": ("dither", lambda document: document["reconstruction"].update(kind="noise")),
    "a step of 0": ("dither", lambda document: document["reconstruction"].update(step=0.0)),
    "a step below 0": ("dither", lambda document: document["reconstruction"].update(step=-0.1)),
    "a step that is no number": ("dither", lambda document: document["reconstruction"].update(step="x")),
    "a step that makes weights infinite": ("dither", lambda document: document["reconstruction"].update(step=1e39)),
    "a step beyond all numbers": ("dither", lambda document: document["reconstruction"].update(step=10**400)),
    "a seed below 0": ("dither", lambda document: document["reconstruction"].update(seed=-1)),
    "a seed of 65 bits": ("dither", lambda document: document["reconstruction"].update(seed=2**64)),
    "a seed that is true": ("dither", lambda document: document["reconstruction"].update(seed=True)),
    "something more": ("dither", lambda document: document["reconstruction"].update(more=1)),
    "factors that are not there": (
        "dither",
        lambda document: document.update(reconstruction={"kind": "scales", "length": 3}),
    ),
    "no factors": ("scales", lambda document: document["reconstruction"].update(length=0)),
    "a factor less": (
        "scales",
        lambda document: document["reconstruction"].update(length=document["reconstruction"]["length"] - 1),
    ),
    "a factor more": (
        "scales",
        lambda document: document["reconstruction"].update(length=document["reconstruction"]["length"] + 1),
    ),
    "factors without end": ("scales", lambda document: document["reconstruction"].update(length=2**62)),
    "factors as a dither": (
        "scales",
        lambda document: document.update(reconstruction={"kind": "dither", "seed": 0, "step": 0.1}),
    ),
    "factors of rows as those of tensors": (
        "scales",
        lambda document: document["reconstruction"].update(kind="tensor_scales"),
    ),
    "factors of tensors as those of rows": (
        "tensor_scales",
        lambda document: document["reconstruction"].update(kind="scales"),
    ),
    "factors of axes as those of rows": (
        "axis_scales",
        lambda document: document["reconstruction"].update(kind="scales"),
    ),
    "factors of rows as those of axes": (
        "scales",
        lambda document: document["reconstruction"].update(kind="axis_scales"),
    ),
    "nothing of factors": ("scales", lambda document: document.pop("reconstruction")),
}
HARMLESS = ("factors as a dither", "nothing of factors")
"""With the encoder npz: the factors are then centroids that no label has."""


@pytest.mark.parametrize(
    ("encoder", "case"),
    [*(("compact", case) for case in FORGED), *(("npz", case) for case in FORGED if case not in HARMLESS)],
)
def test_forged_manifests_are_refused(tmp_path: Path, encoder: str, case: str) -> None:
    """Each with our own error: none crashes, and none makes much of little."""
    kind, change = FORGED[case]
    content = forged(content_of(tmp_path, encoder, kind, "float32"), change)
    with pytest.raises(BundleError):
        open_bundle(content).symbols()


@pytest.mark.parametrize("factor", [np.nan, np.inf, -1.0, 0.0, 3e38])
def test_factors_that_no_writer_makes_are_refused(tmp_path: Path, factor: float) -> None:
    """No numbers, none that is not positive, none that makes a weight infinite."""

    def change(arrays: dict[str, Any]) -> None:
        arrays["centroids"] = np.append(arrays["centroids"][:-1], np.float32(factor))

    content = forged_arrays(content_of(tmp_path, "npz", "scales", "float32"), change)
    with pytest.raises(BundleError):
        open_bundle(content).symbols()


def test_values_kept_as_they_are_have_no_dither(tmp_path: Path) -> None:
    """Without labels there is no centroid to take it off from."""
    weights = net("float32")
    keep = np.ones(weights.compressible_parameters, np.bool_)
    symbols = QUANTIZERS.create("none").symbols(weights.vector(), keep, None)
    write_bundle(tmp_path / "b.npz", weights, symbols, ENCODERS.create("npz"))
    entry = {"kind": "dither", "seed": 0, "step": 0.1}
    content = forged((tmp_path / "b.npz").read_bytes(), lambda document: document.update(reconstruction=entry))

    with pytest.raises(BundleError, match="dither"):
        open_bundle(content).symbols()


def test_dither_parameters_round_trip_exactly(tmp_path: Path) -> None:
    """Seed and step size survive JSON to the last bit."""
    weights = net("float64")
    symbols = Symbols(np.ones(71, bool), np.zeros(71, np.uint8), np.array([0.1]), Dither(2**64 - 1, 0.1 + 2**-54))
    write_bundle(tmp_path / "b.npz", weights, symbols, ENCODERS.create("compact"))

    assert open_bundle(tmp_path / "b.npz").symbols().reconstruction == symbols.reconstruction
