"""One bit a weight: its sign, and the mean size of all that share a scale."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.arrays import chunks
from cnet.coding.compact.values import numbered
from cnet.quantize._base import QUANTIZERS, Codebook
from cnet.quantize._rows import Rows, RowScoped
from cnet.quantize._sizes import magnitudes

Floats = npt.NDArray[np.floating]


@QUANTIZERS.register("binary")
class Binary(RowScoped):
    """Each kept weight becomes a or -a, a being the mean of the kept |w|: of all a * sign(w), the least squared error.

    With the scope "layer" the values that the method ``binary`` trains stay as they are. Pruned weights stay 0, which
    makes three values of a pruned net.
    """

    name: Literal["binary"] = "binary"
    summary: ClassVar[str] = "The sign of each weight and a mean size: one bit a weight."
    source: ClassVar[str] = (
        "Hubara et al., Binarized Neural Networks (2016); the scale: Rastegari et al., XNOR-Net (2016), section 3.1"
    )

    scope: Literal["network", "layer", "channel"] = Field(
        default="layer", description="One scale for the whole net, for each layer, or for each index of a first axis."
    )

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - the contract's
        """The two values, or the one in use; 0 where all values are.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        top, _ = magnitudes(values)
        relative = (np.abs(part / values.dtype.type(top or 1)) for part in chunks(values))
        total = sum(float(np.sum(part, dtype=np.float64)) for part in relative)
        scale = values.dtype.type(top * (total / max(1, len(values))))
        labels, used = numbered(np.where(values < 0, np.int8(-1), np.int8(1)))
        return Codebook(labels, used.astype(values.dtype) * scale)

    def nominal_bits(self, clusters: int | None) -> float:
        """A sign."""
        del clusters
        return 1.0

    def steps(self, sizes: Floats, rows: Rows, clusters: int | None) -> npt.NDArray[np.float64]:  # noqa: ARG002
        """The mean size of each row."""
        return rows.sums(sizes) / rows.counts

    def most(self, clusters: int | None) -> int:  # noqa: ARG002 - the contract's
        """One size."""
        return 1
