"""Architectures: networks that a job can name. A family is one file; no module here imports torch."""

from cnet.models.architecture import ARCHITECTURES, Architecture, TensorShape
from cnet.models.module_architecture import ModuleArchitecture

__all__ = ["ARCHITECTURES", "Architecture", "ModuleArchitecture", "TensorShape"]
