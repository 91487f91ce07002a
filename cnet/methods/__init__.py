"""Training methods: what fine-tuning adds to the task loss. One method, one file."""

from cnet.methods._base import METHODS, Method, Moment

__all__ = ["METHODS", "Method", "Moment"]
