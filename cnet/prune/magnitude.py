"""Pruning by magnitude: the smallest weights become zero."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.parts.capabilities import Curvature
from cnet.prune._threshold import MagnitudeBits, MagnitudeChunks, Threshold, magnitude_chunks
from cnet.prune.pruner import PRUNERS, Pruner
from cnet.weights import Weights


@PRUNERS.register("magnitude")
class Magnitude(Pruner):
    """Prunes by a threshold on |w|: one for the whole model, or for each tensor or output, as the scope says."""

    name: Literal["magnitude"] = "magnitude"
    summary: ClassVar[str] = "Sets the smallest weights of the model, of each layer or of each output to zero."
    source: ClassVar[str] = (
        "Compressibility Loss for Neural Network Weights (2019), the pruning step; scope layer: Han et al., "
        "Learning both Weights and Connections, 2015; scope column: Gomez et al., Targeted Dropout, 2019"
    )

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """|w|, shape (n,), in the type of w_net."""
        del curvature
        saliency: npt.NDArray[np.floating] = np.abs(weights.vector())
        return saliency

    def keep(self, weights: Weights, sparsity: float, curvature: Curvature | None = None) -> npt.NDArray[np.bool_]:
        """As ``Pruner.keep``. One threshold for a whole float32 model is found without a copy of its weights."""
        wide = any(weights[name].dtype == "float64" for name in weights.compressible)
        if wide or self.scope != "network" or self.floor:
            return super().keep(weights, sparsity, curvature)
        return _keep_by_threshold(weights, round(sparsity * weights.compressible_parameters))

    @property
    def streams(self) -> bool:
        """Whether there is one threshold for the whole model, and all is pruned at once."""
        return self.scope == "network" and not self.floor and not self.gradual_epochs

    def find_threshold(self, chunks: MagnitudeChunks, pruned: int) -> Threshold:
        """As ``Pruner.find_threshold``."""
        if not self.streams:
            return super().find_threshold(chunks, pruned)
        return Threshold.of(chunks, pruned)


def _keep_by_threshold(weights: Weights, pruned: int) -> npt.NDArray[np.bool_]:
    """The mask of w_net, shape (n,), without its ``pruned`` smallest float32 weights; makes no copy of w_net."""

    def magnitudes() -> Iterator[MagnitudeBits]:
        for name in weights.compressible:
            yield from magnitude_chunks(np.ascontiguousarray(weights[name].values(), np.float32))

    keep, start = np.empty(weights.compressible_parameters, np.bool_), 0
    for mask in Threshold.of(magnitudes, pruned).masks(magnitudes()):
        keep[start : start + len(mask)] = mask
        start += len(mask)
    return keep
