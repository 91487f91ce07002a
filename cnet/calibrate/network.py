"""A network with some inputs: its outputs, and how they differ from those of the original network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from cnet.calibrate.config import Calibrate
from cnet.calibrate.samples import draw, in_batches, on_device
from cnet.data import Split
from cnet.errors import DatasetError
from cnet.observer import Observer, check_stop
from cnet.training.config import Preprocess
from cnet.training.device import choose_device, deterministic_numerics, report_out_of_memory
from cnet.training.device_splits import DeviceSplit
from cnet.training.networks.builder import NetworkBuilder
from cnet.training.networks.loaded import LoadedNetwork
from cnet.training.tasks import Task
from cnet.training.tasks.comparison import Comparison
from cnet.weights import Weights

_ROUNDING = 1e-7  # relative; of float32

OnFraction = Callable[[float], None]
"""Called with the fraction, 0..1, of a stage that is done."""


@dataclass(frozen=True, eq=False)
class NetworkOnInputs:
    """A network with unlabelled inputs, which are copied to the device once.

    Attributes:
        network: builds the network.
        task: tells what a change of the outputs means.
        inputs: some inputs, without targets.
        settings: how many of them to use.
        observer: asked again and again whether to stop.
        preprocess: scaling of the inputs.
        device: ``auto``, ``cpu`` or ``cuda``.
    """

    network: NetworkBuilder
    task: Task
    inputs: Split
    settings: Calibrate
    observer: Observer
    preprocess: Preprocess | None = None
    device: str = "auto"

    @cached_property
    def split(self) -> DeviceSplit:
        """The inputs that are used, on the device. Raises as ``cnet.calibrate.samples``."""
        drawn = draw(self.inputs, self.settings)
        return on_device(drawn, self.network, self.preprocess, choose_device(self.device))

    def load(self, weights: Weights) -> LoadedNetwork:
        """The network in evaluation mode. Raises ArchitectureMismatchError where the weights are not its own."""
        loaded = LoadedNetwork(self.network, weights, choose_device(self.device))
        loaded.module.eval()
        return loaded

    def outputs(self, loaded: LoadedNetwork, weights: Weights) -> Tensor:
        """The outputs under other weights of the same network, shape (n, ...), float32, on the device."""
        loaded.load(weights)
        found = []
        with torch.no_grad():
            for batch in in_batches(self.split):
                check_stop(self.observer)
                found.append(loaded.module(*batch).float())
        return torch.cat(found)

    def check_differ(self, outputs: Tensor) -> None:
        """Check that outputs of the original network, shape (n, ...), are not the same for all inputs.

        Raises:
            DatasetError: (``constant_outputs``) they are: nothing tells what compressing changes.
        """
        spread = (outputs - outputs[:1]).abs().max() if outputs.numel() else 0
        if len(outputs) > 1 and spread <= _ROUNDING * outputs.abs().max():
            raise DatasetError(
                f"calibrate.inputs: the network gives the same outputs for all {len(outputs)} of them, so that nothing "
                "tells what compressing changes. Give inputs of the kind that the network is used on, with the scaling "
                "that it was trained with (preprocess).",
                code="constant_outputs",
            )

    def compare(self, original: Weights, decoded: Weights) -> dict[str, float]:
        """How the outputs of two networks differ on the inputs, by the names of the task's comparison."""
        with deterministic_numerics(), report_out_of_memory():
            loaded = self.load(original)
            before = self.outputs(loaded, original)
            return self.task.comparison(before).compare(self.outputs(loaded, decoded), before)


@dataclass(frozen=True, eq=False)
class OutputComparison(NetworkOnInputs):
    """The outputs of networks compared with those of the original one, which are computed once.

    The original is the first one that ``scores`` is given.
    """

    def scores(self, original: Weights, decoded: Weights) -> dict[str, float]:
        """How the outputs of a decoded network differ, by the names of the task's comparison.

        Args:
            original: the network before compression, the same in every call.
            decoded: the network to compare with it.

        Raises: as ``Calibration.sensitivities``.
        """
        with deterministic_numerics(), report_out_of_memory():
            loaded = self.load(original)
            if not self._before:
                before = self.outputs(loaded, original)
                self.check_differ(before)
                self._before.append((before, self.task.comparison(before)))
            before, comparison = self._before[0]
            return comparison.compare(self.outputs(loaded, decoded), before)

    @property
    def doubt(self) -> str | None:
        """Why the outputs can hardly be what the task takes them for; None where they may be, or are not known yet."""
        return self.task.doubt_about(self._before[0][0]) if self._before else None

    @cached_property
    def _before(self) -> list[tuple[Tensor, Comparison]]:
        """The original's outputs with the comparison that they make, once they are computed."""
        return []
