"""How far the tensors of two models are apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks
from cnet.results.metrics import finite
from cnet.weights import Tensor, Weights


@dataclass(frozen=True)
class TensorDifference:
    """How far one tensor of a model is from the same tensor of another one.

    Attributes:
        name: in the first model.
        shape: of both.
        dtype: element type in the first model.
        other_dtype: element type in the second one.
        parameters: number of elements.
        changed: number of elements whose values differ; NaN equals NaN.
        zeros: number of zeros in the first model.
        other_zeros: number of zeros in the second one.
        squared_error: sum of the squares of the differences.
        energy: sum of the squares of the first model's values.
        largest: largest absolute difference.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    other_dtype: str
    parameters: int
    changed: int
    zeros: int
    other_zeros: int
    squared_error: float
    energy: float
    largest: float

    @property
    def mse(self) -> float:
        """Mean of the squares of the differences; 0 where there are no elements."""
        return self.squared_error / self.parameters if self.parameters else 0.0

    @property
    def snr_db(self) -> float | None:
        """10 log10 of the energy ÷ the squared error; None where either is 0 or not finite."""
        if not 0 < self.squared_error < math.inf or not 0 < self.energy < math.inf:
            return None
        return 10 * (math.log10(self.energy) - math.log10(self.squared_error))

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON, with ``mse`` and ``snr_db``; null for a number that is not finite."""
        document = {**asdict(self), "shape": list(self.shape), "mse": self.mse, "snr_db": self.snr_db}
        return {name: finite(value) for name, value in document.items()}

    @classmethod
    def between(cls, first: Tensor, second: Tensor) -> Self:
        """The difference of two tensors of one shape, computed in float64, chunk by chunk."""
        parts = [_compare(one, other) for one, other in zip(_values(first), _values(second), strict=True)]
        changed, zeros, other_zeros, errors, energies, largest = zip(*parts, strict=True) if parts else [()] * 6
        return cls(
            name=first.name,
            shape=first.shape,
            dtype=first.dtype,
            other_dtype=second.dtype,
            parameters=first.size,
            changed=sum(changed),
            zeros=sum(zeros),
            other_zeros=sum(other_zeros),
            squared_error=math.fsum(errors) if all(map(math.isfinite, errors)) else math.inf,
            energy=math.fsum(energies) if all(map(math.isfinite, energies)) else math.inf,
            largest=max(largest, default=0.0),
        )


def tensor_differences(first: Weights, second: Weights, names: Mapping[str, str]) -> list[TensorDifference]:
    """The differences of the tensors that two models have in common, in the order of the first.

    Args:
        first: a model.
        second: another one.
        names: name in the second model by name in the first; the two tensors have one shape.
    """
    return [TensorDifference.between(tensor, second[names[tensor.name]]) for tensor in first if tensor.name in names]


def total_difference(differences: Iterable[TensorDifference]) -> TensorDifference:
    """The difference of all tensors together, under the name ``total``."""
    rows = list(differences)

    def total(name: str) -> Any:
        return sum(getattr(row, name) for row in rows)

    counts = {name: total(name) for name in ("parameters", "changed", "zeros", "other_zeros")}
    return TensorDifference(
        name="total",
        shape=(counts["parameters"],),
        dtype=", ".join(sorted({row.dtype for row in rows})),
        other_dtype=", ".join(sorted({row.other_dtype for row in rows})),
        squared_error=total("squared_error"),
        energy=total("energy"),
        largest=max((row.largest for row in rows), default=0.0),
        **counts,
    )


def _values(tensor: Tensor) -> Iterable[npt.NDArray[Any]]:
    """The values in chunks of shape (n,), in element types that NumPy computes with."""
    return (dtypes.widen(chunk, tensor.dtype) for chunk in chunks(tensor.data))


def _compare(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> tuple[int, int, int, float, float, float]:
    """Changed elements, zeros of both, squared error, energy and largest difference of two chunks, shape (n,)."""
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    zeros = len(one) - np.count_nonzero(one), len(other) - np.count_nonzero(other)
    wide = np.complex128 if np.iscomplexobj(one) or np.iscomplexobj(other) else np.float64
    with np.errstate(invalid="ignore", over="ignore"):
        first, second = one.astype(wide), other.astype(wide)
        error = np.abs(np.where(same, 0, first - second))
        squared, energy = float(np.dot(error, error)), float(np.vdot(first, first).real)
    largest = float(error.max(initial=0.0))
    return len(one) - int(np.count_nonzero(same)), int(zeros[0]), int(zeros[1]), squared, energy, largest
