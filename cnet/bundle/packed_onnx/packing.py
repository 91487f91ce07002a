"""How the weights of one tensor are packed in an ONNX graph, so that nodes give exactly the decoded values.

Codes take 4, 8, 12 or 16 bits. ONNX has 8 and 16; 4 bits are two codes in a byte, which ``Mod`` and ``BitShift`` take
apart, and 12 bits are a byte and 4 bits. What a code stands for is read from a codebook (``Gather``), or computed:
``step * (code + least)``, which is what ``DequantizeLinear`` computes with a zero point. It is written as ``Add`` and
``Mul``, since ONNX Runtime folds these into a constant when it loads the model, and ``DequantizeLinear`` it does not.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cnet.bundle.packed_onnx.coded_tensors import CodedTensor, final_values
from cnet.bundle.packed_onnx.fragment import Fragment, Names

Codes = npt.NDArray[np.int64]

BITS = (4, 8, 12, 16)
"""Possible bits of a code."""


def bits_for(codes: int) -> int | None:
    """Bits for so many different codes; None where they need more than 16."""
    return next((bits for bits in BITS if codes <= 2**bits), None)


def pack(names: Names, coded: CodedTensor, name: str) -> Fragment | None:
    """The smallest fragment whose value ``name`` is the tensor; None where it cannot be packed."""
    fragments = [fragment for build in (_by_codebook, _by_step) if (fragment := build(names, coded, name)) is not None]
    return min(fragments, key=lambda fragment: fragment.nbytes, default=None)


def _by_codebook(names: Names, coded: CodedTensor, name: str) -> Fragment | None:
    bits = bits_for(len(coded.values))
    if bits is None:
        return None
    fragment = Fragment(names)
    values = final_values(coded)
    codes = _unpacked(fragment, coded.codes, coded.shape, bits, "int32")
    if values is not None:
        fragment.node("Gather", fragment.initializer(values, coded.dtype), codes)
    else:
        _finish(fragment, coded, fragment.node("Gather", fragment.initializer(coded.values), codes))
    fragment.name_last(name)
    return fragment


def _by_step(names: Names, coded: CodedTensor, name: str) -> Fragment | None:
    grid = coded.grid
    bits = None if grid is None else bits_for(int(grid.codes.max()) + 1)
    if grid is None or bits is None:
        return None
    fragment, kind = Fragment(names), grid.step.dtype.name
    codes = _unpacked(fragment, grid.codes, coded.shape, bits, kind)
    multiples = fragment.node("Add", codes, fragment.scalar(grid.least, kind)) if grid.least else codes
    _finish(fragment, coded, fragment.node("Mul", multiples, fragment.initializer(np.array(grid.step))))
    fragment.name_last(name)
    return fragment


def _finish(fragment: Fragment, coded: CodedTensor, value: str) -> None:
    """Multiply by the factors and round to the tensor's own type."""
    if coded.factors:
        product, *others = (fragment.initializer(factor) for factor in coded.factors)
        for factor in others:
            product = fragment.node("Mul", product, factor)
        value = fragment.node("Mul", value, product)
    if coded.dtype != coded.values.dtype.name:
        fragment.cast(value, coded.dtype)


def _unpacked(fragment: Fragment, codes: Codes, shape: tuple[int, ...], bits: int, dtype: str) -> str:
    """The codes in an element type, of the shape of the tensor."""
    if bits == 4:
        return fragment.cast(_from_nibbles(fragment, codes, shape), dtype)
    if bits == 16:
        return fragment.cast(fragment.initializer(codes.astype(np.uint16).reshape(shape)), dtype)
    low = fragment.cast(fragment.initializer(codes.astype(np.uint8).reshape(shape)), dtype)  # modulo 256
    if bits == 8:
        return low
    high = fragment.cast(_from_nibbles(fragment, codes >> 8, shape), dtype)
    return fragment.node("Add", low, fragment.node("Mul", high, fragment.scalar(256, dtype)))


def _from_nibbles(fragment: Fragment, codes: Codes, shape: tuple[int, ...]) -> str:
    """Codes below 16, stored in pairs: the first half of them in the lower bits, the second in the upper ones."""
    half = (len(codes) + 1) // 2
    pairs = np.zeros(2 * half, np.uint8)
    pairs[: len(codes)] = codes
    stored = fragment.initializer(pairs[:half] | pairs[half:] << 4)
    lower = fragment.node("Mod", stored, fragment.scalar(16, "uint8"))
    upper = fragment.node("BitShift", stored, fragment.scalar(4, "uint8"), direction="RIGHT")
    both = fragment.node("Concat", lower, upper, axis=0)
    if len(codes) % 2:
        both = fragment.node("Slice", both, fragment.vector((0,)), fragment.vector((len(codes),)))
    return fragment.node("Reshape", both, fragment.vector(shape))
