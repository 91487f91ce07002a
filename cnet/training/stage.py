"""What one training of a job does: plain data, no PyTorch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet import arrays
from cnet.methods import Method
from cnet.prune import Curvature, Gradual, Pruner
from cnet.training.config import Distill, Training
from cnet.weights import Weights

Mask = npt.NDArray[np.bool_]
DrawMask = Callable[[npt.NDArray[np.floating], int, Curvature | None], Mask]


@dataclass(frozen=True, eq=False)
class GradualPruning:
    """A pruning in the course of a training.

    Attributes:
        pruner: draws each mask; its ``gradual`` says how the sparsity rises.
        sparsity: the final sparsity, 0..1.

    """

    pruner: Pruner
    sparsity: float

    @property
    def gradual(self) -> Gradual:
        """How the sparsity rises."""
        return self.pruner.gradual or Gradual()

    def identity(self) -> str:
        """Text that differs between any two such prunings."""
        return f"{self.pruner.model_dump_json()}\n{self.sparsity!r}"

    def mask_drawer(self, weights: Weights) -> DrawMask:
        """The function that draws a mask, bool, shape (n,).

        Its arguments are w_net, shape (n,), the number of the pruning step, and the curvature, shape (n,), or None.

        Args:
            weights: names, shapes and types of the tensors that make up w_net.

        """

        def draw(vector: npt.NDArray[np.floating], step: int, curvature: Curvature | None) -> Mask:
            sparsity = self.gradual.sparsity(step, self.sparsity)
            return self.pruner.keep(weights.with_vector(vector), sparsity, curvature)

        return draw


@dataclass(frozen=True, eq=False)
class Distillation:
    """A network to learn from (``teacher``), with the temperature and the share of its outputs (``settings``)."""

    teacher: Weights
    settings: Distill


@dataclass(frozen=True, eq=False)
class TrainingStage:
    """One training of a job.

    Attributes:
        name: such as ``finetune``; it names the metrics and, with the seed, decides the random numbers.
        training: epochs, optimizer and the other settings.
        method: what is added to the task loss; None adds nothing.
        mask: bool, shape (n,): False for the entries of w_net that are held at zero; None holds none.
        state_file: file that holds the state of the training after each epoch, to be resumed from; None saves nothing.
        gradual_pruning: a pruning in the course of the training; ``mask`` is then not used.
        method_frozen_at: number of epochs of an earlier training; the method stays as at its end. None: the method
            follows the epochs of this training.
        distillation: a network to learn from; None learns from the labels alone.
        remeasure_batch_norm: measure the statistics of batch normalization at the end, even if there are no epochs.
        freeze_centroids: centroids stay as they are, and only tensors that are not compressible are trained.

    """

    name: str
    training: Training
    method: Method | None = None
    mask: Mask | None = None
    state_file: Path | None = None
    gradual_pruning: GradualPruning | None = None
    method_frozen_at: int | None = None
    distillation: Distillation | None = None
    remeasure_batch_norm: bool = False
    freeze_centroids: bool = False

    def identity(self, *inputs: str) -> str:
        """SHA-256, hex, of everything that decides the result: these settings and the digests of the ``inputs``."""
        method = "none" if self.method is None else self.method.model_dump_json(by_alias=True)
        mask = "none" if self.mask is None else arrays.digest([np.packbits(self.mask)])
        pruning = "none" if self.gradual_pruning is None else self.gradual_pruning.identity()
        teacher = "none"
        if self.distillation is not None:
            teacher = self.distillation.settings.model_dump_json() + self.distillation.teacher.digest()
        settings = (self.training.model_dump_json(), repr(self.method_frozen_at), teacher)
        frozen = ("frozen centroids",) if self.freeze_centroids else ()
        text = "\n".join((self.name, *settings, method, mask, pruning, *frozen, *inputs))
        return hashlib.sha256(text.encode()).hexdigest()
