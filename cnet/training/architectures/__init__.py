"""Architectures: networks that a job can name. One family, one file; no file here imports torch."""

from cnet.training.architectures._base import ARCHITECTURES, Architecture, TensorShape

__all__ = ["ARCHITECTURES", "Architecture", "TensorShape"]
