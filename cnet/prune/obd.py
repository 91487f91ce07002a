"""Optimal Brain Damage: pruning by the growth of the loss, to second order, if a weight were zero."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.errors import SpecError
from cnet.parts.capabilities import Curvature
from cnet.prune.pruner import PRUNERS, Pruner
from cnet.weights import Weights


@PRUNERS.register("obd")
class OptimalBrainDamage(Pruner):
    """Prunes by ½ h w², with h the diagonal of the Hessian of the loss, estimated on the training images.

    The estimate is the diagonal of the Fisher information, which equals the Gauss-Newton part of the Hessian and is
    never negative. A weight whose h is 0, of a dead input for example, is pruned before all others. A gradual pruning
    measures h again at the start of each epoch.
    """

    needs_curvature: ClassVar[bool] = True

    name: Literal["obd"] = "obd"
    summary: ClassVar[str] = "Sets the weights to zero that raise the loss least, to second order. Needs a data set."
    source: ClassVar[str] = (
        "LeCun, Denker and Solla, Optimal Brain Damage, 1990, with the Fisher information's diagonal for the Hessian's"
    )

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """½ h w² of each weight, float64, shape (n,).

        Raises:
            SpecError: there is no curvature, because there is no data set.
        """
        if curvature is None:
            raise SpecError(
                "pruner 'obd': there is no data set to measure the loss on. Name a dataset and an architecture."
            )
        saliency: npt.NDArray[np.floating] = 0.5 * curvature * np.square(weights.vector(), dtype=np.float64)
        return saliency
