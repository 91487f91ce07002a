"""An unpickler that can run nothing: every name of a file resolves to a value of ours or to an inert stand-in.

It builds on the standard library's Python implementation, not the C one, for three reasons: opcodes can be taken
away, its memo is a dict (the C one allocates a table as large as the index that the file claims), and it does not
recurse. What is left of a pickle is data: numbers, text, lists, dicts, tensors that point into the file.
"""

from __future__ import annotations

import mmap
import pickle
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from cnet.errors import CheckpointError
from cnet.formats.base import listed, shown

_MOST_NAMES = 10  # distinct foreign classes that are remembered for the message
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
_TAKEN_AWAY: Final = (
    *(pickle.EXT1, pickle.EXT2, pickle.EXT4),  # look into a registry of the process
    pickle.BYTEARRAY8,  # allocates before it reads
    *(pickle.NEXT_BUFFER, pickle.READONLY_BUFFER),
)
_REMEDY = "save only the weights: torch.save(model.state_dict(), path)"


@dataclass(frozen=True, eq=False)
class Allowed:
    """A class or function that files may name, and what we do in its place when it is called."""

    name: str
    build: Callable[..., object]


class Foreign:
    """Stand-in of any other class, function or object of a file. It swallows what is done to it and does nothing."""

    def __init__(self, name: str) -> None:
        self.name = name

    def append(self, value: object) -> None:
        """Ignore an item."""

    def add(self, value: object) -> None:
        """Ignore an item."""

    def __setitem__(self, key: object, value: object) -> None:
        """Ignore an item."""


class ByteReader:
    """The file interface of unpicklers over a part of a buffer. Reading past its end raises EOFError."""

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
        """Up to and with the next newline."""
        end = self._buffer.find(b"\n", self.position, self._stop)
        if end < 0:
            raise EOFError
        return self.read(end + 1 - self.position)


class SafeUnpickler(pickle._Unpickler):
    """One pickle of a file.

    Args:
        file: where to read; after ``read`` it stands behind the pickle.
        find: what a global name stands for, or None for a name that is not on the list.
        load_storage: what a persistent id stands for.
    """

    stack: list[Any]
    append: Callable[[Any], None]
    readline: Callable[[], bytes]
    if TYPE_CHECKING:  # the base class has it; its stub leaves it out

        def pop_mark(self) -> list[Any]:
            """Take what was pushed since the last mark."""

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
        """The object.

        Raises:
            CheckpointError: ``unsafe_pickle`` naming classes that are not on the list, ``whole_module`` where one of
                them is a network, ``truncated``, ``corrupt``.
        """
        try:
            value = self.load()
        except EOFError as error:
            self._refuse_foreign()
            raise CheckpointError(
                "the file ends before its contents do: it was cut off; upload it again", code="truncated"
            ) from error
        except _MALFORMED as error:
            self._refuse_foreign()
            raise CheckpointError("the pickled part of the file is damaged", code="corrupt") from error
        self._refuse_foreign()
        return value

    def _refuse_foreign(self) -> None:
        modules = self._modules or [name for name in self._foreign if _is_module_class(name)]
        if modules:
            raise CheckpointError(
                f"the file holds a whole model (class {shown(modules[0])}), which only its own code can read: "
                f"{_REMEDY}",
                code="whole_module",
            )
        if self._foreign:
            raise CheckpointError(
                f"the file holds objects of classes other than tensors and plain values ({listed(self._foreign)}), "
                f"which could run code when read: {_REMEDY}",
                code="unsafe_pickle",
            )

    def find_class(self, module: str, name: str) -> object:
        """What ``module.name`` stands for: ours, or a stand-in. Nothing is imported."""
        known = self._find(module, name)
        return self._stand_in(f"{module}.{name}") if known is None else known

    def persistent_load(self, pid: Any) -> object:
        """A storage. Very old files also keep the source code of classes this way."""
        if isinstance(pid, tuple) and pid and pid[0] == "module":
            self._modules.append(_class_name(pid[1:2]))
            return self._stand_in(self._modules[-1])
        return self._load_storage(pid)

    def _stand_in(self, name: str) -> Foreign:
        if name not in self._foreign and len(self._foreign) < _MOST_NAMES:
            self._foreign.append(name)
        return Foreign(name)

    def _call(self, function: object, arguments: object) -> object:
        if isinstance(function, Foreign):
            return Foreign(function.name)
        if isinstance(function, Allowed) and isinstance(arguments, tuple):
            return function.build(*arguments)
        raise pickle.UnpicklingError("a call of what cannot be called")

    def _reduce(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = self._call(self.stack[-1], arguments)

    def _newobj_ex(self) -> None:
        self.stack.pop()  # keyword arguments: no class on our list takes any
        self._reduce()

    def _inst(self) -> None:
        module, name = (self.readline()[:-1].decode("ascii") for _ in range(2))
        arguments = tuple(self.pop_mark())
        self.append(self._call(self.find_class(module, name), arguments))

    def _obj(self) -> None:
        function, *arguments = self.pop_mark()
        self.append(self._call(function, tuple(arguments)))

    def _build(self) -> None:
        """State of an object: dropped. A foreign object's is looked at, to tell a network from other things."""
        state = self.stack.pop()
        target = self.stack[-1]
        if isinstance(state, tuple) and state:
            state = state[0]
        if isinstance(target, Foreign) and isinstance(state, dict) and {"_modules", "_parameters"} <= state.keys():
            self._modules.append(target.name)

    def _setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_plain(key)] = value

    def _setitems(self) -> None:
        items = self.pop_mark()
        target = self.stack[-1]
        for key, value in zip(items[::2], items[1::2], strict=True):
            target[_plain(key)] = value

    def _dict(self) -> None:
        items = self.pop_mark()
        self.append({_plain(key): value for key, value in zip(items[::2], items[1::2], strict=True)})

    def _empty_set(self) -> None:
        """Sets become lists: their items are never looked at, so they need no hash."""
        self.append([])

    def _frozenset(self) -> None:
        self.append(self.pop_mark())

    def _additems(self) -> None:
        items = self.pop_mark()
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    dispatch: ClassVar[dict[int, Any]] = {
        **{code: load for code, load in pickle._Unpickler.dispatch.items() if bytes([code]) not in _TAKEN_AWAY},
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


def _plain(key: object) -> Hashable:
    """A dict's key as it may be: plain values, stand-ins, and flat tuples of them.

    Deeper tuples are refused: Python hashes them by recursion in C, which a file could drive into a stack overflow.
    """
    if isinstance(key, tuple) and any(isinstance(item, tuple) for item in key):
        raise pickle.UnpicklingError("a key of nested tuples")
    if not isinstance(key, Hashable):
        raise pickle.UnpicklingError("a key that has no hash")
    return key


def _class_name(parts: tuple[object, ...]) -> str:
    return parts[0].name if parts and isinstance(parts[0], Foreign) else "unknown"


def _is_module_class(name: str) -> bool:
    return name.startswith(("torch.nn.modules.", "torch.nn.parallel.", "torch.fx.graph_module.", "torch.jit."))
