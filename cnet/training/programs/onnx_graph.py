"""A program as an ONNX model, whose initializers have the names of the user's ``state_dict``."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from torch.export import Dim

from cnet.errors import CnetError, ProgramError
from cnet.files import atomic_path
from cnet.models.programs import ProgramArchive
from cnet.training.programs.module import ProgramModule

_OPSET = 18  # the exporter's own; it converts its result to any other
_EXAMPLE_SIZE = 3  # of a dynamic axis; 0 and 1 are taken for constants


class _EvaluationOnly(ProgramModule):
    """A program in evaluation, without the checks of its inputs, which are no part of the network."""

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """The outputs of the graph for evaluation, any shapes."""
        outputs: tuple[Tensor, ...] = self._graphs[False](*self._tensors(), *inputs)
        return outputs


def write_onnx_graph(archive: ProgramArchive, path: Path) -> None:
    """Write a program with its weights as an ONNX model that computes what its graph for evaluation does.

    Axes that are dynamic in the program stay so. PyTorch's exporter makes the graph, from the program as it was read
    here; nothing of the archive is executed.

    Args:
        archive: the program.
        path: the file, replaced where it exists.

    Raises:
        CnetError: (``onnx_missing``) the packages that the exporter needs are not installed.
        ProgramError: (``program_operator``) the exporter cannot express the program in ONNX.
        OSError: the file cannot be written.
    """
    for package in ("onnx", "onnxscript"):
        if importlib.util.find_spec(package) is None:
            raise CnetError(
                f"program to ONNX: the package {package} is not installed. Install it with "
                "pip install 'cnet[onnx]', or name an ONNX file of the network in place of the program.",
                code="onnx_missing",
            )
    module = _EvaluationOnly.of(archive.program, archive.weights).eval()
    shapes = [one.shape for one in archive.program.inputs]
    examples = tuple(
        torch.zeros([_example_size(archive, size) for size in shape], dtype=getattr(torch, one.dtype))
        for one, shape in zip(archive.program.inputs, shapes, strict=True)
    )
    dynamic = tuple({axis: Dim.DYNAMIC for axis, size in enumerate(shape) if isinstance(size, str)} for shape in shapes)
    with atomic_path(path) as draft, _quiet():
        try:
            exported = torch.export.export(module, examples, dynamic_shapes={"inputs": dynamic})
            # without optimize=False initializers are merged and renamed
            made = torch.onnx.export(exported, dynamo=True, optimize=False, opset_version=_OPSET, verbose=False)
        except Exception as error:  # torch raises errors of many classes here
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:300].rstrip(".")
            raise ProgramError(
                f"program: PyTorch's exporter cannot write it as ONNX: {reason}. Name an ONNX file of the network that "
                "was made in another way.",
                code="program_operator",
            ) from error
        if made is None:
            raise ProgramError("program: PyTorch's exporter gave no ONNX model. Install another release of PyTorch.")
        made.save(draft)


def _example_size(archive: ProgramArchive, size: int | str | None) -> int:
    if isinstance(size, int):
        return size
    least, most = archive.program.ranges.get(size, (0, None)) if size is not None else (0, None)
    wanted = max(least, _EXAMPLE_SIZE)
    return wanted if most is None else min(wanted, most)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep the exporter's remarks on its own workings away from the user."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "onnxscript", "onnx_ir")]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
