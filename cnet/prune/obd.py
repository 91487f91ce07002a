"""Optimal Brain Damage: what the loss would grow by, to second order, if a weight were zero."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.capabilities import Curvature
from cnet.errors import SpecError
from cnet.prune._base import PRUNERS, Pruner
from cnet.weights import Weights


@PRUNERS.register("obd")
class OptimalBrainDamage(Pruner):
    """Saliency ½ h w², with h the diagonal of the loss's Hessian, estimated on the training images.

    What stands for the Hessian is the Fisher information, equal to its Gauss-Newton part and never negative. A
    weight whose h is 0 (a dead input, say) goes before all others. In a gradual pruning h is measured anew at the
    start of each epoch.
    """

    needs_curvature: ClassVar[bool] = True

    name: Literal["obd"] = "obd"
    summary: ClassVar[str] = "Sets to zero what the loss misses least to second order; needs a data set."
    source: ClassVar[str] = (
        "LeCun, Denker and Solla, Optimal Brain Damage, 1990, with the Fisher information's diagonal for the Hessian's"
    )

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """½ h w², float64.

        Raises:
            SpecError: there is no curvature, because there is no data set.
        """
        if curvature is None:
            raise SpecError("the pruner obd measures the loss: it needs a data set and an architecture")
        saliency: npt.NDArray[np.floating] = 0.5 * curvature * np.square(weights.vector(), dtype=np.float64)
        return saliency
