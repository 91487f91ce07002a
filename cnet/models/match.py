"""Whether a checkpoint's tensors are those of an architecture. No torch here: the front end asks at submit time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cnet.errors import ArchitectureMismatchError, DatasetError
from cnet.models import Architecture
from cnet.models.layers import Shape

_SHOWN = 10


def check_match(
    architecture: Architecture,
    input_shape: tuple[int, int, int],
    classes: int,
    shapes: Mapping[str, Shape],
) -> None:
    """Raise unless ``shapes`` are the tensors of the architecture.

    Args:
        architecture: the net that the checkpoint is said to be of.
        input_shape: channels, height, width of the data set's images.
        classes: number of classes of the data set; the net may have more outputs than that, not fewer.
        shapes: the checkpoint's tensors: canonical name to shape.

    Raises:
        ArchitectureMismatchError: with the names of all tensors that are missing, unexpected or of another shape.
        DatasetError: (``labels_out_of_range``) the net has fewer outputs than the data set has classes.
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
            f"the data set has labels up to {classes - 1}, but the net has {outputs} outputs "
            f"(labels 0 to {outputs - 1}): use the data set that the net was trained for",
            code="labels_out_of_range",
        )


def output_count(
    architecture: Architecture, input_shape: tuple[int, int, int], shapes: Mapping[str, Shape]
) -> int | None:
    """How many outputs a checkpoint of this architecture has, or None where its last layer is not there.

    The last layer is found by what changes with the number of classes; the first of the shapes that do is asked.
    """
    one, two = (architecture.tensors(input_shape, classes) for classes in (1, 2))
    for tensor, other in zip(one, two, strict=True):
        found = tuple(shapes.get(tensor.name, ()))
        if tensor.shape != other.shape and len(found) == len(tensor.shape) and found[0] > 0:
            return found[0]
    return None


def mismatch(
    architecture: str, missing: Iterable[str], unexpected: Iterable[str], mismatched: Iterable[str]
) -> ArchitectureMismatchError:
    """The error that says how a checkpoint differs: at most ten names of a kind in the text, all in the attributes."""
    kinds = {"missing": list(missing), "unexpected": list(unexpected), "of another shape": list(mismatched)}
    parts = [f"{len(names)} {kind}: {_listed(names)}" for kind, names in kinds.items() if names]
    text = f"the checkpoint is not a {architecture}: {'; '.join(parts)}"
    return ArchitectureMismatchError(
        text, missing=kinds["missing"], unexpected=kinds["unexpected"], mismatched=kinds["of another shape"]
    )


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _text(shape: Shape) -> str:
    return "x".join(map(str, shape)) or "scalar"
