"""Foreign faults leave the pipeline as ours, with a code and a phase."""

from __future__ import annotations

import errno

import pytest

from cnet.errors import CnetError, StoppedError
from cnet.pipeline.inputs import SilentRunObserver
from cnet.pipeline.phase_errors import PhaseTracker, errors_name_phase


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (MemoryError(), "out_of_memory"),
        (OSError(errno.ENOSPC, "No space left on device", "/srv/data/x"), "storage_full"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "storage_full"),
        (PermissionError(errno.EACCES, "Permission denied", "/srv/data/x"), "storage_failed"),
        (ZeroDivisionError("division by zero"), "internal_error"),
    ],
)
def test_foreign_fault_gets_a_code_and_the_phase(fault: Exception, code: str) -> None:
    """The text shows no path; the fault itself is the cause."""
    tracked = PhaseTracker(SilentRunObserver())
    tracked.phase("encode")
    with pytest.raises(CnetError) as caught, errors_name_phase(tracked):
        raise fault
    assert (caught.value.code, caught.value.phase) == (code, "encode")
    assert caught.value.__cause__ is fault
    assert "/srv" not in caught.value.detail


def test_own_fault_keeps_its_class_and_gets_the_phase() -> None:
    """A stop is still a stop."""
    tracked = PhaseTracker(SilentRunObserver())
    tracked.phase("recover")
    with pytest.raises(StoppedError) as caught, errors_name_phase(tracked):
        raise StoppedError
    assert caught.value.phase == "recover"


def test_interrupt_passes_through() -> None:
    """What is no Exception is nobody's error."""
    with pytest.raises(KeyboardInterrupt), errors_name_phase(PhaseTracker(SilentRunObserver())):
        raise KeyboardInterrupt
