"""The normal form of a program: its inputs, tensors and operator calls, as plain data with names made here.

A graph is a list of calls of allowed operators (``cnet.models.programs.operators``). Values are called ``x0`` (inputs),
``t0`` (tensors of the archive) and ``v0`` (results), so that no text of the archive is ever used as a name in code;
the names that the user knows are kept beside them as data.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from cnet.documents import StrictDocument
from cnet.errors import ProgramError

ValueName = Annotated[str, Field(pattern=r"^[xtv]\d{1,7}$")]
Int64 = Annotated[int, Field(ge=-(2**63), lt=2**63)]
DTypeName = Annotated[str, Field(pattern=r"^[a-z0-9_]{1,20}$")]
Size = Annotated[int, Field(ge=0, lt=2**48)]


class Reference(StrictDocument):
    """An argument that is an earlier value."""

    ref: ValueName


class SpecialFloat(StrictDocument):
    """A floating-point argument that JSON has no number for."""

    number: Literal["inf", "-inf", "nan"]

    def value(self) -> float:
        """The number itself."""
        return float(self.number)


class Option(StrictDocument):
    """An argument that names an element type, a memory format, a layout or a device."""

    kind: Literal["dtype", "memory_format", "layout", "device"]
    value: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,20}$")]


Leaf = (
    Reference
    | SpecialFloat
    | Option
    | bool
    | Int64
    | float
    | Annotated[str, Field(pattern=r"^[A-Za-z_ ,.>-]{0,20}$")]
    | None
)
Argument = Leaf | tuple[Leaf, ...]


class Call(StrictDocument):
    """One call of an operator.

    Attributes:
        target: ``aten.NAME.OVERLOAD``, or a function on sizes such as ``operator.add``.
        args, kwargs: its arguments.
        results: names of what it gives: one for a tensor or number, several for a tuple or list. ``None`` marks a
            result that nothing uses.
        several: whether the operator gives a tuple or list, even one of a single element.
    """

    target: str
    args: tuple[Argument, ...] = Field(strict=False)
    kwargs: dict[str, Argument] = Field(default_factory=dict)
    results: tuple[ValueName | None, ...] = Field(strict=False)
    several: bool = False

    def references(self) -> Iterator[str]:
        """Names of the values that the call takes, those within lists too; repeated where one is taken twice."""
        for argument in (*self.args, *self.kwargs.values()):
            for one in argument if isinstance(argument, tuple) else (argument,):
                if isinstance(one, Reference):
                    yield one.ref


class Graph(StrictDocument):
    """The calls of one graph in order, and the values that it returns."""

    calls: tuple[Call, ...] = Field(strict=False)
    outputs: tuple[ValueName, ...] = Field(strict=False)


class ProgramInput(StrictDocument):
    """One input.

    Attributes:
        value: its name in the graph.
        name: the name of the argument of ``forward``, for people.
        dtype: element type, a name of ``cnet.dtypes``.
        shape: a number for each fixed dimension; for one of any size the name of its symbol (equal symbols mean equal
            sizes), or None where the size follows from others.
    """

    value: ValueName
    name: str
    dtype: DTypeName
    shape: tuple[Size | str | None, ...] = Field(strict=False)


class Activation(StrictDocument):
    """What an output ends in: a softmax along an axis of the output, or a sigmoid, which has no axis."""

    name: Literal["softmax", "sigmoid"]
    axis: int | None = None


class ProgramOutput(StrictDocument):
    """One output.

    Attributes:
        name: for people.
        dtype: element type, a name of ``cnet.dtypes``.
        shape: as ``ProgramInput`` has it.
        activation: what it ends in in evaluation; None: neither a softmax nor a sigmoid, or it is not known, as in
            programs that were stored by earlier releases.
    """

    name: str
    dtype: DTypeName
    shape: tuple[Size | str | None, ...] = Field(strict=False)
    activation: Activation | None = None


class ProgramTensor(StrictDocument):
    """One tensor of the archive that the graph uses.

    Attributes:
        value: its name in the graph.
        name: its name in the user's ``state_dict`` (or among the constants).
        kind: a parameter is trained; a buffer is part of the ``state_dict``, a hidden buffer and a constant are not.
        dtype, shape: of the tensor.
    """

    value: ValueName
    name: str
    kind: Literal["parameter", "buffer", "hidden_buffer", "constant"]
    dtype: DTypeName
    shape: tuple[Size, ...] = Field(strict=False)


class Program(StrictDocument):
    """A network as data.

    Attributes:
        inputs, outputs: of ``forward``, flattened in order.
        tensors: every tensor of the archive, those that no call uses too.
        graph: the calls in evaluation, as exported unless ``exported_for`` is ``training``.
        train_graph: the calls of the graph that was exported in training mode, where the archive carries one.
        exported_for: the mode in which ``graph`` was exported.
        untrainable: why the program can be evaluated but not trained; None where it can be trained.
        ranges: for each symbol of the inputs' shapes its smallest and largest size (None: no limit).
        torch_version: the version that wrote the archive.
    """

    format: Literal["cnet-program-1"] = "cnet-program-1"
    inputs: tuple[ProgramInput, ...] = Field(strict=False)
    outputs: tuple[ProgramOutput, ...] = Field(strict=False)
    tensors: tuple[ProgramTensor, ...] = Field(strict=False)
    graph: Graph
    train_graph: Graph | None = None
    exported_for: Literal["evaluation", "training"] = "evaluation"
    untrainable: str | None = None
    ranges: dict[str, tuple[int, int | None]] = Field(default_factory=dict, strict=False)
    torch_version: str

    def to_json(self) -> str:
        """The normal form as JSON text."""
        return self.model_dump_json()

    @classmethod
    def from_json(cls, text: str | bytes) -> Program:
        """The inverse of ``to_json``. Raises ProgramError where the text is not a program in normal form."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise ProgramError("program: the stored form is damaged. Upload the archive again.") from error

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that are called, sorted, each once."""
        graphs = (self.graph, *([self.train_graph] if self.train_graph else []))
        return tuple(sorted({call.target for graph in graphs for call in graph.calls}))
