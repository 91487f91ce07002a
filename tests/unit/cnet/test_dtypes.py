"""Element types: widening is exact, and narrowing rounds to nearest even, for every code."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cnet import dtypes
from cnet.errors import CheckpointError

BITS = {
    "bfloat16": np.arange(2**16, dtype=np.uint16),
    "float8_e4m3fn": np.arange(2**8, dtype=np.uint8),
    "float8_e5m2": np.arange(2**8, dtype=np.uint8),
}
HALFWAY = np.float32([448, 456, 463.99, 464, 464.01, 480, 57344, 61439, 61440, 61441, 1e30, np.inf, 2**-10, 2**-17])


def torch_floats(bits: np.ndarray, name: str) -> np.ndarray:
    """The float32 values that PyTorch gives to the codes."""
    signed = torch.from_numpy(bits.view(f"i{bits.itemsize}"))
    return signed.view(getattr(torch, name)).to(torch.float32).numpy()


@pytest.mark.parametrize("name", BITS)
def test_widen_agrees_with_torch_for_every_code(name: str) -> None:
    """All codes widen to the float32 that PyTorch returns, with the sign of zero."""
    expected = torch_floats(BITS[name], name)

    actual = dtypes.widen(BITS[name], name)

    np.testing.assert_array_equal(actual, expected)
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


@pytest.mark.parametrize("name", BITS)
def test_narrow_undoes_widen_for_every_code_but_nan(name: str) -> None:
    """All codes but those of NaN are returned: widening loses nothing."""
    wide = dtypes.widen(BITS[name], name)
    number = ~np.isnan(wide)

    np.testing.assert_array_equal(dtypes.narrow(wide, name)[number], BITS[name][number])
    assert np.all(np.isnan(dtypes.widen(dtypes.narrow(wide, name), name)[~number]))


@pytest.mark.parametrize("name", [*BITS, "float16"])
def test_narrow_rounds_as_torch_does(name: str) -> None:
    """Random values, ties and values beyond the range round to what PyTorch rounds to."""
    rng = np.random.default_rng(0)
    spread = (rng.normal(size=20_000) * 2.0 ** rng.integers(-30, 20, 20_000)).astype(np.float32)
    codes = dtypes.widen(BITS[name], name) if name in BITS else np.float32([])
    codes = np.sort(codes[np.isfinite(codes)])
    ties = codes[:-1] / 2 + codes[1:] / 2
    values = np.concatenate((spread, ties, HALFWAY, -HALFWAY)).astype(np.float32)
    expected = torch.from_numpy(values).to(getattr(torch, name)).to(torch.float32).numpy()

    actual = dtypes.widen(dtypes.narrow(values, name), name).astype(np.float32)

    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("name", BITS)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (1, 3)])
def test_shapes_are_kept(name: str, shape: tuple[int, ...]) -> None:
    """Also those of scalars and of empty arrays."""
    bits = np.ones(shape, dtypes.by_name(name).numpy)
    wide = dtypes.widen(bits, name)

    assert isinstance(wide, np.ndarray)
    assert wide.shape == shape
    assert dtypes.narrow(wide, name).shape == shape


def test_names_and_codes_are_found() -> None:
    """Each type is found by its name and by its safetensors code."""
    assert dtypes.by_safetensors("BF16") is dtypes.by_name("bfloat16")
    assert not dtypes.by_name("bfloat16").native
    assert dtypes.by_name("float16").native


@pytest.mark.parametrize("find", [dtypes.by_name, dtypes.by_safetensors])
def test_unknown_types_are_refused_by_name(find: object) -> None:
    """The message names the type."""
    with pytest.raises(CheckpointError, match="'complex512'") as error:
        find("complex512")  # type: ignore[operator]

    assert error.value.code == "unsupported_dtype"
