"""Canonical names of tensors: those of the file, as text, without the prefixes that wrappers put before all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import Notice, StoredTensor, damaged
from cnet.formats.parsing.quoting import quoted, quoted_list
from cnet.weights import pruning_masks

_WRAPPER_PREFIXES = ("module.", "_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module.")
"""What DataParallel, torch.compile and FSDP put before all names, also one after another."""

AVERAGE_COUNTER = "n_averaged"
"""The tensor that ``torch.optim.swa_utils.AveragedModel`` adds beside its network, which is called ``module``."""

_RESERVED_NAME = "__metadata__"
_LONGEST_NAME = 4096  # bytes


def name_tensors(tensors: Mapping[object, StoredTensor]) -> tuple[dict[str, StoredTensor], list[Notice]]:
    """The tensors with every key as text, and a notice where keys were integers.

    Raises:
        CheckpointError: ``not_a_state_dict`` for other keys, ``duplicate_name`` where two keys become one name.
    """
    named: dict[str, StoredTensor] = {}
    numbers = []
    for key, tensor in tensors.items():
        name = _text(key)
        if name in named:
            raise CheckpointError(
                f"tensor {quoted(name)}: two tensors have this name, one as a number and one as text. Rename one.",
                code="duplicate_name",
            )
        named[name] = tensor
        if not isinstance(key, str):
            numbers.append(name)
    detail = f"tensors whose names are numbers are named by their digits: {quoted_list(numbers)}"
    return named, [Notice("number_names", detail)] if numbers else []


def _text(key: object) -> str:
    if type(key) is int and abs(key) < 2**63:
        return str(key)
    if not isinstance(key, str):
        raise CheckpointError(
            f"a tensor is named by a value of type {type(key).__name__}, not by text. Save a dict of named tensors.",
            code="not_a_state_dict",
        )
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise damaged(f"tensor {quoted(key)}", "its name is not valid text") from error
    if key == _RESERVED_NAME or size > _LONGEST_NAME:
        raise CheckpointError(
            f"tensor {quoted(key)}: a name has at most {_LONGEST_NAME} bytes and is not {_RESERVED_NAME!r}, which "
            "safetensors reserves. Rename the tensor.",
            code="not_a_state_dict",
        )
    return key


def common_prefix(names: Sequence[str]) -> str:
    """The prefixes of wrappers that every name begins with, one after another; empty where there are none.

    A network whose own children are called ``module`` and ``head`` has no common prefix and keeps its names. The
    counter of an averaged network does not count.
    """
    prefix = ""
    names = [name for name in names if name != AVERAGE_COUNTER]
    while names:
        longer = (prefix + wrapper for wrapper in _WRAPPER_PREFIXES)
        found = next((one for one in longer if all(_begins(name, one) for name in names)), None)
        if found is None:
            break
        prefix = found
    return prefix


def _begins(name: str, prefix: str) -> bool:
    """Whether a name is ``prefix`` and more."""
    return name.startswith(prefix) and len(name) > len(prefix)


def unfinished_pruning(names: Sequence[str]) -> list[Notice]:
    """A notice for each mask that ``torch.nn.utils.prune`` leaves where pruning was not made permanent."""
    return [
        Notice(
            "unfinished_pruning",
            f"it is the mask of a pruning that was not made permanent. It is kept as it is and not applied to "
            f"{original}. Call torch.nn.utils.prune.remove before saving.",
            mask,
        )
        for mask, original in pruning_masks(names).items()
    ]
