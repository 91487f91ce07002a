"""Pieces of HTML as element trees, so that no text can become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

Piece = Element | str

_CODE = re.compile(r"(`+)(.+?)\1")


def tag(name: str, /, *pieces: Piece, **attributes: str) -> Element:
    """An element around ``pieces``; a trailing underscore of an attribute's name is dropped (``class_``)."""
    made = Element(name, {key.rstrip("_"): value for key, value in attributes.items()})
    for piece in pieces:
        if isinstance(piece, Element):
            made.append(piece)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + piece
        else:
            made.text = (made.text or "") + piece
    return made


def link(target: str, text: str) -> Element:
    """A link, mostly within the page."""
    return tag("a", text, href=target)


def spans(text: str) -> list[Piece]:
    """A line of a description; what stands between backquotes is code."""
    found: list[Piece] = []
    end = 0
    for match in _CODE.finditer(text):
        found += [text[end : match.start()], tag("code", match[2])]
        end = match.end()
    return [*found, text[end:]]


def paragraphs(text: str) -> list[Piece]:
    """A description; an empty line parts its paragraphs."""
    return [tag("p", *spans(part)) for part in text.split("\n\n") if part.strip()]


def table(head: Iterable[str], rows: Iterable[Iterable[Iterable[Piece]]]) -> Element:
    """A table of cells, each of which is a row of pieces."""
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name) for name in head))),
        tag("tbody", *(tag("tr", *(tag("td", *cell) for cell in row)) for row in rows)),
    )


def text_of(root: Element) -> str:
    """A whole HTML document."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html")
