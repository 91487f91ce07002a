"""Pruning by magnitude: the smallest weights go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.capabilities import Curvature
from cnet.prune import _select
from cnet.prune._base import PRUNERS, Pruner
from cnet.prune._select import Threshold
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

    @property
    def streams(self) -> bool:
        """One threshold for the whole net is found without the net in memory."""
        return self.scope == "network" and not self.floor and not self.gradual_epochs

    def threshold(self, magnitudes: Callable[[], Iterable[_select.Bits]], dropped: int) -> Threshold:
        """As ``Pruner.threshold``."""
        if not self.streams:
            return super().threshold(magnitudes, dropped)
        return Threshold.of(magnitudes, dropped)

    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """|w|."""
        del curvature
        saliency: npt.NDArray[np.floating] = np.abs(weights.vector())
        return saliency

    def keep(self, weights: Weights, sparsity: float, curvature: Curvature | None = None) -> npt.NDArray[np.bool_]:
        """As ``Pruner.keep``; one threshold for a whole net is found without a copy of its weights."""
        wide = any(weights[name].dtype == "float64" for name in weights.compressible)
        if wide or self.scope != "network" or self.floor:
            return super().keep(weights, sparsity, curvature)
        return _keep_by_bits(weights, round(sparsity * weights.compressible_parameters))


def _keep_by_bits(weights: Weights, dropped: int) -> npt.NDArray[np.bool_]:
    """All but the ``dropped`` smallest magnitudes of float32 values, one tensor at a time: no copy of w_net is made."""

    def magnitudes() -> Iterator[_select.Bits]:
        for name in weights.compressible:
            yield from _select.chunks(np.ascontiguousarray(weights[name].values(), np.float32))

    keep, start = np.empty(weights.compressible_parameters, np.bool_), 0
    for mask in Threshold.of(magnitudes, dropped).masks(magnitudes()):
        keep[start : start + len(mask)] = mask
        start += len(mask)
    return keep
