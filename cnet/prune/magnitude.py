"""Pruning by magnitude: the smallest weights go."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.prune._base import PRUNERS, Curvature, Pruner
from cnet.weights import Weights


@PRUNERS.register("magnitude")
class Magnitude(Pruner):
    """A threshold on |w|, one for the whole net unless another scope is asked for."""

    name: Literal["magnitude"] = "magnitude"
    summary: ClassVar[str] = "Sets the smallest weights of the net, of each layer or of each output to zero."
    source: ClassVar[str] = (
        "Compressibility Loss for Neural Network Weights (2019), the pruning step; scope layer: Han et al., "
        "Learning both Weights and Connections, 2015; scope column: Gomez et al., Targeted Dropout, 2019"
    )

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """|w|."""
        del curvature
        saliency: npt.NDArray[np.floating] = np.abs(weights.vector())
        return saliency
