"""What one training of a job is told to do."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cnet import arrays
from cnet.methods import Method
from cnet.training.config import Training
from cnet.training.gradual import Rise
from cnet.training.task import Distillation


@dataclass(frozen=True, eq=False)
class Stage:
    """One training of a job.

    Attributes:
        name: such as ``finetune``; names the metrics and, with the seed, the random numbers.
        training: epochs, optimizer and the rest.
        method: what is added to the task loss, if anything.
        keep: bool, shape (n,): entries of w_net that are not pinned at zero; None pins nothing.
        state: the file that keeps the stage's state after each epoch; None keeps none.
        rise: a pruning in the course of the training; ``keep`` is not read then.
        distillation: a net to learn from; None learns from the labels alone.
        remeasure: measure batch norm's statistics anew at the end, even where there are no epochs.
        fixed: centroids stay as they are; only what is not compressible is trained.
        held: hold the method where it stood at the end of a training of so many epochs; None: it moves by this one's.

    """

    name: str
    training: Training
    method: Method | None = None
    keep: npt.NDArray[np.bool_] | None = None
    state: Path | None = None
    rise: Rise | None = None
    held: int | None = None
    distillation: Distillation | None = None
    remeasure: bool = False
    fixed: bool = False

    def identity(self, *inputs: str) -> str:
        """Digest of what the stage's result depends on: its own settings and the digests of its ``inputs``."""
        method = "none" if self.method is None else self.method.model_dump_json(by_alias=True)
        keep = "none" if self.keep is None else arrays.digest([np.packbits(self.keep)])
        rise = "none" if self.rise is None else self.rise.identity()
        taught = "none"
        if self.distillation is not None:
            taught = self.distillation.settings.model_dump_json() + self.distillation.teacher.digest()
        settings = (self.training.model_dump_json(), repr(self.held), taught)
        parts = (self.name, *settings, method, keep, rise, *(("fixed",) if self.fixed else ()), *inputs)
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
