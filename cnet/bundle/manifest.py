"""The manifest of a bundle: what it says, and whether that can be true."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, JsonValue, model_validator

from cnet import dtypes
from cnet.bundle.container import Packed
from cnet.bundle.reconstruction import LocalEntry
from cnet.coding.other_tensors import Packing, TypedCount
from cnet.documents import StrictDocument
from cnet.products import shape_of
from cnet.weights import Product, Weights

STREAMS = ("mask", "labels", "centroids")
"""The parts that encoders fill."""

_MOST_BYTES = 2**62
_STREAM_SLACK = 2**20  # centroids and coders' tables, beside 16 bytes a weight

Length = Annotated[int, Field(ge=0, le=_MOST_BYTES)]
Role = Literal["compressible", "other", "tied"]


class Member(StrictDocument):
    """One array of the bundle."""

    descr: Literal["|u1", "<u2", "<u4", "<f2", "<f4", "<f8"]
    length: Length
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]

    def packed(self) -> Packed:
        """The same as the file's value type."""
        return Packed(self.descr, self.length, self.sha256)


class Other(StrictDocument):
    """How the tensors that are not compressible are packed, and the largest error of it."""

    kind: Packing
    error: float


class Joined(StrictDocument):
    """Version 3: what the member ``data`` is made of.

    Attributes:
        sizes: bytes of each stream of the encoder, in the order of the file.
        others: bytes of each block of other tensors, which follow.
        digests: of each chunk of the member.
    """

    sizes: dict[str, Length]
    others: tuple[Length, ...]
    digests: tuple[str, ...]

    @property
    def length(self) -> int:
        """Bytes of all of it."""
        return sum(self.sizes.values()) + sum(self.others)


class Columns(StrictDocument):
    """All tensors, one list a property."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    shapes: tuple[Annotated[tuple[Length, ...], Field(max_length=64)], ...]
    roles: tuple[Role, ...]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len({len(self.names), len(self.dtypes), len(self.shapes), len(self.roles)}) != 1:
            raise ValueError("the columns of the tensors differ in length")
        if len(set(self.names)) != len(self.names):
            raise ValueError("a tensor's name is there twice")
        for name, dtype, shape, role in zip(self.names, self.dtypes, self.shapes, self.roles, strict=True):
            known = dtype in dtypes.names()
            if not known or (role == "compressible" and not dtypes.by_name(dtype).floating):
                raise ValueError(f"tensor {name!r} has the element type {dtype!r}")
            if math.prod(max(side, 1) for side in shape) > _MOST_BYTES // 16:
                raise ValueError(f"tensor {name!r} is larger than any memory")
        return self


class Factors(StrictDocument):
    """A tensor that is stored as two: ``left`` and ``right`` are their places in the lists of tensors."""

    name: str
    dtype: str
    left: Length
    right: Length


class Manifest(StrictDocument):
    """The whole manifest; the specification is ``cnet.bundle``. Version 3 has ``joined`` in place of ``members``."""

    format: Literal["cnet-bundle"] = "cnet-bundle"
    version: Literal[1, 2, 3] = 1
    encoder: str
    header: dict[str, JsonValue]
    tensors: Columns
    tied: tuple[tuple[Length, ...], ...]
    members: dict[Annotated[str, Field(pattern="^(mask|labels|centroids|other)$")], Member] = Field(
        default_factory=dict
    )
    metrics: dict[str, JsonValue] | None
    extra: dict[str, JsonValue] | None
    other: Other | None = None
    local: LocalEntry | None = None
    joined: Annotated[Joined | None, Field(exclude=True)] = None
    products: tuple[Factors, ...] = ()

    @model_validator(mode="after")
    def _ties_hold(self) -> Self:
        rows = list(zip(self.tensors.dtypes, self.tensors.shapes, strict=True))
        copies = [index for group in self.tied for index in group[1:]]
        tied = [index for index, role in enumerate(self.tensors.roles) if role == "tied"]
        if sorted(copies) != tied or any(len(group) < 2 for group in self.tied):
            raise ValueError("the groups of tied tensors are not those of the roles")
        for group in self.tied:
            if max(group) >= len(rows) or len({rows[index] for index in group}) != 1:
                raise ValueError("tied tensors differ in shape or element type")
            if self.tensors.roles[group[0]] == "tied":
                raise ValueError("the first of tied tensors holds the values")
        return self

    @model_validator(mode="after")
    def _products_exist(self) -> Self:
        columns, used = self.tensors, [place for each in self.products for place in (each.left, each.right)]
        factors = [columns.names[place] for place in used if place < len(columns.names)]
        if len(set(factors)) != 2 * len(self.products) or set(used) & {i for group in self.tied for i in group}:
            raise ValueError("a product's factors are not two tensors of its own")
        names = [*set(columns.names).difference(factors), *(each.name for each in self.products)]
        if len(set(names)) != len(names):
            raise ValueError("a product has the name of another tensor")
        for each in self.products:
            if each.right != each.left + 1 or {columns.roles[each.left], columns.roles[each.right]} != {"compressible"}:
                raise ValueError(f"the factors of {each.name!r} are not side by side in w_net")
            shape = shape_of(columns.shapes[each.left], columns.shapes[each.right])
            Columns(names=(each.name,), dtypes=(each.dtype,), shapes=(shape,), roles=("compressible",))
        return self

    @model_validator(mode="after")
    def _members_fit(self) -> Self:
        other = self.members.get("other")
        if (self.version == 3) != (self.joined is not None) or (self.joined and self.members):
            raise ValueError("members are those of versions 1 and 2, and one that joins all is that of version 3")
        if (self.version == 1 and self.other) or (self.version == 2 and not self.other):
            raise ValueError("the way in which other tensors are packed is that of version 2")
        plain = self.version == 1
        fits = (other.length if other else 0) == self.other_bytes if plain else self.version == 3 or bool(other)
        if not fits or (other and other.descr != "|u1"):
            raise ValueError("the other tensors' bytes are not those of their shapes")
        weights = sum(math.prod(shape) for shape in self.compressible_shapes)
        for name, member in self.members.items():
            if name != "other" and member.packed().size > 16 * weights + _STREAM_SLACK:
                raise ValueError(f"{name} is larger than the weights that it codes")
        return self

    @cached_property
    def compressible_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the tensors that make up w_net, in its order."""
        rows = zip(self.tensors.shapes, self.tensors.roles, strict=True)
        return [shape for shape, role in rows if role == "compressible"]

    @cached_property
    def places(self) -> Mapping[str, slice]:
        """Where each tensor lies: elements of w_net for a compressible one, bytes of ``other`` for the rest."""
        ends = {"compressible": 0, "other": 0}
        places: dict[str, slice] = {}
        columns = self.tensors
        for name, dtype, shape, role in zip(columns.names, columns.dtypes, columns.shapes, columns.roles, strict=True):
            if role != "tied":
                width = dtypes.by_name(dtype).numpy.itemsize if role == "other" else 1
                places[name] = slice(ends[role], ends[role] + math.prod(shape) * width)
                ends[role] = places[name].stop
        for first, *copies in self.tied:
            places.update({columns.names[copy]: places[columns.names[first]] for copy in copies})
        return places

    @cached_property
    def others(self) -> list[TypedCount]:
        """Element type and number of elements of all tensors that are not compressible, tied ones once."""
        columns = self.tensors
        rows = zip(columns.dtypes, columns.shapes, columns.roles, strict=True)
        return [(dtype, math.prod(shape)) for dtype, shape, role in rows if role == "other"]

    @cached_property
    def other_bytes(self) -> int:
        """Bytes of all tensors that are not compressible, tied ones once."""
        return sum(count * dtypes.by_name(dtype).numpy.itemsize for dtype, count in self.others)


def columns_of(weights: Weights) -> Columns:
    """The tensors' columns; of tied tensors the first holds the values."""
    compressible = set(weights.compressible)
    return Columns(
        names=tuple(tensor.name for tensor in weights),
        dtypes=tuple(tensor.dtype for tensor in weights),
        shapes=tuple(tensor.shape for tensor in weights),
        roles=tuple(
            "tied" if tensor.name in weights.copies else "compressible" if tensor.name in compressible else "other"
            for tensor in weights
        ),
    )


def ties_of(weights: Weights) -> tuple[tuple[int, ...], ...]:
    """The groups of tied tensors by their positions."""
    position = {tensor.name: index for index, tensor in enumerate(weights)}
    return tuple(tuple(position[name] for name in group) for group in weights.tied)


def products_of(weights: Weights) -> tuple[Factors, ...]:
    """The products, their factors by their positions."""
    position = {tensor.name: index for index, tensor in enumerate(weights)}
    return tuple(
        Factors(name=each.name, dtype=each.dtype, left=position[each.left], right=position[each.right])
        for each in weights.products
    )


def named_products(manifest: Manifest) -> tuple[Product, ...]:
    """The products, their factors by their names."""
    names = manifest.tensors.names
    return tuple(Product(each.name, each.dtype, names[each.left], names[each.right]) for each in manifest.products)


def plain(value: Any) -> Any:
    """A value with NumPy's scalars turned into Python's, for JSON."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value
