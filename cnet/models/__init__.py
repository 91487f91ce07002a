"""Architectures: networks that a job can name. A family is one file; no module here imports torch."""

from cnet.models.architecture import ARCHITECTURES, Architecture, TensorShape

__all__ = ["ARCHITECTURES", "Architecture", "TensorShape"]
