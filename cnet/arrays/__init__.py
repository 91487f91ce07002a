"""Large arrays: working on them in chunks, their statistics, and their digests."""

from cnet.arrays.chunking import (
    CACHED_CHUNK,
    CHUNK,
    chunks,
    digest,
    raw_bytes,
    release_pages,
    slices,
    take_masked,
)

__all__ = ["CACHED_CHUNK", "CHUNK", "chunks", "digest", "raw_bytes", "release_pages", "slices", "take_masked"]
