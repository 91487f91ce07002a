"""No quantizing: the non-zeros stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.quantize._base import QUANTIZERS, Codebook, Curvature, Parts, Quantizer
from cnet.symbols import Symbols


@QUANTIZERS.register("none")
class Unquantized(Quantizer):
    """Keeps every value that is not pruned, bit for bit: the paper's mask-only experiment.

    A negative zero is kept as a value, whatever the pruner's mask says of it: it is still a zero, and counted as one,
    but the mask would turn it into +0.0. With nothing pruned, all of w_net therefore comes back bit for bit.
    """

    name: Literal["none"] = "none"
    summary: ClassVar[str] = "Keeps the non-zeros as they are; lossless at sparsity 0."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019), the effect of sparsity"

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:  # noqa: ARG002 - the contract's
        """No labels, and the values themselves in place of centroids."""
        return Codebook(None, values)

    @property
    def keeps_negative_zeros(self) -> bool:
        """Always: every kept value comes back bit for bit."""
        return True

    @property
    def streams(self) -> bool:
        """Always: there is no codebook to be found."""
        return True

    def fitted(self, parts: Parts, clusters: int | None) -> _Kept:  # noqa: ARG002 - the contract's
        """No labels."""
        return _Kept()

    def symbols(
        self,
        vector: npt.NDArray[np.floating],
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """The symbols of w_net, with its negative zeros among the values."""
        negative_zeros = (vector == 0) & np.signbit(vector)
        return super().symbols(vector, keep | negative_zeros, clusters, shapes, curvature)


class _Kept:
    """Values that are kept as they are."""

    centroids = np.empty(0, np.float32)

    def labels(self, values: npt.NDArray[np.floating]) -> None:
        """There are none."""
