"""Weights as a file that other tools read: safetensors, a PyTorch state dict, npz, or ONNX.

Every tensor is written under its canonical name with its shape. Tied tensors are written under each of their names.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cnet.bundle import Bundle
from cnet.errors import CnetError
from cnet.files import atomic_path
from cnet.formats.canonical import Described, write_canonical, write_described
from cnet.formats.onnx.writer import write_onnx
from cnet.weights import Weights

_OLDEST = (1980, 1, 1, 0, 0, 0)  # the zip format's first time stamp: files of equal weights are equal


def write_model(weights: Weights, path: Path, format: str) -> None:  # noqa: A002 - the word of the contract
    """Write ``weights`` to ``path``, whole or not at all. The same weights give the same bytes.

    Args:
        weights: what to write.
        path: the file, replaced where it exists.
        format: ``safetensors`` (element types as they are), ``pt`` (a dict that ``torch.load(weights_only=True)``
            reads, element types as they are; needs PyTorch), ``npz`` (bfloat16 and float8 as the unsigned integers
            of their bits, since NumPy has no such types) or ``onnx`` (initializers, element types as they are).

    Raises:
        CnetError: ``unknown_format``, ``torch_missing``, or ``too_large`` for ONNX.
    """
    if format not in _WRITERS:
        raise CnetError(f"there is no model format {format!r}; known: {', '.join(FORMATS)}", code="unknown_format")
    with atomic_path(path) as draft:
        _WRITERS[format](draft, weights)


def unpack(bundle: Bundle, path: Path, format: str, like: Path | None = None) -> None:  # noqa: A002 - as above
    """Decode a bundle to a model file, as ``write_model``.

    Safetensors and ONNX are written piece by piece; the product of two factors is one piece.

    Args:
        bundle: what to decode.
        path: the file, replaced where it exists.
        format: as in ``write_model``.
        like: for ``onnx``, a file of the same net, whose graph is taken over.

    Raises:
        BundleError: the bundle is damaged; nothing is written.
        CnetError: as ``write_model``, and ``not_onnx``, ``not_alike`` for ``like``.
    """
    if like is not None and format != "onnx":
        raise CnetError(f"a graph is part of ONNX files only, not of {format}", code="unknown_format")
    if format not in {"safetensors", "onnx"}:
        write_model(bundle.weights(), path, format)
        return
    rows = [Described(name, *bundle.described(name)) for name in bundle]
    with atomic_path(path) as draft:
        if format == "onnx":
            write_onnx(draft, rows, bundle.pieces, like, bundle.tied)
        else:
            write_described(draft, rows, bundle.tied, bundle.pieces)


def format_of(path: Path) -> str:
    """The format that a file's suffix names. Raises CnetError (``unknown_format``) naming the known ones."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(_SUFFIXES)
        raise CnetError(f"the suffix {suffix!r} names no model format; known: {known}", code="unknown_format")
    return _SUFFIXES[suffix]


def _write_npz(path: Path, weights: Weights) -> None:
    """What ``numpy.load`` reads; not by ``numpy.savez``, which refuses tensors called ``file``."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for tensor in weights:
            member = zipfile.ZipInfo(f"{tensor.name}.npy", _OLDEST)
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, np.asanyarray(tensor.data), allow_pickle=False)


def _write_torch(path: Path, weights: Weights) -> None:
    try:
        from cnet.formats.torch.export import save_state_dict
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise CnetError(
            "a PyTorch file can only be written where PyTorch is installed: install cnet with the extra 'train', "
            "or write .safetensors",
            code="torch_missing",
        ) from error
    save_state_dict(weights, path)


def _write_onnx(path: Path, weights: Weights) -> None:
    rows = [Described(tensor.name, tensor.dtype, tensor.shape) for tensor in weights]
    write_onnx(path, rows, lambda name: [weights[name].data])


_WRITERS: dict[str, Callable[[Path, Weights], None]] = {
    "safetensors": write_canonical,
    "pt": _write_torch,
    "npz": _write_npz,
    "onnx": _write_onnx,
}
_SUFFIXES = {".safetensors": "safetensors", ".pt": "pt", ".pth": "pt", ".npz": "npz", ".onnx": "onnx"}

FORMATS = tuple(_WRITERS)
"""The formats that ``write_model`` knows."""
