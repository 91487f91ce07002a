"""JSON objects as dictionaries whose members are typed attributes too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Self, get_args, get_type_hints


class Document(dict[str, Any]):
    """A JSON object. ``document.name`` is ``document["name"]``, with objects inside it as documents of their class."""

    if not TYPE_CHECKING:  # a type checker knows the annotations of the classes, and no other attributes

        def __getattr__(self, name: str) -> Any:
            """The member with this name."""
            if name not in self:
                raise AttributeError(f"{type(self).__name__} has no member {name!r}; its members are {sorted(self)}")
            inner = _class_of_member(type(self), name)
            value = self[name]
            if inner is None or value is None:
                return value
            return [inner(each) for each in value] if isinstance(value, list) else inner(value)

    def _updated(self, document: Mapping[str, Any]) -> Self:
        """The document itself, with the members of another one in place of its own."""
        self.clear()
        self.update(document)
        return self


@cache
def _class_of_member(document: type[Document], name: str) -> type[Document] | None:
    """The class of a member that is a document, or a list of documents; None for any other member."""
    types = [get_type_hints(document).get(name)]
    while types:
        kind = types.pop()
        if isinstance(kind, type) and issubclass(kind, Document):
            return kind
        types += get_args(kind)
    return None
