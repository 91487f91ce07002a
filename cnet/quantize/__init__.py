"""Quantizers: kept weights to labels and centroids. One quantizer, one file."""

from cnet.quantize._base import QUANTIZERS, Codebook, Fitted, Quantizer

__all__ = ["QUANTIZERS", "Codebook", "Fitted", "Quantizer"]
