"""Pruners: weights to mask. Each pruner is one file, named after it."""

from cnet.parts.capabilities import Curvature
from cnet.prune._gradual import Gradual
from cnet.prune._threshold import Threshold, magnitude_bits
from cnet.prune.pruner import PRUNERS, Pruner

__all__ = ["PRUNERS", "Curvature", "Gradual", "Pruner", "Threshold", "magnitude_bits"]
