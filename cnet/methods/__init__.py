"""Training methods: what fine-tuning adds to the task loss. One method, one file.

No file of this folder imports PyTorch. A method's file describes it: parameters, summary, source, strength. What it
does to tensors in a training step are its hooks (``MethodHooks``), which for the built-in methods are in
``cnet.methods.losses``.
"""

from cnet.methods._base import METHODS, Method
from cnet.methods.hooks import MethodHooks, StepContext

__all__ = ["METHODS", "Method", "MethodHooks", "StepContext"]
