"""Compressing nets that are larger than memory: weights are read from a mapped file, part by part, pass by pass."""

from cnet.pipeline.streaming.symbols import StreamedSymbols
from cnet.pipeline.streaming.vector import StreamedVector

__all__ = ["StreamedSymbols", "StreamedVector"]
