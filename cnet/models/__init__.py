"""Architectures: networks that a job can name. One family, one file; no file here imports torch."""

from cnet.models.architecture import ARCHITECTURES, Architecture, TensorShape

__all__ = ["ARCHITECTURES", "Architecture", "TensorShape"]
