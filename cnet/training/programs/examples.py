"""Example inputs for the export of a module, from the data that it is compressed with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from cnet.data import Dataset
from cnet.data.readings import Reading, dataset_read
from cnet.errors import ProgramError
from cnet.training.programs.export import flat_tensors, on_cpu_and_back

_SAMPLES = 4


def fitting_examples(
    module: nn.Module, dataset: Dataset, readings: Sequence[Mapping[str, Reading]]
) -> tuple[Tensor, ...]:
    """The first training samples of each input, with the axes that the module takes.

    Args:
        module: is run on them in evaluation mode, and left as it was.
        dataset: has the samples.
        readings: of each input, by name, in the order in which they are tried.

    Raises:
        ProgramError: (``program_shape``) the module fails with each of them; the shapes are stated, and why.
    """
    failures: dict[str, str] = {}
    first = Dataset(dataset.train.rows(np.arange(min(_SAMPLES, len(dataset.train)))), dataset.test)
    for each in readings:
        examples = tuple(_in_type_of(module, one) for one in example_inputs_of(dataset_read(first, each)))
        failure = _failure(module, examples)
        if failure is None:
            return examples
        failures[", ".join(f"{str(one.dtype).removeprefix('torch.')} {tuple(one.shape)}" for one in examples)] = failure
    tried = "; ".join(f"for {shapes}: {reason}" for shapes, reason in failures.items())
    raise ProgramError(
        f"data: the module cannot be run on samples of them. It says {tried}. Give data of the shape and element type "
        "that its forward takes, with the samples along the first axis; or example_inputs, where forward takes more.",
        code="program_shape",
    )


def example_inputs_of(dataset: Dataset, count: int = _SAMPLES) -> tuple[Tensor, ...]:
    """The first ``count`` training samples of each input, as a job feeds them to a network: uint8 scaled to 0..1."""
    found = []
    for values in dataset.train.inputs.values():
        tensor = torch.from_numpy(np.array(values[:count]))
        tensor = tensor.float() / 255 if tensor.dtype == torch.uint8 else tensor
        found.append(tensor.float() if tensor.is_floating_point() else tensor.long())
    return tuple(found)


def _in_type_of(module: nn.Module, example: Tensor) -> Tensor:
    """An example in the element type of the module's first floating-point parameter, such as bfloat16; ids as int64."""
    floating = (one.dtype for one in module.parameters() if one.is_floating_point())
    return example.to(next(floating, example.dtype)) if example.is_floating_point() else example


def _failure(module: nn.Module, examples: Sequence[Tensor]) -> str | None:
    """Why a module cannot be run on a batch; None where its outputs are those of as many samples."""
    try:
        with on_cpu_and_back(module), torch.no_grad():
            outputs = flat_tensors(module.eval()(*examples))
    except Exception as error:  # noqa: BLE001 - a module of the user's raises errors of many classes
        return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300].rstrip(".")
    count = len(examples[0])
    if any(output.dim() and output.shape[0] == count for output in outputs):
        return None
    shapes = ", ".join(str(tuple(output.shape)) for output in outputs) or "no tensor"
    return f"nothing, but its result is {shapes}, and not one for each of {count} samples"
