"""The base class of pruners, and their registry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.documents import Sweep
from cnet.errors import SpecError
from cnet.parts.capabilities import Curvature
from cnet.parts.registry import Part, Registry
from cnet.prune._gradual import Gradual
from cnet.prune._scope import Scope, ScopeName, keep_most_salient
from cnet.prune._threshold import MagnitudeChunks, Threshold
from cnet.weights import Weights

Sparsity = Annotated[float, Field(ge=0.0, le=1.0)]
_SPARSITIES = (
    *(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.998),
)  # the sparsities that a search can try


class Pruner(Part):
    """Sets the weights of w_net with the lowest saliency to zero.

    The contract of every pruner: exactly round(sparsity * n) weights are zero afterwards, where ``round`` is that of
    Python (a half goes to the even number) and weights that were zero before count; with the scopes ``layer`` and
    ``column`` this holds for each tensor or each output. Where more weights than that were zero before, these are zero
    and no others. Of equally salient weights the first in w_net is pruned first. The same input gives the same mask on
    every machine. A subclass implements ``saliency``; one that ``streams`` (``cnet.parts.capabilities.Streamable``)
    implements ``find_threshold`` as well.
    """

    #: As in ``cnet.parts.capabilities.NeedsCurvature``.
    needs_curvature: ClassVar[bool] = False
    #: As in ``cnet.parts.capabilities.Searchable``.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"sparsity": tuple((sparsity,) for sparsity in _SPARSITIES)}

    sparsity: Sweep[Sparsity] = Field(
        default=(0.9,), description="Fraction of the weights to set to zero. A list makes one point for each number."
    )
    scope: ScopeName = Field(
        default="network",
        description="Which weights compete: all weights of the model, those of one tensor, or those that one output is "
        "computed from (an index of the first dimension).",
    )
    floor: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="Share of each tensor's weights that scope network keeps, rounded up, so that no layer is emptied. "
        "At most 1 - sparsity of a tensor, so that the sparsity is still met.",
    )
    gradual: Gradual | None = Field(
        default=None,
        description="Prune step by step in a training before the recovery, with the penalty of the method. Needs a "
        "data set. Null: in 10 epochs, or in as many as the training has if these are fewer; without a data set all "
        "at once.",
    )

    @property
    def needs_data(self) -> str | None:
        """A gradual pruning trains the model; the curvature of the loss is measured on training images."""
        if self.gradual_epochs:
            return "gradual pruning trains the model. Leave gradual out, or name a dataset."
        if self.needs_curvature:
            return f"{self.name!r} measures the loss on training images. Take another pruner, or name a dataset."
        return None

    @property
    def gradual_epochs(self) -> int:
        """Number of epochs of the training that prunes gradually; 0 where all is pruned at once."""
        return self.gradual.epochs if self.gradual else 0

    @abstractmethod
    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """What each weight of w_net is worth, not negative, finite, float32 or float64, shape (n,).

        Args:
            weights: the model.
            curvature: of the loss at ``weights``, float64, shape (n,); given where ``needs_curvature``.
        """

    def keep(self, weights: Weights, sparsity: float, curvature: Curvature | None = None) -> npt.NDArray[np.bool_]:
        """The mask of w_net, bool, shape (n,): True where a weight is kept. A zero is never kept.

        Args:
            weights: the model.
            sparsity: fraction to prune, 0..1.
            curvature: of the loss at ``weights``, float64, shape (n,); given where ``needs_curvature``.
        """
        saliency = self.saliency(weights, curvature)
        return keep_most_salient(saliency, weights, sparsity, Scope(self.scope, self.floor))

    @property
    def streams(self) -> bool:
        """Whether ``find_threshold`` works under these settings."""
        return False

    def find_threshold(self, chunks: MagnitudeChunks, pruned: int) -> Threshold:  # noqa: ARG002 - for those that stream
        """Which weights are kept of float32 weights that are given chunk by chunk.

        Args:
            chunks: the magnitudes of w_net (``magnitude_bits``).
            pruned: how many weights are set to zero.

        Raises:
            SpecError: ``cannot_stream``, where these settings need all weights in memory.
        """
        raise SpecError(
            f"pruner {self.name!r}: with these settings it needs all weights in memory. Turn streaming off.",
            code="cannot_stream",
        )


PRUNERS: Registry[Pruner] = Registry("pruner", "cnet.prune")
