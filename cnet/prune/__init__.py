"""Pruners: weights to mask. One pruner, one file."""

from cnet.prune._base import PRUNERS, Pruner

__all__ = ["PRUNERS", "Pruner"]
