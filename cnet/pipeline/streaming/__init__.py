"""Networks that are larger than memory: weights are read from a mapped file, chunk by chunk, once for each step."""

from cnet.pipeline.streaming.symbols import StreamedPruning, StreamedSymbols
from cnet.pipeline.streaming.vector import StreamedVector

__all__ = ["StreamedPruning", "StreamedSymbols", "StreamedVector"]
