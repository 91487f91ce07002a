"""What the manifests of all uploads have in common."""

from __future__ import annotations

import pytest

from cnet.formats.parsing.contents import Notice
from cnet.formats.upload_manifest import WarningRow


@pytest.mark.parametrize("detail", ["two entries were left out", "Two entries were left out."])
def test_a_warning_ends_with_a_full_stop(detail: str) -> None:
    """The page and the command show several of them behind each other."""
    assert WarningRow.of(Notice("ignored_entries", detail)).detail == f"{detail.rstrip('.')}."
