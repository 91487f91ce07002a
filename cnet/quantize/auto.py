"""The quantizer that needs no settings: step sizes by tensor from the weights alone, at a quality in plain words.

Step sizes follow from the shapes and scales of the tensors (``weights_alone.step_sizes``), labels from a trellis with
error feedback (``weights_alone.label_choice``) under the bits of the encoder ``compact``. No data is needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cnet.parts.capabilities import Curvature, SearchConditions
from cnet.quantize._magnitudes import largest_and_rms
from cnet.quantize.grid_labels import KeptWeights, TensorGrids, WeightsInMemory, symbols_of
from cnet.quantize.none import Unquantized
from cnet.quantize.quantizer import QUANTIZERS, Codebook, FittedCodebook, QuantizationEstimate, Quantizer, ValueChunks
from cnet.quantize.weights_alone.feedback_trellis import MAX_STEP
from cnet.quantize.weights_alone.label_choice import FeedbackChooser
from cnet.quantize.weights_alone.row_factors import few_bits
from cnet.quantize.weights_alone.step_sizes import NOISE_OF_STEP, step_sizes
from cnet.quantize.weights_alone.tensor_scales import measure_scales
from cnet.results.measures import entropy
from cnet.symbols import Symbols

Floats = npt.NDArray[np.floating]

Decibels = Annotated[float, Field(ge=-20.0, le=90.0)]
Quality = Literal["lossless", "safe", "small", "smallest"]

SNR_DB: Mapping[Quality, float] = {"safe": 44.0, "small": 27.0, "smallest": 20.0}
"""Signal-to-noise ratio in dB of each quality: each tensor's noise relative to its power, averaged over all weights."""

MU = 0.2
"""Price of a bit."""

MU_BELOW_DB = 36.0
"""Signal-to-noise ratio from which on bits do not count: where labels have many it saves next to nothing."""

DEPTHWISE_DB = 8.0
"""What is added to it in networks with depthwise convolutions: few weights share an output, so that noise stays."""

_MEMORY = 3
_GAIN_DB = 1.0  # by which the trellis' noise is lower than that of rounding to its steps


@QUANTIZERS.register("auto")
class Auto(Quantizer):
    """Step sizes by tensor from the weights alone; the one knob is the quality.

    Use it with the encoder ``compact``. Each tensor has one step size; labels are multiples of half of it, along a
    trellis, and the bundle holds the factors of the tensors (``Scales``). Where the rows of an output layer have units
    of their own, each row has a step size in proportion to its scale, and the bundle holds their factors
    (``AxisScales``).
    """

    name: Literal["auto"] = "auto"
    #: A smaller ratio is a common factor of all step sizes.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"snr_db": tuple(60.0 - 1.5 * step for step in range(48))}
    searched_unless: ClassVar[frozenset[str]] = frozenset({"quality"})

    summary: ClassVar[str] = "Step sizes by tensor from the weights alone, at a quality in plain words; needs no data."
    source: ClassVar[str] = "Marcellin and Fischer (1990), trellis; Frantar et al. (2022), error feedback"

    quality: Quality | None = Field(
        default=None,
        description="How much the network may change: lossless (bit for bit), safe (44 dB of signal to noise, the "
        "default), small (27 dB) or smallest (20 dB).",
    )
    snr_db: Decibels | None = Field(
        default=None,
        description="Signal-to-noise ratio in dB in place of a quality: the noise of rounding to the step sizes, of "
        "each tensor relative to its power, averaged over all weights; negative where most weights become zero. A job "
        "with a target searches it where neither is named.",
    )

    @model_validator(mode="after")
    def _check_one_is_named(self) -> Self:
        if self.snr_db is not None and self.quality is not None:
            raise ValueError(
                "snr_db: it is given beside quality, which also says how much may be lost. Give one of them."
            )
        return self

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self | None:
        """The defaults where nothing is trained, and the encoder knows trellises."""
        return cls() if conditions.context_rates and not conditions.trains else None

    @property
    def keeps_all(self) -> bool:
        """Whether all is kept bit for bit."""
        return self.quality == "lossless"

    @property
    def noise_db(self) -> float:
        """The signal-to-noise ratio in dB that is asked for, infinite for ``lossless``."""
        if self.snr_db is not None:
            return self.snr_db
        return math.inf if self.quality == "lossless" else SNR_DB[self.quality or "safe"]

    @property
    def trains_centroids(self) -> bool:
        """Never: centroids are integers that each tensor multiplies by its unit."""
        return False

    @property
    def keeps_negative_zeros(self) -> bool:
        """Whether all is kept bit for bit."""
        return self.keeps_all

    @property
    def streams(self) -> bool:
        """Always: weights are labelled in their order."""
        return True

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a label of normally distributed weights at the quality's signal-to-noise ratio."""
        del clusters
        return 32.0 if self.keeps_all else 0.5 * math.log2(1 + 10 ** (self.noise_db / 10))

    def estimate(self, values: npt.NDArray[np.float64], clusters: int | None) -> QuantizationEstimate:
        """As ``Quantizer.estimate``, of values that are rounded to one grid of this signal-to-noise ratio."""
        if self.keeps_all or not np.any(values):
            return super().estimate(values, clusters)
        power = float(np.mean(values * values))
        noise = power * 10 ** (-self.noise_db / 10)
        multiples = np.rint(values / math.sqrt(noise / NOISE_OF_STEP))
        used = multiples[multiples != 0]
        bits = entropy(np.unique(used, return_counts=True)[1])
        return QuantizationEstimate(bits, min(noise, power), zeros=1 - len(used) / len(values))

    def quantize(self, values: Floats, clusters: int | None) -> Codebook:
        """Labels and centroids of values that belong to no tensor, shape (n,): the values themselves.

        Raises:
            CheckpointError: ``not_finite``, where a value is NaN or infinite.
        """
        largest_and_rms(values)
        return Unquantized().quantize(values, clusters)

    def fit_chunks(self, chunks: ValueChunks, clusters: int | None) -> FittedCodebook:
        """As ``Quantizer.fit_chunks``, for values that are kept as they are."""
        return Unquantized().fit_chunks(chunks, clusters)

    def symbols(
        self,
        vector: Floats,
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),
        curvature: Curvature | None = None,
    ) -> Symbols:
        """As ``Quantizer.symbols``.

        Raises:
            CheckpointError: ``not_finite``, where a kept weight is NaN or infinite.
        """
        if self.keeps_all:
            return Unquantized().symbols(vector, keep, clusters, shapes, curvature)
        return symbols_of(self, WeightsInMemory(vector, keep), list(shapes) or [(len(vector),)])

    def grids(self, weights: KeptWeights, shapes: Sequence[tuple[int, ...]]) -> TensorGrids | None:
        """As ``LabelsInOrder.grids``; None for the quality ``lossless``."""
        if self.keeps_all:
            return None
        shapes = [shape for shape in shapes if 0 not in shape]
        scales = measure_scales(weights, shapes)
        snr_db = self.noise_db + (DEPTHWISE_DB if _has_depthwise(shapes) else 0.0)
        steps = step_sizes(scales, snr_db - _GAIN_DB)
        units = np.ones(len(shapes), weights.dtype)
        for tensor, scale in enumerate(scales):
            if scale.largest:
                units[tensor] = _stored_unit(steps[tensor] / 2, scale.largest, weights.dtype)
        chooser = FeedbackChooser(_MEMORY, MU if self.noise_db < MU_BELOW_DB else 0.0)
        multiples = chooser.multiples_in_order(weights, scales, units)
        return TensorGrids(units, multiples, tuple(scale.rows for scale in scales))


def _has_depthwise(shapes: Sequence[tuple[int, ...]]) -> bool:
    """Whether a tensor after the first, which may have one input channel, is the kernel of a depthwise convolution."""
    return any(len(shape) > 2 and shape[1] == 1 and shape[0] > 1 and max(shape[2:]) > 1 for shape in shapes[1:])


def _stored_unit(unit: float, largest: float, dtype: np.dtype[np.floating]) -> np.floating:
    """The unit with few bits of mantissa, in whose multiples the largest weight can be written."""
    least = max(unit, largest / (2 * MAX_STEP - 2), float(np.finfo(dtype).smallest_subnormal))
    return dtype.type(few_bits(least, np.ceil))
