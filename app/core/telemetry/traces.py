"""Traces for OpenTelemetry: the spans of a request, of the message that it sends, and of the attempts of its job.

Spans cost nothing where ``configure_traces`` was not called, or no collector is named: the API of OpenTelemetry then
records none. What a span names is what the log names (``app.core.telemetry.origin``), and no value of a user.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from opentelemetry import context, propagate, trace
from opentelemetry.trace import Span, SpanKind

from app.core.errors import ConflictError
from app.core.settings import Settings

TRACE_PARENT = "traceparent"

_SEND_SECONDS = 3.0  # for which a process that ends may wait for its collector
_DELAY_MILLISECONDS = 1000

_tracer = trace.get_tracer("cnet")  # a proxy, which finds what ``configure_traces`` sets


def configure_traces(settings: Settings, service: str) -> None:
    """Send the spans of this process to the collector that the settings name; nothing happens where none is named.

    Args:
        settings: settings of the service.
        service: name of this kind of process, such as ``cnet-api``.

    Raises:
        ConflictError: (``no_traces``) a collector is named, but what sends to it is not installed.
    """
    if not settings.otlp_endpoint:
        return
    check_traces(settings)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    address = f"{settings.otlp_endpoint.rstrip('/')}/v1/traces"
    exporter = OTLPSpanExporter(endpoint=address, timeout=_SEND_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=_DELAY_MILLISECONDS))
    trace.set_tracer_provider(provider)


def check_traces(settings: Settings) -> None:
    """Check that spans can be sent where the settings name a collector. Raises ConflictError (``no_traces``)."""
    if settings.otlp_endpoint and find_spec("opentelemetry.exporter") is None:
        raise ConflictError(
            "OTEL_EXPORTER_OTLP_ENDPOINT: it is set, but the package that sends traces is not installed. Install"
            " `cnet[otel]`, or unset it.",
            code="no_traces",
        )


@contextmanager
def span(name: str, kind: SpanKind = SpanKind.INTERNAL, **values: str | int) -> Iterator[Span]:
    """A span of what happens while the context lasts, below that of the caller.

    Args:
        name: what happens.
        kind: whether it crosses to another process.
        values: attributes, whose names begin with ``cnet.`` in the trace.
    """
    attributes = {f"cnet.{key}": value for key, value in values.items()}
    with _tracer.start_as_current_span(name, kind=kind, attributes=attributes, record_exception=False) as made:
        yield made


@contextmanager
def remote_parent(carrier: Mapping[str, str]) -> Iterator[None]:
    """Put the spans that begin while the context lasts below that of another process.

    Args:
        carrier: has ``traceparent`` (W3C Trace Context); without it they begin a trace of their own.
    """
    token = context.attach(propagate.extract(carrier, context=context.Context()))
    try:
        yield
    finally:
        context.detach(token)


def current_trace() -> dict[str, str]:
    """The ``traceparent`` of the current span; empty where none is recorded."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return {TRACE_PARENT: carrier[TRACE_PARENT]} if TRACE_PARENT in carrier else {}


def add_trace_id(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Give a line of the log the id of the current trace: a processor of ``structlog``."""
    found = trace.get_current_span().get_span_context()
    if found.is_valid:
        event["trace_id"] = trace.format_trace_id(found.trace_id)
    return event


class PhaseSpans:
    """The spans of the phases of a run, one after the other."""

    def __init__(self) -> None:
        self._current: Span | None = None

    def begin(self, phase: str) -> None:
        """End the span of the last phase, and begin one below the current span."""
        self.end()
        self._current = _tracer.start_span(f"phase {phase}", attributes={"cnet.phase": phase})

    def end(self) -> None:
        """End the span of the last phase."""
        if self._current is not None:
            self._current.end()
            self._current = None
