"""Encoders: mask, labels and centroids to bytes, and back; one encoder a file.

Quantizers that weigh bits against error use ``cnet.coding.rates``.
"""

from cnet.coding.encoder import (
    ENCODERS,
    ByteSource,
    DecodedSymbols,
    Encoder,
    SegmentEncoder,
    Streams,
    SymbolDecoder,
)

__all__ = ["ENCODERS", "ByteSource", "DecodedSymbols", "Encoder", "SegmentEncoder", "Streams", "SymbolDecoder"]
