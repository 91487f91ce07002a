"""Squared errors that count by what they do to the loss."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.quantize._base import Curvature
from cnet.quantize._scope import Scoped, Shapes
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]
Singles = npt.NDArray[np.float32]

_DAMPING = 0.05  # of the mean curvature: an estimate from few images says 0 of many weights that the net does need


class Sensitive(Scoped):
    """A quantizer whose squared errors can count by the curvature of the loss along each weight.

    To second order the loss grows by ½ h e² for an error e, h being the Hessian's diagonal (Choi, El-Khamy and Lee,
    "Towards the limit of network quantization", 2017, who weight the distances of k-means so).
    """

    sensitivity: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="How far errors count by the loss's curvature, its exponent: 0 alike, 1 in full; needs a data set.",
    )

    @property
    def needs_curvature(self) -> bool:
        """Whether errors count by the curvature."""
        return self.sensitivity > 0

    @property
    def needs_data(self) -> str | None:
        """The sensitivity needs the curvature of the loss, which is measured on training images."""
        if not self.needs_curvature:
            return None
        return "sensitivity measures the loss on training images. Leave sensitivity out, or name a dataset."

    def importance(self, curvature: npt.NDArray[np.float64], keep: npt.NDArray[np.bool_]) -> Singles:
        """What a squared error of each weight counts, with a geometric mean of 1 over the kept.

        Args:
            curvature: of the loss along each weight, not negative, shape (n,).
            keep: bool, shape (n,).
        """
        kept = np.where(keep, curvature, 0)  # one that is pruned may have any, and has no error
        if not kept.any():
            return np.ones(len(keep), np.float32)  # a flat loss, or nothing kept: nothing to go by
        damped = kept + _DAMPING * float(kept.sum()) / int(keep.sum())
        logarithms = self.sensitivity * np.log(damped)
        weights: Singles = np.exp(logarithms - logarithms[keep].mean()).astype(np.float32)
        return weights

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Shapes = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """As ``Quantizer.symbols``; errors count by the ``importance`` of each weight, by which layers compare too."""
        if curvature is None or not self.needs_curvature:
            return super().symbols(vector, keep, clusters, shapes)
        counts = self.importance(curvature, keep)
        return self.scoped(
            shapes, vector.dtype, lambda part, own: self.weighted(vector[part], keep[part], own, counts[part])
        )

    @abstractmethod
    def weighted(
        self, vector: Floats, keep: npt.NDArray[np.bool_], shapes: Shapes, importance: Singles | None
    ) -> Symbols:
        """The symbols of weights that share a codebook; None: all errors count alike."""
