"""Architectures whose network is any PyTorch module, for what neither layers nor ``torch.export`` can describe.

Such an architecture is code that the operator of a server installs as a plug-in (``cnet.parts.plugins``)::

    @ARCHITECTURES.register("early_exit")
    class EarlyExit(ModuleArchitecture):
        summary = "A network that stops at the first confident layer."
        source = "https://example.org/early-exit"
        name: Literal["early_exit"] = "early_exit"

        def module(self, input_shape, outputs):
            from my_package.networks import EarlyExitNetwork  # imports PyTorch

            return EarlyExitNetwork(input_shape[0], outputs)
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cnet.models.architecture import Architecture
from cnet.models.layers import Layer, Shape, TensorShape

if TYPE_CHECKING:
    from torch import nn

_COUNTER = "num_batches_tracked"


class ModuleArchitecture(Architecture):
    """A classifier of images whose network is what ``module`` makes."""

    @abstractmethod
    def module(self, input_shape: tuple[int, int, int], outputs: int) -> nn.Module:
        """The network, float32, on the CPU; its values are those from which a training from scratch starts.

        Random numbers are drawn from PyTorch's global generator, which is seeded before each call. The module is not
        exported: its ``forward`` may do anything, on batches of any size, in training and in evaluation.

        Args:
            input_shape: channels, height and width of an image.
            outputs: number of logits for each image.

        Raises:
            SpecError: the images are too small for the network.
        """

    def layers(self, input_shape: tuple[int, int, int], classes: int) -> Layer:
        """The network as one layer."""
        del input_shape
        return ModuleLayer(self, classes)

    def tensors(self, input_shape: tuple[int, int, int], classes: int) -> tuple[TensorShape, ...]:
        """As ``Architecture.tensors``, of a module that is made for this.

        A server asks for them when a job is sent: override this method where making the module takes long.
        """
        state = self.module(input_shape, classes).state_dict()
        return tuple(
            TensorShape(name, tuple(value.shape), optional=name.rpartition(".")[2] == _COUNTER)
            for name, value in state.items()
        )


@dataclass(frozen=True)
class ModuleLayer(Layer):
    """The whole network of a ``ModuleArchitecture``, with so many outputs."""

    architecture: ModuleArchitecture
    outputs: int

    def output(self, shape: Shape) -> Shape:  # noqa: ARG002 - logits, whatever the images
        """(outputs,)."""
        return (self.outputs,)

    def tensors(self, shape: Shape) -> Iterator[TensorShape]:
        """The tensors of the module."""
        channels, height, width = shape
        return iter(self.architecture.tensors((channels, height, width), self.outputs))
