"""What a quantizer is."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from cnet.arrays import take_masked
from cnet.errors import SpecError
from cnet.measures import entropy
from cnet.registry import Part, Registry
from cnet.symbols import Symbols

NORMAL_BITS = 2.05
"""Differential entropy of a normal distribution of variance 1, in bits."""


@dataclass(frozen=True, eq=False)
class Codebook:
    """Labels and centroids of some values, as in ``cnet.symbols.Symbols``."""

    labels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None
    centroids: npt.NDArray[np.floating]


Curvature = npt.NDArray[np.float64]

Parts = Callable[[], Iterable[npt.NDArray[np.floating]]]
"""All values, part by part, from the start each time it is called."""


class Fitted(Protocol):
    """A codebook that is found, for values that are labelled part by part."""

    @property
    def centroids(self) -> npt.NDArray[np.floating]:
        """As in ``Symbols``; without labels only its type means something."""

    def labels(self, values: npt.NDArray[np.floating]) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None:
        """The labels of some of the values; None where values are kept as they are."""


class Quantizer(Part):
    """Replaces each kept weight by one of few shared values.

    Centroids are finite, ascending and distinct, never more than the values have distinct ones, and each is used by
    some label; labels are uint8 up to 256 centroids, uint16 beyond. The same values give the same codebook.
    """

    @property
    def tunes_centroids(self) -> bool:
        """Whether training may move the centroids; not those of a grid that file or encoder make use of."""
        return True

    #: See ``cnet.capabilities.Searchable``; empty: a search takes the quantizer as it is.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {}

    @property
    def keeps_negative_zeros(self) -> bool:
        """Whether weights of -0.0 are kept with their sign, even where the mask drops them."""
        return False

    def nominal_bits(self, clusters: int | None) -> float:
        """How fine it is, as bits of a label of a normal distribution; ``clusters`` is one of ``levels()``."""
        return 32.0 if clusters is None else math.log2(clusters)

    def trial(self, values: npt.NDArray[np.float64], clusters: int | None) -> tuple[float, float, float]:
        """What a search begins with: bits of a value that is not zero, squared error of a value, share of zeros.

        Args:
            values: kept weights, shape (kept,), at least one, finite.
            clusters: one of ``levels()``.
        """
        codebook = self.quantize(values, clusters)
        if codebook.labels is None:
            return 32.0, 0.0, 0.0
        error = float(np.mean((codebook.centroids[codebook.labels] - values) ** 2))
        return entropy(np.bincount(codebook.labels)), error, 0.0

    def levels(self) -> tuple[int | None, ...]:
        """The cluster counts that the job asks for, one point each; ``(None,)`` where there is no such number."""
        return (None,)

    @property
    def streams(self) -> bool:
        """Whether there is a ``fitted`` for values that are not in memory."""
        return False

    def fitted(self, parts: Parts, clusters: int | None) -> Fitted:  # noqa: ARG002 - overridden where it streams
        """The codebook of ``quantize``, of values that are given part by part.

        Raises:
            SpecError: this quantizer, or so many clusters, need all values at once.
        """
        detail = f"quantizer {self.name!r} with these settings needs all weights in memory: do not stream"
        raise SpecError(detail, code="cannot_stream")

    @abstractmethod
    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Labels and centroids for ``values``, shape (kept,), of which none needs to be zero."""

    def symbols(
        self,
        vector: npt.NDArray[np.floating],
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),  # noqa: ARG002 - some quantizers look at where weights lie
        curvature: Curvature | None = None,  # noqa: ARG002 - for quantizers that need it
    ) -> Symbols:
        """The symbols of w_net.

        Args:
            vector: w_net, shape (n,), float32 or float64.
            keep: the pruner's mask, shape (n,).
            clusters: one of ``levels()``.
            shapes: shapes of the compressible tensors, in order of w_net; none stands for one vector.
            curvature: of the loss along each weight, shape (n,), float64, not negative; used by a quantizer that
                ``needs_curvature``, which weighs all errors alike where it is None.
        """
        codebook = self.quantize(take_masked(vector, keep), clusters)
        return Symbols(keep, codebook.labels, codebook.centroids)


QUANTIZERS: Registry[Quantizer] = Registry("quantizer", "cnet.quantize")
