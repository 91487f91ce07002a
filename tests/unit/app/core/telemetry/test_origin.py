"""The origin of a job is the request at hand."""

from __future__ import annotations

from structlog.contextvars import bound_contextvars, get_contextvars

from app.core.telemetry.origin import current_origin, replaced_context


def test_the_origin_holds_the_request_id_alone() -> None:
    """Nothing else of the context belongs to it."""
    with bound_contextvars(request_id="r-1", owner="ann"):
        assert current_origin() == {"request_id": "r-1"}
    assert current_origin() == {}


def test_the_previous_context_is_restored() -> None:
    """A job's lines say nothing of the message that woke its worker."""
    with bound_contextvars(request_id="r-1", queue="gpu"):
        with replaced_context({"request_id": "r-2"}):
            assert get_contextvars() == {"request_id": "r-2"}
        assert get_contextvars() == {"request_id": "r-1", "queue": "gpu"}
