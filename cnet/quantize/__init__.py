"""Quantizers: non-zero weights to labels and centroids. Each quantizer is one file, named after it."""

from cnet.quantize.quantizer import QUANTIZERS, Codebook, FittedCodebook, QuantizationEstimate, Quantizer, ValueChunks

__all__ = ["QUANTIZERS", "Codebook", "FittedCodebook", "QuantizationEstimate", "Quantizer", "ValueChunks"]
