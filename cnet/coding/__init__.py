"""Encoders: mask, labels and centroids to bytes, and back. Each encoder is one file.

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
