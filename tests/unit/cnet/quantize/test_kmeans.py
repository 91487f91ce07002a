"""1-D k-means: near the optimum at every scale and shape of the data, and never a wasted centroid."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cnet.errors import CheckpointError, SpecError
from cnet.quantize import QUANTIZERS, Codebook
from cnet.quantize.kmeans1d.dynamic_programming import optimal_partition
from cnet.quantize.kmeans1d.partitions import partition_cost
from cnet.quantize.kmeans1d.points import count_distinct
from tests.unit.cnet.quantize.oracle import best_cost

KMEANS = QUANTIZERS.create("kmeans")


def error(codebook: Codebook, values: npt.NDArray[np.floating]) -> float:
    """Sum of squared errors, values scaled to at most 1."""
    scale = float(np.max(np.abs(values)))
    decoded = codebook.centroids[codebook.labels].astype(np.float64)
    return float(np.sum((decoded / scale - values.astype(np.float64) / scale) ** 2))


def assert_invariants(codebook: Codebook, values: npt.NDArray[np.floating], clusters: int) -> None:
    """What ``Quantizer`` promises of labels and centroids."""
    labels, centroids = codebook.labels, codebook.centroids
    assert labels is not None
    assert len(centroids) <= min(clusters, len(np.unique(values)))
    assert np.all(np.isfinite(centroids))
    assert np.all(np.diff(centroids) > 0)
    np.testing.assert_array_equal(np.unique(labels), np.arange(len(centroids)))
    assert labels.dtype == (np.uint8 if len(centroids) <= 256 else np.uint16)
    assert (labels.shape, centroids.dtype) == (values.shape, values.dtype)


small = st.lists(
    st.one_of(
        st.floats(width=32, allow_nan=False, allow_infinity=False),
        st.integers(-8, 8).map(lambda i: i / 4),
        st.floats(-1, 1, width=32),
    ),
    min_size=1,
    max_size=24,
)


@settings(max_examples=150, deadline=None)
@given(small, st.integers(1, 6))
@example([0.0, 9.80908925027372e-45], 1)
def test_small_inputs_are_clustered_optimally(values: list[float], clusters: int) -> None:
    """The error is that of an exact programme in rational numbers."""
    data = np.asarray(values, np.float32)

    codebook = KMEANS.quantize(data, clusters)

    assert_invariants(codebook, data, clusters)
    scale = max(float(np.max(np.abs(data))), 1e-45)
    optimum = best_cost(data.astype(np.float64) / scale, clusters)
    # Of the error itself, and of the centroids to float32, the smallest step of which is 2^-149.
    rounding = len(data) * (2.0**-48 + (2.0**-150 / scale) ** 2)
    assert error(codebook, data) <= optimum * 1.001 + rounding if np.any(data) else len(codebook.centroids) == 1


RNG = np.random.default_rng(1)
SHAPES = {
    "normal": RNG.normal(size=6_000) * 0.05,
    "laplace": RNG.laplace(size=6_000),
    "cauchy": RNG.standard_cauchy(6_000),
    "pruned": (lambda x: x[np.abs(x) > 1.6])(RNG.normal(size=60_000)),
    "grid": np.round(RNG.normal(size=6_000) * 1500) / 1500,
    "clumps": RNG.normal(size=300)[RNG.integers(0, 300, 6_000)] + RNG.normal(size=6_000) * 1e-4,
    "uniform in the exponent": 10 ** RNG.uniform(-30, 30, 6_000) * RNG.choice([-1, 1], 6_000),
}


@pytest.mark.parametrize("clusters", [2, 16, 256])
@pytest.mark.parametrize("shape", SHAPES)
def test_large_inputs_are_within_half_a_percent_of_the_optimum(shape: str, clusters: int) -> None:
    """Bins and polish lose less than 0.5 % against the exact programme on all distinct values."""
    values = SHAPES[shape].astype(np.float32)
    points = count_distinct(values)
    scaled = points.values.astype(np.float64) / float(np.max(np.abs(values)))
    near = scaled[np.abs(scaled) > 1e-9] if shape.startswith("uniform") else scaled
    if len(near) < len(scaled):  # all that is as good as zero in one point, which the programme can afford
        scaled, counts = np.append(near, 0.0), np.append(np.ones(len(near)), len(scaled) - len(near))
        order = np.argsort(scaled)
        scaled, counts = scaled[order], counts[order]
    else:
        counts = points.counts
    optimum = partition_cost(scaled, counts, optimal_partition(scaled, counts, clusters))

    codebook = KMEANS.quantize(values, clusters)

    assert_invariants(codebook, values, clusters)
    assert error(codebook, values) <= 1.005 * optimum


@pytest.mark.parametrize("scale", [1e-38, 1e-30, 1.0, 1e30, 1e38])
def test_the_relative_error_does_not_depend_on_the_scale(scale: float) -> None:
    """The relative error is the same from 1e-38 to 1e38."""
    values = np.clip(SHAPES["normal"] * 10, -3, 3)
    small_scale = values.astype(np.float32)

    codebook = KMEANS.quantize((values * scale).astype(np.float32), 32)

    assert_invariants(codebook, small_scale, 32)
    assert error(codebook, (values * scale).astype(np.float32)) == pytest.approx(
        error(KMEANS.quantize(small_scale, 32), small_scale), rel=2e-3
    )


@pytest.mark.parametrize("outlier", [1e6, -1e6, 1e30, -1e38])
def test_one_outlier_takes_one_centroid(outlier: float) -> None:
    """The other 20,000 values are clustered as well as if the outlier were not there."""
    values = SHAPES["normal"].astype(np.float32)
    alone = KMEANS.quantize(values, 63)

    codebook = KMEANS.quantize(np.append(values, np.float32(outlier)), 64)

    decoded = codebook.centroids[codebook.labels]
    assert decoded[-1] == np.float32(outlier)
    with_outlier = np.sum((decoded[:-1].astype(np.float64) - values) ** 2)
    without = np.sum((alone.centroids[alone.labels].astype(np.float64) - values) ** 2)
    assert with_outlier <= 1.005 * without


@settings(deadline=None)
@given(st.lists(st.integers(-5, 5).map(float), max_size=50), st.integers(11, 65536))
def test_few_distinct_values_are_kept_exactly(values: list[float], clusters: int) -> None:
    """With no more distinct values than clusters, nothing is lost and no centroid is wasted."""
    data = np.asarray(values, np.float32)

    codebook = KMEANS.quantize(data, clusters)

    assert codebook.labels is not None
    np.testing.assert_array_equal(codebook.centroids, np.unique(data))
    np.testing.assert_array_equal(codebook.centroids[codebook.labels], data)


@pytest.mark.parametrize("clusters", [255, 256, 257, 1024, 1025, 5000, 65536])
def test_labels_are_as_wide_as_they_must_be(clusters: int) -> None:
    """Up to 256 centroids labels are uint8, beyond uint16; no label wraps."""
    values = RNG.normal(size=90_000 if clusters == 65536 else 12_000).astype(np.float32)

    codebook = KMEANS.quantize(values, clusters)

    assert_invariants(codebook, values, clusters)
    assert len(codebook.centroids) > 0.99 * min(clusters, len(values))


def test_each_value_has_its_nearest_centroid() -> None:
    """No other centroid is closer, for the centroids as rounded to float32."""
    values = SHAPES["laplace"].astype(np.float32)

    codebook = KMEANS.quantize(values, 100)

    distances = np.abs(values[:, None].astype(np.float64) - codebook.centroids)
    np.testing.assert_array_equal(
        np.min(distances, axis=1), np.abs(values.astype(np.float64) - codebook.centroids[codebook.labels])
    )


def test_float64_stays_float64_at_its_extremes() -> None:
    """A float64 net has float64 centroids, at the ends of the type's range too."""
    values = np.array([1.7e308, 1.6e308, -1.7e308, 1.0, 2.0, 5e-324])

    codebook = KMEANS.quantize(values, 3)

    assert_invariants(codebook, values, 3)
    assert codebook.labels is not None
    assert codebook.labels.tolist() == [2, 2, 0, 1, 1, 1]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_are_refused(value: float) -> None:
    """NaN and infinity have no cluster."""
    with pytest.raises(CheckpointError, match="NaN or infinite"):
        KMEANS.quantize(np.array([1, value, 2, 3], np.float32), 2)


@pytest.mark.parametrize("clusters", [0, -1, 65537])
def test_cluster_counts_out_of_range_are_refused(clusters: int) -> None:
    """One to 65,536 clusters."""
    with pytest.raises((SpecError, ValueError)):
        QUANTIZERS.create("kmeans", clusters=clusters)


def test_one_number_or_a_list_of_clusters() -> None:
    """A number stands where a list may; 256 is the default."""
    assert KMEANS.cluster_counts() == (256,)
    assert QUANTIZERS.create("kmeans", clusters=16).cluster_counts() == (16,)
    assert QUANTIZERS.create("kmeans", clusters=[16, 4]).cluster_counts() == (16, 4)


def test_float64_values_get_float32_centroids() -> None:
    """The contract's centroids are float32, whatever the net's own type."""
    values = np.random.default_rng(3).normal(size=1000)

    codebook = QUANTIZERS.create("kmeans").quantize(values, 16)

    assert codebook.centroids.dtype == np.float32


@pytest.mark.parametrize("values", [np.array([1e300, -1e300, 0.1, 0.2]), np.array([0.1, 0.2])])
def test_float64_centroids_only_where_float32_cannot_hold_them(values: npt.NDArray[np.float64]) -> None:
    """Values that are kept exactly, or that are out of float32's range, stay float64."""
    codebook = QUANTIZERS.create("kmeans").quantize(values, 16)

    np.testing.assert_array_equal(codebook.centroids[codebook.labels], values)
    assert codebook.centroids.dtype == np.float64


@pytest.mark.parametrize("clusters", [16, 100])
def test_groups_of_many_values_lose_next_to_nothing(clusters: int) -> None:
    """Beyond 2^16 values the programme sees groups of them; the error stays that of the optimum."""
    values = np.random.default_rng(4).laplace(size=70_000).astype(np.float32)
    values = values[np.abs(values) > 0.01]
    assert len(values) > 2**16
    points = count_distinct(values)
    positions = points.values.astype(np.float64)
    optimum = partition_cost(positions, points.counts, optimal_partition(positions, points.counts, clusters))

    codebook = KMEANS.quantize(values, clusters)

    decoded = codebook.centroids[codebook.labels].astype(np.float64)
    assert float(np.sum((decoded - values) ** 2)) <= 1.005 * optimum
