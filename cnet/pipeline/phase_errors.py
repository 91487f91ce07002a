"""Every fault of a run leaves it as one of our errors that names its phase."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from cnet.errors import CnetError
from cnet.files import disk_full_detail, is_disk_full
from cnet.pipeline.inputs import RunObserver
from cnet.points import BaselineResult, Point

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class PhaseTracker:
    """A run observer that passes everything on, and remembers the phase and what the observer raised."""

    def __init__(self, observer: RunObserver) -> None:
        self._observer = observer
        self.current = "load"
        self.raised: Exception | None = None

    def phase(self, name: str) -> None:
        """Remember and pass on."""
        self.current = name
        self._pass(self._observer.phase, name)

    def progress(self, fraction: float) -> None:
        """Pass on."""
        self._pass(self._observer.progress, fraction)

    def metric(self, values: dict[str, Any]) -> None:
        """Pass on."""
        self._pass(self._observer.metric, values)

    def log(self, message: str) -> None:
        """Pass on."""
        self._pass(self._observer.log, message)

    def should_stop(self) -> bool:
        """Ask on."""
        return self._pass(self._observer.should_stop)

    def baseline(self, result: BaselineResult) -> None:
        """Pass on."""
        self._pass(self._observer.baseline, result)

    def point(self, point: Point, bundle: Path) -> None:
        """Pass on."""
        self._pass(self._observer.point, point, bundle)

    def _pass(self, call: Callable[Arguments, Answer], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        try:
            return call(*args, **kwargs)
        except Exception as error:
            self.raised = error
            raise


@contextmanager
def with_phase(tracked: PhaseTracker) -> Iterator[None]:
    """Let nothing but CnetError (and what is no Exception) out of the block, with its ``phase`` set.

    Codes of foreign faults: ``out_of_memory``, ``storage_full``, ``storage_failed``, and ``internal_error`` for all
    that should not happen. The foreign exception is the cause. What the observer itself raises is its owner's
    business and passes through as it is.
    """
    try:
        yield
    except CnetError as error:
        error.phase = error.phase or tracked.current
        raise
    except Exception as error:
        if error is tracked.raised:
            raise
        ours = _explain(error)
        ours.phase = tracked.current
        raise ours from error


def _explain(error: Exception) -> CnetError:
    if isinstance(error, MemoryError):
        return CnetError(
            "there is not enough memory for this net; use a machine with more, or a smaller batch size",
            code="out_of_memory",
        )
    if is_disk_full(error):
        return CnetError(disk_full_detail("the run's files", "start the run again"), code="storage_full")
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return CnetError(f"the run's files cannot be read or written: {reason}", code="storage_failed")
    return CnetError(
        f"an unexpected {type(error).__name__}; this is a fault of cnet, not of the input: please report it",
        code="internal_error",
    )
