"""Weights: which tensors make up w_net, the slice of each, and how a new w_net replaces them."""

from __future__ import annotations

import numpy as np
import pytest

from cnet import dtypes
from cnet.weights import Selection, Tensor, Weights
from tests.unit.cnet.nets import assert_same_bits, every_type, tensor


@pytest.mark.parametrize(
    ("name", "dtype", "shape", "selected"),
    [
        ("w", "float32", (2, 2), True),
        ("w", "bfloat16", (1, 1, 1), True),
        ("w", "float32", (4,), False),
        ("w", "float32", (), False),
        ("w", "int64", (2, 2), False),
        ("w", "complex64", (2, 2), False),
        ("w", "float32", (0, 2), False),
        ("in.w", "float32", (4,), True),
        ("in.w", "int8", (4, 4), False),
        ("out.w", "float32", (2, 2), False),
        ("in.out", "float32", (4,), False),
    ],
)
def test_selection_takes_floating_point_matrices_and_follows_patterns(
    name: str, dtype: str, shape: tuple[int, ...], selected: bool
) -> None:
    """Floating-point tensors of two or more dimensions; ``include`` adds others, ``exclude`` overrides it."""
    selection = Selection(include=("in.*",), exclude=("out.*", "*.out"))

    assert selection.selects(name, dtype, shape) == selected


def test_the_mask_of_an_unfinished_pruning_is_not_compressible() -> None:
    """Where mask and masked tensor are both there; a mask without its tensor is a tensor like others."""
    names = ("a_orig", "a_mask", "b_mask", "c_orig")
    weights = Weights.select([tensor(name, "float32", (2, 2)) for name in names], Selection(include=("*",)))

    assert weights.compressible == ("a_orig", "b_mask", "c_orig")


def test_the_vector_has_the_tensors_in_order() -> None:
    """Flattened in C order; tied copies once; float64 where any tensor is float64."""
    weights = every_type()
    vector = weights.vector()

    assert vector.dtype == np.float64
    assert len(vector) == weights.compressible_parameters == 6 * 15
    for name, part in weights.slices():
        np.testing.assert_array_equal(vector[part], weights[name].values().reshape(-1))


def test_the_same_vector_gives_the_same_weights() -> None:
    """Replacing w_net by itself changes no bit, for any element type."""
    weights = every_type()

    assert_same_bits(weights.with_vector(weights.vector()), weights)


def test_tied_copies_change_together_and_count_once() -> None:
    """A copy has the values of the first of its group and adds no bytes."""
    first = tensor("a", "float32", (2, 2))
    weights = Weights.select([first, Tensor("b", "float32", first.data)], tied=[("a", "b")])
    changed = weights.with_vector(np.zeros(4, np.float32))

    assert weights.compressible == ("a",)
    assert (weights.parameters, weights.raw_bytes) == (4, 16)
    assert changed["b"].data is changed["a"].data


def test_values_are_rounded_to_each_tensors_type() -> None:
    """0.1 in bfloat16 is the nearest bfloat16, ties to even."""
    weights = Weights.select([Tensor("a", "bfloat16", np.zeros((1, 2), np.uint16))])
    changed = weights.with_vector(np.array([0.1, 1 + 2**-8], np.float32))

    np.testing.assert_array_equal(changed["a"].values(), [[0.10009765625, 1.0]])
    assert changed["a"].data.dtype == dtypes.by_name("bfloat16").numpy


def test_the_digest_is_the_one_that_bundles_record() -> None:
    """Manifests record it, so that it must not change; it depends on values, ties and names."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    tensors = [
        Tensor("a.weight", "float32", values),
        Tensor("a.bias", "bfloat16", np.array([1, 2], np.uint16)),
        Tensor("b.weight", "float32", values),
    ]
    tied = Weights.select(tensors, tied=[("a.weight", "b.weight")])

    assert tied.digest() == "6b849f036490c2bf87976cb4f6ebbad8cb50ceb3f9491848e922a9019e418542"
    assert tied.digest() != Weights.select(tensors).digest()
