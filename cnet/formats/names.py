"""Canonical names: the file's own, as text, less the prefixes that wrappers put before all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cnet.errors import CheckpointError
from cnet.formats.base import Leaf, Notice, listed, shown
from cnet.weights import pruning_masks

_WRAPPERS = ("module.", "_orig_mod.")  # of DataParallel and of torch.compile; they can be stacked
_RESERVED = "__metadata__"
_LONGEST = 4096


def named_leaves(leaves: Mapping[object, Leaf]) -> tuple[dict[str, Leaf], list[Notice]]:
    """The same with every key as text; whole numbers become their digits.

    Raises:
        CheckpointError: ``not_a_state_dict`` for other keys, ``duplicate_name`` where two keys become one.
    """
    named: dict[str, Leaf] = {}
    numbers = []
    for key, leaf in leaves.items():
        name = _text(key)
        if name in named:
            raise CheckpointError(
                f"two tensors would both be named {shown(name)} (as a number and as text): rename one",
                code="duplicate_name",
            )
        named[name] = leaf
        if not isinstance(key, str):
            numbers.append(name)
    detail = f"tensors whose names are numbers are named by their digits: {listed(numbers)}"
    return named, [Notice("number_names", detail)] if numbers else []


def _text(key: object) -> str:
    if type(key) is int and abs(key) < 2**63:
        return str(key)
    if not isinstance(key, str):
        raise CheckpointError(
            f"a tensor is named by a {type(key).__name__} instead of text: save a dict of named tensors",
            code="not_a_state_dict",
        )
    try:
        size = len(key.encode())
    except UnicodeEncodeError as error:
        raise CheckpointError("a tensor's name is not valid text: the file is damaged", code="corrupt") from error
    if key == _RESERVED or size > _LONGEST:
        raise CheckpointError(
            f"no tensor can be named {shown(key)}: names have at most {_LONGEST} bytes, and {_RESERVED!r} is taken",
            code="not_a_state_dict",
        )
    return key


def common_prefix(names: Sequence[str]) -> str:
    """The wrappers' prefixes that every name begins with, one after another; empty where there are none.

    A net whose own children are called ``module`` and ``head`` has no common prefix and keeps its names.
    """
    prefix = ""
    while names:
        found = next((w for w in _WRAPPERS if all(_longer(name, prefix + w) for name in names)), None)
        if found is None:
            break
        prefix += found
    return prefix


def _longer(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and len(name) > len(prefix)


def name_notices(names: Sequence[str]) -> list[Notice]:
    """What the names tell: masks of a pruning that was not finished."""
    return [
        Notice(
            "unfinished_pruning",
            f"{mask} is the mask of a pruning that was not made permanent: it is kept as it is and not applied to "
            f"{original}; call torch.nn.utils.prune.remove before saving",
            mask,
        )
        for mask, original in pruning_masks(names).items()
    ]
