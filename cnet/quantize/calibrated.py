"""Labels chosen by what their errors do to the network's outputs on calibration inputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cnet.errors import SpecError
from cnet.parts.capabilities import SearchConditions
from cnet.quantize.quantizer import QUANTIZERS, Codebook, QuantizationEstimate, Quantizer
from cnet.results.measures import entropy

Quality = Literal["safe", "small", "smallest"]

DIVERGENCE: Mapping[Quality, float] = {"safe": 0.001, "small": 0.01, "smallest": 0.06}
"""Expected divergence of the outputs from those of the original network at each quality, in nats."""

LARGEST_STEP: Mapping[Quality, float] = {"safe": 0.7, "small": 1.2, "smallest": 2.0}
"""Largest step size of a tensor at each quality, in root mean squares of its weights.

A network that is sure of its few calibration inputs seems to bear any error: a divergence of 0.003 nats left 6 dB of
signal to noise in a classifier of sounds, and other sounds lost 3.4 points of accuracy.
"""

ANY_STEP = 4.0
"""The limit where a divergence is given in place of a quality."""

_FORECAST_DB = 5.0  # of signal to noise at an expected divergence of 1 nat, typical of convolutional networks
_NOISE_OF_STEP = 1 / 12


@QUANTIZERS.register("calibrated")
class Calibrated(Quantizer):
    """Step sizes by tensor, row and column from the calibration inputs; labels along a trellis, by error feedback.

    Use it with the encoder ``compact``. This class holds the settings; the pipeline, which has the network and its
    inputs, chooses the labels.
    """

    name: Literal["calibrated"] = "calibrated"
    #: A larger divergence is a common factor of all step sizes.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "divergence": tuple(float(f"{10 ** (step / 16 - 4):.3g}") for step in range(65))
    }
    searched_unless: ClassVar[frozenset[str]] = frozenset({"quality"})

    summary: ClassVar[str] = "Step sizes and labels from what errors do to the outputs on a few unlabelled inputs."
    source: ClassVar[str] = (
        "Hassibi and Stork (1993), error feedback; Frantar et al. (2022); Conzelmann and Bamler (2025), rate"
    )

    quality: Quality | None = Field(
        default=None,
        description="How much the outputs may change: safe (the default), small or smallest; expected divergences of "
        f"{DIVERGENCE['safe']:g}, {DIVERGENCE['small']:g} and {DIVERGENCE['smallest']:g} nats, in steps of at most "
        f"{LARGEST_STEP['safe']:g}, {LARGEST_STEP['small']:g} and {LARGEST_STEP['smallest']:g} root mean squares of "
        "each tensor.",
    )
    divergence: float | None = Field(
        default=None,
        gt=0.0,
        le=10.0,
        description="Expected divergence of the outputs from those of the original network in nats, in place of a "
        "quality. What is measured afterwards differs from it. A job with a target searches it where neither is named.",
    )
    mu: float = Field(
        default=1.0,
        ge=0.0,
        le=10.0,
        description="Price of a bit relative to the one that suits most networks; 0: bits do not count, and labels "
        "have the least error.",
    )

    feedback: bool = Field(
        default=True,
        description="Whether labels whose errors cancel on the inputs are tried too. The better labels on inputs that "
        "are set apart win. Networks become up to a third smaller; false takes half the time.",
    )

    @model_validator(mode="after")
    def _check_one_is_named(self) -> Self:
        if self.divergence is not None and self.quality is not None:
            raise ValueError(
                "divergence: it is given beside quality, which also says how much may be lost. Give one of them."
            )
        return self

    @classmethod
    def for_search(cls, conditions: SearchConditions) -> Self | None:
        """The defaults where the job has calibration inputs, and the encoder spends the bits that are foreseen."""
        return cls() if conditions.calibrates and conditions.context_rates else None

    @property
    def expected_divergence(self) -> float:
        """The divergence, in nats, that ``divergence`` or else ``quality`` asks for."""
        return self.divergence or DIVERGENCE[self.quality or "safe"]

    @property
    def largest_step(self) -> float:
        """Largest step size of a tensor, in root mean squares of its weights."""
        return ANY_STEP if self.divergence is not None else LARGEST_STEP[self.quality or "safe"]

    @property
    def trains_centroids(self) -> bool:
        """Never: centroids are integers that each tensor multiplies by its step size."""
        return False

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a label of normally distributed weights at the typical signal-to-noise ratio, as a lower bound."""
        del clusters
        return 0.5 * math.log2(1 + 10 ** (self._forecast_db / 10))

    def estimate(self, values: npt.NDArray[np.float64], clusters: int | None) -> QuantizationEstimate:
        """As ``Quantizer.estimate``, for values rounded to one grid whose signal-to-noise ratio is the typical one."""
        del clusters
        power = float(np.mean(values * values))
        if power == 0:
            return QuantizationEstimate(0.0, 0.0, zeros=1.0)
        noise = power * 10 ** (-self._forecast_db / 10)
        multiples = np.rint(values / math.sqrt(noise / _NOISE_OF_STEP))
        used = multiples[multiples != 0]
        bits = entropy(np.unique(used, return_counts=True)[1]) if len(used) else 0.0
        return QuantizationEstimate(bits, min(noise, power), zeros=1 - len(used) / len(values))

    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Always raises SpecError: the values, shape (n,), do not tell how their errors change the outputs."""
        del values, clusters
        raise SpecError(
            "quantize: the quantizer 'calibrated' needs a network and calibration inputs. Give calibrate, or use the "
            "quantizer auto."
        )

    @property
    def _forecast_db(self) -> float:
        """The signal-to-noise ratio in dB that is typical: noise is in proportion to the divergence."""
        return _FORECAST_DB - 10 * math.log10(self.expected_divergence)
