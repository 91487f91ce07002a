"""The states of jobs in S3, on a real server: what a worker with another folder finds."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.core.blobs.bucket import S3Bucket
from app.core.settings import Settings
from cnet.errors import StoppedError
from cnet.files import atomic_write
from tests.processes import until
from tests.s3 import S3Server
from worker.state.bucket_states import BucketStates
from worker.state.folder_moment import FolderMoment, files_of

NEVER = 3600.0


@pytest.fixture
def bucket(shared_s3: S3Server, tmp_path: Path) -> S3Bucket:
    """A bucket of the test's own."""
    return S3Bucket.of(Settings(data_dir=tmp_path, **shared_s3.settings()))


def _write(folder: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(folder / path) as file:
            file.write(content.encode())


def _content(folder: Path) -> dict[str, str]:
    return {path: (folder / path).read_text() for path in files_of(folder)}


def _stop(bucket: S3Bucket, attempt: int, folder: Path, report: Callable[[str], None] = pytest.fail) -> None:
    """An attempt that is stopped: what is in the folder then is kept."""
    with pytest.raises(StoppedError), BucketStates(bucket, NEVER).keep("job_1", attempt, folder, report):
        raise StoppedError


def _keys(bucket: S3Bucket) -> list[str]:
    return [found.key for found in bucket.list("jobs")]


def test_another_worker_goes_on_from_a_stopped_run(bucket: S3Bucket, tmp_path: Path) -> None:
    """It finds all finished files, in their folders, and none that the first had not finished or had removed."""
    one, other = tmp_path / "one", tmp_path / "other"
    files = {"run.json": "{}", "weights/a.safetensors": "a" * 1000, "training/x/state": "", "bundles/0.npz": "b"}
    _write(one, files)
    (one / "bundles" / "1.draft").write_text("half")
    _write(other, {"weights/old": "of an earlier attempt here", "run.json": "old"})
    _stop(bucket, 1, one)

    BucketStates(bucket, NEVER).restore("job_1", other)

    assert _content(other) == files


def test_the_last_attempt_counts(bucket: S3Bucket, tmp_path: Path) -> None:
    """What the earlier one kept is deleted, and what it still writes disturbs nobody."""
    zombie = BucketStates(bucket, NEVER).keep("job_1", 9, tmp_path / "one", pytest.fail)
    _write(tmp_path / "one", {"file": "attempt 9"})
    _stop(bucket, 9, tmp_path / "one")
    _write(tmp_path / "two", {"file": "attempt 10"})
    _stop(bucket, 10, tmp_path / "two")
    assert {key.split("/")[2] for key in _keys(bucket)} == {"000000010"}
    with pytest.raises(StoppedError), zombie:
        raise StoppedError

    BucketStates(bucket, NEVER).restore("job_1", tmp_path / "three")

    assert _content(tmp_path / "three") == {"file": "attempt 10"}


def test_what_is_replaced_is_deleted(bucket: S3Bucket, tmp_path: Path) -> None:
    """A long training takes no more space than a short one; what did not change is not sent again."""
    folder = tmp_path / "run"
    _write(folder, {"large": "weights", "state": "epoch 0"})
    with BucketStates(bucket, 0.01).keep("job_1", 1, folder, pytest.fail):
        for epoch in range(1, 6):
            _write(folder, {"state": f"epoch {epoch}"})
            until(lambda epoch=epoch: _restored(bucket, tmp_path).get("state") == f"epoch {epoch}", what="a copy")
    assert _restored(bucket, tmp_path) == {"large": "weights", "state": "epoch 5"}
    assert len(_keys(bucket)) == 3
    assert len({key for key in _keys(bucket) if key.endswith(("/1", "/2"))}) == 1  # the object of the large file


def _restored(bucket: S3Bucket, tmp_path: Path) -> dict[str, str]:
    BucketStates(bucket, NEVER).restore("job_1", tmp_path / "restored")
    return _content(tmp_path / "restored")


def test_a_run_that_ended_by_itself_is_not_copied_once_more(bucket: S3Bucket, tmp_path: Path) -> None:
    """Its state is deleted next."""
    _write(tmp_path / "run", {"file": "x"})
    with BucketStates(bucket, NEVER).keep("job_1", 1, tmp_path / "run", pytest.fail):
        pass
    assert _keys(bucket) == []


def test_nothing_kept_changes_nothing(bucket: S3Bucket, tmp_path: Path) -> None:
    """The folder of an attempt that ran on this machine may be of use."""
    _write(tmp_path / "run", {"file": "x"})
    BucketStates(bucket, NEVER).restore("job_1", tmp_path / "run")
    assert _content(tmp_path / "run") == {"file": "x"}


def test_what_is_here_already_is_not_fetched(bucket: S3Bucket, tmp_path: Path) -> None:
    """The next attempt is often on the same machine."""
    _write(tmp_path / "run", {"file": "x", "changed": "kept"})
    _stop(bucket, 1, tmp_path / "run")
    before = (tmp_path / "run" / "file").stat()
    _write(tmp_path / "run", {"changed": "later"})

    BucketStates(bucket, NEVER).restore("job_1", tmp_path / "run")

    assert (tmp_path / "run" / "file").stat() == before
    assert _content(tmp_path / "run") == {"file": "x", "changed": "kept"}


@pytest.mark.parametrize("damage", ["missing", "changed"])
def test_a_damaged_state_is_not_used(bucket: S3Bucket, tmp_path: Path, damage: str) -> None:
    """The job starts again: nothing of it is left in the folder."""
    _write(tmp_path / "run", {"a": "x", "b": "y"})
    _stop(bucket, 1, tmp_path / "run")
    key = next(key for key in _keys(bucket) if not key.endswith("manifest"))
    bucket.delete([key])
    if damage == "changed":
        bucket.put(key, io.BytesIO(b"z"), 1)
    assert _restored(bucket, tmp_path) == {}


def test_a_state_is_deleted_with_its_job(bucket: S3Bucket, tmp_path: Path) -> None:
    """Others stay."""
    _write(tmp_path / "run", {"file": "x"})
    _stop(bucket, 1, tmp_path / "run")
    with pytest.raises(StoppedError), BucketStates(bucket, NEVER).keep("job_2", 1, tmp_path / "run", pytest.fail):
        raise StoppedError
    states = BucketStates(bucket, NEVER)
    assert states.job_ids() == ["job_1", "job_2"]
    states.delete("job_1")
    states.delete("job_1")
    assert states.job_ids() == ["job_2"]


def test_a_store_that_is_down_does_not_end_the_run(s3: S3Server, tmp_path: Path) -> None:
    """It is reported once, and the state is copied when the store is back; nothing superfluous stays."""
    bucket = S3Bucket.of(Settings(data_dir=tmp_path, **s3.settings(), blobs_retry_seconds=0.1))
    reports: list[str] = []
    _write(tmp_path / "run", {"file": "1"})
    with BucketStates(bucket, 0.01).keep("job_1", 1, tmp_path / "run", reports.append):
        until(lambda: _restored(bucket, tmp_path) == {"file": "1"}, what="a copy")
        s3.kill()
        _write(tmp_path / "run", {"file": "2"})
        until(lambda: reports, what="a report")
        s3.start()
        until(lambda: _restored(bucket, tmp_path) == {"file": "2"}, what="a copy")
    assert len(reports) == 1
    assert "could not be saved: blob store: it does not answer" in reports[0]
    assert len(_keys(bucket)) == 2


def test_a_copy_is_one_moment_of_the_folder(tmp_path: Path) -> None:
    """A step writes its weights and then removes its training: one of the two is in every moment."""
    folder = tmp_path / "run"
    _write(folder, {"training/state": "t"})
    ended = threading.Event()

    def steps() -> None:
        while not ended.is_set():
            _write(folder, {"weights/w": "w"})
            (folder / "training" / "state").unlink()
            _write(folder, {"training/state": "t"})
            (folder / "weights" / "w").unlink()

    thread = threading.Thread(target=steps)
    thread.start()
    try:
        for _ in range(30):
            with FolderMoment.of(folder, ()) as moment:
                contents = {path: file.read() for (path, _), file in moment.opened.items()}
                assert set(contents) == {path for path, _ in moment.identities}
                assert contents
    finally:
        ended.set()
        thread.join()
