"""Compressing nets that are larger than memory: weights are read from a mapped file, part by part, pass by pass."""

from cnet.streaming.symbols import StreamedSymbols
from cnet.streaming.vector import StreamedVector

__all__ = ["StreamedSymbols", "StreamedVector"]
