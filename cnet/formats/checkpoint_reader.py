"""Read a checkpoint of any known format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from cnet.arrays import chunks
from cnet.errors import CheckpointError
from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.parsing.contents import Notice, StoredTensor, check_limits, damaged
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.quoting import quoted
from cnet.formats.parsing.tensor_names import AVERAGE_COUNTER, common_prefix, name_tensors, unfinished_pruning
from cnet.formats.parsing.tensor_values import check_booleans, check_finite
from cnet.formats.parsing.weights_entry import choose_entry
from cnet.formats.refusals import refuse_other_files
from cnet.tables import find_tables
from cnet.weights import Selection, Tensor, Weights

_DEFAULT_LIMITS = Limits()

_NOT_A_WEIGHT = (
    "{}, so it is not a trained weight and is kept exactly. To compress it all the same, name it in "
    "compressible.include of the job."
)

_COUNTER_LEFT_OUT = (
    f"the counter {AVERAGE_COUNTER} of torch.optim.swa_utils.AveragedModel was left out, because the names are those "
    "of the averaged network"
)
_FALLBACK = "torch"
"""The format of files that no format recognizes. Old torch files are pickles, which have no fixed first bytes; their
reader refuses everything else."""


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """A checkpoint as read.

    Attributes:
        weights: its tensors under their canonical names, in the order of the file.
        format: name of the file format, such as ``safetensors``.
        weights_key: the entry that held the weights, with dots between nested keys; None for the top level.
        stripped_prefix: what was cut from the start of every name, such as ``module.``; None where nothing was.
        warnings: what the user should know.
    """

    weights: Weights
    format: str
    weights_key: str | None
    stripped_prefix: str | None
    warnings: tuple[Notice, ...]


def read_checkpoint(
    path: str | Path,
    *,
    weights_key: str | None = None,
    strip_prefix: bool = True,
    selection: Selection | None = None,
    limits: Limits = _DEFAULT_LIMITS,
) -> Checkpoint:
    """Read the weights of a file of any registered format (``FORMATS``). No code of the file is run.

    Arrays are read-only views of the mapped file where that is possible; the file must not change while they are used.

    Args:
        path: the file; its name does not matter.
        weights_key: the entry that holds the weights, with dots between nested keys, "" for the top level; by default
            the rule of ``cnet.formats.parsing.weights_entry`` finds it.
        strip_prefix: cut ``module.`` and ``_orig_mod.`` where all names begin with them.
        selection: which tensors are compressible; None: the default rule. Those that are not trained weights
            (``cnet.tables``) never are, unless its patterns include them. Only compressible tensors must be finite.
        limits: the most that the file may claim.

    Raises:
        CheckpointError: the file cannot be used; ``code`` is one of those of the HTTP API.
        OSError: the file cannot be opened.
    """
    try:
        contents = _Contents.of(MappedFile.open(Path(path)), weights_key, strip_prefix, limits)
        return contents.checkpoint(selection or Selection())
    except MemoryError as error:
        raise CheckpointError(
            "the file needs more memory than there is. Read it on a machine with more memory.", code="too_many_elements"
        ) from error
    except RecursionError as error:
        raise damaged("the file", "its contents are nested too deeply") from error


@dataclass(frozen=True, eq=False)
class _Contents:
    """The tensors of a file under their canonical names, still in the file, and what was found out about the file."""

    format: str
    named: dict[str, StoredTensor]
    stated_ties: tuple[tuple[str, ...], ...]
    weights_key: str | None
    prefix: str
    notices: tuple[Notice, ...]
    metadata: Mapping[str, str]

    @classmethod
    def of(cls, file: MappedFile, weights_key: str | None, strip_prefix: bool, limits: Limits) -> _Contents:
        """Find the weights in a file. Raises CheckpointError."""
        file_format = _recognize(file)
        contents = file_format.read(file, limits)
        entry, notices = choose_entry(contents.root, weights_key)
        stored, name_notices = name_tensors(entry.tensors)
        check_limits(stored, file.size, limits)
        prefix = common_prefix(list(stored)) if strip_prefix else ""
        if prefix and stored.pop(AVERAGE_COUNTER, None) is not None:
            name_notices.append(Notice("ignored_entries", _COUNTER_LEFT_OUT))
        named = {name[len(prefix) :]: tensor for name, tensor in stored.items()}
        ties = tuple(tuple(name[len(prefix) :] for name in group) for group in contents.tied)
        all_notices = (*contents.notices, *notices, *name_notices)
        return cls(file_format.name, named, ties, entry.key, prefix, all_notices, contents.metadata)

    def checkpoint(self, selection: Selection) -> Checkpoint:
        """Load the tensors, choose the compressible ones and check their values. Raises CheckpointError."""
        tensors = [_load(name, tensor) for name, tensor in self.named.items()]
        tables = find_tables(tensors, selection)
        chosen = replace(selection, tables=frozenset(tables))
        ties = _tied_groups(self.named, tensors, self.stated_ties)
        weights = Weights.select(tensors, chosen, ties, self.metadata)
        for name in weights.compressible:
            check_finite(weights[name])
        about_tables = [Notice("not_a_weight", _NOT_A_WEIGHT.format(reason), name) for name, reason in tables.items()]
        warnings = (*self.notices, *unfinished_pruning(list(self.named)), *about_tables)
        return Checkpoint(weights, self.format, self.weights_key, self.prefix or None, warnings)


def _recognize(file: MappedFile) -> CheckpointFormat:
    for name in FORMATS.names():
        if name != _FALLBACK and (found := FORMATS.create(name)).recognizes(file):
            return found
    refuse_other_files(file)
    return FORMATS.create(_FALLBACK)


def _load(name: str, stored: StoredTensor) -> Tensor:
    try:
        tensor = stored.load(name)
    except ValueError as error:  # NumPy limits even the shapes of empty arrays
        raise damaged(f"tensor {quoted(name)}", "no array can have its shape") from error
    check_booleans(tensor)
    return tensor


def _tied_groups(
    named: dict[str, StoredTensor], tensors: list[Tensor], stated: tuple[tuple[str, ...], ...]
) -> list[tuple[str, ...]]:
    """Groups of names of one tensor: by storage, and as stated by the file, where the values are equal."""
    groups: dict[object, list[str]] = {}
    for name, tensor in named.items():
        if tensor.identity is not None:
            groups.setdefault(tensor.identity, []).append(name)
    by_storage = [tuple(group) for group in groups.values() if len(group) > 1]
    values = {tensor.name: tensor for tensor in tensors}
    return by_storage + [group for group in stated if _are_equal([values[name] for name in group])]


def _are_equal(tensors: list[Tensor]) -> bool:
    first, *others = tensors
    return all(
        (other.dtype, other.shape) == (first.dtype, first.shape) and _same_bits(other, first) for other in others
    )


def _same_bits(one: Tensor, other: Tensor) -> bool:
    pairs = zip(chunks(one.data), chunks(other.data), strict=True)
    return all(mine.tobytes() == theirs.tobytes() for mine, theirs in pairs)
