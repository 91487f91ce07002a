"""Arguments of operator calls in the archive's JSON: each kind checked and turned into plain data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cnet.errors import ProgramError
from cnet.formats.parsing.quoting import quoted
from cnet.models.programs.document import Argument, Leaf, Option, Reference, SpecialFloat
from cnet.models.programs.tensors import STRIDED, dtype_name

_MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
_TEXT = re.compile(r"[A-Za-z_ ,.>-]{0,20}")
_MOST_ELEMENTS = 10_000

T = TypeVar("T")


@dataclass
class Scope:
    """The values of one graph by the names that the archive has for them."""

    values: dict[str, str] = field(default_factory=dict)

    def define(self, original: str, value: str) -> None:
        """Let ``original`` mean ``value``. Raises ProgramError (``corrupt``) where it means something already."""
        if self.values.setdefault(original, value) != value:
            raise damaged(f"value {quoted(original)} that is defined twice")

    def find(self, original: str) -> str:
        """The value of a name. Raises ProgramError (``corrupt``) where it is not defined yet."""
        try:
            return self.values[original]
        except KeyError:
            raise damaged(f"value {quoted(original)} that is used before it is defined") from None


def damaged(what: str) -> ProgramError:
    """The error for JSON that torch does not write."""
    return ProgramError(
        f"program: its graph is damaged: it has a {what} that cannot be read. Export the module again.", code="corrupt"
    )


def member(document: Any, key: str, kind: type[T]) -> T:
    """``document[key]``, of the type ``kind``. Raises ProgramError (``corrupt``)."""
    value = document.get(key) if isinstance(document, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise damaged(f"member {key!r}")
    return value


def only(value: Any, what: str) -> tuple[str, Any]:
    """Key and content of an object of one key. Raises ProgramError (``corrupt``)."""
    if not isinstance(value, dict) or len(value) != 1:
        raise damaged(what)
    return next(iter(value.items()))


def text_of(value: Any) -> str:
    """A text of at most 1000 printable characters. Raises ProgramError (``corrupt``)."""
    if not isinstance(value, str) or len(value) > 1000 or not value.isprintable():
        raise damaged("text")
    return value


def read_argument(document: Mapping[str, Any], scope: Scope) -> Argument:
    """One argument in normal form. Raises ProgramError (``corrupt``, ``program_custom_object``)."""
    if len(document) != 1:
        raise damaged("argument")
    kind, content = next(iter(document.items()))
    if kind in _SEQUENCES:
        if not isinstance(content, list) or len(content) > _MOST_ELEMENTS:
            raise damaged(f"argument of kind {quoted(kind)}")
        return tuple(_SEQUENCES[kind](item, scope) for item in content)
    if kind in _SINGLE:
        return _SINGLE[kind](content, scope)
    if kind in {"as_custom_obj", "as_operator", "as_graph"}:
        raise ProgramError(
            f"program: an argument of kind {quoted(kind)} cannot be read. "
            "Export the module without custom objects and control flow.",
            code="program_custom_object",
        )
    raise damaged(f"argument of kind {quoted(kind)}")


def _tensor(content: Any, scope: Scope) -> Leaf:
    return Reference(ref=scope.find(text_of(member(content, "name", str))))


def _optional_tensor(content: Any, scope: Scope) -> Leaf:
    if isinstance(content, dict) and set(content) == {"as_none"}:
        return None
    return _tensor(member(content, "as_tensor", dict), scope)


def _symbol_or(number: Callable[[Any, Scope], Leaf]) -> Callable[[Any, Scope], Leaf]:
    """Reads ``{"as_name": ...}`` as a reference and any other single member as a number."""

    def read(content: Any, scope: Scope) -> Leaf:
        if not isinstance(content, dict) or len(content) != 1:
            raise damaged("symbolic number")
        kind, value = next(iter(content.items()))
        return Reference(ref=scope.find(text_of(value))) if kind == "as_name" else number(value, scope)

    return read


def _int(content: Any, _: Scope) -> Leaf:
    if type(content) is not int or not -(2**63) <= content < 2**63:
        raise damaged("whole number")
    return content


def _float(content: Any, _: Scope) -> Leaf:
    special = {"Infinity": "inf", "-Infinity": "-inf", "NaN": "nan"}
    if isinstance(content, str) and content in special:
        return SpecialFloat.model_validate({"number": special[content]})
    if type(content) not in (int, float):
        raise damaged("number")
    number = float(content)
    if math.isfinite(number):
        return number
    return SpecialFloat.model_validate({"number": "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"})


def _bool(content: Any, _: Scope) -> Leaf:
    if not isinstance(content, bool):
        raise damaged("truth value")
    return content


def _text(content: Any, _: Scope) -> Leaf:
    if not isinstance(content, str) or not _TEXT.fullmatch(content):
        raise damaged("text argument")
    return content


def _none(_: Any, __: Scope) -> Leaf:
    return None


def _dtype(content: Any, _: Scope) -> Leaf:
    name = dtype_name(content)
    if name is None:
        raise ProgramError(
            f"program: element type number {quoted(content)} is not supported. "
            "Export the module with real numbers of up to 64 bits.",
            code="program_operator",
        )
    return Option(kind="dtype", value=name)


def _memory_format(content: Any, _: Scope) -> Leaf:
    if type(content) is not int or content not in _MEMORY_FORMATS:
        raise damaged("memory format")
    return Option(kind="memory_format", value=_MEMORY_FORMATS[content])


def _layout(content: Any, _: Scope) -> Leaf:
    if content != STRIDED:
        raise ProgramError(
            "program: it makes a sparse tensor. Export the module with dense tensors.", code="program_operator"
        )
    return Option(kind="layout", value="strided")


def _device(_: Any, __: Scope) -> Leaf:
    return Option(kind="device", value="job")


_SINGLE: dict[str, Callable[[Any, Scope], Leaf]] = {
    "as_none": _none,
    "as_tensor": _tensor,
    "as_optional_tensor": _optional_tensor,
    "as_int": _int,
    "as_float": _float,
    "as_bool": _bool,
    "as_string": _text,
    "as_sym_int": _symbol_or(_int),
    "as_sym_float": _symbol_or(_float),
    "as_sym_bool": _symbol_or(_bool),
    "as_scalar_type": _dtype,
    "as_memory_format": _memory_format,
    "as_layout": _layout,
    "as_device": _device,
}
_SEQUENCES: dict[str, Callable[[Any, Scope], Leaf]] = {
    "as_tensors": _tensor,
    "as_optional_tensors": _optional_tensor,
    "as_ints": _int,
    "as_floats": _float,
    "as_bools": _bool,
    "as_sym_ints": _symbol_or(_int),
    "as_sym_floats": _symbol_or(_float),
    "as_sym_bools": _symbol_or(_bool),
}
