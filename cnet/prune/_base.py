"""What a pruner is."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated

import numpy as np
import numpy.typing as npt
from pydantic import Field

from cnet.registry import Part, Registry
from cnet.sweep import Sweep
from cnet.weights import Weights

Sparsity = Annotated[float, Field(ge=0.0, le=1.0)]


class Pruner(Part):
    """Decides which entries of w_net are set to zero.

    ``keep`` must return exactly n - round(sparsity * n) True entries (fewer where more weights are zero already: a
    zero is never kept), and the same mask for the same input on every machine.
    """

    sparsity: Sweep[Sparsity] = Field(
        default=(0.9,), description="Fraction of w_net to set to zero, 0..1; a list makes one point each."
    )

    @abstractmethod
    def keep(self, weights: Weights, sparsity: float) -> npt.NDArray[np.bool_]:
        """The mask, shape (n,) in the order of w_net: True where a weight is kept."""


PRUNERS: Registry[Pruner] = Registry("pruner", "cnet.prune")
