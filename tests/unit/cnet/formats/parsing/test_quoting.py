"""Text from files is quoted and cut before it stands in a message."""

from __future__ import annotations

from cnet.formats.parsing.quoting import quoted, quoted_list


def test_long_text_is_cut() -> None:
    """To 120 characters between the quotes."""
    assert quoted("a\n") == "'a\\n'"
    assert quoted("x" * 1000) == repr("x" * 117 + "...")


def test_long_lists_are_cut() -> None:
    """The number of the others follows."""
    assert quoted_list(["a", 1]) == "'a', '1'"
    assert quoted_list(range(12), most=2) == "'0', '1' and 10 more"
