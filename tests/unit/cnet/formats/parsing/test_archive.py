"""Names and sizes of members are checked before a member is read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from cnet.errors import CheckpointError
from cnet.formats import Limits, MappedFile
from cnet.formats.parsing.archive import check_member_names, check_member_sizes
from cnet.formats.parsing.zip_archive import ZipArchive


@pytest.mark.parametrize("name", ["a", "a/b.png", "a b/c..d/..e", "ä/ö.png", "ab:c", "..."])
def test_plain_names_are_accepted(name: str) -> None:
    """Dots, spaces and letters of any script among them."""
    check_member_names([name])


@pytest.mark.parametrize("name", ["", "/a", "..", "../a", "a/..", "a/../b", "C:a", "a\\b", "a\0b", "a\nb", "a\x7f"])
def test_names_that_lead_out_are_refused(name: str) -> None:
    """And those that a terminal or a file system would misread."""
    with pytest.raises(CheckpointError) as refused:
        check_member_names(["a", name])

    assert refused.value.code == "unsafe_archive"


def test_members_that_claim_too_much_together_are_refused(tmp_path: Path) -> None:
    """Each of them may be small enough."""
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as file:
        for number in range(10):
            file.writestr(str(number), bytes(1000))
    archive = ZipArchive(MappedFile.open(tmp_path / "x.zip"), Limits())

    check_member_sizes(archive, 10_000)
    with pytest.raises(CheckpointError) as refused:
        check_member_sizes(archive, 9_999)

    assert refused.value.code == "too_many_elements"
