"""Builds the network of a program for training: one of its outputs, batches of any size in evaluation."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from cnet.errors import ProgramError
from cnet.models.match import PROGRAM_WORDS, mismatch
from cnet.models.programs import StoredProgram
from cnet.models.programs.activations import with_gradient, without_activation
from cnet.training.networks.builder import NetworkInput, Shape
from cnet.training.programs.module import ProgramModule


class ProgramNetwork(ProgramModule):
    """A program that gives one of its outputs.

    In evaluation any number of samples can be given: where the program fixes the size of a batch, they are taken in
    parts of that size, the last one filled up with copies of its last sample, whose outputs are dropped.
    """

    output = 0
    batch_sizes: tuple[int, int | None] = (0, None)

    def forward(self, *inputs: Tensor) -> Tensor:
        """The output, shape (batch, ...).

        Args:
            inputs: one tensor of shape (batch, ...) for each input of the program.

        Raises:
            ProgramError: (``program_shape``) the inputs are not those that the program takes, or the first axis of the
                output does not count the samples.
        """
        count, (least, most) = len(inputs[0]), self.batch_sizes
        if self.training or (count >= least and (most is None or count <= most)):
            return self._chosen(*inputs)
        size = most or least
        parts = [tuple(one[start : start + size] for one in inputs) for start in range(0, count, size)]
        return torch.cat([self._chosen(*(_filled(one, least) for one in part))[: len(part[0])] for part in parts])

    def _chosen(self, *inputs: Tensor) -> Tensor:
        outputs = super().forward(*inputs)
        chosen = outputs if isinstance(outputs, Tensor) else outputs[self.output]
        if not chosen.dim() or len(chosen) != len(inputs[0]):
            raise ProgramError(
                f"program: its output {self.program.outputs[self.output].name!r} has the shape {tuple(chosen.shape)} "
                f"for {len(inputs[0])} samples. Export a module whose output has the samples along its first axis, or "
                "choose another architecture.output.",
                code="program_shape",
            )
        return chosen


def _filled(values: Tensor, size: int) -> Tensor:
    """``values``, shape (n, ...), with copies of the last one up to ``size``."""
    missing = size - len(values)
    return torch.cat([values, values[-1:].expand(missing, *values.shape[1:])]) if missing > 0 else values


@dataclass(frozen=True, eq=False)
class ProgramBuilder:
    """Builds the network of a program; a ``NetworkBuilder``.

    Attributes:
        stored: the program with its own weights.
        output: number of the output that is used.
        device: where the program makes tensors of its own.
        gives_logits: whether the output is computed without the softmax or sigmoid that it ends in.

    Raises:
        ProgramError: the program cannot be trained.
    """

    stored: StoredProgram
    output: int
    device: torch.device | str = "cpu"
    gives_logits: bool = False
    name: str = "the program"

    def __post_init__(self) -> None:
        program = self.stored.program
        if program.untrainable is not None:
            raise ProgramError(
                f"program: it cannot be trained: {program.untrainable}. Export the module again with "
                "cnet.export_program.",
                code="program_operator",
            )
        sizes = {one.shape[0] if one.shape else 1 for one in program.inputs}
        if len(sizes) != 1 or sizes == {1}:
            raise ProgramError(
                f"program: the first axes of its inputs have the sizes {sorted(map(str, sizes))}, and batches of "
                "samples are needed. Export it with cnet.export_program and two or more example samples.",
                code="program_shape",
            )

    @cached_property
    def identity(self) -> str:
        """Digest of the graph, the constants, the number of the output, and how it is used."""
        text = f"{self.stored.digest()}/{self.output}" + ("/logits" if self.gives_logits else "")
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def inputs(self) -> tuple[NetworkInput, ...]:
        """The inputs of the program, without the batch."""
        return tuple(
            NetworkInput(one.name, tuple(size if isinstance(size, int) else None for size in one.shape[1:]), one.dtype)
            for one in self.stored.program.inputs
        )

    @property
    def fixed_batch(self) -> int | None:
        """The number of samples that the program was exported for, where it is not dynamic."""
        size = self.stored.program.inputs[0].shape[0]
        return size if isinstance(size, int) else None

    @property
    def output_shape(self) -> tuple[int | str | None, ...]:
        """The shape of the output that is used, with the batch."""
        return self.stored.program.outputs[self.output].shape

    def build(self, shapes: Mapping[str, Shape] | None = None) -> nn.Module:
        """As ``NetworkBuilder.build``; the module holds the weights of the archive."""
        own = {tensor.name: tensor.shape for tensor in self.stored.state_dict}
        if shapes is not None:
            buffers = self.stored.buffers
            missing = [name for name in own if name not in shapes and name not in buffers]
            unexpected = [name for name in shapes if name not in own]
            wrong = [
                f"{name} is {tuple(shapes[name])} in the checkpoint and {shape} in the program"
                for name, shape in own.items()
                if name in shapes and tuple(shapes[name]) != tuple(shape)
            ]
            if missing or unexpected or wrong:
                raise mismatch("checkpoint of this program", missing, unexpected, wrong, PROGRAM_WORDS)
        program = with_gradient(self.stored.program, self.output)
        if self.gives_logits:
            program = without_activation(program, self.output)
        module = ProgramNetwork.of(program, self.stored.weights, self.device).to("cpu")
        module.output, module.batch_sizes = self.output, self._batch_sizes
        return module

    def initialize(self, module: nn.Module, seed: int) -> None:
        """Nothing: training starts from the weights of the archive or of a checkpoint."""
        del module, seed

    @property
    def _batch_sizes(self) -> tuple[int, int | None]:
        """The smallest and the largest batch of the program; None: no limit."""
        size = self.stored.program.inputs[0].shape[0]
        if isinstance(size, int):
            return size, size
        return self.stored.program.ranges.get(size, (0, None)) if isinstance(size, str) else (0, None)
