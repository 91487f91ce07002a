"""The interface of a network for training, the same for built-in architectures and programs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from torch import nn

Shape = tuple[int, ...]


@dataclass(frozen=True)
class NetworkInput:
    """One input of a network.

    Attributes:
        name: for messages.
        shape: of one sample, without the batch dimension; None for a size that is not fixed. An image is (channels,
            height, width).
        dtype: element type, as PyTorch names it.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str = "float32"


class NetworkBuilder(Protocol):
    """Builds the PyTorch module of one network.

    The built-in architectures are one kind (``ArchitectureBuilder``); any other description of a network can be trained
    by implementing this protocol.
    """

    @property
    def name(self) -> str:
        """Name of the network in messages."""

    @property
    def identity(self) -> str:
        """Text that differs between any two networks; part of what a saved training is recognized by."""

    @property
    def inputs(self) -> tuple[NetworkInput, ...]:
        """What the network takes, in order."""

    @property
    def fixed_batch(self) -> int | None:
        """The only size of batch that the network can be trained with; None: any. In evaluation any size works."""

    @property
    def output_shape(self) -> tuple[int | str | None, ...]:
        """Shape of the output, the batch first; a name or None for a size that is not fixed."""

    def build(self, shapes: Mapping[str, Shape] | None = None) -> nn.Module:
        """Build the module: float32, on the CPU. Neither PyTorch's global generator nor any other state changes.

        Names and order of its ``state_dict`` are the canonical names and the order of the network's tensors. Parameters
        hold no particular values, since ``load_weights`` or ``initialize`` follows; buffers hold their initial values.

        Args:
            shapes: shapes of the tensors that will be loaded, by canonical name, where the network's size depends on
                them; a name may be left out if its initial value serves. None: the network as it is trained from
                scratch.

        Raises:
            ArchitectureMismatchError: ``shapes`` are not those of the network's tensors.
            DatasetError: a network of these shapes cannot learn the data set, such as one with too few outputs.
            SpecError: no such network exists, for example because the images are too small.

        """

    def initialize(self, module: nn.Module, seed: int) -> None:
        """Give a module that was just built the values from which a training from scratch starts.

        The same seed gives the same values, and PyTorch's global generator is neither read nor changed.
        """
