"""Workers on machines that share no folder: another one goes on where a machine was lost, and S3 may fail meanwhile."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.hosts import Hosts, hosts
from tests.integration.conftest import TRAINING
from tests.postgres import Cluster
from tests.processes import Service, until
from tests.s3 import S3Server

pytestmark = pytest.mark.postgres

#: long enough to be interrupted: the state is copied after some of its epochs
LONGER = {**TRAINING, "training": {"epochs": 40, "batch_size": 64}}


@pytest.fixture
def machines(postgres: Cluster, s3: S3Server) -> Iterator[Hosts]:
    """Machines whose leases are short."""
    with hosts(postgres.fresh_database(), s3, lease_seconds=4.0) as made:
        yield made


@pytest.fixture(scope="module")
def undisturbed(postgres: Cluster, shared_s3: S3Server) -> list[str]:
    """Digests of the bundles of ``LONGER`` where nothing goes wrong."""
    with hosts(postgres.fresh_database(), shared_s3) as made:
        host = made.host("only")
        host.start_worker()
        job = host.submit(LONGER)
        assert host.ended(job.id, 120).status == "succeeded", host.log_of(job.id)
        return host.bundles(job.id)


def _saved(machines: Hosts, host: Service, job_id: str, epoch: int) -> None:
    """Wait until an epoch is done, and the state of this epoch or of a later one is in the bucket."""
    host.in_epoch(job_id, epoch)
    for _ in range(2):  # the first copy may have been begun before that epoch
        before = _manifests(machines)
        until(lambda before=before: _manifests(machines) - before, what="a saved state")


def _manifests(machines: Hosts) -> set[tuple[str, int]]:
    """The lists of files of saved states in the bucket, with the times at which they were written."""
    found = set()
    for path in machines.s3.files(machines.bucket):
        with suppress(FileNotFoundError):  # one that is being replaced
            if "/jobs/" in str(path) and "manifest" in path.name:
                found.add((str(path), path.stat().st_mtime_ns))
    return found


def _resumed_after(log: str) -> list[int]:
    return [int(epoch) for epoch in re.findall(r"finetune: resumes after epoch (\d+) of", log)]


def _state_objects(machines: Hosts) -> list[str]:
    return [str(path) for path in machines.s3.files(machines.bucket) if "/jobs/" in str(path)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_another_machine_goes_on_with_the_job_of_one_that_is_lost(
    machines: Hosts, undisturbed: list[str], number: signal.Signals
) -> None:
    """From a saved epoch, with the same bytes in the end; nothing of its state is left in the bucket."""
    first, second = machines.host("first"), machines.host("second")
    worker = first.start_worker()
    job = first.submit(LONGER)
    _saved(machines, first, job.id, 8)

    worker.signal(number)
    worker.wait()
    second.start_worker("worker-2")
    ended = second.ended(job.id, 120)

    log = second.log_of(job.id)
    assert (ended.status, ended.attempt) == ("succeeded", 2), log
    assert "first" not in (ended.worker or "")
    assert len(_resumed_after(log)) == 1
    assert second.bundles(job.id) == undisturbed
    until(lambda: not _state_objects(machines), what="the removal of the state, which follows the end of the job")


def test_a_job_waits_for_a_store_that_is_killed_and_comes_back(machines: Hosts, undisturbed: list[str]) -> None:
    """Once while it trains, once when its bundle has to be stored; no attempt is lost."""
    host = machines.host("only")
    host.start_worker()
    job = host.submit(LONGER)
    _saved(machines, host, job.id, 3)

    machines.s3.kill()
    host.in_epoch(job.id, 12)
    machines.s3.start()
    host.in_epoch(job.id, 39)
    machines.s3.kill()
    until(lambda: "point 0 waits to be stored: blob store" in host.log_of(job.id), what="the wait to be told")
    machines.s3.start()
    ended = host.ended(job.id, 120)

    assert (ended.status, ended.attempt) == ("succeeded", 1), host.log_of(job.id)
    assert host.bundles(job.id) == undisturbed
