"""Pruners: weights to mask. One pruner, one file."""

from cnet.capabilities import Curvature
from cnet.prune._base import PRUNERS, Pruner
from cnet.prune._gradual import Gradual
from cnet.prune._select import Threshold, magnitude_bits

__all__ = ["PRUNERS", "Curvature", "Gradual", "Pruner", "Threshold", "magnitude_bits"]
