"""Golden bundles decode to the same bits for ever."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cnet.bundle import open_bundle
from cnet.coding import ENCODERS
from tests.golden.write import DIGESTS, FOLDER, digest, net_of, notes_of

NAMES = sorted(path.stem for path in FOLDER.glob("*.npz"))


def test_each_golden_bundle_has_a_digest() -> None:
    """No file without an expectation, no expectation without a file."""
    forms = {"trellis", "values", "adaptive", "large"}

    assert sorted(json.loads(DIGESTS.read_text())) == NAMES
    assert {f"v1-{encoder}" for encoder in ENCODERS.names()} <= set(NAMES)
    assert {f"v1-compact-{form}" for form in forms} <= set(NAMES)
    kinds = ("dither", "scales", "tensors", "axes", "notes")
    assert {f"v1-{encoder}-{kind}" for encoder in ("npz", "compact") for kind in kinds} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_golden_bundles_decode_to_the_same_bits(name: str) -> None:
    """Every tensor of a bundle is bit for bit what it was when the bundle was written."""
    bundle = open_bundle(FOLDER / f"{name}.npz")
    weights, symbols = net_of(name)

    bundle.verify()
    assert digest(bundle) == json.loads(DIGESTS.read_text())[name]
    np.testing.assert_array_equal(bundle.symbols().vector(), symbols.vector())
    assert [t.name for t in bundle.weights()] == [t.name for t in weights]
    assert (bundle.metrics, bundle.extra) == notes_of(name)
