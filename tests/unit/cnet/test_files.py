"""Files that are written completely or not at all, digests, and the rule for a full disk."""

from __future__ import annotations

import errno
import hashlib
import io
from pathlib import Path

import pytest

from cnet.errors import CnetError
from cnet.files import (
    CHUNK_BYTES,
    atomic_path,
    atomic_write,
    can_hold_a_file,
    disk_full_detail,
    file_sha256,
    is_disk_full,
    move_into_place,
    read_chunks,
    remove_drafts,
)


def test_a_file_needs_a_folder_and_a_name_of_its_own(tmp_path: Path) -> None:
    """Whether it exists does not matter."""
    assert can_hold_a_file(tmp_path / "new.npz")
    assert not can_hold_a_file(tmp_path)
    assert not can_hold_a_file(tmp_path / "none" / "new.npz")


def test_a_written_file_replaces_the_old_one_and_nothing_else_stays(tmp_path: Path) -> None:
    """The new content appears under the name; the folder holds no draft."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_write(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    """What raises inside the block changes nothing."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), atomic_write(path) as file:
        file.writelines([b"half", "not bytes"])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_flush_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full when the file is flushed counts as a failure to write."""
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"), atomic_write(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_reported_under_the_name_of_the_file(tmp_path: Path) -> None:
    """Whatever the operating system says of the draft."""
    path = tmp_path / "model.npz"

    for told in (OSError(errno.ENOSPC, "full"), None):
        with pytest.raises(OSError, match="full") as caught, atomic_path(path) as draft:
            raise told or OSError(errno.ENOSPC, "full", str(draft))
        assert caught.value.filename == str(path)


def test_a_written_file_has_the_permissions_that_were_asked_for(tmp_path: Path) -> None:
    """``mode`` holds when the file gets its name."""
    path = tmp_path / "file"
    with atomic_write(path, mode=0o444) as file:
        file.write(b"new")
    assert path.stat().st_mode & 0o777 == 0o444


def test_a_block_that_writes_no_file_is_an_error(tmp_path: Path) -> None:
    """``atomic_path`` never leaves the old file as if it were the new one."""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(FileNotFoundError), atomic_path(path):
        pass
    assert path.read_bytes() == b"old"


def test_a_draft_moves_into_place(tmp_path: Path) -> None:
    """A finished file gets its final name."""
    draft, path = tmp_path / "draft", tmp_path / "file"
    draft.write_bytes(b"new")
    move_into_place(draft, path)
    assert path.read_bytes() == b"new"
    assert not draft.exists()


def test_drafts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    """Only drafts go; other files stay, hidden ones too."""
    (tmp_path / ".hidden").write_bytes(b"")
    (tmp_path / "bundle.draft").write_bytes(b"")
    with atomic_path(tmp_path / "file") as draft:
        draft.write_bytes(b"half")
        remove_drafts(tmp_path)
        assert not draft.exists()
        draft.write_bytes(b"whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".hidden", "bundle.draft", "file"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_known_by_its_error_number(number: int) -> None:
    """No space, no quota, and a file over the largest allowed size."""
    assert is_disk_full(OSError(number, ""))


def test_other_errors_are_not_taken_for_a_full_disk() -> None:
    """Neither other system errors nor other exceptions."""
    assert not is_disk_full(OSError(errno.EACCES, ""))
    assert not is_disk_full(ValueError(errno.ENOSPC))


def test_the_message_for_a_full_disk_says_what_to_do() -> None:
    """It ends with a full sentence."""
    detail = disk_full_detail("the bundle", "run the command again")
    assert detail.startswith("the bundle: no space is left")
    assert detail.endswith("Free some space, then run the command again.")


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1])
def test_a_digest_covers_the_whole_file(tmp_path: Path, size: int) -> None:
    """The same for a path and for an open file, wherever that one stands."""
    content = bytes(size)
    path = tmp_path / "file"
    path.write_bytes(content)
    opened = io.BytesIO(content)
    opened.seek(0, io.SEEK_END)
    assert file_sha256(path) == file_sha256(opened) == hashlib.sha256(content).hexdigest()


def test_a_missing_file_is_an_error_of_both_kinds(tmp_path: Path) -> None:
    """Callers catch it as an error of cnet, or as Python's own, with the path; the message says what to do."""
    with pytest.raises(FileNotFoundError, match=r"none\.npz: there is no such file\. Check the path\.$") as caught:
        file_sha256(tmp_path / "none.npz")

    assert isinstance(caught.value, CnetError)
    assert caught.value.code == "no_such_file"
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / "none.npz"))


def test_chunks_have_the_size_that_was_asked_for() -> None:
    """The last one holds the rest."""
    assert list(read_chunks(io.BytesIO(b"abcde"), 2)) == [b"ab", b"cd", b"e"]
