"""Machines of one service share no folder: what one of them has open, no other has."""

from __future__ import annotations

from tests.acceptance.machines import Machines, open_files
from tests.acceptance.test_jobs import TINY
from tests.repository import ROOT


def test_api_and_worker_have_no_file_in_common(split_service: Machines) -> None:
    """While a job trains, neither has a file or a folder open that the other has, but for the source code."""
    api, worker = set[str](), set[str]()
    with split_service.client() as client:
        job = client.submit(TINY)
        while not (job := client.job(job.id, wait=0.2)).ended:
            api |= {str(path) for path in open_files(split_service.api.pid)}
            worker |= {str(path) for path in open_files(split_service.worker.pid)}

    assert job["status"] == "succeeded", job["error"]
    assert any(path.startswith(str(split_service.api.settings.data_dir)) for path in api)
    assert any(path.startswith(str(split_service.worker_folder)) for path in worker)
    assert {path for path in api & worker if path != str(ROOT) and not path.startswith("/dev/")} == set()
