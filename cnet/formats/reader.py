"""Read a checkpoint of any known format."""

from __future__ import annotations

from pathlib import Path

from cnet.arrays import chunks
from cnet.errors import CheckpointError
from cnet.formats.archive import ZipArchive
from cnet.formats.base import (
    Checkpoint,
    Document,
    Leaf,
    Limits,
    Source,
    check_budget,
    shown,
)
from cnet.formats.detect import detect
from cnet.formats.entries import choose_entry
from cnet.formats.names import common_prefix, name_notices, named_leaves
from cnet.formats.npz import is_npz, read_npz
from cnet.formats.onnx.reader import read_onnx
from cnet.formats.safetensors import read_safetensors
from cnet.formats.torch.legacy import read_torch_legacy
from cnet.formats.torch.zip import read_torch_zip
from cnet.formats.values import check_values
from cnet.weights import Tensor, Weights

_DEFAULT = Limits()


def read_checkpoint(
    path: str | Path, *, weights_key: str | None = None, strip_prefix: bool = True, limits: Limits = _DEFAULT
) -> Checkpoint:
    """Read the weights of a safetensors, torch (zip or legacy), npz or ONNX file. No code of the file is run.

    Arrays are read-only views of the mapped file where that is possible; the file must stay as it is while they live.

    Args:
        path: the file; its name does not matter.
        weights_key: the entry that holds the weights, dots for nesting, "" for the top level; by default the rule
            of ``cnet.formats.entries`` finds it.
        strip_prefix: cut ``module.`` and ``_orig_mod.`` where all names begin with them.
        limits: how much the file may claim.

    Raises:
        CheckpointError: with one of the contract's refusal codes.
        OSError: the file cannot be opened.
    """
    try:
        return _read(Source.open(Path(path)), weights_key, strip_prefix, limits)
    except MemoryError as error:
        raise CheckpointError(
            "the file needs more memory than there is to read it", code="too_many_elements"
        ) from error
    except RecursionError as error:
        raise CheckpointError("the file nests its contents too deeply", code="corrupt") from error


def _read(source: Source, weights_key: str | None, strip_prefix: bool, limits: Limits) -> Checkpoint:
    document = _document(source, limits)
    entry, notices = choose_entry(document.root, weights_key)
    leaves, number_notices = named_leaves(entry.leaves)
    check_budget(leaves, source.size, limits)
    prefix = common_prefix(list(leaves)) if strip_prefix else ""
    named = {name[len(prefix) :]: leaf for name, leaf in leaves.items()}
    tensors = [_load(name, leaf) for name, leaf in named.items()]
    weights = Weights.select(tensors, tied=_tied(named, tensors, document, prefix))
    warnings = (*document.notices, *notices, *number_notices, *name_notices(list(named)))
    return Checkpoint(weights, document.format, entry.key, prefix or None, warnings)


def _document(source: Source, limits: Limits) -> Document:
    kind = detect(source)
    if kind == "safetensors":
        return read_safetensors(source, limits)
    if kind == "onnx":
        return read_onnx(source, limits)
    if kind == "pickle":
        return read_torch_legacy(source, limits)
    archive = ZipArchive(source, limits)
    return read_npz(archive) if is_npz(archive) else read_torch_zip(archive, limits)


def _load(name: str, leaf: Leaf) -> Tensor:
    try:
        tensor = leaf.load(name)
    except ValueError as error:  # NumPy limits even the shapes of empty arrays
        raise CheckpointError(f"tensor {shown(name)} has a shape that no array can have", code="corrupt") from error
    check_values(tensor)
    return tensor


def _tied(named: dict[str, Leaf], tensors: list[Tensor], document: Document, prefix: str) -> list[tuple[str, ...]]:
    """Names of one tensor: by storage in torch files, by statement (checked against the values) in our own."""
    groups: dict[object, list[str]] = {}
    for name, leaf in named.items():
        if leaf.identity is not None:
            groups.setdefault(leaf.identity, []).append(name)
    by_storage = [tuple(group) for group in groups.values() if len(group) > 1]
    stated = [tuple(name[len(prefix) :] for name in group) for group in document.tied]
    values = {tensor.name: tensor for tensor in tensors}
    return by_storage + [group for group in stated if _same([values[name] for name in group])]


def _same(tensors: list[Tensor]) -> bool:
    first, *others = tensors
    return all(
        (other.dtype, other.shape) == (first.dtype, first.shape) and _same_bits(other, first) for other in others
    )


def _same_bits(one: Tensor, other: Tensor) -> bool:
    pairs = zip(chunks(one.data), chunks(other.data), strict=True)
    return all(mine.tobytes() == theirs.tobytes() for mine, theirs in pairs)
