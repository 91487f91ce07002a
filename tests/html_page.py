"""A page as tests see it: its elements, links, loaded files and text."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


class HtmlPage(HTMLParser):
    """What a browser finds on a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inline_code: list[str] = []
        self.text = ""
        self.unclosed: list[str] = []
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record the element; scripts, styles and handlers that stand in the page itself are recorded apart."""
        values = dict(attrs)
        self.elements.append((tag, values))
        self.inline_code += [f"{tag} {name}" for name in values if name == "style" or name.startswith("on")]
        if tag not in VOID:
            self._inside.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element without content."""
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Check that it closes the element that was opened last."""
        if not self._inside or self._inside.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data: str) -> None:
        """Record the text."""
        if self._inside[-1:] in (["script"], ["style"]) and data.strip():
            self.inline_code.append(data)
        self.text += data

    def attributes(self, tag: str, name: str) -> list[str]:
        """The values of an attribute of all elements with this name."""
        return [str(values[name]) for each, values in self.elements if each == tag and values.get(name) is not None]

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return [str(values["id"]) for _, values in self.elements if values.get("id")]

    @property
    def loads(self) -> list[str]:
        """The addresses of scripts, style sheets and images."""
        return self.attributes("script", "src") + self.attributes("link", "href") + self.attributes("img", "src")
