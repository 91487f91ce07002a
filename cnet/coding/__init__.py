"""Encoders: mask, labels and centroids to bytes, and back. One encoder, one file."""

from cnet.coding.encoder import ENCODERS, Content, Decoded, Encoder, SegmentEncoder, Streams, Whole

__all__ = ["ENCODERS", "Content", "Decoded", "Encoder", "SegmentEncoder", "Streams", "Whole"]
