"""Products of two factors: the sum in its documented order, to the bit; names and slices of products."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cnet import dtypes
from cnet.bundle import open_bundle, write_bundle
from cnet.coding import ENCODERS
from cnet.errors import BundleError
from cnet.products import multiply, multiply_products, product_slices, with_products
from cnet.symbols import Symbols
from cnet.weights import Product, Tensor, Weights
from tests.unit.cnet.nets import assert_same_bits, compress, tensor


def net(dtype: str = "float32") -> Weights:
    """A plain layer, a convolution of shape (5, 3, 2, 2) as factors of rank 2, a bias, a tied plain layer."""
    left, right = tensor("c.original0", "float32", (5, 2)), tensor("c.original1", "float32", (2, 3, 2, 2))
    first, bias = tensor("a", "float32", (4, 6)), tensor("bias", "float32", (5,))
    tensors = [first, left, right, bias, Tensor("head", "float32", first.data)]
    plain = Weights.select(tensors, tied=[("a", "head")])
    return with_products(plain, [Product("c", dtype, "c.original0", "c.original1")])


def by_hand(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> npt.NDArray[np.float64]:
    """Python's floats, which are float64, one term after the other; each term exact by fractions, then rounded."""
    flat = right.reshape(len(right), -1)
    result = np.empty((len(left), flat.shape[1]))
    for row in range(len(left)):
        for column in range(flat.shape[1]):
            terms = [
                float(Fraction(float(a)) * Fraction(float(b))) for a, b in zip(left[row], flat[:, column], strict=True)
            ]
            total = terms[0]
            for term in terms[1:]:
                total += term
            result[row, column] = total
    return result.reshape(len(left), *right.shape[1:])


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
def test_product_is_the_documented_sum_to_the_bit(dtype: str) -> None:
    """Terms in float64, added from the first to the last, rounded once to the tensor's type."""
    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.integers(-6, 6, (3, 40))  # so that the order of the sum shows
    left = Tensor("l", "float32", (rng.normal(size=(3, 40)) * scales).astype(np.float32))
    right = Tensor("r", "float32", rng.normal(size=(40, 2, 2)).astype(np.float32))
    exact = by_hand(left.data, right.data)

    assert multiply(left, right, dtype).tobytes() == dtypes.narrow(exact, dtype).tobytes()
    assert not np.array_equal(exact, by_hand(left.data[:, ::-1], right.data[::-1]))


def test_the_product_does_not_depend_on_chunks() -> None:
    """Each row of a product is the product of that row."""
    rng = np.random.default_rng(1)
    left = Tensor("l", "float32", rng.normal(size=(70, 3)).astype(np.float32))
    right = Tensor("r", "float32", rng.normal(size=(3, 2000)).astype(np.float32))
    rows = [multiply(Tensor("l", "float32", row[np.newaxis]), right, "float32") for row in left.data]

    assert multiply(left, right, "float32").tobytes() == np.concatenate(rows).tobytes()


def test_products_replace_their_factors() -> None:
    """Names, order, shapes, ties and w_net are those of the original network."""
    plain = multiply_products(net("bfloat16"))

    assert [(t.name, t.shape) for t in plain] == [("a", (4, 6)), ("c", (5, 3, 2, 2)), ("bias", (5,)), ("head", (4, 6))]
    assert (plain.compressible, plain.tied, plain.products) == (("a", "c"), (("a", "head"),), ())
    assert plain["c"].dtype == "bfloat16"
    assert multiply_products(plain) is plain


def test_slices_of_products_cover_w_net_of_the_factors() -> None:
    """There is one slice for each tensor of the original network; that of a product covers both factors."""
    assert list(product_slices(net())) == [slice(0, 24), slice(24, 24 + 10 + 24)]


@pytest.mark.parametrize("encoder", ["npz", "compact", "huffman"])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_bundle_returns_products_under_their_names(tmp_path: Path, encoder: str, dtype: str) -> None:
    """As a mapping and as weights, with the same bits; factors are only in ``stored``."""
    weights = net(dtype)
    symbols = compress(weights, 0.3, None if encoder == "npz" else 8)
    write_bundle(tmp_path / "b", weights, symbols, ENCODERS.create(encoder))
    bundle = open_bundle(tmp_path / "b")
    bundle.verify()

    assert_same_bits(bundle.stored(), weights.with_vector(symbols.vector()))
    assert bundle.stored().products == weights.products
    assert_same_bits(bundle.weights(), multiply_products(weights.with_vector(symbols.vector())))
    assert list(bundle) == ["a", "c", "bias", "head"]
    assert len(bundle) == 4
    for tensor_ in bundle.weights():
        assert np.array_equal(bundle[tensor_.name], tensor_.values())
    with pytest.raises(KeyError):
        bundle["c.original0"]


def test_product_larger_than_memory_is_refused(tmp_path: Path) -> None:
    """The product of small factors may need more memory than there is: each way of reading it raises a BundleError."""
    sides = {"l": (2**22, 1), "r": (1, 2**22)}
    tensors = tuple(Tensor(name, "float32", np.broadcast_to(np.float32(0), shape)) for name, shape in sides.items())
    weights = with_products(Weights(tensors, ("l", "r")), (Product("w", "float64", "l", "r"),))
    symbols = Symbols(np.zeros(2**23, np.bool_), np.empty(0, np.uint8), np.empty(0, np.float32))
    write_bundle(tmp_path / "b", weights, symbols, ENCODERS.create("npz"))
    bundle = open_bundle(tmp_path / "b")

    with pytest.raises(BundleError, match="'w'"):
        bundle["w"]
    with pytest.raises(BundleError, match="product"):
        bundle.weights()
