"""Which entry of a file holds the weights.

Training scripts save more than weights. The rule, in order:

1. ``weights_key`` names the entry, with dots for nesting; the empty text names the top level.
2. Otherwise every dict that holds tensors directly is a candidate, except below entries that by their name are
   something else (optimizer, scheduler, scaler, random state, settings, ...).
3. Where a candidate lies under a well-known name (``state_dict``, ``model``, ``net``, ``ema``, ...), candidates
   without one are left out. So are tensors that lie beside such entries, where they are fewer than in each of them.
4. Within a candidate, deeper dicts are no candidates unless they have a well-known name.
5. One candidate is the weights. Several with the same names and values count as one, the first. Several that differ
   (a model and its moving average) are refused: the user has to say which.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cnet.errors import CheckpointError
from cnet.formats.base import FlatLeaf, Leaf, Notice, listed, shown
from cnet.formats.torch.tensor import TorchTensor, Unreadable

_DEEPEST = 8
_WELL_KNOWN = re.compile(
    r"(.*[_.-])?(state_?dict|models?|module|net|network|weights|params|ema|swa|shadow|average[d]?|student|teacher)"
    r"([_.-].*)?",
    re.IGNORECASE,
)
_SOMETHING_ELSE = re.compile(
    r"(.*[_.-])?(optim|optims|optimizers?|opt|schedulers?|scaler|amp|rng|loops|callbacks|hyper_?parameters|hparams"
    r"|config|cfg|args|criterion|sampler|metrics)([_.-].*)?",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Entry:
    """The entry that holds the weights.

    Attributes:
        path: keys from the top; empty for the top level.
        leaves: its tensors by their keys, which need not be text yet.
        extras: its keys that hold no tensors.
    """

    path: tuple[str, ...]
    leaves: Mapping[object, Leaf]
    extras: tuple[object, ...]

    @property
    def key(self) -> str | None:
        """The path with dots; None for the top level."""
        return ".".join(self.path) or None

    @property
    def well_known(self) -> bool:
        """Whether any part of the path is a usual name of weights."""
        return any(_WELL_KNOWN.fullmatch(part) for part in self.path)


def choose_entry(root: object, weights_key: str | None) -> tuple[Entry, list[Notice]]:
    """The entry that holds the weights, by the rule above.

    Raises:
        CheckpointError: ``not_a_state_dict`` or ``ambiguous_weights``.
    """
    if not isinstance(root, Mapping):
        raise _no_weights(f"the file holds a {_kind(root)} instead of a dict of named tensors")
    if weights_key is not None:
        return _named(root, weights_key), []
    candidates = list(_candidates(root, (), set()))
    if any(candidate.well_known for candidate in candidates):
        candidates = [candidate for candidate in candidates if candidate.well_known or not candidate.path]
        candidates = _without_loose_tensors(candidates)
    if not candidates:
        raise _no_weights("the file holds no dict of named tensors" if root else "the file holds an empty dict")
    first, *others = candidates
    if not all(_equal(first, other) for other in others):
        raise CheckpointError(
            f"several entries hold weights that differ ({listed(c.key or '(top level)' for c in candidates)}): "
            "say which with weights_key",
            code="ambiguous_weights",
        )
    return first, _notices(first, others)


def _named(root: Mapping[object, object], weights_key: str) -> Entry:
    found = list(_walk(root, weights_key)) if weights_key else [((), root)]
    if not found:
        raise _no_weights(f"the file has no entry {shown(weights_key)}; it has {listed(root)}")
    path, value = found[0]
    entry = _entry(path, value) if isinstance(value, Mapping) else None
    if entry is None or not entry.leaves:
        raise _no_weights(f"the entry {shown(weights_key)} is not a dict of named tensors")
    return entry


def _walk(value: object, key: str, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """All ways to follow ``key``, whose dots may separate keys or be part of them; the fewest keys first."""
    if not isinstance(value, Mapping) or len(path) > _DEEPEST:
        return
    if key in value:
        yield (*path, key), value[key]
    parts = key.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        head = ".".join(parts[:cut])
        if head in value:
            yield from _walk(value[head], ".".join(parts[cut:]), (*path, head))


def _candidates(value: Mapping[object, object], path: tuple[str, ...], seen: set[int]) -> Iterator[Entry]:
    if id(value) in seen or len(path) > _DEEPEST:
        return
    seen.add(id(value))
    entry = _entry(path, value)
    if entry.leaves:
        yield entry
    for key, inner in value.items():
        if not isinstance(inner, Mapping) or not isinstance(key, str) or _SOMETHING_ELSE.fullmatch(key):
            continue
        if not entry.leaves or _WELL_KNOWN.fullmatch(key):
            yield from _candidates(inner, (*path, key), seen)


def _entry(path: tuple[str, ...], value: Mapping[object, object]) -> Entry:
    leaves = {key: leaf for key, leaf in value.items() if isinstance(leaf, TorchTensor | Unreadable | FlatLeaf)}
    return Entry(path, leaves, tuple(key for key in value if key not in leaves))


def _without_loose_tensors(candidates: list[Entry]) -> list[Entry]:
    """A few tensors on the top level, such as an epoch counter, are no weights where a named entry holds more."""
    nested = [candidate for candidate in candidates if candidate.path]
    fewest = min((len(candidate.leaves) for candidate in nested), default=0)
    return [candidate for candidate in candidates if candidate.path or len(candidate.leaves) >= fewest]


def _equal(one: Entry, other: Entry) -> bool:
    if one.leaves.keys() != other.leaves.keys():
        return False
    return all(_equal_leaves(leaf, other.leaves[key]) for key, leaf in one.leaves.items())


def _equal_leaves(one: Leaf, other: Leaf) -> bool:
    if one.identity is not None and one.identity == other.identity:
        return True
    if (one.elements, one.nbytes) != (other.elements, other.nbytes) or isinstance(one, Unreadable):
        return False
    a, b = one.load(""), other.load("")
    return a.dtype == b.dtype and a.shape == b.shape and a.data.tobytes() == b.data.tobytes()


def _notices(entry: Entry, same: list[Entry]) -> list[Notice]:
    notices = []
    if same:
        keys = listed(other.key or "(top level)" for other in same)
        notices.append(Notice("equal_weights", f"the same weights lie under {keys}, too; they are taken once"))
    if entry.extras:
        detail = f"entries beside the tensors that are not tensors were left out: {listed(entry.extras)}"
        notices.append(Notice("ignored_entries", detail))
    return notices


def _kind(value: object) -> str:
    if isinstance(value, TorchTensor | Unreadable):
        return "single tensor"
    return type(value).__name__


def _no_weights(detail: str) -> CheckpointError:
    return CheckpointError(
        f"{detail}: save the weights with torch.save(model.state_dict(), path)", code="not_a_state_dict"
    )
