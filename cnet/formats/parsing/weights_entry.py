"""The choice of the entry of a file that holds the weights.

Training scripts save more than weights. The rule, in order:

1. ``weights_key`` names the entry, with dots between nested keys; the empty text names the top level.
2. Otherwise every dict that holds tensors directly is a candidate, except below entries that by their name are
   something else (optimizer, scheduler, scaler, random state, settings, ...).
3. Where a candidate has a well-known name (``state_dict``, ``model``, ``net``, ``ema``, ...), candidates without one
   are left out. So are tensors of the top level, where every named entry has more of them.
4. Within a candidate, deeper dicts are candidates only where they have a well-known name.
5. A single candidate is the weights. Several with the same names and values count as one, the first. Several that
   differ (a model and its moving average) are refused, and the user has to choose one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import Notice, StoredTensor
from cnet.formats.parsing.quoting import quoted, quoted_list

DISTRIBUTED = (
    "make one file of a distributed checkpoint, which is a folder of .distcp files, with "
    "`python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER model.pt`"
)
"""What to do with a part of a distributed checkpoint."""

_DEEPEST_NESTING = 8
_WELL_KNOWN = re.compile(
    r"(.*[_.-])?(state_?dict|models?|module|net|network|weights|params|ema|swa|shadow|average[d]?|student|teacher)"
    r"([_.-].*)?",
    re.IGNORECASE,
)
_OTHER_CONTENTS = re.compile(
    r"(.*[_.-])?(optim|optims|optimizers?|opt|schedulers?|scaler|amp|rng|loops|callbacks|hyper_?parameters|hparams"
    r"|config|cfg|args|criterion|sampler|metrics)([_.-].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class WeightsEntry:
    """The entry of a file that holds the weights.

    Attributes:
        path: keys from the top level down; empty for the top level.
        tensors: the tensors by their keys, which need not be text yet.
        others: the entries that are not tensors.
    """

    path: tuple[str, ...]
    tensors: Mapping[object, StoredTensor]
    others: Mapping[object, object]

    @property
    def key(self) -> str | None:
        """The path joined by dots; None for the top level."""
        return ".".join(self.path) or None

    @property
    def well_known(self) -> bool:
        """Whether any key of the path is a usual name for weights."""
        return any(_WELL_KNOWN.fullmatch(part) for part in self.path)


def choose_entry(root: object, weights_key: str | None) -> tuple[WeightsEntry, list[Notice]]:
    """The entry that holds the weights, by the rule above, and notices about what was left out.

    Raises:
        CheckpointError: ``not_a_state_dict`` or ``ambiguous_weights``.
    """
    if isinstance(root, StoredTensor):
        raise CheckpointError(
            "the file holds a single tensor, not a dict of named tensors. Save the weights with "
            f"torch.save(model.state_dict(), path); {DISTRIBUTED}.",
            code="not_a_state_dict",
        )
    if not isinstance(root, Mapping):
        raise _no_weights(f"the file holds a {_kind(root)}, not a dict of named tensors")
    if weights_key is not None:
        entry = _entry_called(root, weights_key)
        _refuse_packed_tensors(entry.others)
        return entry, []
    candidates = list(_candidates(root, (), set()))
    if any(candidate.well_known for candidate in candidates):
        candidates = [candidate for candidate in candidates if candidate.well_known or not candidate.path]
        candidates = _without_loose_tensors(candidates)
    if not candidates:
        _refuse_packed_tensors(root)
        raise _no_weights("the file holds no dict of named tensors" if root else "the file holds an empty dict")
    first, *others = candidates
    if not all(_equal_entries(first, other) for other in others):
        raise CheckpointError(
            f"several entries hold different weights: {quoted_list(c.key or '(top level)' for c in candidates)}. "
            "Choose one with weights_key (`--weights-key` on the command line).",
            code="ambiguous_weights",
        )
    _refuse_packed_tensors(first.others)
    return first, _notices(first, others, root)


def _entry_called(root: Mapping[object, object], weights_key: str) -> WeightsEntry:
    found = list(_follow(root, weights_key)) if weights_key else [((), root)]
    if not found:
        raise CheckpointError(
            f"weights_key {quoted(weights_key)}: the file has no such entry; it has {quoted_list(root)}. "
            "Name one of these that holds the weights, or leave weights_key out.",
            code="not_a_state_dict",
        )
    path, value = found[0]
    entry = _entry(path, value) if isinstance(value, Mapping) else None
    if entry is None or not entry.tensors:
        raise _no_weights(f"entry {quoted(weights_key)}: it is not a dict of named tensors")
    return entry


def _follow(value: object, key: str, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """All values that ``key`` can mean, fewest keys first: a dot separates two keys or is a part of one."""
    if not isinstance(value, Mapping) or len(path) > _DEEPEST_NESTING:
        return
    if key in value:
        yield (*path, key), value[key]
    parts = key.split(".")
    for count in range(len(parts) - 1, 0, -1):
        first = ".".join(parts[:count])
        if first in value:
            yield from _follow(value[first], ".".join(parts[count:]), (*path, first))


def _candidates(value: Mapping[object, object], path: tuple[str, ...], seen: set[int]) -> Iterator[WeightsEntry]:
    if id(value) in seen or len(path) > _DEEPEST_NESTING:
        return
    seen.add(id(value))
    entry = _entry(path, value)
    if entry.tensors:
        yield entry
    for key, inner in value.items():
        if not isinstance(inner, Mapping) or not isinstance(key, str) or _OTHER_CONTENTS.fullmatch(key):
            continue
        if not entry.tensors or _WELL_KNOWN.fullmatch(key):
            yield from _candidates(inner, (*path, key), seen)


def _entry(path: tuple[str, ...], value: Mapping[object, object]) -> WeightsEntry:
    tensors = {key: item for key, item in value.items() if isinstance(item, StoredTensor)}
    return WeightsEntry(path, tensors, {key: item for key, item in value.items() if key not in tensors})


def _refuse_packed_tensors(entries: Mapping[object, object]) -> None:
    """Refuse entries whose tensors are inside tuples or lists, such as the weights of quantized layers.

    Raises:
        CheckpointError: ``unsupported_layout``, with the names of the entries.
    """
    packed = [key for key, value in entries.items() if isinstance(value, list | tuple) and _holds_tensors(value)]
    if packed:
        raise CheckpointError(
            f"entries {quoted_list(packed)}: their tensors are inside tuples or lists, as the packed weights of "
            "quantized layers are, so they have no names. Save the network from before it was quantized, or each "
            "tensor under a name of its own.",
            code="unsupported_layout",
        )


def _holds_tensors(value: object) -> bool:
    """Whether tensors are inside a value of tuples, lists and dicts, however deep."""
    waiting, seen = [value], set[int]()
    while waiting:
        item = waiting.pop()
        if isinstance(item, StoredTensor):
            return True
        if isinstance(item, list | tuple | Mapping) and id(item) not in seen:
            seen.add(id(item))
            waiting += item.values() if isinstance(item, Mapping) else item
    return False


def _without_loose_tensors(candidates: list[WeightsEntry]) -> list[WeightsEntry]:
    """Drop the tensors of the top level, such as an epoch counter, where every named entry has more of them."""
    nested = [candidate for candidate in candidates if candidate.path]
    fewest = min((len(candidate.tensors) for candidate in nested), default=0)
    return [candidate for candidate in candidates if candidate.path or len(candidate.tensors) >= fewest]


def _equal_entries(one: WeightsEntry, other: WeightsEntry) -> bool:
    if one.tensors.keys() != other.tensors.keys():
        return False
    return all(_equal_tensors(tensor, other.tensors[key]) for key, tensor in one.tensors.items())


def _equal_tensors(one: StoredTensor, other: StoredTensor) -> bool:
    if one.identity is not None and one.identity == other.identity:
        return True
    if (one.elements, one.nbytes) != (other.elements, other.nbytes):
        return False
    try:
        a, b = one.load(""), other.load("")
    except CheckpointError:  # such as a sparse tensor: what cannot be read cannot be compared
        return False
    return a.dtype == b.dtype and a.shape == b.shape and a.data.tobytes() == b.data.tobytes()


def _notices(entry: WeightsEntry, same: list[WeightsEntry], root: Mapping[object, object]) -> list[Notice]:
    notices = []
    if same:
        keys = quoted_list(other.key or "(top level)" for other in same)
        notices.append(Notice("equal_weights", f"the same weights are also stored under {keys}; they are read once"))
    if entry.others:
        detail = f"entries that are not tensors were left out: {quoted_list(entry.others)}"
        notices.append(Notice("ignored_entries", detail))
    loose = [
        key
        for key, value in root.items()
        if entry.path and isinstance(value, list | tuple) and _holds_tensors(value) and not _is_other(key)
    ]
    if loose:
        detail = f"lists of tensors beside the weights were left out: {quoted_list(loose)}"
        notices.append(Notice("ignored_entries", detail))
    return notices


def _is_other(key: object) -> bool:
    return isinstance(key, str) and _OTHER_CONTENTS.fullmatch(key) is not None


def _kind(value: object) -> str:
    return type(value).__name__


def _no_weights(fault: str) -> CheckpointError:
    return CheckpointError(
        f"{fault}. Save the weights with torch.save(model.state_dict(), path).", code="not_a_state_dict"
    )
