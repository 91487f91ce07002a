"""Encoders: mask, labels and centroids to bytes, and back. One encoder, one file."""

from cnet.encode._base import ENCODERS, Encoder, Streams

__all__ = ["ENCODERS", "Encoder", "Streams"]
