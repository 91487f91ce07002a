"""Small networks and their bundles for the tests of this folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnet.bundle import write_bundle
from cnet.coding import ENCODERS
from cnet.symbols import Symbols
from cnet.weights import Weights
from tests.unit.cnet.nets import compress, tensor

LAYOUTS = ("npz", "compact")
"""Encoders, one for each layout of the file."""


def net(seed: int = 0) -> Weights:
    """Three layers with biases and a counter."""
    parts = [
        tensor("a.weight", "float32", (14, 3, 3, 3), seed),
        tensor("a.bias", "float32", (40,), seed),
        tensor("steps", "int64", (), seed),
        tensor("b.weight", "float16", (70, 20), seed),
        tensor("c.weight", "float32", (7, 9), seed),
    ]
    return Weights.select(parts)


def content_of(folder: Path, encoder: str, weights: Weights, symbols: Symbols | None = None, **notes: Any) -> bytes:
    """The bytes of a bundle; without ``symbols`` half of the weights are zero and the others have 4 centroids."""
    symbols = compress(weights, 0.5, 4) if symbols is None else symbols
    write_bundle(folder / "bundle.npz", weights, symbols, ENCODERS.create(encoder), **notes)
    return (folder / "bundle.npz").read_bytes()
