"""LAMP: pruning by magnitude relative to the larger weights of the same layer."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.parts.capabilities import Curvature
from cnet.prune.pruner import PRUNERS, Pruner
from cnet.weights import Weights


@PRUNERS.register("lamp")
class Lamp(Pruner):
    """Prunes by w² over the sum of squares of the weights of its tensor that are as large or larger.

    One threshold on it over the model gives each layer a sparsity of its own, without a number to choose. The largest
    weight of each tensor has saliency 1, so that no layer is emptied before every layer is down to one weight.
    """

    name: Literal["lamp"] = "lamp"
    summary: ClassVar[str] = "Magnitude relative to the rest of the layer: each layer gets a sparsity of its own."
    source: ClassVar[str] = "Lee et al., Layer-Adaptive Sparsity for the Magnitude-Based Pruning, 2021"

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """The LAMP score of each weight, 0..1, float64, shape (n,); of equals of one tensor the first has the least."""
        del curvature
        squares: npt.NDArray[np.floating] = np.square(weights.vector(), dtype=np.float64)
        for _, part in weights.slices():
            own = squares[part]
            order = np.argsort(own, kind="stable")
            ranked = own[order]
            rest = np.cumsum(ranked[::-1])[::-1]
            scores = np.divide(ranked, rest, out=np.zeros_like(ranked), where=rest > 0)
            own[order] = scores
        return squares
