"""No quantization: the non-zeros stay as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cnet.parts.capabilities import Curvature
from cnet.quantize.quantizer import QUANTIZERS, Codebook, Quantizer, ValueChunks
from cnet.symbols import Symbols


@QUANTIZERS.register("none")
class Unquantized(Quantizer):
    """Keeps every value that is not pruned, bit for bit: the experiment of the paper that uses the mask alone.

    A negative zero is kept as a value even where the pruner's mask drops it, because a dropped weight decodes to +0.0.
    It still counts as a zero. So with sparsity 0 all of w_net is decoded bit for bit.
    """

    name: Literal["none"] = "none"
    summary: ClassVar[str] = "Keeps the non-zero weights as they are; lossless at sparsity 0."
    source: ClassVar[str] = "Compressibility Loss for Neural Network Weights (2019), the effect of sparsity"

    @property
    def keeps_negative_zeros(self) -> bool:
        """Always: every kept value is decoded bit for bit."""
        return True

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:  # noqa: ARG002 - has none
        """No labels, and the values themselves, shape (n,), as centroids."""
        return Codebook(None, values)

    def symbols(
        self,
        vector: npt.NDArray[np.floating],
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """As ``Quantizer.symbols``, with the negative zeros of w_net among the kept values."""
        negative_zeros = (vector == 0) & np.signbit(vector)
        return super().symbols(vector, keep | negative_zeros, clusters, shapes, curvature)

    @property
    def streams(self) -> bool:
        """Always: there is no codebook to find."""
        return True

    def fit_chunks(self, chunks: ValueChunks, clusters: int | None) -> _NoCodebook:  # noqa: ARG002 - needs neither
        """A codebook that gives no labels."""
        return _NoCodebook()


class _NoCodebook:
    """The codebook of values that are kept as they are (``cnet.quantize.quantizer.FittedCodebook``)."""

    centroids = np.empty(0, np.float32)

    def assign_labels(self, values: npt.NDArray[np.floating]) -> None:
        """None, whatever the values, shape (n,), are."""
