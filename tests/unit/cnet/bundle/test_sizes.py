"""Sizes of a bundle's file by part."""

from __future__ import annotations

from cnet.bundle import BundleSizes


def test_the_container_takes_the_remaining_bytes() -> None:
    """A part that the file does not have takes no bytes."""
    sizes = BundleSizes.of({"mask": 3, "labels": 5, "other": 7}, 100, "0" * 64)

    assert (sizes.mask, sizes.labels, sizes.centroids, sizes.other_tensors) == (3, 5, 0, 7)
    assert (sizes.container, sizes.total, sizes.sha256) == (85, 100, "0" * 64)
