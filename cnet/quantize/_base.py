"""What a quantizer is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cnet.picked import picked
from cnet.registry import Part, Registry
from cnet.symbols import Symbols


@dataclass(frozen=True, eq=False)
class Codebook:
    """Labels and centroids of some values, as in ``cnet.symbols.Symbols``."""

    labels: npt.NDArray[np.uint8] | npt.NDArray[np.uint16] | None
    centroids: npt.NDArray[np.floating]


class Quantizer(Part):
    """Replaces each kept weight by one of few shared values.

    Centroids are finite, ascending and distinct, never more than the values have distinct ones, and each is used by
    some label; labels are uint8 up to 256 centroids, uint16 beyond. The same values give the same codebook.
    """

    @property
    def tunes_centroids(self) -> bool:
        """Whether training may move the centroids; not those of a grid that file or encoder make use of."""
        return True

    def levels(self) -> tuple[int | None, ...]:
        """The cluster counts that the job asks for, one point each; ``(None,)`` where there is no such number."""
        return (None,)

    @abstractmethod
    def quantize(self, values: npt.NDArray[np.floating], clusters: int | None) -> Codebook:
        """Labels and centroids for ``values``, shape (kept,), of which none needs to be zero."""

    def symbols(
        self,
        vector: npt.NDArray[np.floating],
        keep: npt.NDArray[np.bool_],
        clusters: int | None,
        shapes: Sequence[tuple[int, ...]] = (),  # noqa: ARG002 - some quantizers look at where weights lie
    ) -> Symbols:
        """The symbols of w_net.

        Args:
            vector: w_net, shape (n,), float32 or float64.
            keep: the pruner's mask, shape (n,).
            clusters: one of ``levels()``.
            shapes: shapes of the compressible tensors, in order of w_net; none stands for one vector.
        """
        codebook = self.quantize(picked(vector, keep), clusters)
        return Symbols(keep, codebook.labels, codebook.centroids)


QUANTIZERS: Registry[Quantizer] = Registry("quantizer", "cnet.quantize")
