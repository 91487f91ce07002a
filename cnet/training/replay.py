"""Steps of a training recorded as CUDA graphs: a small net on a GPU waits for launches, not for arithmetic.

A graph holds all launches of forward, backward and what goes with them, and starts them at once. Recording runs
nothing on the device. Each epoch records anew, after one step of each shape of batch that is run as it is: what a
method does may change with the epoch, and a resumed training then records where an undisturbed one does, so that both
give the same bits even where a recorded kernel rounds differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import Parameter

Work = Callable[[Tensor, Tensor], None]
Action = Callable[[], None]


class Steps:
    """Runs the work of each step as it is. Base of what records it."""

    def begin(self, work: Work) -> None:
        """An epoch begins, whose steps do ``work``: from images and labels to gradients, in place and nothing else."""
        self._work = work

    def end(self) -> None:
        """The epoch is over, or broke off: let go of all that the work holds."""
        del self._work

    def __call__(self, x: Tensor, y: Tensor) -> None:
        """Do the work on a batch."""
        self._work(x, y)


class Graphs:
    """Records on a CUDA device. All graphs of an epoch share their memory, since no two run at once."""

    def __init__(self, device: torch.device) -> None:
        # The default stream cannot be recorded.
        self._stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._last: torch.cuda.CUDAGraph | None = None

    def forget(self) -> None:
        """What was recorded is not replayed any more."""
        self._last = None

    def run(self, action: Action) -> None:
        """Run ``action`` on the stream that will be recorded, in turn with all other work."""
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            action()
        current.wait_stream(self._stream)

    def record(self, action: Action) -> Action:
        """What does the work of ``action`` on the device again and again; nothing is run yet.

        Raises:
            RuntimeError: (of torch) the action does what cannot be recorded, such as waiting for the device.

        """
        graph = torch.cuda.CUDAGraph()
        pool = None if self._last is None else self._last.pool()
        here = torch.cuda.stream(torch.cuda.current_stream())  # a recording that fails may not put the stream back
        with here, torch.cuda.graph(graph, pool=pool, stream=self._stream):
            action()
        self._last = graph
        replay: Action = graph.replay
        return replay


@dataclass(frozen=True, eq=False)
class _Tape:
    """A recorded step: where it reads images and labels, and where it leaves gradients."""

    x: Tensor
    y: Tensor
    replay: Action
    gradients: tuple[tuple[Parameter, Tensor], ...]


class Replayed(Steps):
    """Records the second step of each shape of batch in an epoch and replays it from then on.

    Where recording fails, the training says so in its log and goes on without.

    Args:
        graphs: what records.
        parameters: all those that the work may leave a gradient in.
        log: told why steps are not recorded, where they are not.

    """

    def __init__(self, graphs: Graphs, parameters: Iterable[Parameter], log: Callable[[str], None]) -> None:
        self._graphs = graphs
        self._parameters = tuple(parameters)
        self._log = log
        self._tapes: dict[tuple[int, ...], _Tape | None] = {}
        self._works = True

    def end(self) -> None:
        """Give the graphs and their memory back, too."""
        super().end()
        self._tapes.clear()
        self._graphs.forget()

    def __call__(self, x: Tensor, y: Tensor) -> None:
        """Do the work on a batch, and leave its gradients with the parameters."""
        shape = tuple(x.shape)
        if self._works and shape in self._tapes:
            tape = self._tapes[shape] or self._record(x, y)
            if tape is not None:
                self._tapes[shape] = tape
                self._replay(tape, x, y)
                return
        self._tapes[shape] = None
        self._graphs.run(lambda: self._work(x, y))

    def _record(self, x: Tensor, y: Tensor) -> _Tape | None:
        x, y = x.clone(), y.clone()
        try:
            replay = self._graphs.record(lambda: self._work(x, y))
        except RuntimeError as error:  # torch has no narrower class for it
            self._works = False
            self._log(f"steps are not recorded as CUDA graphs: {error}")
            return None
        left = tuple((parameter, parameter.grad) for parameter in self._parameters)
        return _Tape(x, y, replay, tuple((parameter, grad) for parameter, grad in left if grad is not None))

    @staticmethod
    def _replay(tape: _Tape, x: Tensor, y: Tensor) -> None:
        tape.x.copy_(x)
        tape.y.copy_(y)
        tape.replay()
        for parameter, gradient in tape.gradients:
            parameter.grad = gradient
