"""Base class of quantizers whose squared errors can be weighted by their effect on the loss."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.parts.capabilities import Curvature
from cnet.quantize._scope import Floats, Scoped, Shapes
from cnet.symbols import Symbols

Singles = npt.NDArray[np.float32]

_DAMPING = 0.05  # of the mean curvature: an estimate from few images is 0 for many weights that the model needs


class Sensitive(Scoped):
    """A quantizer whose squared errors can be weighted by the curvature of the loss along each weight.

    To second order an error e raises the loss by ½ h e², h being the diagonal of the Hessian. Choi, El-Khamy and Lee,
    "Towards the limit of network quantization", 2017, weight the distances of k-means in this way.
    """

    sensitivity: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="Exponent of the curvature of the loss by which errors are weighted: 0 all alike, 1 in full. Above "
        "0 a data set is needed.",
    )

    @property
    def needs_curvature(self) -> bool:
        """Whether errors are weighted by the curvature."""
        return self.sensitivity > 0

    @property
    def needs_data(self) -> str | None:
        """The curvature of the loss is measured on training images."""
        if not self.needs_curvature:
            return None
        return "sensitivity measures the loss on training images. Leave sensitivity out, or name a dataset."

    def importance(self, curvature: Curvature, keep: npt.NDArray[np.bool_]) -> Singles:
        """The weight of each squared error, float32, shape (n,), with a geometric mean of 1 over the kept weights.

        Args:
            curvature: of the loss along each weight, float64, not negative, shape (n,).
            keep: the mask, bool, shape (n,).
        """
        kept = np.where(keep, curvature, 0)  # a pruned weight has no error, so that its curvature must not count
        if not kept.any():
            return np.ones(len(keep), np.float32)  # the loss is flat, or nothing is kept
        damped = kept + _DAMPING * float(kept.sum()) / int(keep.sum())
        logarithms = self.sensitivity * np.log(damped)
        importance: Singles = np.exp(logarithms - logarithms[keep].mean()).astype(np.float32)
        return importance

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Shapes = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """As ``Quantizer.symbols``, with errors weighted by ``importance``, also between layers."""
        if curvature is None or not self.needs_curvature:
            return super().symbols(vector, keep, clusters, shapes)
        importance = self.importance(curvature, keep)
        return self.symbols_by_scope(
            shapes, vector.dtype, lambda part, own: self.weighted(vector[part], keep[part], own, importance[part])
        )

    @abstractmethod
    def weighted(
        self, vector: Floats, keep: npt.NDArray[np.bool_], shapes: Shapes, importance: Singles | None
    ) -> Symbols:
        """The symbols of weights that share a codebook; arguments as for ``symbols``.

        Args:
            vector: float32 or float64, shape (n,).
            keep: the mask, bool, shape (n,).
            shapes: of the layers in ``vector``.
            importance: weight of each squared error, float32, shape (n,); None: all errors count alike.
        """
