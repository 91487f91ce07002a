"""What restricts the weights while a network is trained: masks, and centroids that weights share."""

from cnet.training.constraints.base import WeightConstraint
from cnet.training.constraints.centroids import FrozenWeights, SharedCentroids
from cnet.training.constraints.masks import FixedMask, GrowingMask

__all__ = ["FixedMask", "FrozenWeights", "GrowingMask", "SharedCentroids", "WeightConstraint"]
