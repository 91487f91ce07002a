"""The folder of a run."""

from __future__ import annotations

from pathlib import Path

from cnet.pipeline.run_folder import RunFolder
from cnet.weights import Selection
from tests.unit.cnet.nets import assert_same_bits
from tests.unit.cnet.pipeline.small_jobs import random_weights


def open_folder(path: Path, key: str = "one") -> RunFolder:
    """The folder of the run ``key``."""
    return RunFolder(path, key, Selection())


def files(path: Path) -> set[str]:
    """All files of a folder, relative to it."""
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.is_file()}


def test_a_second_attempt_finds_what_the_first_saved(tmp_path: Path) -> None:
    """Records and weights, bit for bit."""
    first = open_folder(tmp_path)
    first.set_record("baseline", {"loss": 0.5})
    first.set_weights("baseline", random_weights())

    second = open_folder(tmp_path)

    assert (first.resumed, second.resumed) == (False, True)
    assert second.record("baseline") == {"loss": 0.5}
    found = second.weights("baseline")
    assert found is not None
    assert_same_bits(found, random_weights())


def test_unsaved_results_are_none(tmp_path: Path) -> None:
    """So are results that were removed, and a record that is not valid JSON."""
    folder = open_folder(tmp_path)
    folder.set_weights("finetune", random_weights())
    folder.drop_weights("finetune")
    (tmp_path / "records" / "broken.json").write_text("{")

    assert folder.weights("finetune") is None
    assert folder.record("baseline") is None
    assert folder.record("broken") is None


def test_files_of_another_run_are_removed(tmp_path: Path) -> None:
    """Another key is another run."""
    first = open_folder(tmp_path)
    first.set_record("baseline", {"loss": 0.5})
    first.bundle("point-000").write_bytes(b"bundle")

    second = open_folder(tmp_path, key="two")

    assert not second.resumed
    assert files(tmp_path) == {"run.json"}


def test_records_and_bundles_stay_when_the_run_ends(tmp_path: Path) -> None:
    """Weights, states of trainings and drafts go."""
    folder = open_folder(tmp_path)
    folder.set_record("point-000", {})
    folder.set_weights("finetune", random_weights())
    folder.training("finetune").write_bytes(b"state")
    folder.bundle("point-000").write_bytes(b"bundle")
    folder.draft("point-001").write_bytes(b"half")

    folder.finish()

    assert files(tmp_path) == {"run.json", "records/point-000.json", "bundles/point-000.npz"}
