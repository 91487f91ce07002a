"""Tensors that are stored as two factors, and their products.

A tensor of shape (m, ...) is the product of ``left``, shape (m, r), and ``right``, shape (r, ...). In a bundle and in
training the two factors stand in place of the tensor; decoding returns the product.

**The product is defined to the bit.** Each element is a sum of r terms in float64, added in order from the first to
the last; each term is the product of two elements in float64 (exact for factors of float32 and smaller types). The sum
is rounded once to the element type of the tensor, to nearest, ties to even. Matrix libraries are not used, because
their order of summation differs between machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import CACHED_CHUNK, slices
from cnet.weights import Product, Tensor, Weights

Array = npt.NDArray[np.generic]


def product_shape(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """The shape of the product of factors of these shapes. Raises ValueError where they have no product."""
    if len(left) != 2 or len(right) < 2 or left[1] != right[0]:
        shapes = f"{tuple(left)} and {tuple(right)}"
        raise ValueError(f"factors of shapes {shapes} have no product. Give shapes (m, r) and (r, ...).")
    return (left[0], *right[1:])


def multiply(left: Tensor, right: Tensor, dtype: str) -> Array:
    """The product of two factors, a new array of shape (m, ...) in the storage type of ``dtype``.

    Args:
        left: shape (m, r).
        right: shape (r, ...).
        dtype: name of the element type of the product.
    """
    shape = product_shape(left.shape, right.shape)
    rows_by_rank = left.values().astype(np.float64)
    rank_by_columns = right.values().astype(np.float64).reshape(right.shape[0], -1)
    result = np.empty((shape[0], rank_by_columns.shape[1]), dtypes.by_name(dtype).numpy)
    rows = max(1, CACHED_CHUNK // max(1, rank_by_columns.shape[1]))
    for part in slices(len(rows_by_rank), rows):
        result[part] = dtypes.narrow(_sums(rows_by_rank[part], rank_by_columns), dtype)
    return result.reshape(shape)


def multiply_products(weights: Weights) -> Weights:
    """The weights with each product in place of its factors: names, order, shapes and types of the original network."""
    if not weights.products:
        return weights
    by_left = {product.left: product for product in weights.products}
    dropped = {product.right for product in weights.products}
    tensors = []
    for tensor in weights:
        product = by_left.get(tensor.name)
        if product is not None:
            array = multiply(tensor, weights[product.right], product.dtype)
            tensors.append(Tensor(product.name, product.dtype, array))
        elif tensor.name not in dropped:
            tensors.append(tensor)
    compressible = tuple(
        by_left[name].name if name in by_left else name for name in weights.compressible if name not in dropped
    )
    return Weights(tuple(tensors), compressible, weights.tied)


def with_products(weights: Weights, products: Sequence[Product]) -> Weights:
    """``weights``, which has the factors of ``products``, with these stated; factors become compressible."""
    factors = {name for product in products for name in (product.left, product.right)}
    known = {*weights.compressible, *factors}
    compressible = tuple(tensor.name for tensor in weights if tensor.name in known)
    return replace(weights, compressible=compressible, products=tuple(products))


def product_slices(weights: Weights) -> Iterator[slice]:
    """The slice of w_net for each compressible tensor of ``multiply_products(weights)``, in order.

    The two factors of a product are next to each other, so that they have one slice.
    """
    dropped = {product.right for product in weights.products}
    lefts = {product.left for product in weights.products}
    parts = dict(weights.slices())
    rights = {product.left: product.right for product in weights.products}
    for name, part in parts.items():
        if name not in dropped:
            yield slice(part.start, parts[rights[name]].stop) if name in lefts else part


def _sums(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The product of shapes (m, r) and (r, n), float64, whose r terms are added in order."""
    total = left[:, :1] * right[:1]
    for index in range(1, left.shape[1]):
        total += left[:, index : index + 1] * right[index : index + 1]
    return total
