"""Binary quantization: the sign of each weight, and the mean magnitude of all weights that share a scale."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.arrays import chunks
from cnet.coding.uniform_grid import label_integers
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize._rows import RowGroups, RowScoped
from cnet.quantize.quantizer import QUANTIZERS, Codebook

Floats = npt.NDArray[np.floating]


@QUANTIZERS.register("binary")
class Binary(RowScoped):
    """Replaces each kept weight by a or -a, where a is the mean |w| of the kept weights: the least squared error.

    With the scope "layer" the values that the training method ``binary`` makes stay as they are. Pruned weights stay
    0, so that a pruned model has three values.
    """

    name: Literal["binary"] = "binary"
    summary: ClassVar[str] = "The sign of each weight and a mean magnitude: one bit per weight."
    source: ClassVar[str] = (
        "Hubara et al., Binarized Neural Networks (2016); the scale: Rastegari et al., XNOR-Net (2016), section 3.1"
    )

    scope: Literal["network", "layer", "channel"] = Field(
        default="layer",
        description="One scale for the whole model, for each layer, or for each index of its first axis.",
    )

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:  # noqa: ARG002 - always two
        """Labels of the two centroids, or of the one in use, which is 0 where all values are.

        Args:
            values: float32 or float64, shape (n,).
            clusters: None.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        largest, _ = largest_and_rms(values)
        relative = (np.abs(chunk / values.dtype.type(largest or 1)) for chunk in chunks(values))
        total = sum(float(np.sum(chunk, dtype=np.float64)) for chunk in relative)
        scale = values.dtype.type(largest * (total / max(1, len(values))))
        labels, used = label_integers(np.where(values < 0, np.int8(-1), np.int8(1)))
        return Codebook(labels, used.astype(values.dtype) * scale)

    def nominal_bits(self, clusters: int | None) -> float:
        """One: the sign."""
        del clusters
        return 1.0

    def step_sizes(self, magnitudes: Floats, rows: RowGroups, clusters: int | None) -> npt.NDArray[np.float64]:  # noqa: ARG002
        """The mean magnitude of each row, shape (rows,)."""
        return rows.sums(magnitudes) / rows.counts

    def largest_multiple(self, clusters: int | None) -> int:  # noqa: ARG002 - always one magnitude
        """One: the only multiples of the scale are 1 and -1."""
        return 1
