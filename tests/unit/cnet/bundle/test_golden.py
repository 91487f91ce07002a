"""Bundles of every format version that was ever released decode as they did."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cnet.bundle import open_bundle
from tests.golden.write import DIGESTS, FOLDER, digest, net_of, notes_of

NAMES = sorted(path.stem for path in FOLDER.glob("*.npz"))


def test_each_golden_bundle_has_a_digest() -> None:
    """No file without an expectation, no expectation without a file."""
    assert sorted(json.loads(DIGESTS.read_text())) == NAMES
    assert {"v3-compact", "v3-compact-quick", "v3-compact-trellis", "v3-compact-values", "v3-compact-walk"} <= set(
        NAMES
    )
    assert "v3-compact-notes" in NAMES
    assert {f"{form}-{local}" for form in ("v1-npz", "v3-compact") for local in ("dither", "scales")} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_golden_bundles_decode_to_the_same_bits(name: str) -> None:
    """Every tensor of a bundle that was written long ago is bit for bit what it was."""
    bundle = open_bundle(FOLDER / f"{name}.npz")
    weights, symbols = net_of(name)

    bundle.verify()
    assert digest(bundle) == json.loads(DIGESTS.read_text())[name]
    np.testing.assert_array_equal(bundle.symbols().vector(), symbols.vector())
    assert [t.name for t in bundle.weights()] == [t.name for t in weights]
    assert (bundle.metrics, bundle.manifest["extra"]) == notes_of(name)
