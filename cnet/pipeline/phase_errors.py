"""Errors of a run: each is raised as a CnetError that names the phase in which it happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from cnet.errors import CnetError
from cnet.files import disk_full_detail, is_disk_full
from cnet.pipeline.inputs import RunObserver
from cnet.results.points import BaselineResult, Point

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class PhaseTracker:
    """A run observer that passes every call on to another one.

    Attributes:
        current: the phase that is under way.
        raised: the last exception that the other observer raised; None where it raised none.
    """

    def __init__(self, observer: RunObserver) -> None:
        self._observer = observer
        self.current = "load"
        self.raised: Exception | None = None

    def phase(self, name: str) -> None:
        """Note the phase and pass it on."""
        self.current = name
        self._pass(self._observer.phase, name)

    def progress(self, fraction: float) -> None:
        """Pass the done part on."""
        self._pass(self._observer.progress, fraction)

    def metric(self, values: dict[str, Any]) -> None:
        """Pass on."""
        self._pass(self._observer.metric, values)

    def log(self, message: str) -> None:
        """Pass on."""
        self._pass(self._observer.log, message)

    def should_stop(self) -> bool:
        """Ask the other observer."""
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
def errors_name_phase(tracked: PhaseTracker) -> Iterator[None]:
    """Turn every exception of the block into a CnetError with its ``phase`` set.

    Codes for exceptions that are not ours: ``out_of_memory``, ``storage_full``, ``storage_failed``, and
    ``internal_error`` for everything that should not happen. The original exception is the cause. Exceptions that the
    observer raises, and those that are no ``Exception`` (KeyboardInterrupt), pass through as they are.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, CnetError) and not isinstance(error, OSError):  # a file of the run is no user's business
            error.phase = error.phase or tracked.current
            raise
        if error is tracked.raised:
            raise
        ours = _explain(error)
        ours.phase = tracked.current
        raise ours from error


def _explain(error: Exception) -> CnetError:
    if isinstance(error, MemoryError):
        return CnetError(
            "the run: there is not enough memory for this network. Use a machine with more, or a smaller batch size.",
            code="out_of_memory",
        )
    if is_disk_full(error):
        return CnetError(disk_full_detail("the run's files", "start the run again"), code="storage_full")
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        return CnetError(
            f"the run's files: they cannot be read or written ({reason}). Check the disk, and the permissions of the "
            "data folder.",
            code="storage_failed",
        )
    return CnetError(
        f"the run: an unexpected {type(error).__name__}, which is a fault of cnet and not of the input. Report it.",
        code="internal_error",
    )
