"""What all steps of a run share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cnet.observer import check_stop
from cnet.pipeline.calibrated_network import CalibratedNetwork
from cnet.pipeline.inputs import RunObserver, SharedTrainings
from cnet.pipeline.network import TrainableNetwork
from cnet.pipeline.plan import CompressionPlan
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.results.damage import ResultWarning
from cnet.spec import Target
from cnet.weights import Weights

_SHARED = ("baseline", "finetune")
"""Names of the trainings that do not depend on pruning and quantizing."""


@dataclass(frozen=True, eq=False)
class RunContext:
    """What all steps of a run share.

    Attributes:
        checkpoint: the weights to compress; None where a baseline is trained from scratch.
        plan: the parts of the job, with all defaults filled in.
        network: trains and evaluates; None without a data set.
        calibrated: quantizes by calibration inputs; None where the job has none.
        costs: the expected cost of each step.
        observer: receives every event, and is asked whether to stop.
        folder: where results, and the state of what is under way, are saved.
        meter: adds up the costs of the steps that are done.
        notes: what the manifest of every bundle says about the run: its spec, and digests of its inputs.
        revisits_sparsities: whether later points may have a sparsity of earlier points again, as in a search.
        target: what the selected point must meet; None where the job has no target.
        warnings: what is known before the run, and true of all its points.
        shared: trainings in common with other runs, and the key of those of this run; None: there are none.
    """

    checkpoint: Weights | None
    plan: CompressionPlan
    network: TrainableNetwork | None
    calibrated: CalibratedNetwork | None
    costs: StepCosts
    observer: RunObserver
    folder: RunFolder
    meter: ProgressMeter
    notes: dict[str, Any]
    revisits_sparsities: bool
    target: Target | None = None
    warnings: tuple[ResultWarning, ...] = ()
    shared: tuple[SharedTrainings, str] | None = None

    @contextmanager
    def phase(self, name: str, cost: float = 0.0) -> Iterator[None]:
        """Announce a phase and run the block; then count ``cost`` as done.

        Raises:
            StoppedError: before or after the block, where the observer asks to stop.
        """
        check_stop(self.observer)
        self.observer.phase(name)
        yield
        self.advance(cost)

    def advance(self, cost: float) -> None:
        """Count ``cost`` as done. Raises StoppedError where the observer asks to stop."""
        self.meter.advance(cost)
        check_stop(self.observer)

    def take_shared(self, name: str) -> Weights | None:
        """The weights of a training that another run has shared; None where this run has to train them."""
        shared = self._shared(name)
        if shared is None or not shared[0].take(shared[1], self.folder.weights_file(name)):
            return None
        self.observer.log(f"{name}: weights of a run with the same training are taken over")
        return self.folder.weights(name)

    def give_shared(self, name: str) -> None:
        """Share the weights of a training, which are saved in the folder, with other runs."""
        shared = self._shared(name)
        if shared is not None:
            shared[0].give(shared[1], self.folder.weights_file(name))

    def _shared(self, name: str) -> tuple[SharedTrainings, str] | None:
        """The store for the weights of a training, and their key; None where other runs do not have this training.

        Networks in another form are not shared, since their weights take more than one file.
        """
        if self.shared is None or name not in _SHARED or self.plan.transform is not None:
            return None
        store, key = self.shared
        return store, f"{name}-{key}"

    def log(self, sentences: Iterable[str]) -> None:
        """Write each sentence to the log."""
        for sentence in sentences:
            self.observer.log(sentence)
