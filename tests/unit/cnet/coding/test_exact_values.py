"""Values in the smallest type that holds them: bit for bit, and refused under another name."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.coding.exact_values import candidate_types, narrow_exactly, restore_values, store_as, stored_type
from cnet.errors import BundleError


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("values", [[], [0.5, -0.0], [np.inf, 1e-8], [1 / 3], [65504, 1 + 2**-10]])
def test_values_round_trip(dtype: type, values: list[float]) -> None:
    """Signs of zeros and infinities too."""
    given = np.array(values, dtype)
    name, stored = narrow_exactly(given)
    found = restore_values(stored, {"values": name})

    assert name in candidate_types(given.dtype)
    assert found.dtype == dtype
    assert found.tobytes() == given.tobytes()


def test_a_type_that_would_round_is_not_chosen() -> None:
    """float16 holds 1/4 exactly, but not 1/3."""
    assert store_as(np.float32([0.25]), "float16") is not None
    assert store_as(np.float32([1 / 3]), "float16") is None


@pytest.mark.parametrize("header", [{}, {"values": "int8"}, {"values": None}])
def test_headers_without_a_type_are_refused(header: dict[str, object]) -> None:
    """The error names what is there."""
    with pytest.raises(BundleError, match="not a type of values"):
        stored_type(header)


def test_values_of_another_type_are_refused() -> None:
    """The error names both."""
    with pytest.raises(BundleError, match="float64, but the header says float32"):
        restore_values(np.float64([1]), {"values": "float32"})
