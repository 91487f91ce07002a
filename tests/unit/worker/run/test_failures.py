"""What a user is told of a run that failed."""

from __future__ import annotations

import errno

import pytest

from app.core.errors import GoneError, StorageFullError
from cnet.errors import CnetError, ConstraintNotMetError, TrainingError
from worker.run.failures import failure_of, traceback_text


def _in_phase(error: CnetError, phase: str) -> CnetError:
    error.phase = phase
    return error


@pytest.mark.parametrize(
    ("error", "code", "detail"),
    [
        (_in_phase(TrainingError("lower the rate", code="diverged"), "finetune"), "diverged", "lower the rate (in ph"),
        (ConstraintNotMetError("no point meets it"), "constraint_not_met", "no point meets it"),
        (GoneError("the checkpoint was deleted"), "gone", "the checkpoint was deleted"),
        (StorageFullError("no space"), "storage_full", "no space"),
        (MemoryError(), "out_of_memory", "not enough memory"),
        (OSError(errno.ENOSPC, "No space left", "/srv/x"), "storage_full", "no space is left"),
        (OSError(errno.EIO, "I/O error", "/srv/x"), "internal_error", "Report it"),
        (KeyError("/srv/x"), "internal_error", "Report it"),
    ],
)
def test_every_error_has_a_code_and_a_detail(error: Exception, code: str, detail: str) -> None:
    """No detail names a path."""
    end = failure_of(error)
    assert (end.status, end.code) == ("failed", code)
    assert end.detail is not None
    assert detail in end.detail
    assert "/srv" not in end.detail


def test_a_trace_names_functions_and_no_files() -> None:
    """With the cause first, as Python tells it."""
    try:
        try:
            _raise()
        except KeyError as error:
            raise ValueError("outer") from error
    except ValueError as error:
        text = traceback_text(error)
    assert text.index("KeyError: 'inner'") < text.index("which caused:") < text.index("ValueError: outer")
    assert "_raise, line" in text
    assert ".py" not in text


def _raise() -> None:
    raise KeyError("inner")
