"""Traces where no collector is named, or what sends to it is missing."""

from __future__ import annotations

import sys

import pytest

from app.core.errors import ConflictError
from app.core.settings import Settings
from app.core.telemetry.traces import check_traces, configure_traces, current_trace, remote_parent, span

CARRIER = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}


def test_nothing_is_recorded_without_a_collector() -> None:
    """A span has no id then, and a trace of another process goes on."""
    configure_traces(Settings(), "cnet-test")
    with span("work", job_id="job_1"):
        assert current_trace() == {}
    with remote_parent(CARRIER), span("work"):
        assert current_trace() == CARRIER


def test_a_missing_package_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the variable and what to install; without a collector nothing is missing."""
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    with pytest.raises(ConflictError, match=r"OTEL_EXPORTER_OTLP_ENDPOINT.*Install `cnet\[otel\]`"):
        check_traces(Settings())
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT")
    check_traces(Settings())
