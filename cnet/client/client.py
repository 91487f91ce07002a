"""The client whose calls block.

    with Client("http://127.0.0.1:8000") as client:
        checkpoint = client.upload_checkpoint("model.pth")
        job = client.submit({"checkpoint": checkpoint.id, "target": {"min_ratio": 10}})
        job.wait()
        job.download("model.cnet.npz")

What it takes and returns are the JSON documents of the HTTP API, as dictionaries with attributes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Self

import httpx2

from cnet.client.async_client import DEFAULT_RETRIES, DEFAULT_SERVER, AllCalls
from cnet.client.blocking import Blocking, blocking
from cnet.client.handles import handle
from cnet.client.http.connection import Address, BlockingConnection


class Client(Blocking):
    """A client of one server with one API key; a context manager that closes its connections at its end.

    It may be used by one thread at a time.

    Args:
        server: the server's address.
        api_key: None for a server on this machine that asks for no key.
        retries: how often a request that got no answer, 429 or 5xx is sent again.
        transport: replaces the network in tests.
        sleep: waits between attempts; replaced in tests.

    All methods raise ApiError (the server refused) and UnreachableError (it did not answer, after several attempts).
    """

    def __init__(
        self,
        server: str = DEFAULT_SERVER,
        api_key: str | None = None,
        *,
        retries: int = DEFAULT_RETRIES,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(AllCalls(server, BlockingConnection(Address(server, api_key), transport, sleep), retries))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    close = blocking(AllCalls.close)

    upload_checkpoint = blocking(AllCalls.upload_checkpoint)
    checkpoint = blocking(AllCalls.checkpoint)
    checkpoints = blocking(AllCalls.checkpoints)
    tensors = blocking(AllCalls.tensors)
    download_checkpoint = blocking(AllCalls.download_checkpoint)
    delete_checkpoint = blocking(AllCalls.delete_checkpoint)
    upload_dataset = blocking(AllCalls.upload_dataset)
    dataset = blocking(AllCalls.dataset)
    datasets = blocking(AllCalls.datasets)
    delete_dataset = blocking(AllCalls.delete_dataset)
    upload_program = blocking(AllCalls.upload_program)
    program = blocking(AllCalls.program)
    programs = blocking(AllCalls.programs)
    delete_program = blocking(AllCalls.delete_program)
    upload = blocking(AllCalls.upload)
    uploads = blocking(AllCalls.uploads)
    delete_upload = blocking(AllCalls.delete_upload)

    validate = blocking(AllCalls.validate)
    submit = blocking(AllCalls.submit)
    job = blocking(AllCalls.job)
    jobs = blocking(AllCalls.jobs)
    wait = blocking(AllCalls.wait)
    events = blocking(AllCalls.events)
    event_list = blocking(AllCalls.event_list)
    deliveries = blocking(AllCalls.deliveries)
    webhook_secret = blocking(AllCalls.webhook_secret)
    logs = blocking(AllCalls.logs)
    follow_logs = blocking(AllCalls.follow_logs)
    cancel = blocking(AllCalls.cancel)
    retry = blocking(AllCalls.retry)
    delete_job = blocking(AllCalls.delete_job)

    results = blocking(AllCalls.results)
    metrics = blocking(AllCalls.metrics)
    plot = blocking(AllCalls.plot)
    metrics_csv = blocking(AllCalls.metrics_csv)
    download = blocking(AllCalls.download)
    download_model = blocking(AllCalls.download_model)
    compare_plot = blocking(AllCalls.compare_plot)
    compare_csv = blocking(AllCalls.compare_csv)

    submit_study = blocking(AllCalls.submit_study)
    study = blocking(AllCalls.study)
    studies = blocking(AllCalls.studies)
    wait_for_study = blocking(AllCalls.wait_for_study)
    study_results = blocking(AllCalls.study_results)
    study_csv = blocking(AllCalls.study_csv)
    cancel_study = blocking(AllCalls.cancel_study)
    retry_study = blocking(AllCalls.retry_study)
    delete_study = blocking(AllCalls.delete_study)

    compress = blocking(AllCalls.compress)

    catalogue = blocking(AllCalls.catalogue)
    about = blocking(AllCalls.about)
    alive = blocking(AllCalls.alive)
    ready = blocking(AllCalls.ready)
    service_metrics = blocking(AllCalls.service_metrics)
    workers = blocking(AllCalls.workers)
    keys = blocking(AllCalls.keys)
    create_key = blocking(AllCalls.create_key)
    revoke_key = blocking(AllCalls.revoke_key)

    def _result(self, value: Any) -> Any:
        return [handle(each) for each in value] if isinstance(value, list) else handle(value)
