"""Forward passes of one network side by side: all of them stop at the same operations.

A network is any PyTorch module, so that nothing is known of it but the operations that it calls. Each batch therefore
runs in a thread of its own, of which only one is awake at a time. It sleeps at each operation that the caller asks to
see; once all batches have come to it, the caller gives each of them the operation's result, and they go on. What a
layer does can thus be decided from all samples before any of them passes the layer, at the cost of one pass.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

Function = Callable[..., Any]


@dataclass(eq=False)
class Call:
    """An operation that one batch wants to do.

    Attributes:
        function: the PyTorch function.
        args, kwargs: its arguments.
        result: what the batch goes on with; set by whoever looks at the call.
    """

    function: Function
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    result: Any = None

    def run(self, *args: Any) -> Any:
        """The operation's own result, with other positional arguments where some are given."""
        return self.function(*(args or self.args), **self.kwargs)


Watches = Callable[[Function, tuple[Any, ...]], bool]
"""Whether a call of a function with these positional arguments is one at which batches stop."""


class Lockstep:
    """The forward passes of several batches. Iterating gives, for each operation, the calls of all batches in order.

    Args:
        module: the network, in evaluation mode.
        batches: the inputs of each.
        watches: tells at which operations to stop. All batches must come to the same ones in the same order.

    Attributes:
        outputs: of each batch, once the iteration has ended.
    """

    def __init__(self, module: nn.Module, batches: Sequence[Sequence[Tensor]], watches: Watches) -> None:
        self._passes = [_Pass(module, batch, watches) for batch in batches]
        self.outputs: list[Tensor] = []

    def __iter__(self) -> Iterator[list[Call]]:
        try:
            while True:
                calls = [each.advance() for each in self._passes]
                if None in calls:
                    break
                yield [call for call in calls if call is not None]
        finally:
            for each in self._passes:
                each.stop()
        self.outputs = [each.output for each in self._passes]


class _Stopped(BaseException):
    """Ends the thread of a pass whose result nobody wants any more."""


@dataclass(eq=False)
class _Pass:
    """The forward pass of one batch, in a thread that is awake only inside ``advance`` and ``stop``."""

    module: nn.Module
    inputs: Sequence[Tensor]
    watches: Watches
    output: Tensor = field(default_factory=lambda: torch.empty(0))  # of the network, once it has ended
    _thread: threading.Thread | None = None
    _call: Call | None = None
    _error: BaseException | None = None
    _stopping: bool = False
    _wake: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    _asleep: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def advance(self) -> Call | None:
        """Run to the next operation to stop at; None at the end. Raises what the network raises."""
        self._call = None
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        else:
            self._wake.release()
        self._asleep.acquire()
        if self._error is not None:
            raise self._error
        return self._call

    def stop(self) -> None:
        """End the thread."""
        if self._thread is not None and self._thread.is_alive():
            self._stopping = True
            self._wake.release()
            self._thread.join()

    def _run(self) -> None:
        try:
            with torch.no_grad(), _Mode(self):
                self.output = self.module(*self.inputs)
        except _Stopped:
            pass
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that waits for this one
            self._error = error
        finally:
            self._asleep.release()

    def halt_at(self, call: Call) -> Any:
        """Sleep until the call has a result, and give it."""
        self._call = call
        self._asleep.release()
        self._wake.acquire()
        if self._stopping:
            raise _Stopped
        return call.result


class _Mode(TorchFunctionMode):
    """Passes each operation on, or halts at it."""

    def __init__(self, forward: _Pass) -> None:
        super().__init__()
        self._forward = forward

    def __torch_function__(
        self, func: Function, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        del types
        if self._forward.watches(func, args):
            return self._forward.halt_at(Call(func, args, kwargs or {}))
        return func(*args, **(kwargs or {}))
