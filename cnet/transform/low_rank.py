"""Low-rank factorization: each weight matrix as the product of two thin matrices."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from cnet import dtypes
from cnet.errors import CheckpointError
from cnet.products import with_products
from cnet.transform.transform import TRANSFORMS, Transform
from cnet.weights import Product, Tensor, Weights

Wide = npt.NDArray[np.float64]


@TRANSFORMS.register("low_rank")
class LowRank(Transform):
    """Replaces W by U V from its truncated singular value decomposition (Eckart and Young, 1936).

    The product is the best approximation of W of its rank. A tensor of two dimensions and more is read as the matrix
    (first dimension, all others). U has shape (m, r), V has shape (r, ...): a convolution with r filters before a 1x1
    convolution. Each factor takes the square root of the singular values, so that an error in either costs the same.

    A tensor is factored if it is compressible, not tied to another tensor, and its factors have fewer elements than it.
    Factors are float64 for a float64 tensor and float32 for any other. They are what is then trained, pruned, quantized
    and stored, under the names that ``torch.nn.utils.parametrize`` would give them.
    """

    summary: ClassVar[str] = "Each weight matrix as the product of two thin matrices, where that has fewer elements."
    source: ClassVar[str] = (
        "The cut-off singular value decomposition of Eckart and Young (1936), in place of the low-rank training of "
        "Chen et al. that the paper names"
    )

    name: Literal["low_rank"] = "low_rank"
    energy: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="Share of each tensor's sum of squares to keep, with the least rank. 0.9 if no rank is given.",
    )
    rank: float | None = Field(
        default=None,
        gt=0.0,
        le=1.0,
        description="Rank as a fraction of the full rank, rounded up, the same for all tensors.",
    )

    @model_validator(mode="before")
    @classmethod
    def _one_rule(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        rules = [key for key in ("energy", "rank") if given.get(key) is not None]
        if len(rules) > 1:
            raise ValueError("energy and rank are both given. Give one of them.")
        return given if rules else {**given, "energy": 0.9}

    def transformed(self, weights: Weights) -> Weights:
        """The model with factors in place of the tensors that they make smaller.

        Raises:
            CheckpointError: ``not_finite``, where a weight is NaN or infinite.
        """
        unsuitable = {name for group in weights.tied for name in group}
        names = {tensor.name for tensor in weights}
        unsuitable |= {name for name in names if names.intersection(_factor_names(name))}
        tensors: list[Tensor] = []
        products: list[Product] = []
        for tensor in weights:
            fits = tensor.name in weights.compressible and tensor.name not in unsuitable and len(tensor.shape) >= 2
            factors = self._factors(tensor) if fits else None
            tensors += [tensor] if factors is None else factors
            if factors is not None:
                products.append(Product(tensor.name, tensor.dtype, factors[0].name, factors[1].name))
        changed = {product.name for product in products}
        kept = tuple(name for name in weights.compressible if name not in changed)
        return with_products(Weights(tuple(tensors), kept, weights.tied), products)

    def _factors(self, tensor: Tensor) -> list[Tensor] | None:
        """Both factors; None where they have no fewer elements than the tensor."""
        matrix = tensor.values().astype(np.float64).reshape(tensor.shape[0], -1)
        if not np.all(np.isfinite(matrix)):
            raise CheckpointError(
                f"tensor {tensor.name!r}: some weights are NaN or infinite. Save the checkpoint from before the "
                "training diverged.",
                code="not_finite",
            )
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
        rank = self._rank(values)
        if rank * sum(matrix.shape) >= matrix.size:
            return None
        roots = np.sqrt(values[:rank])
        arrays = (left[:, :rank] * roots, roots[:, np.newaxis] * right[:rank])
        shapes = ((matrix.shape[0], rank), (rank, *tensor.shape[1:]))
        dtype = "float64" if tensor.dtype == "float64" else "float32"
        factor_names = _factor_names(tensor.name)
        return [
            Tensor(name, dtype, dtypes.narrow(np.ascontiguousarray(array.reshape(shape)), dtype))
            for name, array, shape in zip(factor_names, arrays, shapes, strict=True)
        ]

    def _rank(self, values: Wide) -> int:
        """The number of singular values to keep, from all of them in descending order, shape (full rank,)."""
        if self.rank is not None:
            return math.ceil(self.rank * len(values))
        energies = np.cumsum(values**2)
        return min(int(np.searchsorted(energies, (self.energy or 1.0) * energies[-1])) + 1, len(values))


def _factor_names(name: str) -> tuple[str, str]:
    """The names of the two factors of a tensor."""
    owner, _, attribute = name.rpartition(".")
    stem = f"{owner}.parametrizations.{attribute}" if owner else f"parametrizations.{attribute}"
    return f"{stem}.original0", f"{stem}.original1"
