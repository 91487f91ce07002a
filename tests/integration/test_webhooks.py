"""A worker tells a receiver that a job has ended, whatever dies in between."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path
from typing import Any

from standardwebhooks import Webhook

from app.core.clock import utc_now
from app.core.webhooks.deliveries import Deliveries
from app.core.webhooks.posting import WebhookPoster
from app.core.webhooks.secrets import WebhookSecrets
from tests.processes import Process, service, until
from tests.receiver import receiver
from tests.repository import block_after

SECRET = "whsec_c2VjcmV0LW9mLXRoaXMtdGVzdC1hbG9uZQ=="
SETTINGS = {"webhook_allow_private": True, "webhook_retry_seconds": 0.5, "webhook_timeout_seconds": 0.5}
JOB: dict[str, Any] = {
    "architecture": {"name": "lenet300_100"},
    "dataset": "digits",
    "baseline": {"epochs": 1},
    "training": {"epochs": 1},
    "prune": {"name": "magnitude", "sparsity": [0.5]},
    "quantize": {"name": "kmeans", "clusters": [16]},
}


def test_a_message_comes_after_its_worker_was_killed() -> None:
    """The job ends while the receiver does not answer, and the worker is killed. Another one delivers the message."""
    with service(**SETTINGS) as made, socket.create_server(("127.0.0.1", 0)) as silent:
        port, deliveries = silent.getsockname()[1], Deliveries(made.database)
        made.start_valkey()
        worker = made.start_worker("first")
        job = made.submit({**JOB, "webhook": {"url": f"http://127.0.0.1:{port}/hook"}})
        made.ended(job.id)
        until(lambda: deliveries.of_job(job.id)[0].attempts, what="the first attempt")
        worker.kill()
        (pending,) = deliveries.of_job(job.id)
        silent.close()
        with receiver(port=port) as target:
            made.start_worker("second")
            until(lambda: deliveries.of_job(job.id)[0].state == "delivered", what="the delivery")
        secret = WebhookSecrets(made.database).of("local").secret
        assert pending.state == "pending"
        for request in target.received:
            message = Webhook(secret).verify(request.body, request.headers)
            assert (message["type"], message["data"]["id"]) == ("job.succeeded", job.id)
            assert request.headers["webhook-id"] == pending.id


def test_the_receiver_of_the_documentation_verifies_messages(tmp_path: Path) -> None:
    """The code in docs/webhooks.md, as a process, accepts a message that is signed, and refuses another."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = tmp_path / "receiver.py"
    script.write_text(f"{block_after('a receiver', 'python', 'docs/webhooks.md')}\n\nmain({port})\n")
    process = Process([sys.executable, str(script)], {**os.environ, "WEBHOOK_SECRET": SECRET}, tmp_path / "log")
    body, now = '{"type":"job.succeeded","data":{"id":"job_1"}}', utc_now()
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(int(now.timestamp()))}
    good = {**headers, "webhook-signature": Webhook(SECRET).sign("msg_1", now, body)}
    other = {**headers, "webhook-signature": Webhook(SECRET).sign("msg_2", now, body)}
    poster, url = WebhookPoster(allow_private=True, timeout_seconds=5.0), f"http://127.0.0.1:{port}/"
    try:
        until(lambda: poster.post(url, other, body.encode()).status == 400, what="the receiver")
        assert poster.post(url, good, body.encode()).status == 204
    finally:
        process.close()
    assert "job.succeeded job_1" in process.log.read_text()
