"""Building SVG from element trees, so that no text can become markup."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from xml.etree.ElementTree import Element, tostring

_CAMEL_CASE = frozenset({"viewBox", "preserveAspectRatio"})
STYLE = Path(__file__).parent / "static" / "figure.css"
"""The style sheet of all figures: pages link it, and a figure by itself holds it."""


def element(name: str, /, *children: Element | str | None, **attributes: str | float) -> Element:
    """An element with these children, of which None are left out.

    Names of attributes have ``-`` for ``_``, and no trailing ``_`` (``class_``). Numbers get two decimals.
    """
    made = Element(name, {_attribute(key): _text(value) for key, value in attributes.items()})
    for child in children:
        if isinstance(child, Element):
            made.append(child)
        elif child is not None and len(made):
            made[-1].tail = (made[-1].tail or "") + child
        elif child is not None:
            made.text = (made.text or "") + child
    return made


def figure(width: float, height: float, title: str, *children: Element, description: str = "") -> Element:
    """The root of a figure.

    Args:
        width: of its coordinates; on a page it takes the room that there is.
        height: of its coordinates.
        title: what it shows, for screen readers.
        children: what is drawn.
        description: what there is to see, for screen readers.
    """
    about = [element("title", title), element("desc", description) if description else None]
    box = f"0 0 {_text(width)} {_text(height)}"
    return element("svg", *about, *children, class_="figure", viewBox=box, role="group", aria_label=title)


def markup(root: Element) -> str:
    """The figure as a part of an HTML page."""
    return tostring(root, encoding="unicode")


def document(root: Element) -> str:
    """The figure as a file of its own, with its style."""
    root.set("xmlns", "http://www.w3.org/2000/svg")
    root.insert(0, element("style", _style()))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


@cache
def _style() -> str:
    return STYLE.read_text()


def _attribute(name: str) -> str:
    return name if name in _CAMEL_CASE else name.rstrip("_").replace("_", "-")


def _text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")
