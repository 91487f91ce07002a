"""An unpickler that cannot run code: every name in a file becomes a value of ours or an inert placeholder.

It extends the Python implementation of the standard library, not the one in C, for three reasons: opcodes can be
removed, its memo is a dict (the one in C allocates a table as large as the index that the file claims), and it does
not recurse. The result is data: numbers, text, lists, dicts, and tensors that refer to bytes of the file.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cnet.errors import CheckpointError
from cnet.formats.parsing.contents import StoredTensor, damaged
from cnet.formats.parsing.mapped_file import truncated
from cnet.formats.parsing.quoting import quoted, quoted_list

_MOST_NAMES = 10  # foreign classes that a message names
_MALFORMED = (
    pickle.UnpicklingError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    AssertionError,
    ArithmeticError,
    RecursionError,
)
_REMOVED_OPCODES: Final = (
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4),  # read a registry of the process
    pickle.BYTEARRAY8,  # allocates before it reads
    *(pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
)
_REMEDY = "Save only the weights: torch.save(model.state_dict(), path)."


@dataclass(frozen=True, eq=False)
class AllowedCall:
    """A class or function that files may call, and the function of ours that is called in its place."""

    name: str
    build: Callable[..., object]


class ForeignObject:
    """Placeholder for any other class, function or object of a file. It ignores whatever the file does to it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def append(self, value: object) -> None:
        """Ignore an item."""

    def add(self, value: object) -> None:
        """Ignore an item."""

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore an item."""


class ByteReader:
    """The file interface of unpicklers on a part of a buffer. Reading beyond its end raises EOFError."""

    def __init__(self, buffer: mmap.mmap | bytes, start: int, stop: int) -> None:
        self._buffer = buffer
        self.position = start
        self._stop = stop

    def read(self, count: int) -> bytes:
        """Exactly ``count`` bytes."""
        end = self.position + count
        if end > self._stop:
            raise EOFError
        data = bytes(self._buffer[self.position : end])
        self.position = end
        return data

    def readline(self) -> bytes:
        """The bytes up to the next newline, with it."""
        end = self._buffer.find(b"\n", self.position, self._stop)
        if end < 0:
            raise EOFError
        return self.read(end + 1 - self.position)


class SafeUnpickler(pickle._Unpickler):
    """Reader of one pickle of a file.

    Args:
        file: where to read; after ``read_object`` its position is behind the pickle.
        find: returns what stands for a module and a name, or None where they are not on the list.
        load_storage: returns what stands for a persistent id.
    """

    stack: list[Any]
    append: Callable[[Any], None]
    readline: Callable[[], bytes]
    if TYPE_CHECKING:  # the base class has it; its stub leaves it out

        def pop_mark(self) -> list[Any]:
            """Remove and return what was pushed since the last mark."""

    def __init__(
        self,
        file: ByteReader,
        find: Callable[[str, str], object | None],
        load_storage: Callable[[Any], object],
    ) -> None:
        super().__init__(file, encoding="utf-8")
        self._find = find
        self._load_storage = load_storage
        self._foreign: list[str] = []
        self._modules: list[str] = []

    def read_object(self) -> Any:
        """The object of the pickle.

        Raises:
            CheckpointError: ``unsafe_pickle`` for classes that are not on the list, ``whole_module`` where one of
                them is a network, ``truncated``, ``corrupt``.
        """
        try:
            value = self.load()
        except EOFError as error:
            self._refuse_foreign()
            raise truncated() from error
        except _MALFORMED as error:
            self._refuse_foreign()
            raise damaged("the pickled part of the file", "it cannot be read") from error
        self._refuse_foreign(value)
        return value

    def _refuse_foreign(self, value: object = None) -> None:
        modules = self._modules or [name for name in self._foreign if _is_module_class(name)]
        if modules:
            raise CheckpointError(
                f"the file holds a whole model (class {quoted(modules[0])}), which only its own code can read. "
                f"{_REMEDY}",
                code="whole_module",
            )
        entries = entries_with_foreign_objects(value) if self._foreign else []
        if entries:
            raise CheckpointError(
                f"entries {quoted_list(entries)}: they hold objects of classes other than tensors and plain values "
                f"({quoted_list(self._foreign)}), beside tensors. Leave them out: torch.save({{name: value for name, "
                "value in model.state_dict().items() if isinstance(value, torch.Tensor)}, path).",
                code="unsafe_pickle",
            )
        if self._foreign:
            raise CheckpointError(
                f"the file holds objects of classes other than tensors and plain values "
                f"({quoted_list(self._foreign)}), which could run code when they are read. {_REMEDY}",
                code="unsafe_pickle",
            )

    def find_class(self, module: str, name: str) -> object:
        """What stands for ``module.name``: a value of ours, or a placeholder. Nothing is imported."""
        known = self._find(module, name)
        return self._placeholder(f"{module}.{name}") if known is None else known

    def persistent_load(self, pid: Any) -> object:
        """The storage of a persistent id. Very old files also store the source code of classes in this way."""
        if isinstance(pid, tuple) and pid and pid[0] == "module":
            self._modules.append(_class_name(pid[1:2]))
            return self._placeholder(self._modules[-1])
        return self._load_storage(pid)

    def _placeholder(self, name: str) -> ForeignObject:
        if name not in self._foreign and len(self._foreign) < _MOST_NAMES:
            self._foreign.append(name)
        return ForeignObject(name)

    def _call(self, function: object, arguments: object) -> object:
        if isinstance(function, ForeignObject):
            return ForeignObject(function.name)
        if isinstance(function, AllowedCall) and isinstance(arguments, tuple):
            return function.build(*arguments)
        raise pickle.UnpicklingError("a call of a value that cannot be called")

    def _reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], arguments)

    def _newobj_ex(self) -> None:
        self.stack.pop()  # keyword arguments, which no class on the list has
        self._reduce()

    def _inst(self) -> None:
        module, name = (self.readline()[:-1].decode("ascii") for _ in range(2))
        arguments = tuple(self.pop_mark())
        self.append(self._call(self.find_class(module, name), arguments))

    def _obj(self) -> None:
        function, *arguments = self.pop_mark()
        self.append(self._call(function, tuple(arguments)))

    def _build(self) -> None:
        """Drop the state of an object. That of a foreign object tells whether the object is a network."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(state, tuple) and state:
            state = state[0]
        if (
            isinstance(target, ForeignObject)
            and isinstance(state, dict)
            and {"_modules", "_parameters"} <= state.keys()
        ):
            self._modules.append(target.name)

    def _setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_checked_key(key)] = value

    def _setitems(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_checked_key(key)] = value

    def _dict(self) -> None:
        items = self.pop_mark()
        self.append({_checked_key(key): value for key, value in zip(items[::2], items[1::2], strict=True)})

    def _empty_set(self) -> None:
        """Read a set as a list: its items are not used, so they need no hash."""
        self.append([])

    def _frozenset(self) -> None:
        self.append(self.pop_mark())

    def _additems(self) -> None:
        items = self.pop_mark()
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    dispatch: ClassVar[dict[int, Any]] = {
        **{code: load for code, load in pickle._Unpickler.dispatch.items() if bytes([code]) not in _REMOVED_OPCODES},
        pickle.REDUCE[0]: _reduce,
        pickle.NEWOBJ[0]: _reduce,
        pickle.NEWOBJ_EX[0]: _newobj_ex,
        pickle.INST[0]: _inst,
        pickle.OBJ[0]: _obj,
        pickle.BUILD[0]: _build,
        pickle.SETITEM[0]: _setitem,
        pickle.SETITEMS[0]: _setitems,
        pickle.DICT[0]: _dict,
        pickle.EMPTY_SET[0]: _empty_set,
        pickle.FROZENSET[0]: _frozenset,
        pickle.ADDITEMS[0]: _additems,
    }


def entries_with_foreign_objects(root: object) -> list[object]:
    """Keys of the entries of a state dict, at any depth of ``root``, whose values are or hold foreign objects."""
    found, waiting, seen = [], [root], set[int]()
    while waiting:
        value = waiting.pop()
        if not isinstance(value, dict) or id(value) in seen:
            continue
        seen.add(id(value))
        waiting += value.values()
        if any(isinstance(item, StoredTensor) for item in value.values()):
            found += [key for key, item in value.items() if _is_foreign(item)]
    return found


def _is_foreign(value: object) -> bool:
    items = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(item, ForeignObject) for item in items)


def _checked_key(key: object) -> Hashable:
    """A key of a dict, which may be a plain value, a placeholder, or a flat tuple of them.

    Nested tuples are refused: Python hashes them by recursion in C, where a file could cause a stack overflow.
    """
    if isinstance(key, tuple) and any(isinstance(item, tuple) for item in key):
        raise pickle.UnpicklingError("a key made of nested tuples")
    if not isinstance(key, Hashable):
        raise pickle.UnpicklingError("a key without a hash")
    return key


def _class_name(parts: tuple[object, ...]) -> str:
    return parts[0].name if parts and isinstance(parts[0], ForeignObject) else "unknown"


def _is_module_class(name: str) -> bool:
    return name.startswith(("torch.nn.modules.", "torch.nn.parallel.", "torch.fx.graph_module.", "torch.jit."))
