"""Sizes of a bundle's file by part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cnet.bundle.manifest import STREAMS


@dataclass(frozen=True)
class BundleSizes:
    """Bytes of the file by part, and the SHA-256 (hex) of the file.

    A part's bytes are those of its deflated member, or its bytes in ``data``. ``container`` is everything else: zip
    records, manifest, seal. ``total`` is the file's size, and the sum of the others.
    """

    mask: int
    labels: int
    centroids: int
    other_tensors: int
    container: int
    total: int
    sha256: str

    @classmethod
    def of(cls, parts: Mapping[str, int], total: int, sha256: str) -> BundleSizes:
        """The sizes of a file of ``total`` bytes with these bytes of mask, labels, centroids and other."""
        mask, labels, centroids, other = (parts.get(name, 0) for name in (*STREAMS, "other"))
        return cls(mask, labels, centroids, other, total - mask - labels - centroids - other, total, sha256)
