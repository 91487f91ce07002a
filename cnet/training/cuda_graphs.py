"""Training steps recorded as CUDA graphs: launching kernels takes more time than a small network's arithmetic.

A graph holds all launches of the forward and the backward pass and starts them at once. Recording runs nothing on the
device. Each epoch records again, after one step of each shape of batch that is run without recording: what a method
does may change with the epoch, and a resumed training then records at the same steps as an undisturbed one, so that
both give the same bits even where a recorded kernel rounds differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import Parameter

Inputs = tuple[Tensor, ...]
StepWork = Callable[[Inputs, Tensor], None]
"""The work of a step: from a batch of inputs and targets to gradients, in place and with no other effect."""

Action = Callable[[], None]


class StepRunner:
    """Runs the work of each training step directly. Base of the runner that records it."""

    def begin_epoch(self, work: StepWork) -> None:
        """Use ``work`` for the steps of an epoch."""
        self._work = work

    def end_epoch(self) -> None:
        """Release everything that the work refers to, after an epoch was completed or interrupted."""
        del self._work

    def __call__(self, inputs: Inputs, targets: Tensor) -> None:
        """Do the work on a batch.

        Args:
            inputs: what the network takes in, scaled, each of shape (batch, ...).
            targets: shape (batch, ...).

        """
        self._work(inputs, targets)


class GraphRecorder(Protocol):
    """Records work on the device, to be replayed many times."""

    def run(self, action: Action) -> None:
        """Run ``action`` without recording it, in order with all other work on the device."""

    def record(self, action: Action) -> Action:
        """Record ``action`` without running it; return what replays it.

        Raises:
            RuntimeError: the action cannot be recorded, for example because it waits for the device.

        """

    def forget(self) -> None:
        """Release the memory of the recordings, none of which is replayed any more."""


GraphRecorderFactory = Callable[[torch.device, Sequence[Parameter]], GraphRecorder | None]
"""Makes the recorder for a device and for the parameters whose gradients are recorded; None: steps are not recorded."""


def cuda_graph_recorder(device: torch.device, parameters: Sequence[Parameter]) -> GraphRecorder | None:
    """A recorder of CUDA graphs on a GPU, None on another device."""
    del parameters
    return CudaGraphRecorder(device) if device.type == "cuda" else None


def no_recorder(device: torch.device, parameters: Sequence[Parameter]) -> None:
    """None: steps are run directly on every device."""
    del device, parameters


class CudaGraphRecorder:
    """Records on a CUDA device. All graphs of an epoch share their memory, since no two run at once."""

    def __init__(self, device: torch.device) -> None:
        # The default stream cannot be recorded.
        self._stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._last: torch.cuda.CUDAGraph | None = None

    def forget(self) -> None:
        """As ``GraphRecorder.forget``."""
        self._last = None

    def run(self, action: Action) -> None:
        """As ``GraphRecorder.run``, on the stream that will be recorded."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            action()
        current.wait_stream(self._stream)

    def record(self, action: Action) -> Action:
        """As ``GraphRecorder.record``."""
        graph = torch.cuda.CUDAGraph()
        pool = None if self._last is None else self._last.pool()
        here = torch.cuda.stream(torch.cuda.current_stream())  # a recording that fails may not restore the stream
        with here, torch.cuda.graph(graph, pool=pool, stream=self._stream):
            action()
        self._last = graph
        replay: Action = graph.replay
        return replay


@dataclass(frozen=True, eq=False)
class _RecordedStep:
    """A recorded step: the tensors it reads a batch from, and those in which it leaves gradients."""

    inputs: Inputs
    targets: Tensor
    replay: Action
    gradients: tuple[tuple[Parameter, Tensor], ...]


class RecordingStepRunner(StepRunner):
    """Records the second step of each shape of batch in an epoch and replays it from then on.

    If recording fails, the steps are run directly and the log says why.

    Args:
        recorder: records and replays on the device.
        parameters: all parameters that the work may leave a gradient in.
        log: told why steps are not recorded.

    """

    def __init__(self, recorder: GraphRecorder, parameters: Iterable[Parameter], log: Callable[[str], None]) -> None:
        self._recorder = recorder
        self._parameters = tuple(parameters)
        self._log = log
        self._steps: dict[tuple[tuple[int, ...], ...], _RecordedStep | None] = {}
        self._can_record = True

    def end_epoch(self) -> None:
        """Also release the recordings and their memory."""
        super().end_epoch()
        self._steps.clear()
        self._recorder.forget()

    def __call__(self, inputs: Inputs, targets: Tensor) -> None:
        """Do the work on a batch, as ``StepRunner``, and leave the gradients with the parameters."""
        shape = tuple(tuple(values.shape) for values in (*inputs, targets))
        if self._can_record and shape in self._steps:
            step = self._steps[shape] or self._record(inputs, targets)
            if step is not None:
                self._steps[shape] = step
                self._replay(step, inputs, targets)
                return
        self._steps[shape] = None
        self._recorder.run(lambda: self._work(inputs, targets))

    def _record(self, inputs: Inputs, targets: Tensor) -> _RecordedStep | None:
        inputs, targets = tuple(values.clone() for values in inputs), targets.clone()
        try:
            replay = self._recorder.record(lambda: self._work(inputs, targets))
        except RuntimeError as error:  # PyTorch has no narrower class for it
            self._can_record = False
            self._log(f"training steps are not recorded as CUDA graphs: {error}")
            return None
        gradients = tuple((parameter, parameter.grad) for parameter in self._parameters)
        present = tuple((parameter, gradient) for parameter, gradient in gradients if gradient is not None)
        return _RecordedStep(inputs, targets, replay, present)

    @staticmethod
    def _replay(step: _RecordedStep, inputs: Inputs, targets: Tensor) -> None:
        for place, values in zip(step.inputs, inputs, strict=True):
            place.copy_(values)
        step.targets.copy_(targets)
        step.replay()
        for parameter, gradient in step.gradients:
            parameter.grad = gradient


def make_step_runner(
    recorder: GraphRecorder | None, parameters: Iterable[Parameter], log: Callable[[str], None]
) -> StepRunner:
    """The runner that records with ``recorder``, or, without one, the runner that runs every step directly."""
    return StepRunner() if recorder is None else RecordingStepRunner(recorder, parameters, log)
