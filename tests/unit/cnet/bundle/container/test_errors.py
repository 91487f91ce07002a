"""Errors of bundles say what to do."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from cnet.bundle.container.errors import damaged, inconsistent, reason
from cnet.bundle.manifest import MemberEntry


def test_each_error_ends_with_what_to_do() -> None:
    """A full sentence."""
    assert (
        str(damaged("its seal"))
        == "bundle: its seal changed after it was written, so the file is damaged. Copy or download it again."
    )
    assert str(inconsistent("its sizes differ")).startswith("bundle: its sizes differ. Ask ")


def test_the_reason_of_an_invalid_document_is_its_first_fault() -> None:
    """With its place, and without the address of the library's help."""
    with pytest.raises(ValidationError) as caught:
        MemberEntry.model_validate({"descr": "|u1", "length": -1, "digest": "?"})

    assert reason(caught.value) == "length: Input should be greater than or equal to 0"
    assert reason(ValueError("too long")) == "too long"
