"""Export a module of the user's to a file that the service, and anybody else, reads without the user's code."""

from __future__ import annotations

import inspect
import io
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_leaves

from cnet.errors import ProgramError
from cnet.files import atomic_path
from cnet.models.programs import Program, read_program
from cnet.training.programs.module import ProgramModule

_FEWEST = 2  # an example batch of 1 would be taken for a constant
_ROUNDINGS = 4  # units of rounding by which outputs of 16 bits may differ


@dataclass(frozen=True)
class ExportReport:
    """What was exported.

    Attributes:
        program: the program in normal form: inputs, outputs, tensors.
        dynamic_batch: whether any number of samples can be given at once.
        warnings: sentences on what the file does not carry, and why.
    """

    program: Program = field(repr=False)
    dynamic_batch: bool
    warnings: tuple[str, ...]


def export_program(
    module: nn.Module,
    example_inputs: Sequence[Tensor] | Tensor,
    path: str | Path,
    *,
    example_kwargs: Mapping[str, Tensor] | None = None,
) -> ExportReport:
    """Write ``module`` as a ``torch.export`` archive, and prove that it computes what the module does.

    The file holds the graph for evaluation, where possible the graph for training, and the weights once; neither source
    lines nor the example inputs. ``torch.export.load`` reads it as well.

    Args:
        module: any module; it is left as it was, with its mode and its device.
        example_inputs: the positional arguments of ``forward``: tensors of any shape whose first axis counts samples,
            two or more.
        path: the file to write, usually ``*.pt2``.
        example_kwargs: its arguments by name, tensors as well.

    Raises:
        ProgramError: the module cannot be exported, uses an operator that is not supported, or the archive does not
            compute what the module does.
        OSError: the file cannot be written.
    """
    inputs = (example_inputs,) if isinstance(example_inputs, Tensor) else tuple(example_inputs)
    inputs, kwargs = (
        tuple(map(_on_cpu, inputs)),
        {name: _on_cpu(value) for name, value in (example_kwargs or {}).items()},
    )
    _check_examples([*inputs, *kwargs.values()])
    with on_cpu_and_back(module):
        notes: list[str] = []
        evaluation, way = _exported(module.eval(), inputs, kwargs, notes)
        training = _exported_for_training(module, inputs, kwargs, way, notes)
        with atomic_path(Path(path)) as draft:
            _save(evaluation, training, draft)
            program = _proven(module.eval(), draft, inputs, kwargs, dynamic=way.dynamic)
    return ExportReport(program, way.dynamic, tuple(notes))


def _on_cpu(tensor: Tensor) -> Tensor:
    return tensor.detach().cpu()


def _check_examples(examples: Sequence[Tensor]) -> None:
    if not examples:
        raise ProgramError("export: there is no example input. Give one tensor for each argument of forward.")
    for example in examples:
        if example.dim() == 0 or example.shape[0] < _FEWEST:
            raise ProgramError(
                f"export: an example input has shape {tuple(example.shape)}. "
                f"Give a batch of {_FEWEST} samples or more: "
                "torch.export treats a batch of 1 as a constant.",
                code="program_shape",
            )


@contextmanager
def on_cpu_and_back(module: nn.Module) -> Iterator[None]:
    """Move the module to the CPU, with gradients enabled; put its device and the mode of each submodule back."""
    modes = {child: child.training for child in module.modules()}
    first = next(iter([*module.parameters(), *module.buffers()]), None)
    device = torch.device("cpu") if first is None else first.device
    module.cpu()
    try:
        with torch.enable_grad():
            yield
    finally:
        module.to(device)
        for child, mode in modes.items():
            child.training = mode


@dataclass(frozen=True)
class _Way:
    """How ``torch.export`` is asked to follow a module.

    Attributes:
        dynamic: whether the first axis is of any size.
        strict: whether the source code is followed, for which ``len(x)`` is a symbol, and not the calls alone.
    """

    dynamic: bool
    strict: bool = False


def _exported(
    module: nn.Module, inputs: tuple[Tensor, ...], kwargs: dict[str, Tensor], notes: list[str]
) -> tuple[ExportedProgram, _Way]:
    """The graph, with a dynamic first axis where the module allows it, and the way in which it was found."""
    reasons = []
    for way in (_Way(dynamic=True), _Way(dynamic=True, strict=True)):
        try:
            return _export(module, inputs, kwargs, way), way
        except Exception as error:  # noqa: BLE001 - torch raises errors of many classes here
            reasons.append(_first_line(error))
    way = _Way(dynamic=False)
    try:
        program = _export(module, inputs, kwargs, way)
    except Exception as error:
        raise ProgramError(
            f"export: torch.export cannot follow the module: {_first_line(error)}. "
            "Rewrite the part that it names without "
            "Python control flow on values of tensors, or export a submodule without it.",
            code="program_operator",
        ) from error
    count = (*inputs, *kwargs.values())[0].shape[0]
    notes.append(
        f"the program takes exactly {count} samples at once, since the module fixes the first axis, for example by a "
        f"number in place of x.shape[0]: {reasons[0]}"
    )
    return program, way


def _exported_for_training(
    module: nn.Module, inputs: tuple[Tensor, ...], kwargs: dict[str, Tensor], way: _Way, notes: list[str]
) -> ExportedProgram | None:
    """The graph of the module in training, or None where it cannot be exported; buffers stay as they are."""
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    try:
        return _export(module.train(), inputs, kwargs, way)
    except Exception as error:  # noqa: BLE001 - torch raises errors of many classes here
        notes.append(
            "the graph for training cannot be exported, and training goes without stochastic depth and without dropout "
            f"inside attention: {_first_line(error)}"
        )
        return None
    finally:
        with torch.no_grad():
            for name, buffer in module.named_buffers():
                buffer.copy_(buffers[name])


def _export(module: nn.Module, inputs: tuple[Tensor, ...], kwargs: dict[str, Tensor], way: _Way) -> ExportedProgram:
    inputs = tuple(one.clone() for one in inputs)  # a failed export leaves its inputs marked as dynamic
    kwargs = {name: one.clone() for name, one in kwargs.items()}
    shapes: Any = None
    if way.dynamic:
        args = tuple({0: Dim.DYNAMIC} for _ in inputs)
        shapes = (*args, *({0: Dim.DYNAMIC} for _ in kwargs))
        if kwargs:
            names = _parameter_names(module, len(inputs))
            shapes = {**dict(zip(names, args, strict=True)), **{name: {0: Dim.DYNAMIC} for name in kwargs}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module, inputs, kwargs or None, dynamic_shapes=shapes, strict=way.strict)


def _parameter_names(module: nn.Module, count: int) -> list[str]:
    """Names of the first ``count`` arguments of ``forward``."""
    return list(inspect.signature(module.forward).parameters)[:count]


def _first_line(error: BaseException) -> str:
    text = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return text.partition("! For more information, run with")[0][:300].rstrip(".")


def _save(evaluation: ExportedProgram, training: ExportedProgram | None, path: Path) -> None:
    """Write one archive: the graph for evaluation and the weights, and the graph for training as an extra file."""
    extra = {}
    for program in (evaluation, *([training] if training else [])):
        _forget_origin(program)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if training is not None:
            buffer = io.BytesIO()
            torch.export.save(training, buffer)
            with zipfile.ZipFile(buffer) as archive:
                name = next(name for name in archive.namelist() if name.endswith("models/model.json"))
                extra["train.json"] = archive.read(name).decode()
        with path.open("wb") as file:
            torch.export.save(evaluation, file, extra_files=extra)


def _forget_origin(program: ExportedProgram) -> None:
    """Remove source lines, paths and the example inputs, which are the user's own."""
    program._example_inputs = None  # torch has no public way to leave the examples out
    for child in program.graph_module.modules():
        for node in getattr(getattr(child, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)


def _proven(
    module: nn.Module, path: Path, inputs: tuple[Tensor, ...], kwargs: dict[str, Tensor], *, dynamic: bool
) -> Program:
    """The program as read back, after its outputs were compared with those of the module."""
    archive = read_program(path)
    built = ProgramModule.of(archive.program, archive.weights).eval()
    counts = [inputs[0].shape[0] if inputs else next(iter(kwargs.values())).shape[0]]
    for count in [*counts, *([counts[0] - 1] if dynamic else [])]:
        args, named = tuple(one[:count] for one in inputs), {name: one[:count] for name, one in kwargs.items()}
        with torch.no_grad():
            expected, found = flat_tensors(module(*args, **named)), flat_tensors(built(*args, *named.values()))
        if len(expected) != len(found) or not all(map(_is_close, expected, found)):
            raise ProgramError(
                f"export: the program does not compute what the module does on {count} samples. "
                "Make forward depend on its "
                "inputs and parameters only, and export again.",
            )
    return archive.program


def _is_close(expected: Tensor, found: Tensor) -> bool:
    """Whether two outputs are of one type and shape, and differ by no more than rounding errors of that type.

    PyTorch runs some layers, such as those of transformers, by another path than the exported one. In 16 bits the sums
    of these paths differ by some units of rounding of the largest numbers.
    """
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        return False
    if expected.dtype not in (torch.float16, torch.bfloat16):
        return torch.allclose(expected, found, rtol=1e-4, atol=1e-5, equal_nan=True)
    rounding = _ROUNDINGS * torch.finfo(expected.dtype).eps
    largest = float(expected.float().nan_to_num(0, 0, 0).abs().amax()) if expected.numel() else 0.0
    return torch.allclose(expected.float(), found.float(), rtol=rounding, atol=rounding * largest, equal_nan=True)


def flat_tensors(outputs: Any) -> list[Tensor]:
    """The tensors of a module's result, in the order in which ``torch.export`` flattens it; each of any shape."""
    return [leaf for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]
