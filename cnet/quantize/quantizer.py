"""The base class of quantizers, their registry, and what they return."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.errors import SpecError
from cnet.parts.capabilities import Curvature
from cnet.parts.registry import Part, Registry
from cnet.results.measures import entropy
from cnet.symbols import Symbols

Labels = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]

ValueChunks = Callable[[], Iterable[npt.NDArray[np.floating]]]
"""A function that gives all values, chunk by chunk, each of shape (n,), from the start each time it is called."""

NORMAL_BITS = 2.05
"""Differential entropy of a normal distribution of variance 1, in bits."""


@dataclass(frozen=True, eq=False)
class Codebook:
    """Labels and centroids of some values, as in ``cnet.symbols.Symbols``."""

    labels: Labels | None
    centroids: npt.NDArray[np.floating]


class FittedCodebook(Protocol):
    """A codebook for values that are labelled chunk by chunk."""

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """Shape (k,), as in ``Symbols``. Without labels only the element type is used."""

    def assign_labels(self, values: npt.NDArray[np.floating]) -> Labels | None:
        """The labels of some of the values, both of shape (n,); None where the values are kept as they are."""


class QuantizationEstimate(NamedTuple):
    """What a quantizer is expected to do to some values.

    Attributes:
        bits: of the label of a value that is not zero, by the entropy of the labels.
        squared_error: mean over all values.
        zeros: share of values that become zero.
    """

    bits: float
    squared_error: float
    zeros: float


class Quantizer(Part):
    """Replaces each kept weight by one of few shared values, the centroids.

    The contract of every quantizer: centroids are finite, ascending and distinct, no more than the values have
    distinct ones, and each is used by some label. Labels are uint8 up to 256 centroids, uint16 beyond. The same values
    give the same codebook. A subclass implements ``quantize``, and overrides ``symbols`` where the position of a weight
    matters. One that ``streams`` (``cnet.parts.capabilities.Streamable``) implements ``fit_chunks`` as well, or is one
    that labels weights in their order (``cnet.quantize.grid_labels.LabelsInOrder``).
    """

    #: As in ``cnet.parts.capabilities.Searchable``. Empty: a search takes the quantizer as it is.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    @property
    def trains_centroids(self) -> bool:
        """Whether training may move the centroids. It may not where the file or the encoder relies on their grid."""
        return True

    @property
    def keeps_negative_zeros(self) -> bool:
        """Whether weights of -0.0 are kept with their sign, even where the mask drops them."""
        return False

    def cluster_counts(self) -> tuple[int | None, ...]:
        """The numbers of centroids that the job asks for, one point each; ``(None,)`` where it cannot ask for any."""
        return (None,)

    def nominal_bits(self, clusters: int | None) -> float:
        """Bits of a label if the weights were normally distributed: how fine the quantizer is, for a search.

        Args:
            clusters: one of ``cluster_counts()``.
        """
        return 32.0 if clusters is None else math.log2(clusters)

    def estimate(self, values: npt.NDArray[np.float64], clusters: int | None) -> QuantizationEstimate:
        """What the quantizer does to a sample of the weights: the starting point of a search.

        Args:
            values: kept weights, finite, float64, shape (n,), n at least 1.
            clusters: one of ``cluster_counts()``.
        """
        codebook = self.quantize(values, clusters)
        if codebook.labels is None:
            return QuantizationEstimate(bits=32.0, squared_error=0.0, zeros=0.0)
        error = float(np.mean((codebook.centroids[codebook.labels] - values) ** 2))
        return QuantizationEstimate(entropy(np.bincount(codebook.labels)), error, zeros=0.0)

    @abstractmethod
    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Labels and centroids of some values.

        Args:
            values: shape (n,), float32 or float64, finite; zeros are values like others.
            clusters: one of ``cluster_counts()``.
        """

    def symbols(
        self,
        vector: npt.NDArray[np.floating],
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),  # noqa: ARG002 - for quantizers to which the position of a weight matters
        curvature: Curvature | None = None,  # noqa: ARG002 - for quantizers that need it
    ) -> Symbols:
        """Mask, labels and centroids of w_net.

        Args:
            vector: w_net, float32 or float64, shape (n,).
            keep: the pruner's mask, bool, shape (n,).
            clusters: one of ``cluster_counts()``.
            shapes: shapes of the compressible tensors, in the order of w_net; empty: w_net is one vector.
            curvature: of the loss along each weight, float64, not negative, shape (n,). Used where
                ``cnet.parts.capabilities.needs_curvature``; None: all errors count alike.
        """
        codebook = self.quantize(take_masked(vector, keep), clusters)
        return Symbols(keep, codebook.labels, codebook.centroids)

    @property
    def streams(self) -> bool:
        """Whether ``fit_chunks`` works under these settings."""
        return False

    def fit_chunks(self, chunks: ValueChunks, clusters: int | None) -> FittedCodebook:  # noqa: ARG002 - for those that stream
        """The codebook that ``quantize`` finds, of float32 values that are given chunk by chunk.

        Args:
            chunks: the kept weights.
            clusters: one of ``cluster_counts()``.

        Raises:
            SpecError: ``cannot_stream``, where these settings, or so many clusters of such values, need all values in
                memory.
        """
        raise SpecError(
            f"quantizer {self.name!r}: with these settings it needs all weights in memory. Turn streaming off.",
            code="cannot_stream",
        )


QUANTIZERS: Registry[Quantizer] = Registry("quantizer", "cnet.quantize")
