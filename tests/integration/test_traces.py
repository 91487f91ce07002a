"""Traces of real processes: one job is one trace, from the request to the phases of its run."""

from __future__ import annotations

from contextlib import closing

import httpx2

from tests.api_server import ApiServer
from tests.integration.conftest import TRAINING
from tests.log_lines import json_lines
from tests.processes import service, until
from tests.trace_receiver import ReceivedSpan, trace_receiver

PARENT = ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331")


def test_one_job_is_one_trace() -> None:
    """Spans of the API, the worker and the runner, below the client's own; the lines of the log have its id."""
    trace_id, client_span = PARENT
    # the worker's own search for unsent messages comes too late to be the one that sends it
    with trace_receiver() as receiver, service(otlp_endpoint=receiver.endpoint, reap_seconds=60.0) as running:
        running.start_valkey()
        running.start_worker()
        with closing(ApiServer(running.settings)) as server:
            server.start()
            headers = {"traceparent": f"00-{trace_id}-{client_span}-01"}
            answer = httpx2.post(f"{server.url}/v1/jobs", json=TRAINING, headers=headers, trust_env=False, timeout=60.0)
            assert running.ended(answer.json()["id"]).status == "succeeded"
            wanted = {"POST /v1/jobs", "message sent", "message received", "attempt", "run", "phase publish"}
            until(lambda: wanted <= {span.name for span in receiver.spans}, what="all spans")

            spans = {span.name: span for span in receiver.spans if span.trace_id == trace_id}
            assert wanted <= spans.keys()
            assert _way(spans, "phase finetune") == [
                ("cnet-runner", "phase finetune"),
                ("cnet-runner", "run"),
                ("cnet-worker", "attempt"),
                ("cnet-api", "POST /v1/jobs"),
            ]
            assert _way(spans, "message received")[1:] == [("cnet-api", "message sent"), ("cnet-api", "POST /v1/jobs")]
            assert spans["POST /v1/jobs"].parent_id == client_span
            lines = json_lines(server.log() + running.worker_log())

    events = {line["event"] for line in lines if line.get("trace_id") == trace_id}
    assert {"job queued", "message received", "attempt starts", "phase begins", "request"} <= events


def _way(spans: dict[str, ReceivedSpan], name: str) -> list[tuple[str, str]]:
    """Service and name of a span and of those above it."""
    by_id = {span.span_id: span for span in spans.values()}
    found, span = [], spans.get(name)
    while span is not None:
        found.append((span.service, span.name))
        span = by_id.get(span.parent_id)
    return found
