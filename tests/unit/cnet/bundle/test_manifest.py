"""What a manifest can say."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from cnet.bundle.manifest import Manifest, PackingEntry, TensorColumns, columns_of, products_of, ties_of
from cnet.weights import Weights
from tests.unit.cnet.nets import every_type, tensor


def document(**changes: Any) -> dict[str, Any]:
    """A manifest of five tensors, of which two are factors."""
    columns = {
        "names": ("a", "l", "r", "bias", "x"),
        "dtypes": ("float32",) * 5,
        "shapes": ((4, 6), (5, 2), (2, 3, 2, 2), (5,), (5,)),
        "roles": ("compressible",) * 3 + ("other",) * 2,
    }
    members = {"other": {"descr": "|u1", "length": 40, "digest": "0" * 22}}
    sound = {
        "encoder": "npz",
        "header": {},
        "tensors": columns,
        "tied": (),
        "layout": {"members": members},
        "metrics": None,
        "extra": None,
        "products": ({"name": "c", "dtype": "float32", "left": 1, "right": 2},),
    }
    return {**sound, **changes}


def test_positions_follow_from_the_order() -> None:
    """Weights of w_net for compressible tensors, bytes for all others."""
    manifest = Manifest.model_validate(document())

    assert dict(manifest.positions) == {
        "a": slice(0, 24),
        "l": slice(24, 34),
        "r": slice(34, 58),
        "bias": slice(0, 20),
        "x": slice(20, 40),
    }
    assert manifest.compressible_shapes == [(4, 6), (5, 2), (2, 3, 2, 2)]
    assert manifest.others == [("float32", 5), ("float32", 5)]
    assert [product.left for product in manifest.product_tensors] == ["l"]


def test_tied_tensors_have_the_position_of_the_first() -> None:
    """They are written once."""
    weights = every_type()
    columns = columns_of(weights)
    ties = ties_of(weights)

    assert [[columns.names[index] for index in group] for group in ties] == [list(group) for group in weights.tied]
    assert [columns.roles[index] for group in ties for index in group[1:]] == ["tied"] * 2
    assert products_of(weights) == ()
    assert Weights.select([tensor("w", "float32", (2, 2))]).tied == ()


@pytest.mark.parametrize(
    "changes",
    [
        {"left": 0, "right": 1},  # shapes that have no product
        {"left": 2, "right": 1},
        {"left": 1, "right": 1},
        {"left": 1, "right": 9},
        {"left": 3, "right": 4},  # not compressible
        {"name": "a"},
        {"name": "bias"},
        {"dtype": "int8"},
        {"dtype": "float3"},
    ],
)
def test_impossible_products_are_refused(changes: dict[str, Any]) -> None:
    """Factors must be two compressible tensors side by side that nothing else uses."""
    product = {"name": "c", "dtype": "float32", "left": 1, "right": 2}
    with pytest.raises(ValidationError):
        Manifest.model_validate(document(products=({**product, **changes},)))


def test_null_in_a_stored_manifest_is_refused() -> None:
    """In a job null means the default; in a stored document it is damage."""
    with pytest.raises(ValidationError, match="error"):
        PackingEntry.model_validate({"kind": "planes", "error": None})


@pytest.mark.parametrize(
    "changes",
    [
        {"names": ("a", "a")},
        {"dtypes": ("float32",)},
        {"dtypes": ("float32", "float4")},
        {"roles": ("compressible", "boss")},
        {"shapes": ((2**40, 2**40), ())},
    ],
)
def test_impossible_tensors_are_refused(changes: dict[str, Any]) -> None:
    """Duplicate names, lists of different lengths, unknown types and roles, shapes larger than any memory."""
    columns = {
        "names": ("a", "b"),
        "dtypes": ("float32", "int8"),
        "shapes": ((2,), ()),
        "roles": ("compressible", "other"),
    }
    TensorColumns.model_validate(columns)
    with pytest.raises(ValidationError):
        TensorColumns.model_validate({**columns, **changes})
