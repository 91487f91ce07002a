"""A bundle of encoder npz decodes with ten lines that need NumPy and no part of this package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.demo.decoding import TEN_LINES
from cnet.weights import Weights
from tests.unit.cnet.nets import bundled, compress, tensor


@pytest.mark.parametrize("sparsity", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_ten_lines_decode_a_bundle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dtype: str, sparsity: float
) -> None:
    """Names, shapes, types and every bit are those that the package's own reader gives."""
    weights = Weights.select(
        [
            tensor("conv.weight", dtype, (4, 3, 3, 3)),
            tensor("conv.bias", dtype, (4,)),
            tensor("steps", "int64", ()),
            tensor("fc.weight", dtype, (5, 7)),
            tensor("flags", "bool", (3,)),
        ]
    )
    bundle = bundled(tmp_path / "model.npz", weights, compress(weights, sparsity, 16))
    monkeypatch.chdir(tmp_path)
    names: dict[str, dict[str, np.ndarray]] = {}

    exec(TEN_LINES, names)  # noqa: S102 - the lines of the README

    assert len(TEN_LINES.splitlines()) == 10
    assert list(names["state"]) == list(bundle)
    for name, array in names["state"].items():
        assert (array.dtype, array.shape) == (bundle[name].dtype, bundle[name].shape)
        assert array.tobytes() == bundle[name].tobytes()
    names["z"].close()  # type: ignore[attr-defined]
