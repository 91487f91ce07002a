"""Numbers for Prometheus."""

from __future__ import annotations

from app.api.metrics.exposition import Family, Sample, exposition
from app.core.workers import WorkerFacts
from tests.api_bench import Bench, add_checkpoint, add_job, architecture_weights, claim
from tests.unit.app.api.http.test_problems import check_problem


def read(text: str) -> dict[str, float]:
    """The samples by their names with labels; every one of them has a type."""
    lines = text.splitlines()
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    samples = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert {name.partition("{")[0].removesuffix("_sum").removesuffix("_count") for name in samples} <= typed
    return {name: float(value) for name, value in samples.items()}


def test_jobs_queues_and_stored_bytes(bench: Bench) -> None:
    """As the database says."""
    add_job(bench)
    claim(bench, add_job(bench))
    stored = add_checkpoint(bench, architecture_weights("lenet300_100"))

    answer = bench.client.get("/metrics")

    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    found = read(answer.text)
    assert found['cnet_jobs{status="queued"}'] == 1
    assert found['cnet_jobs{status="running"}'] == 1
    assert found['cnet_jobs{status="failed"}'] == 0
    assert found['cnet_queue_jobs{queue="cpu"}'] == 1
    assert found['cnet_queue_age_seconds{queue="cpu"}'] >= 0
    assert found['cnet_uploaded_bytes{kind="checkpoints"}'] == stored.size_bytes
    assert found["cnet_expired_leases"] == 0
    assert found["cnet_workers"] == 0


def test_workers_and_their_gpus(bench: Bench) -> None:
    """Each GPU of each worker that runs now."""
    facts = WorkerFacts(gpus=[{"name": "H200", "memory_bytes": 2**37}])
    bench.backend.workers.beat("host:1:worker-1", facts)

    found = read(bench.client.get("/metrics").text)

    assert found["cnet_workers"] == 1
    assert found['cnet_worker_gpu_memory_bytes{worker="host:1:worker-1",gpu="0"}'] == 2**37


def test_requests_are_counted_by_route(bench: Bench) -> None:
    """Ids are no labels, and all paths without a route share one."""
    job = add_job(bench)
    for path in (f"/v1/jobs/{job.id}", f"/v1/jobs/{job.id}", "/v1/jobs/job_0", "/v1/nothing", "/v1/nothing/else"):
        bench.client.get(path)

    found = read(bench.client.get("/metrics").text)

    assert found['cnet_requests_total{method="GET",route="/v1/jobs/{job_id}",status="200"}'] == 2
    assert found['cnet_requests_total{method="GET",route="/v1/jobs/{job_id}",status="404"}'] == 1
    assert found['cnet_requests_total{method="GET",route="other",status="404"}'] == 2
    assert found['cnet_request_seconds_count{route="/v1/jobs/{job_id}"}'] == 3
    assert not any(job.id in name for name in found)


def test_any_key_may_read_them_and_nobody_without_one(bench: Bench) -> None:
    """As soon as there are keys."""
    _, secret = bench.backend.keys.create("ann", "read")

    check_problem(bench.client.get("/metrics"), 401, "unauthorized")
    assert bench.client.get("/metrics", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_labels_are_escaped() -> None:
    """Quotes, backslashes and line ends."""
    text = exposition([Family("a", "gauge", "What.", [Sample(0.5, {"b": 'c"\\\n'}), Sample(2.0)])])

    assert text == '# HELP a What.\n# TYPE a gauge\na{b="c\\"\\\\\\n"} 0.5\na 2\n'
