"""Building HTML from element trees, so that no text can become markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

Node = Element | str

_CODE = re.compile(r"(`+)(.+?)\1")


def tag(name: str, /, *nodes: Node, **attributes: str) -> Element:
    """An element with these children. A trailing underscore of an attribute's name is dropped (``class_``)."""
    made = Element(name, {key.rstrip("_"): value for key, value in attributes.items()})
    for node in nodes:
        if isinstance(node, Element):
            made.append(node)
        elif len(made):
            made[-1].tail = (made[-1].tail or "") + node
        else:
            made.text = (made.text or "") + node
    return made


def link(target: str, text: str) -> Element:
    """A link to ``target``, such as ``#schemas``."""
    return tag("a", text, href=target)


def inline(text: str) -> list[Node]:
    """The nodes of a text in which backquotes mark code."""
    found: list[Node] = []
    end = 0
    for match in _CODE.finditer(text):
        found += [text[end : match.start()], tag("code", match[2])]
        end = match.end()
    return [*found, text[end:]]


def paragraphs(text: str) -> list[Node]:
    """The paragraphs of a text, which are separated by empty lines."""
    return [tag("p", *inline(part)) for part in text.split("\n\n") if part.strip()]


def table(head: Iterable[str], rows: Iterable[Iterable[Iterable[Node]]]) -> Element:
    """A table with a head and rows of cells; each cell is a list of nodes."""
    return tag(
        "table",
        tag("thead", tag("tr", *(tag("th", name) for name in head))),
        tag("tbody", *(tag("tr", *(tag("td", *cell) for cell in row)) for row in rows)),
    )


def text_of(root: Element) -> str:
    """The text of the HTML document with this root."""
    return "<!DOCTYPE html>\n" + tostring(root, encoding="unicode", method="html")
