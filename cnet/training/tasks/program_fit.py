"""Checking a program against the checkpoint and the data set of a job, from their descriptions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cnet.data.dataset_facts import DatasetFacts
from cnet.data.readings import facts_for
from cnet.errors import DatasetError, ProgramError
from cnet.models.programs import ProgramInput, ProgramManifest, ProgramOutput, TensorType, match_names
from cnet.models.programs.outputs import choose_output
from cnet.training.tasks.program_architecture import ProgramArchitecture
from cnet.training.tasks.targets import Targets

_FLOATS = ("float", "bfloat")
_EXPORT_AGAIN = "Export it with two or more example samples, as cnet.export_program does."


def read_manifest(document: Mapping[str, Any]) -> ProgramManifest:
    """The manifest of a stored program."""
    return ProgramManifest.from_json(json.dumps(document))


def check_weights(program: ProgramManifest, rows: Sequence[Mapping[str, Any]]) -> None:
    """Check that a checkpoint fills a program.

    Args:
        program: the manifest of the program.
        rows: the tensors of the checkpoint's manifest.

    Raises:
        ArchitectureMismatchError: tensors are missing, unexpected or of another shape or type; all are listed.
    """
    own = {row.name: TensorType(row.dtype, row.shape) for row in program.tensors}
    match_names(own, {row["name"]: TensorType(row["dtype"], tuple(row["shape"])) for row in rows})


def check_dataset(program: ProgramManifest, choice: ProgramArchitecture, dataset: DatasetFacts) -> None:
    """Check that a program can be trained with a data set for the task that the job names.

    Args:
        program: the manifest of the program.
        choice: the job's architecture.
        dataset: the data set.

    Raises:
        ProgramError: (``program_operator``) the program cannot be trained; (``program_shape``) it takes one sample.
        DatasetError: (``wrong_input_shape``, ``ids_out_of_range``, ``bad_labels``, ``labels_out_of_range``) the data do
            not fit it.
        SpecError: the output that the job names does not exist, or the job has to name one.
    """
    _check_trainable(program)
    _check_inputs(program, dataset)
    choice.task.check(_targets(dataset), chosen_output(program, choice).shape)


def check_calibration(program: ProgramManifest, choice: ProgramArchitecture, inputs: DatasetFacts) -> None:
    """Check that a program can be calibrated on the inputs of a data set; it needs no labels.

    Args:
        program: the manifest of the program.
        choice: the job's architecture.
        inputs: what is known of the calibration inputs.

    Raises:
        ProgramError: the program cannot be run on batches.
        DatasetError: (``wrong_input_shape``, ``ids_out_of_range``) it does not take the inputs; both are stated.
        SpecError: the output that the job names does not exist, or the job has to name one; the task cannot compare it.
    """
    _check_trainable(program)
    _check_inputs(program, inputs)
    choice.task.check_comparable(chosen_output(program, choice).shape)


def _check_trainable(program: ProgramManifest) -> None:
    """Raise ProgramError where a program cannot be run on batches of samples with gradients."""
    if program.untrainable is not None:
        raise ProgramError(
            f"program: it cannot be trained: {program.untrainable}. Export the module again with cnet.export_program.",
            code="program_operator",
        )
    if any(one.shape and one.shape[0] == 1 for one in program.inputs):
        raise ProgramError(
            f"program: it takes one sample at a time, so no data set can be used with it. {_EXPORT_AGAIN}",
            code="program_shape",
        )


def chosen_output(program: ProgramManifest, choice: ProgramArchitecture) -> ProgramOutput:
    """The output that the job uses: the one that it names, or the only floating-point one, or the one named logits.

    Raises SpecError where there is no such output, or several.
    """
    return program.outputs[choose_output(program.outputs, choice.output)]


def _check_inputs(program: ProgramManifest, dataset: DatasetFacts) -> None:
    read = facts_for(dataset, [one.shape[1:] for one in program.inputs])
    given = list(read.inputs.values())
    sizes: dict[str, int] = {}
    fits = len(given) == len(program.inputs) and all(
        _takes(program, one, shape, dtype, sizes) for one, (shape, dtype) in zip(program.inputs, given, strict=True)
    )
    if not fits:
        found = ", ".join(
            f"{name}: {dtype} {_shape((None, *shape))}" for name, (shape, dtype) in dataset.inputs.items()
        )
        taken = ", ".join(f"{one.name}: {_typed(one)}" for one in program.inputs)
        raise DatasetError(
            f"data set: its inputs are {found}, and the program takes {taken}. Give one input for each of the "
            "program's, in their order and of their shape: integers for integers, numbers or uint8 for numbers.",
            code="wrong_input_shape",
        )
    check_ids([program.embedding_rows.get(one.name) for one in program.inputs], list(dataset.inputs), dataset.ranges)


def check_ids(rows: Sequence[int | None], names: Sequence[str], ranges: Mapping[str, tuple[int, int]]) -> None:
    """Check that a program's embeddings have a row for each id that a data set holds.

    Args:
        rows: of the embedding that looks up each input of the program; None where none is known.
        names: of the inputs of the data set, in the same order.
        ranges: smallest and largest value of the inputs of integers, by name.

    Raises:
        DatasetError: (``ids_out_of_range``) an id has no row; both are stated.
    """
    for count, name in zip(rows, names, strict=False):
        low, high = ranges.get(name, (0, 0))
        if count is not None and (low < 0 or high >= count):
            raise DatasetError(
                f"{name}: it holds the id {low if low < 0 else high}, and the network's embedding takes 0 to "
                f"{count - 1}. Correct the ids.",
                code="ids_out_of_range",
            )


def _takes(
    program: ProgramManifest, taken: ProgramInput, shape: tuple[int, ...], dtype: str, sizes: dict[str, int]
) -> bool:
    """Whether an input takes samples of a shape and type. ``sizes`` gets the sizes of the symbols met."""
    if len(shape) != len(taken.shape) - 1:
        return False
    for expected, size in zip(taken.shape[1:], shape, strict=True):
        if isinstance(expected, int) and size != expected:
            return False
        if isinstance(expected, str):
            low, high = program.ranges.get(expected, (0, None))
            if sizes.setdefault(expected, size) != size or size < low or (high is not None and size > high):
                return False
    floats = dtype.startswith(_FLOATS)
    return (floats or dtype == "uint8") if taken.dtype.startswith(_FLOATS) else not floats


def _targets(dataset: DatasetFacts) -> Targets | None:
    """What is known of the targets of a data set."""
    if dataset.targets is None:
        return None
    shape, dtype = dataset.targets
    return Targets(dtype, shape, dataset.classes, limits=dataset.target_limits)


def _typed(one: ProgramInput | ProgramOutput) -> str:
    return f"{one.dtype} {_shape(one.shape)}"


def _shape(sizes: Sequence[int | str | None]) -> str:
    return f"({', '.join(str(size) if isinstance(size, int) else 'any' for size in sizes)})"
