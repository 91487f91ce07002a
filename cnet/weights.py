"""The named tensors of a network, and the one vector w_net that pruning and quantizing work on.

Reading a checkpoint and decoding a bundle both return ``Weights``. Its compressible tensors, flattened in C order and
concatenated in the order of the tensors, are the w_net of the paper (eq. alt2).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import chunks, raw_bytes
from cnet.arrays.statistics import TensorStatistics, tensor_statistics


@dataclass(frozen=True, eq=False)
class Tensor:
    """A named tensor.

    Attributes:
        name: its canonical name.
        dtype: name of the element type (``cnet.dtypes``).
        data: C-contiguous array of any shape in the storage type of ``dtype`` (bits for bfloat16 and float8).
    """

    name: str
    dtype: str
    data: npt.NDArray[np.generic]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape; ``()`` for a scalar."""
        return self.data.shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(self.data.size)

    @cached_property
    def statistics(self) -> TensorStatistics:
        """Statistics of the values, computed once. The values must not change afterwards."""
        return tensor_statistics(self.data, self.dtype)

    def values(self) -> npt.NDArray[np.generic]:
        """The exact values, in the shape of the tensor, in a type that NumPy computes with."""
        return dtypes.widen(self.data, self.dtype)


@dataclass(frozen=True)
class Selection:
    """A rule for which tensors are compressible: the default rule, extended and restricted by patterns of names.

    The default is every floating-point tensor of two or more dimensions that is not empty.

    Attributes:
        include: patterns (of ``fnmatch``) of names that are selected in addition, if floating-point and not empty.
        exclude: patterns of names that are never selected, also where ``include`` has them.
        tables: names of tensors that are not trained weights (``cnet.tables``): only ``include`` selects them.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    tables: frozenset[str] = frozenset()

    def selects(self, name: str, dtype: str, shape: Sequence[int]) -> bool:
        """Whether a tensor of this name, element type and shape is compressible."""
        if not dtypes.by_name(dtype).floating or 0 in shape:
            return False
        if any(fnmatchcase(name, pattern) for pattern in self.exclude):
            return False
        return (len(shape) >= 2 and name not in self.tables) or self.includes(name)

    def includes(self, name: str) -> bool:
        """Whether a pattern of ``include`` matches a name."""
        return any(fnmatchcase(name, pattern) for pattern in self.include)


def pruning_masks(names: Iterable[str]) -> dict[str, str]:
    """The masks that ``torch.nn.utils.prune`` stores (``x_mask``), each with the name of its tensor (``x_orig``).

    Masks are not weights: they are not compressible.
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
    """A tensor that is stored as two factors.

    Attributes:
        name: name of the tensor, which is the product.
        dtype: name of its element type.
        left, right: names of the factors, of shapes (m, r) and (r, ...).
    """

    name: str
    dtype: str
    left: str
    right: str


@dataclass(frozen=True, eq=False)
class Weights:
    """All tensors of a network, in order.

    Attributes:
        tensors: every tensor, in the order of the checkpoint; names are unique.
        compressible: names of the tensors of w_net, in the same order. It has only the first of a tied group.
        tied: groups of names that share one storage; each group in the order of the tensors.
        products: tensors that are stored as two factors. The factors are in ``tensors``, next to each other, both
            compressible and not tied; ``cnet.products`` multiplies them.
        metadata: text by key that the file of the weights states about itself, such as its author.
    """

    tensors: tuple[Tensor, ...]
    compressible: tuple[str, ...]
    tied: tuple[tuple[str, ...], ...] = ()
    products: tuple[Product, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def select(
        cls,
        tensors: Sequence[Tensor],
        selection: Selection | None = None,
        tied: Sequence[Sequence[str]] = (),
        metadata: Mapping[str, str] | None = None,
    ) -> Weights:
        """Weights of some tensors, of which ``selection`` (None: the default rule) chooses the compressible ones."""
        chosen = selection or Selection()
        left_out = {name for group in tied for name in group[1:]} | set(pruning_masks(t.name for t in tensors))
        compressible = tuple(
            tensor.name
            for tensor in tensors
            if tensor.name not in left_out and chosen.selects(tensor.name, tensor.dtype, tensor.shape)
        )
        groups = tuple(tuple(group) for group in tied)
        return cls(tuple(tensors), compressible, groups, metadata=dict(metadata or {}))

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.tensors)

    def __getitem__(self, name: str) -> Tensor:
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, Tensor]:
        return {tensor.name: tensor for tensor in self.tensors}

    @cached_property
    def copies(self) -> dict[str, str]:
        """A dict from the name of each tied copy to the name of the first tensor of its group, which has the values."""
        return {name: group[0] for group in self.tied for name in group[1:]}

    @property
    def parameters(self) -> int:
        """Number of elements of all tensors, with buffers; tied tensors count once."""
        return sum(tensor.size for tensor in self if tensor.name not in self.copies)

    @property
    def compressible_parameters(self) -> int:
        """Length of w_net."""
        return sum(self[name].size for name in self.compressible)

    @property
    def raw_bytes(self) -> int:
        """Bytes of all elements in their own types; tied tensors count once."""
        return sum(tensor.data.nbytes for tensor in self if tensor.name not in self.copies)

    def vector(self) -> npt.NDArray[np.floating]:
        """w_net, a new array of shape (n,): float32, or float64 where any compressible tensor is float64."""
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
        """The name of each compressible tensor and its slice of w_net."""
        start = 0
        for name in self.compressible:
            stop = start + self[name].size
            yield name, slice(start, stop)
            start = stop

    def with_vector(self, vector: npt.NDArray[np.floating]) -> Weights:
        """The same weights with another w_net; tied copies change as well.

        Args:
            vector: shape (n,), float32 or float64; each part is rounded to the element type of its tensor.
        """
        new = {
            name: dtypes.narrow(vector[part], self[name].dtype).reshape(self[name].shape)
            for name, part in self.slices()
        }
        return self.with_arrays(new)

    def with_arrays(self, arrays: dict[str, npt.NDArray[np.generic]]) -> Weights:
        """The same weights with other arrays for some names; tied copies change as well.

        Args:
            arrays: by name, each in the shape and the storage type of its tensor.
        """
        tensors = tuple(Tensor(t.name, t.dtype, arrays.get(self.copies.get(t.name, t.name), t.data)) for t in self)
        return replace(self, tensors=tensors)


def _json(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), allow_nan=False).encode()
