"""Quantizers: kept weights to labels and centroids. One quantizer, one file."""

from cnet.quantize._base import QUANTIZERS, Codebook, Fitted, Quantizer
from cnet.quantize._sensitive import Sensitive

__all__ = ["QUANTIZERS", "Codebook", "Fitted", "Quantizer", "Sensitive"]
