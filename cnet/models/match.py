"""Compare the tensors of a checkpoint with those of an architecture. No torch here: the API does it at submission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cnet.errors import ArchitectureMismatchError, DatasetError
from cnet.models import Architecture
from cnet.models.layers import Shape

_SHOWN = 10


@dataclass(frozen=True)
class MismatchWords:
    """How the error for tensors that differ calls the two sides, and what it tells the user to do."""

    network: str = "program"
    file: str = "checkpoint"
    remedy: str = "Name the architecture it was trained as."


PROGRAM_WORDS = MismatchWords(
    remedy="Give a checkpoint of the network that was exported, or export the network of the checkpoint."
)
"""The words for a checkpoint that does not fill a program."""


def check_match(
    architecture: Architecture,
    input_shape: tuple[int, int, int],
    classes: int,
    shapes: Mapping[str, Shape],
) -> None:
    """Raise an error unless ``shapes`` are the tensors of the architecture.

    Args:
        architecture: the architecture that the job names.
        input_shape: channels, height and width of the images of the data set.
        classes: number of classes of the data set; the network may have more outputs, not fewer.
        shapes: shapes of the tensors of the checkpoint, by canonical name.

    Raises:
        ArchitectureMismatchError: tensors are missing, unexpected or of another shape; it has their names.
        DatasetError: (``labels_out_of_range``) the network has fewer outputs than the data set has classes.
        SpecError: the images are too small for the architecture.

    """
    outputs = output_count(architecture, input_shape, shapes)
    tensors = architecture.tensors(input_shape, outputs or classes)
    expected = {tensor.name: tensor.shape for tensor in tensors}
    needed = {tensor.name for tensor in tensors if not tensor.optional}
    missing = [name for name in expected if name in needed and name not in shapes]
    unexpected = [name for name in shapes if name not in expected]
    mismatched = [
        f"{name} is {_text(shapes[name])} in the checkpoint and {_text(shape)} in {architecture.name}"
        for name, shape in expected.items()
        if name in shapes and tuple(shapes[name]) != shape
    ]
    if missing or unexpected or mismatched:
        raise mismatch(f"{architecture.name} for images of {_text(input_shape)}", missing, unexpected, mismatched)
    if outputs is not None and outputs < classes:
        raise DatasetError(
            f"data set: it has labels up to {classes - 1}, and the network has {outputs} outputs "
            f"(labels 0 to {outputs - 1}). Use the data set that the network was trained for.",
            code="labels_out_of_range",
        )


def output_count(
    architecture: Architecture, input_shape: tuple[int, int, int], shapes: Mapping[str, Shape]
) -> int | None:
    """Number of outputs of a checkpoint of this architecture, or None where the checkpoint lacks the last layer.

    It is the first dimension of the first tensor whose shape depends on the number of classes.
    """
    one, two = (architecture.tensors(input_shape, classes) for classes in (1, 2))
    for tensor, other in zip(one, two, strict=True):
        found = tuple(shapes.get(tensor.name, ()))
        if tensor.shape != other.shape and len(found) == len(tensor.shape) and found[0] > 0:
            return found[0]
    return None


def mismatch(
    architecture: str,
    missing: Iterable[str],
    unexpected: Iterable[str],
    mismatched: Iterable[str],
    words: MismatchWords | None = None,
) -> ArchitectureMismatchError:
    """The error for a checkpoint that differs: its message has at most ten names of a kind, its attributes have all.

    Args:
        architecture: what the checkpoint is not, such as ``resnet20 for images of 3x32x32``.
        missing: names of tensors that the checkpoint lacks.
        unexpected: names of tensors that the architecture lacks.
        mismatched: a sentence for each tensor whose shape or type differs.
        words: what the two sides are called, and what to do; None: those for a checkpoint of a job.
    """
    words = words or MismatchWords()
    kinds = {"missing": list(missing), "unexpected": list(unexpected), "of another shape": list(mismatched)}
    parts = [f"{len(names)} {kind}: {_listed(names)}" for kind, names in kinds.items() if names]
    text = f"the {words.file} is not a {architecture}: {'; '.join(parts)}. {words.remedy}"
    return ArchitectureMismatchError(
        text, missing=kinds["missing"], unexpected=kinds["unexpected"], mismatched=kinds["of another shape"]
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
