"""Fill a program with the weights of a checkpoint, whose names may have another prefix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from cnet import dtypes
from cnet.models.match import PROGRAM_WORDS, MismatchWords, mismatch
from cnet.models.programs.canonical_program import StoredProgram
from cnet.weights import Tensor, Weights


@dataclass(frozen=True)
class TensorType:
    """Element type and shape of a tensor.

    Attributes:
        dtype: name of the element type.
        shape: its shape.
    """

    dtype: str
    shape: tuple[int, ...]

    def holds(self, other: TensorType) -> bool:
        """Whether every value of a tensor of the other type is one of this type too."""
        mine, others = dtypes.by_name(self.dtype), dtypes.by_name(other.dtype)
        wider = mine.floating and others.floating and self.dtype == "float32" and others.numpy.itemsize <= 2
        return self.shape == other.shape and (self.dtype == other.dtype or wider)

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape)) or 'scalar'} {self.dtype}"


def match_names(
    program: Mapping[str, TensorType],
    checkpoint: Mapping[str, TensorType],
    words: MismatchWords | None = None,
) -> dict[str, str]:
    """The name in the checkpoint of each tensor of a program, by its name in the program.

    A prefix that wrapper classes add, on either side, is ignored: those two prefixes are taken under which most tensors
    fit. Integer tensors of the program that the checkpoint lacks, such as counts of batches, are left out.

    Args:
        program: the tensors of the program's ``state_dict``.
        checkpoint: those of the checkpoint.
        words: of the error; None: those for a checkpoint of a job.

    Raises:
        ArchitectureMismatchError: tensors are missing, unexpected or of another type; it has their names.
    """
    words = words or PROGRAM_WORDS
    prefixes = [(mine, other) for mine in _prefixes(program) for other in _prefixes(checkpoint)]
    mine, other = max(prefixes, key=lambda pair: _fitting(program, checkpoint, *pair))
    pairs = {}
    for name in program:
        found = other + name.removeprefix(mine)
        if name.startswith(mine) and found in checkpoint:
            pairs[name] = found
    used = set(pairs.values())
    unexpected = [name for name in checkpoint if name not in used]
    missing = [name for name, type_ in program.items() if name not in pairs and dtypes.by_name(type_.dtype).floating]
    mismatched = [
        f"{name} is {checkpoint[found]} in the {words.file} and {program[name]} in the {words.network}"
        for name, found in pairs.items()
        if not program[name].holds(checkpoint[found])
    ]
    if missing or unexpected or mismatched:
        raise mismatch(f"{words.file} of this {words.network}", missing, unexpected, mismatched, words)
    return pairs


def filled_weights(stored: StoredProgram, checkpoint: Weights) -> Weights:
    """The tensors of a program's ``state_dict`` with the values of a checkpoint, under the program's names.

    Raises ArchitectureMismatchError as ``match_names``.
    """
    own = stored.state_dict
    names = match_names(
        {tensor.name: TensorType(tensor.dtype, tensor.shape) for tensor in own},
        {tensor.name: TensorType(tensor.dtype, tensor.shape) for tensor in checkpoint},
    )
    tensors = tuple(
        _filled(tensor, checkpoint[names[tensor.name]]) if tensor.name in names else tensor for tensor in own
    )
    return replace(own, tensors=tensors)


def _filled(tensor: Tensor, found: Tensor) -> Tensor:
    if tensor.dtype == found.dtype:
        return Tensor(tensor.name, tensor.dtype, found.data)
    return Tensor(tensor.name, tensor.dtype, found.values().astype(dtypes.by_name(tensor.dtype).numpy))


def _prefixes(names: Mapping[str, TensorType]) -> list[str]:
    """No prefix, and those of up to three modules that at least half of the names have; the shortest first."""
    counts = Counter(
        ".".join(parts[:depth]) + "."
        for parts in (name.split(".") for name in names)
        for depth in range(1, 4)
        if depth < len(parts)
    )
    return ["", *sorted((prefix for prefix, count in counts.items() if 2 * count >= len(names)), key=len)]


def _fitting(program: Mapping[str, TensorType], checkpoint: Mapping[str, TensorType], mine: str, other: str) -> int:
    """Number of tensors that fit under two prefixes."""
    names = ((name, other + name.removeprefix(mine)) for name in program if name.startswith(mine))
    return sum(found in checkpoint and program[name].holds(checkpoint[found]) for name, found in names)
