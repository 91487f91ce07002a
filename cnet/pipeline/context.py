"""What all steps of a run share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cnet.observer import check_stop
from cnet.pipeline.calibrated_network import CalibratedNetwork
from cnet.pipeline.inputs import RunObserver
from cnet.pipeline.network import TrainableNetwork
from cnet.pipeline.plan import CompressionPlan
from cnet.pipeline.progress import ProgressMeter, StepCosts
from cnet.pipeline.run_folder import RunFolder
from cnet.weights import Weights


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

    def log(self, sentences: Iterable[str]) -> None:
        """Write each sentence to the log."""
        for sentence in sentences:
            self.observer.log(sentence)
