"""The manifest of a bundle: its fields, and the checks that they do not contradict each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from cnet import dtypes
from cnet.bundle.container import ArrayMember
from cnet.bundle.container.digests import DIGEST_PATTERN
from cnet.bundle.container.members import npy_bytes
from cnet.bundle.reconstruction import ReconstructionEntry
from cnet.coding.other_tensors import Packing, TypedCount
from cnet.documents import StrictDocument
from cnet.formats.parsing.quoting import quoted
from cnet.products import product_shape
from cnet.weights import Product, Weights

STREAMS = ("mask", "labels", "centroids")
"""The parts that encoders write."""

_MOST_BYTES = 2**62
_MOST_DIMENSIONS = 64
_STREAM_SLACK = 2**20  # bytes of centroids and code tables beside 16 bytes a weight

Length = Annotated[int, Field(ge=0, le=_MOST_BYTES)]
Shape = Annotated[tuple[Length, ...], Field(max_length=_MOST_DIMENSIONS)]
Digest = Annotated[str, Field(pattern=DIGEST_PATTERN)]
Role = Literal["compressible", "other", "tied"]


class MemberEntry(StrictDocument):
    """A deflated member: NumPy type and number of its elements, digest of its deflated bytes."""

    descr: Literal["|u1", "<u2", "<u4", "<f2", "<f4", "<f8"]
    length: Length
    digest: Digest

    def array(self) -> ArrayMember:
        """The same for the container."""
        return ArrayMember(self.descr, self.length, self.digest)


class SeparateLayout(StrictDocument):
    """The layout with a member for each part."""

    members: dict[Annotated[str, Field(pattern="^(mask|labels|centroids|other)$")], MemberEntry]


class PackingEntry(StrictDocument):
    """How the tensors that are not compressible are packed, and the largest error of their values that comes of it."""

    kind: Packing
    error: float


class JoinedLayout(StrictDocument):
    """The layout with all parts in the member ``data``.

    Attributes:
        sizes: bytes of each stream of the encoder, in the order of the file.
        others: bytes of each block of other tensors, which follow the streams.
        packing: of these blocks.
        digests: of each chunk of the member.
    """

    sizes: dict[str, Length]
    others: tuple[Length, ...]
    packing: PackingEntry
    digests: tuple[Digest, ...]

    @property
    def length(self) -> int:
        """Bytes of the member without its .npy header."""
        return sum(self.sizes.values()) + sum(self.others)


class TensorColumns(StrictDocument):
    """All tensors in the network's order, one list a property."""

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    shapes: tuple[Shape, ...]
    roles: tuple[Role, ...]

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if len({len(self.names), len(self.dtypes), len(self.shapes), len(self.roles)}) != 1:
            raise ValueError("the lists of names, types, shapes and roles differ in length")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two tensors have the same name")
        for name, dtype, shape, role in zip(self.names, self.dtypes, self.shapes, self.roles, strict=True):
            known = dtype in dtypes.names()
            if not known or (role == "compressible" and not dtypes.by_name(dtype).floating):
                raise ValueError(
                    f"tensor {quoted(name)} has the element type {quoted(dtype)} and the role {quoted(role)}"
                )
            if math.prod(max(side, 1) for side in shape) > _MOST_BYTES // 16:
                raise ValueError(f"tensor {quoted(name)} has the shape {list(shape)}, larger than any memory")
        return self


class ProductEntry(StrictDocument):
    """A tensor that is stored as two factors; ``left`` and ``right`` are their positions in the lists of tensors."""

    name: str
    dtype: str
    left: Length
    right: Length


class Manifest(StrictDocument):
    """The content of a manifest.

    Attributes:
        encoder: name of the encoder.
        header: what the encoder needs to decode.
        tensors: the network's tensors, with factors in place of their products.
        tied: groups of positions in ``tensors``; the tensors of a group share the values of the first.
        layout: where the parts lie in the file.
        metrics: the writer's numbers, or None.
        extra: anything else that the writer noted, or None.
        reconstruction: how a weight's position changes its centroid, or None.
        products: the tensors that are stored as two factors.
    """

    encoder: str
    header: dict[str, JsonValue]
    tensors: TensorColumns
    tied: tuple[tuple[Length, ...], ...]
    layout: SeparateLayout | JoinedLayout
    metrics: dict[str, JsonValue] | None
    extra: dict[str, JsonValue] | None
    reconstruction: ReconstructionEntry | None = None
    products: tuple[ProductEntry, ...] = ()

    @model_validator(mode="after")
    def _ties_hold(self) -> Self:
        rows = list(zip(self.tensors.dtypes, self.tensors.shapes, strict=True))
        copies = [index for group in self.tied for index in group[1:]]
        tied = [index for index, role in enumerate(self.tensors.roles) if role == "tied"]
        if sorted(copies) != tied or any(len(group) < 2 for group in self.tied):
            raise ValueError("the groups of tied tensors are not the tensors with the role 'tied'")
        for group in self.tied:
            if max(group) >= len(rows) or len({rows[index] for index in group}) != 1:
                raise ValueError("tied tensors differ in shape or element type")
            if self.tensors.roles[group[0]] == "tied":
                raise ValueError("the first tensor of a tied group has the role 'tied'")
        return self

    @model_validator(mode="after")
    def _products_exist(self) -> Self:
        columns, used = self.tensors, [position for each in self.products for position in (each.left, each.right)]
        factors = [columns.names[position] for position in used if position < len(columns.names)]
        if len(set(factors)) != 2 * len(self.products) or set(used) & {i for group in self.tied for i in group}:
            raise ValueError("the factors of a product are not two untied tensors that only it uses")
        names = [*set(columns.names).difference(factors), *(each.name for each in self.products)]
        if len(set(names)) != len(names):
            raise ValueError("a product has the name of another tensor")
        for each in self.products:
            if each.right != each.left + 1 or {columns.roles[each.left], columns.roles[each.right]} != {"compressible"}:
                raise ValueError(f"the factors of {quoted(each.name)} are not two compressible tensors in a row")
            shape = product_shape(columns.shapes[each.left], columns.shapes[each.right])
            TensorColumns(names=(each.name,), dtypes=(each.dtype,), shapes=(shape,), roles=("compressible",))
        return self

    @model_validator(mode="after")
    def _members_fit(self) -> Self:
        if isinstance(self.layout, JoinedLayout):
            return self
        other = self.layout.members.get("other")
        if (other.length if other else 0) != self.other_bytes or (other and other.descr != "|u1"):
            raise ValueError(f"the member other does not hold the {self.other_bytes} bytes of the other tensors")
        weights = sum(math.prod(shape) for shape in self.compressible_shapes)
        for name, member in self.layout.members.items():
            size = npy_bytes(name, member.descr, member.length)
            if name != "other" and size > 16 * weights + _STREAM_SLACK:
                raise ValueError(f"the member {name} has {size} bytes for {weights} weights")
        return self

    @cached_property
    def compressible_shapes(self) -> list[tuple[int, ...]]:
        """Shapes of the tensors that make up w_net, in its order."""
        rows = zip(self.tensors.shapes, self.tensors.roles, strict=True)
        return [shape for shape, role in rows if role == "compressible"]

    @cached_property
    def positions(self) -> Mapping[str, slice]:
        """Position of each tensor: weights of w_net for a compressible one, bytes of all other tensors for the rest."""
        ends = {"compressible": 0, "other": 0}
        positions: dict[str, slice] = {}
        columns = self.tensors
        for name, dtype, shape, role in zip(columns.names, columns.dtypes, columns.shapes, columns.roles, strict=True):
            if role != "tied":
                width = dtypes.by_name(dtype).numpy.itemsize if role == "other" else 1
                positions[name] = slice(ends[role], ends[role] + math.prod(shape) * width)
                ends[role] = positions[name].stop
        for first, *copies in self.tied:
            positions.update({columns.names[copy]: positions[columns.names[first]] for copy in copies})
        return positions

    @cached_property
    def others(self) -> list[TypedCount]:
        """Element type and number of elements of each tensor that is not compressible, tied ones once."""
        columns = self.tensors
        rows = zip(columns.dtypes, columns.shapes, columns.roles, strict=True)
        return [(dtype, math.prod(shape)) for dtype, shape, role in rows if role == "other"]

    @cached_property
    def other_bytes(self) -> int:
        """Bytes of all tensors that are not compressible, tied ones once."""
        return sum(count * dtypes.by_name(dtype).numpy.itemsize for dtype, count in self.others)

    @property
    def product_tensors(self) -> tuple[Product, ...]:
        """The products, their factors by name."""
        names = self.tensors.names
        return tuple(Product(each.name, each.dtype, names[each.left], names[each.right]) for each in self.products)


def columns_of(weights: Weights) -> TensorColumns:
    """Lists of the tensors' properties; the first of tied tensors holds the values."""
    compressible = set(weights.compressible)
    return TensorColumns(
        names=tuple(tensor.name for tensor in weights),
        dtypes=tuple(tensor.dtype for tensor in weights),
        shapes=tuple(tensor.shape for tensor in weights),
        roles=tuple(
            "tied" if tensor.name in weights.copies else "compressible" if tensor.name in compressible else "other"
            for tensor in weights
        ),
    )


def ties_of(weights: Weights) -> tuple[tuple[int, ...], ...]:
    """Groups of tied tensors by their positions."""
    position = {tensor.name: index for index, tensor in enumerate(weights)}
    return tuple(tuple(position[name] for name in group) for group in weights.tied)


def products_of(weights: Weights) -> tuple[ProductEntry, ...]:
    """The products, their factors by position."""
    position = {tensor.name: index for index, tensor in enumerate(weights)}
    return tuple(
        ProductEntry(name=each.name, dtype=each.dtype, left=position[each.left], right=position[each.right])
        for each in weights.products
    )
