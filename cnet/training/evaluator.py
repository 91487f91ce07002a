"""What is measured of weights without training them: scores, outputs, curvature, statistics of batch normalization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

import numpy as np
import torch
from torch import Tensor

from cnet.data import Dataset, Split
from cnet.observer import Observer, SilentObserver
from cnet.prune import Curvature
from cnet.training.config import Preprocess, Training
from cnet.training.cuda_graphs import GraphRecorderFactory, cuda_graph_recorder
from cnet.training.device import choose_device, deterministic_numerics, report_out_of_memory
from cnet.training.device_splits import DeviceSplit, check_inputs, load_splits
from cnet.training.measurements.batch_norm import measure_statistics, merge_statistics
from cnet.training.measurements.curvature import fisher_diagonal
from cnet.training.measurements.evaluation import Evaluation, evaluate_network, network_outputs
from cnet.training.networks.builder import NetworkBuilder, Shape
from cnet.training.networks.loaded import LoadedNetwork, build_for
from cnet.training.programs.builder import ProgramBuilder
from cnet.training.programs.trial import check_runs
from cnet.training.tasks import Task
from cnet.training.tasks.classification import Classification
from cnet.training.tasks.targets import Targets
from cnet.weights import Selection, Weights


@dataclass(frozen=True, eq=False)
class NetworkEvaluator:
    """Measures weights of one network on one data set, which is copied to the device once, at its first use.

    Attributes:
        network: builds the network.
        dataset: samples to train on and to evaluate on.
        training: device, precision, and batch size of evaluation.
        preprocess: scaling of the images; None leaves them as they are.
        selection: which tensors of a fresh network are compressible.
        observer: receives each epoch, and is asked before each batch whether to stop.
        graph_recorder: makes what records training steps, where the method allows it; by default CUDA graphs on a GPU.
        task: what the network learns and is judged by.

    """

    network: NetworkBuilder
    dataset: Dataset
    training: Training = field(default_factory=Training)
    preprocess: Preprocess | None = None
    selection: Selection = field(default_factory=Selection)
    observer: Observer = field(default_factory=SilentObserver)
    graph_recorder: GraphRecorderFactory = cuda_graph_recorder
    task: Task = field(default_factory=Classification)

    def check(self, shapes: Mapping[str, Shape]) -> None:
        """Check that weights of these shapes, and the data set, fit the network and its task.

        Args:
            shapes: of the weights, by name.

        Raises:
            ArchitectureMismatchError, DatasetError: they do not; both are stated.
            ProgramError: (``program_shape``) the program cannot be run on such samples.
        """
        check_inputs(self.network, self.dataset)
        self.task.check(Targets.of(self.dataset), self.network.output_shape)
        module = self.network.build(shapes)
        if isinstance(self.network, ProgramBuilder):
            check_runs(self.network, module, self.dataset)

    def evaluate(self, weights: Weights, split: str = "test") -> Evaluation:
        """Scores on one split of the data set, in float32.

        Raises: as ``train``; TrainingError (``not_finite``) if an output is infinite or NaN.
        """
        return self.evaluate_splits(weights, {split: None})[split]

    def evaluate_splits(self, weights: Weights, references: Mapping[str, Tensor | None]) -> dict[str, Evaluation]:
        """Scores on several splits of the data set, in float32, by the split's name.

        Args:
            weights: of the network.
            references: for each split to evaluate on, another network's outputs to compare with
                (``evaluate_network``), or None.

        Raises: as ``evaluate``.
        """
        with deterministic_numerics(), report_out_of_memory():
            module, size = self.load(weights).module, self.evaluation_batch_size
            return {
                name: evaluate_network(module, self._splits[name], size, self.observer, self.task, reference)
                for name, reference in references.items()
            }

    def outputs(self, weights: Weights, splits: Iterable[str]) -> dict[str, Tensor]:
        """The network's outputs on the CPU, shape (n, ...), float32, for some splits of the data set, by name.

        Raises: as ``evaluate``.
        """
        with deterministic_numerics(), report_out_of_memory():
            module, size = self.load(weights).module, self.evaluation_batch_size
            return {name: network_outputs(module, self._splits[name], size, self.observer).cpu() for name in splits}

    def learning_from(self, original: Weights) -> Self:
        """The same trainer whose targets, on all splits, are the outputs of the network ``original``.

        Raises: as ``evaluate``.
        """
        splits = self.dataset.splits
        unlabelled = {name: replace(split, targets=np.zeros(len(split), np.int64)) for name, split in splits.items()}
        found = replace(self, dataset=_joined(unlabelled)).outputs(original, splits)
        taught = {name: replace(split, targets=found[name].numpy()) for name, split in splits.items()}
        return replace(self, dataset=_joined(taught), task=self.task.fitted(found["train"]))

    def curvature(self, weights: Weights) -> Curvature:
        """Diagonal of the Fisher information, shape (n,), float64, in the order of w_net.

        Raises: as ``train``, without ``diverged``; TrainingError (``not_finite``) if an output is infinite or NaN.
        """
        with deterministic_numerics(), report_out_of_memory():
            return self._curvature(self.load(weights))

    def with_batch_norm_measured(self, weights: Weights) -> Weights:
        """The same weights with the statistics of batch normalization measured again on training images.

        Raises: as ``train``, without ``diverged``.
        """
        with deterministic_numerics(), report_out_of_memory():
            return self._measured(self.load(weights), weights)

    def with_batch_norm_merged(self, weights: Weights) -> Weights:
        """The same function with the statistics of batch normalization merged into its scale and shift."""
        return merge_statistics(weights, build_for(self.network, weights))

    def load(self, weights: Weights) -> LoadedNetwork:
        """Build the network on the device and load ``weights``.

        Raises: as ``train``, without ``diverged``.
        """
        return LoadedNetwork(self.network, weights, self.device, self.training.precision)

    @cached_property
    def device(self) -> torch.device:
        """The device on which networks are trained and evaluated."""
        return choose_device(self.training.device)

    def _measured(self, network: LoadedNetwork, weights: Weights) -> Weights:
        """``weights``, which ``network`` holds, with batch normalization measured again."""
        if not measure_statistics(network.module, self._splits["train"], self._small_batch_size, self.observer):
            return weights
        compressible = {name: weights[name].data for name in weights.compressible}
        return network.to_weights(weights).with_arrays(compressible)

    def _curvature(self, network: LoadedNetwork) -> Curvature:
        tensors, split = network.compressible_tensors(), self._splits["train"]
        parts = fisher_diagonal(network.module, tensors, split, self.observer, self.task)
        return torch.cat([part.reshape(-1) for part in parts]).cpu().numpy() if parts else np.zeros(0)

    @property
    def _small_batch_size(self) -> int:
        return min(max(self.training.batch_size, 32), 256)

    @property
    def evaluation_batch_size(self) -> int:
        """Images in a batch of an evaluation: more on a GPU, where a small network waits for launches."""
        return self._small_batch_size * (4 if self.device.type == "cuda" else 1)

    @cached_property
    def _splits(self) -> dict[str, DeviceSplit]:
        """The splits of the data set on the device, by name."""
        return load_splits(self.dataset, self.network, self.preprocess or Preprocess(), self.device)


def _joined(splits: Mapping[str, Split]) -> Dataset:
    return Dataset(splits["train"], splits["test"], splits.get("validation"))
