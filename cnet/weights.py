"""Named tensors and the one vector w_net that pruning and quantizing work on.

``Weights`` is what a checkpoint is after reading and what a bundle is after decoding. Its compressible tensors,
flattened in C order and concatenated in the order of the tensors, are the paper's w_net (eq. alt2).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks, raw_bytes


@dataclass(frozen=True, eq=False)
class Tensor:
    """One named tensor.

    Attributes:
        name: canonical name.
        dtype: name of the element type (``cnet.dtypes``).
        data: C-contiguous array of any shape, in the storage type of ``dtype`` (bits for bfloat16 and float8).
    """

    name: str
    dtype: str
    data: npt.NDArray[np.generic]

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape; ``()`` for a scalar."""
        return self.data.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.data.size)

    def values(self) -> npt.NDArray[np.generic]:
        """The values in a type NumPy computes with: bfloat16 and float8 widened to float32, exactly."""
        return dtypes.widen(self.data, self.dtype)


@dataclass(frozen=True)
class Selection:
    """Which tensors are compressible: the default rule, widened and narrowed by name patterns.

    The default is every floating-point tensor of two dimensions and more that is not empty. ``include`` adds
    floating-point tensors of any shape, ``exclude`` takes away, and wins. Patterns are those of ``fnmatch``.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def selects(self, name: str, dtype: str, shape: Sequence[int]) -> bool:
        """Whether a tensor of this name, element type and shape is compressible."""
        if not dtypes.by_name(dtype).floating or 0 in shape:
            return False
        if any(fnmatchcase(name, pattern) for pattern in self.exclude):
            return False
        return len(shape) >= 2 or any(fnmatchcase(name, pattern) for pattern in self.include)


def pruning_masks(names: Iterable[str]) -> dict[str, str]:
    """Names of masks that ``torch.nn.utils.prune`` left behind, to the tensors that they mask (``x_mask``, ``x_orig``).

    They are no weights, and are kept as they are.
    """
    known = list(names)
    originals = {name.removesuffix("_mask"): name for name in known if name.endswith("_mask")}
    return {
        originals[stem]: name
        for name in known
        if name.endswith("_orig") and (stem := name.removesuffix("_orig")) in originals
    }


@dataclass(frozen=True)
class Product:
    """A tensor that is kept as two: ``name``, of element type ``dtype``, is ``left`` times ``right``."""

    name: str
    dtype: str
    left: str
    right: str


@dataclass(frozen=True, eq=False)
class Weights:
    """All tensors of a net, in order.

    Attributes:
        tensors: every tensor, in the checkpoint's order; names are unique.
        compressible: names of those that make up w_net, in the same order. Of tied tensors only the first is here.
        tied: groups of names that share one storage; each group in the order of the tensors.
        products: tensors that are kept as two factors, which are among ``tensors`` side by side, both compressible, and
            not tied; ``cnet.products`` multiplies them.
    """

    tensors: tuple[Tensor, ...]
    compressible: tuple[str, ...]
    tied: tuple[tuple[str, ...], ...] = ()
    products: tuple[Product, ...] = ()

    @classmethod
    def select(
        cls,
        tensors: Sequence[Tensor],
        selection: Selection | None = None,
        tied: Sequence[Sequence[str]] = (),
    ) -> Weights:
        """Weights whose compressible tensors are those ``selection`` names (default: the default rule)."""
        chosen = selection or Selection()
        left_out = {name for group in tied for name in group[1:]} | set(pruning_masks(t.name for t in tensors))
        compressible = tuple(
            tensor.name
            for tensor in tensors
            if tensor.name not in left_out and chosen.selects(tensor.name, tensor.dtype, tensor.shape)
        )
        return cls(tuple(tensors), compressible, tuple(tuple(group) for group in tied))

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors)

    def __getitem__(self, name: str) -> Tensor:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def copies(self) -> dict[str, str]:
        """Name of each tied copy to the name of the first of its group, which holds the values."""
        return {name: group[0] for group in self.tied for name in group[1:]}

    @property
    def parameters(self) -> int:
        """Number of elements of all tensors, buffers too; tied tensors once."""
        return sum(tensor.size for tensor in self if tensor.name not in self.copies)

    @property
    def compressible_parameters(self) -> int:
        """Length of w_net."""
        return sum(self[name].size for name in self.compressible)

    @property
    def raw_bytes(self) -> int:
        """Bytes of all elements in their own types; tied tensors once."""
        return sum(tensor.data.nbytes for tensor in self if tensor.name not in self.copies)

    def vector(self) -> npt.NDArray[np.floating]:
        """w_net: float32, or float64 where any compressible tensor is float64. A new array, shape (n,)."""
        dtype = np.float64 if any(self[n].dtype == "float64" for n in self.compressible) else np.float32
        vector: npt.NDArray[np.floating] = np.empty(self.compressible_parameters, dtype)
        for name, part in self.slices():
            vector[part] = self[name].values().reshape(-1)
        return vector

    def digest(self) -> str:
        """SHA-256, hex, of names, element types, shapes, values, ties and the choice of compressible tensors."""
        total = hashlib.sha256()
        total.update(_json([[tensor.name, tensor.dtype, list(tensor.shape)] for tensor in self]))
        total.update(_json([self.compressible, self.tied]))
        for tensor in self:
            for chunk in chunks(tensor.data):
                total.update(raw_bytes(chunk))
        return total.hexdigest()

    def slices(self) -> Iterator[tuple[str, slice]]:
        """Where each compressible tensor lies in w_net."""
        start = 0
        for name in self.compressible:
            stop = start + self[name].size
            yield name, slice(start, stop)
            start = stop

    def with_vector(self, vector: npt.NDArray[np.floating]) -> Weights:
        """The same weights with w_net replaced, each part rounded to its tensor's own type; tied copies follow."""
        new = {
            name: dtypes.narrow(vector[part], self[name].dtype).reshape(self[name].shape)
            for name, part in self.slices()
        }
        return self.with_arrays(new)

    def with_arrays(self, arrays: dict[str, npt.NDArray[np.generic]]) -> Weights:
        """The same weights with some arrays (in storage types) replaced; tied copies follow."""
        tensors = tuple(Tensor(t.name, t.dtype, arrays.get(self.copies.get(t.name, t.name), t.data)) for t in self)
        return replace(self, tensors=tensors)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
