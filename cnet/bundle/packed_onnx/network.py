"""All tensors of a bundle as fragments of an ONNX graph."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cnet import dtypes
from cnet.bundle.packed_onnx.coded_tensors import CodedTensors
from cnet.bundle.packed_onnx.fragment import Fragment, Names
from cnet.bundle.packed_onnx.packing import pack
from cnet.bundle.reader import Bundle
from cnet.formats.writing import TensorDescription
from cnet.weights import Product


@dataclass(frozen=True)
class PackedTensor:
    """A tensor of the network in the graph.

    Attributes:
        fragment: its nodes and initializers.
        packed: whether it is stored as codes.
    """

    fragment: Fragment
    packed: bool


class PackedNetwork:
    """The tensors of a bundle, each as nodes and initializers that give a value of its name.

    Args:
        bundle: the bundle.
        names: where the names of other values come from.

    Raises:
        BundleError: the bundle is damaged.
    """

    def __init__(self, bundle: Bundle, names: Names) -> None:
        self._bundle = bundle
        self._names = names
        symbols = bundle.symbols()
        self._vector = symbols.vector()
        self._coded = CodedTensors(symbols)
        self._parts = bundle.slices
        self._products = {product.name: product for product in bundle.products}

    def tensors(self, wanted: Sequence[str]) -> Iterator[tuple[str, PackedTensor]]:
        """Each wanted tensor. Tied ones are packed once; the others of their group are equal to the first.

        Raises:
            BundleError: the bundle is damaged.
        """
        groups = {name: group for group in self._bundle.tied for name in group}
        written: dict[tuple[str, ...], str] = {}
        for name in wanted:
            group = groups.get(name)
            if group is not None and group in written:
                fragment = Fragment(self._names)
                fragment.node("Identity", written[group])
                fragment.name_last(name)
                yield name, PackedTensor(fragment, packed=True)
                continue
            if group is not None:
                written[group] = name
            product = self._products.get(name)
            yield name, self._product(product) if product is not None else self._tensor(name, name)

    def _tensor(self, stored: str, name: str) -> PackedTensor:
        """The value ``name`` of a stored tensor, as codes where that is smaller."""
        dtype, shape = self._bundle.described(stored)
        plain = Fragment(self._names)
        part = self._parts.get(stored)
        if part is None:
            values = [np.empty(0, dtypes.by_name(dtype).numpy), *self._bundle.chunks(stored)]
            plain.initializer(np.concatenate(values).reshape(shape), dtype, name)
            return PackedTensor(plain, packed=False)
        plain.initializer(dtypes.narrow(self._vector[part], dtype).reshape(shape), dtype, name)
        coded = self._coded.of(part, dtype, shape)
        packed = None if coded is None else pack(self._names, coded, name)
        if packed is None or packed.nbytes >= plain.nbytes:
            return PackedTensor(plain, packed=False)
        return PackedTensor(packed, packed=True)

    def _product(self, product: Product) -> PackedTensor:
        """The product of two factors, computed by the graph in the type of the factors."""
        left, right = self._names.new(), self._names.new()
        parts = [self._tensor(product.left, left), self._tensor(product.right, right)]
        fragment = Fragment(self._names)
        for part in parts:
            fragment.nodes += part.fragment.nodes
            fragment.initializers |= part.fragment.initializers
        shape = self._bundle.described(product.name)[1]
        rank = self._bundle.described(product.right)[1][0]
        flat = fragment.node("Reshape", right, fragment.vector((rank, math.prod(shape[1:]))))
        value = fragment.node("Reshape", fragment.node("MatMul", left, flat), fragment.vector(shape))
        if product.dtype != self._bundle.described(product.left)[0]:
            fragment.cast(value, product.dtype)
        fragment.name_last(product.name)
        return PackedTensor(fragment, packed=any(part.packed for part in parts))


def descriptions(bundle: Bundle) -> list[TensorDescription]:
    """Name, element type and shape of each tensor of the network."""
    return [TensorDescription(name, *bundle.described(name)) for name in bundle]


def packed_elements(bundle: Bundle, names: Sequence[str]) -> int:
    """Number of elements of tensors of these names."""
    return int(np.sum([math.prod(bundle.described(name)[1]) for name in names], dtype=np.int64))
