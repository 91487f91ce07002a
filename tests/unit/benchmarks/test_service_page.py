"""Sections of the page with the figures of the service."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.service_page import PAGE, table, write_section

_PAGE = "# Title\n\n<!-- one: begin -->\nold\n<!-- one: end -->\n\n<!-- two: begin -->\nkept\n<!-- two: end -->\n"


def test_a_section_is_replaced_and_the_others_are_kept(tmp_path: Path) -> None:
    """Twice, with characters that a pattern would read as references."""
    page = tmp_path / "page.md"
    page.write_text(_PAGE)

    write_section("one", "## First\n\nold", page)
    write_section("one", r"## First \1", page)

    begin, end = "<!-- one: begin -->", "<!-- one: end -->"
    assert page.read_text() == _PAGE.replace(f"{begin}\nold\n{end}", f"{begin}\n\n## First \\1\n\n{end}")


def test_an_unknown_section_is_refused(tmp_path: Path) -> None:
    """Nothing is written."""
    page = tmp_path / "page.md"
    page.write_text(_PAGE)

    with pytest.raises(ValueError, match="0 sections 'three'"):
        write_section("three", "text", page)

    assert page.read_text() == _PAGE


@pytest.mark.parametrize("name", ["load", "chaos", "contract"])
def test_the_page_has_the_section_of_each_benchmark(name: str, tmp_path: Path) -> None:
    """Each may be replaced."""
    copy = tmp_path / "copy.md"
    copy.write_text(PAGE.read_text())

    write_section(name, "## New", copy)

    assert "## New" in copy.read_text()


def test_a_table_has_a_line_of_dashes() -> None:
    """As Markdown asks for."""
    assert table(["a", "b"], [["1", "2"]]) == "| a | b |\n| --- | --- |\n| 1 | 2 |"
