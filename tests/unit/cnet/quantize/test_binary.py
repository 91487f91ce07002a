"""Binary quantizing: a sign and the best scale, of the net, a layer or a channel."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cnet.errors import CheckpointError
from cnet.quantize import QUANTIZERS

SHAPES: list[tuple[int, ...]] = [(20, 30), (8, 5, 2)]


def weights() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Two layers of unlike scale, the rows of which are unlike too."""
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.repeat(np.geomspace(0.1, 2, 20), 30), np.repeat(np.geomspace(1, 90, 8), 10)])
    return (rng.normal(size=680) * rows).astype(np.float32)


def test_scale_is_the_best_there_is() -> None:
    """Of all a * s with signs s, the error is least at the mean size and the weights' signs."""
    values = weights()
    codebook = QUANTIZERS.create("binary").quantize(values, None)
    found = codebook.centroids[codebook.labels].astype(np.float64)
    scale = float(np.mean(np.abs(values), dtype=np.float64))
    least = float(np.sum((values - found) ** 2))

    assert codebook.centroids == pytest.approx([-scale, scale])
    assert np.array_equal(found < 0, values < 0)
    assert all(least < np.sum((values - factor * found) ** 2) for factor in (0.9, 0.99, 1.01, 1.1))
    flipped = np.where(np.arange(len(values)) == np.argmin(np.abs(values)), -found, found)
    assert least < np.sum((values - flipped) ** 2)


def test_pruned_weights_have_no_part_in_the_scale() -> None:
    """The mean is that of the kept ones."""
    values = np.float32([3, -1, 0.5, -0.25])
    symbols = QUANTIZERS.create("binary", scope="network").symbols(values, np.abs(values) >= 1, None)

    assert symbols.vector().tolist() == [2, -2, 0, 0]


def test_each_layer_has_its_scale() -> None:
    """Two centroids a layer, one bit of label for each weight of it."""
    values = weights()
    vector = QUANTIZERS.create("binary").symbols(values, np.ones(680, np.bool_), None, SHAPES).vector()

    for part in (slice(600), slice(600, None)):
        np.testing.assert_allclose(np.abs(vector[part]), np.mean(np.abs(values[part])), rtol=1e-6)


def test_each_channel_has_its_scale() -> None:
    """Two labels for the whole net; the mean size of each row, to a part in 256."""
    values = weights()
    symbols = QUANTIZERS.create("binary", scope="channel").symbols(values, np.ones(680, np.bool_), None, SHAPES)
    rows = [*np.split(values[:600], 20), *np.split(values[600:], 8)]
    means = np.concatenate([np.full(len(row), np.mean(np.abs(row))) for row in rows])

    assert symbols.centroids.tolist() == [-1, 1]
    np.testing.assert_allclose(symbols.vector(), np.copysign(means, values), rtol=1 / 256)


@pytest.mark.parametrize("scale", [1e-40, 0.123, 3e38])
def test_weights_of_the_method_binary_stay_exact(scale: float) -> None:
    """Each a * sign(w) is bit for bit what it was."""
    signs = np.where(np.arange(700) * 7 % 11 < 5, -1, 1)
    values = (signs * np.repeat(np.float32([scale, scale / 3]), 350)).astype(np.float32)
    symbols = QUANTIZERS.create("binary").symbols(values, np.ones(700, np.bool_), None, [(350,), (35, 10)])

    np.testing.assert_array_equal(symbols.vector(), values)


@pytest.mark.parametrize("values", [[], [0.5], [-2.0, -1.0], [0.0, 0.0]])
def test_a_value_that_no_weight_has_is_left_out(values: list[float]) -> None:
    """Each centroid is in use, also where there is but one sign or nothing."""
    codebook = QUANTIZERS.create("binary").quantize(np.float32(values), None)

    assert np.array_equal(np.unique(codebook.labels), np.arange(len(codebook.centroids)))
    assert len(codebook.centroids) == min(1, len(values))


@given(
    st.lists(st.floats(-1, 1, width=32).filter(bool), max_size=30),
    st.sampled_from([1e-38, 1.0, 3.4e38]),
    st.sampled_from(["network", "layer", "channel"]),
)
def test_centroids_keep_the_signs_of_any_values(numbers: list[float], scale: float, scope: str) -> None:
    """Finite, not zero, and on the side where the weight was, at any scale."""
    values = (np.array(numbers) * scale).astype(np.float32)
    keep = values != 0
    vector = QUANTIZERS.create("binary", scope=scope).symbols(values, keep, None, [(len(values), 1)]).vector()

    assert np.all(np.isfinite(vector))
    assert np.array_equal(np.sign(vector), np.sign(values))


def test_values_that_are_not_finite_are_refused() -> None:
    """The error names what is wrong, with every scope."""
    for scope in ("network", "layer", "channel"):
        with pytest.raises(CheckpointError):
            QUANTIZERS.create("binary", scope=scope).symbols(np.float32([1, np.nan]), np.ones(2, bool), None, [(2,)])


def test_scales_of_channels_are_not_trained() -> None:
    """Whole numbers that every row scales are no shared values; the two of a layer are."""
    assert QUANTIZERS.create("binary").trains_centroids
    assert not QUANTIZERS.create("binary", scope="channel").trains_centroids
