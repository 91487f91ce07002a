"""What a pruner is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.capabilities import Curvature
from cnet.documents import Sweep
from cnet.errors import SpecError
from cnet.prune._gradual import Gradual
from cnet.prune._scope import Scope, keep_most_salient
from cnet.prune._select import Bits, Threshold
from cnet.registry import Part, Registry
from cnet.weights import Weights

Sparsity = Annotated[float, Field(ge=0.0, le=1.0)]
_SPARSITIES = (
    *(0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.825, 0.85, 0.875),
    *(0.9, 0.91, 0.92, 0.93, 0.94, 0.95, 0.955, 0.96, 0.965, 0.97, 0.975, 0.98, 0.985, 0.99, 0.995, 0.998),
)  # the sparsities that a search can try


class Pruner(Part):
    """Decides which entries of w_net are set to zero: those of the lowest ``saliency``.

    Exactly round(sparsity * n) weights become zero, where ``round`` is Python's (a half goes to the even number) and
    weights that are zero already count; with scope ``layer`` or ``column``, of each tensor or each output on its own.
    Where more are zero than asked for, these and no others are zero afterwards. Of equals the one that comes first in
    w_net goes first. The same input gives the same mask on every machine.
    """

    needs_curvature: ClassVar[bool] = False
    #: See ``cnet.capabilities.Searchable``.
    search_grid: ClassVar[Mapping[str, tuple[Any, ...]]] = {"sparsity": tuple((sparsity,) for sparsity in _SPARSITIES)}

    sparsity: Sweep[Sparsity] = Field(
        default=(0.9,), description="Fraction of w_net to set to zero, 0..1; a list makes one point each."
    )
    scope: Literal["network", "layer", "column"] = Field(
        default="network",
        description="What competes: all weights of the net; those of one tensor; those that one output is computed "
        "from (index of a tensor's first dimension).",
    )
    floor: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="Share of each tensor's weights, rounded up, that scope network leaves in it, so that no layer "
        "runs empty; at most 1 - sparsity of each, so that the sparsity is still met.",
    )
    gradual: Gradual | None = Field(
        default=None,
        description="Prune step by step in a training of its own before the recovery, with the method's penalty kept "
        "on; needs a data set. Null: so in 10 epochs, or as many as training has if these are fewer; without a data "
        "set all at once.",
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
        """Epochs of the training that prunes step by step; 0 where all is pruned at once."""
        return self.gradual.epochs if self.gradual else 0

    @property
    def streams(self) -> bool:
        """Whether there is a ``threshold`` for nets that are not in memory."""
        return False

    def threshold(self, magnitudes: Callable[[], Iterable[Bits]], dropped: int) -> Threshold:  # noqa: ARG002 - overridden
        """What is kept of weights that are given part by part.

        Args:
            magnitudes: bits of all |w| as float32, in order of w_net, from the start each time it is called.
            dropped: how many are set to zero.

        Raises:
            SpecError: this pruner looks at the whole net at once (``streams`` is False).
        """
        detail = f"pruner {self.name!r} with these settings needs all weights in memory: do not stream"
        raise SpecError(detail, code="cannot_stream")

    @abstractmethod
    def saliency(self, weights: Weights, curvature: Curvature | None) -> npt.NDArray[np.floating]:
        """What each entry of w_net is worth: shape (n,), not negative, finite."""

    def keep(self, weights: Weights, sparsity: float, curvature: Curvature | None = None) -> npt.NDArray[np.bool_]:
        """The mask, shape (n,) in the order of w_net: True where a weight is kept. A zero is never kept.

        Args:
            weights: the net.
            sparsity: fraction to drop, 0..1.
            curvature: of the loss at ``weights``, given where ``needs_curvature``.
        """
        saliency = self.saliency(weights, curvature)
        return keep_most_salient(saliency, weights, sparsity, Scope(self.scope, self.floor))


PRUNERS: Registry[Pruner] = Registry("pruner", "cnet.prune")
