"""Tensors that are kept as two factors, and what they stand for.

A tensor of shape (m, ...) is the product of ``left``, shape (m, r), and ``right``, shape (r, ...). In a bundle and in
training the factors take its place; whoever asks for weights gets the product.

**The product, to the bit.** Each element is a sum over the r places in their order, from the first to the last, in
float64, starting with the first term; each term is the product of two factors in float64 (exact for factors of float32
and smaller types). The sum is rounded once to the tensor's own type, to nearest, ties to even. No library for matrices
is asked, whose order of summation differs between machines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cnet import dtypes
from cnet.arrays import CACHED_CHUNK, slices
from cnet.weights import Product, Tensor, Weights

Array = npt.NDArray[np.generic]


def shape_of(left: Sequence[int], right: Sequence[int]) -> tuple[int, ...]:
    """The shape of the product of factors of these shapes. Raises ValueError where there is none."""
    if len(left) != 2 or len(right) < 2 or left[1] != right[0]:
        raise ValueError(f"tensors of shapes {tuple(left)} and {tuple(right)} have no product")
    return (left[0], *right[1:])


def multiplied(left: Tensor, right: Tensor, dtype: str) -> Array:
    """The product of two factors in the storage type of ``dtype``; a new array."""
    shape = shape_of(left.shape, right.shape)
    one = left.values().astype(np.float64)
    other = right.values().astype(np.float64).reshape(right.shape[0], -1)
    result = np.empty((shape[0], other.shape[1]), dtypes.by_name(dtype).numpy)
    rows = max(1, CACHED_CHUNK // max(1, other.shape[1]))
    for part in slices(len(one), rows):
        result[part] = dtypes.narrow(_sums(one[part], other), dtype)
    return result.reshape(shape)


def expanded(weights: Weights) -> Weights:
    """The same net with each product in place of its factors: names, order, shapes and types of the original."""
    if not weights.products:
        return weights
    by_left = {product.left: product for product in weights.products}
    dropped = {product.right for product in weights.products}
    tensors = []
    for tensor in weights:
        product = by_left.get(tensor.name)
        if product is not None:
            array = multiplied(tensor, weights[product.right], product.dtype)
            tensors.append(Tensor(product.name, product.dtype, array))
        elif tensor.name not in dropped:
            tensors.append(tensor)
    compressible = tuple(
        by_left[name].name if name in by_left else name for name in weights.compressible if name not in dropped
    )
    return Weights(tuple(tensors), compressible, weights.tied)


def factored(weights: Weights, products: Sequence[Product]) -> Weights:
    """``weights``, which hold the factors, with it said what they stand for; factors are compressible."""
    factors = {name for product in products for name in (product.left, product.right)}
    known = {*weights.compressible, *factors}
    compressible = tuple(tensor.name for tensor in weights if tensor.name in known)
    return replace(weights, compressible=compressible, products=tuple(products))


def spans(weights: Weights) -> Iterator[slice]:
    """Where the numbers of each compressible tensor of ``expanded(weights)`` lie in w_net of ``weights``, in order.

    Factors lie side by side.
    """
    dropped = {product.right for product in weights.products}
    lefts = {product.left for product in weights.products}
    parts = dict(weights.slices())
    rights = {product.left: product.right for product in weights.products}
    for name, part in parts.items():
        if name not in dropped:
            yield slice(part.start, parts[rights[name]].stop) if name in lefts else part


def parameters(left: Sequence[int], right: Sequence[int]) -> int:
    """Elements of two factors."""
    return math.prod(left) + math.prod(right)


def _sums(left: npt.NDArray[np.float64], right: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Shape (m, r) times (r, n), summed in the order of the r places."""
    total = left[:, :1] * right[:1]
    for place in range(1, left.shape[1]):
        total += left[:, place : place + 1] * right[place : place + 1]
    return total
