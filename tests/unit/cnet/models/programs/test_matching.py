"""Names of checkpoints are matched with those of programs, whatever prefix a wrapper added."""

from __future__ import annotations

import numpy as np
import pytest

from cnet.errors import ArchitectureMismatchError
from cnet.models.programs import (
    Program,
    StoredProgram,
    TensorType,
    filled_weights,
    match_names,
)
from cnet.models.programs.document import Graph, ProgramTensor
from cnet.weights import Tensor, Weights

FLOATS = {"conv.weight": (4, 1, 3, 3), "norm.weight": (4,), "norm.running_mean": (4,), "fc.weight": (10, 4)}
PROGRAM = {name: TensorType("float32", shape) for name, shape in FLOATS.items()}
PROGRAM["norm.num_batches_tracked"] = TensorType("int64", ())


@pytest.mark.parametrize("prefix", ["", "module.", "_orig_mod.", "model.backbone."])
def test_a_prefix_on_either_side_is_ignored(prefix: str) -> None:
    """All names are paired."""
    wrapped = {prefix + name: type_ for name, type_ in PROGRAM.items()}
    assert match_names(PROGRAM, wrapped) == {name: prefix + name for name in PROGRAM}
    assert match_names(wrapped, PROGRAM) == {prefix + name: name for name in PROGRAM}


def test_a_count_of_batches_may_be_missing() -> None:
    """It is no weight."""
    found = match_names(PROGRAM, {name: type_ for name, type_ in PROGRAM.items() if type_.dtype == "float32"})
    assert "norm.num_batches_tracked" not in found
    assert len(found) == 4


def test_all_that_differs_is_listed() -> None:
    """Missing, unexpected and mismatched tensors, with both shapes and types."""
    other = dict(PROGRAM)
    del other["norm.weight"]
    other["extra"] = TensorType("float32", (1,))
    other["fc.weight"] = TensorType("float32", (12, 4))
    with pytest.raises(ArchitectureMismatchError) as caught:
        match_names(PROGRAM, other)
    error = caught.value
    assert (error.missing, error.unexpected) == (("norm.weight",), ("extra",))
    assert error.mismatched == ("fc.weight is 12x4 float32 in the checkpoint and 10x4 float32 in the program",)


@pytest.mark.parametrize(
    ("dtype", "fits"), [("float16", True), ("bfloat16", True), ("float64", False), ("int64", False)]
)
def test_only_types_that_the_program_holds_exactly_fit(dtype: str, fits: bool) -> None:
    """Half precision widens to float32; others lose values or are no numbers."""
    other = {**PROGRAM, "fc.weight": TensorType(dtype, (10, 4))}
    if fits:
        assert match_names(PROGRAM, other)["fc.weight"] == "fc.weight"
    else:
        with pytest.raises(ArchitectureMismatchError):
            match_names(PROGRAM, other)


def test_the_values_are_those_of_the_checkpoint() -> None:
    """Under the program's names, in its types; what the checkpoint lacks stays; constants are left out."""
    rows = [("w", "parameter", (2, 2)), ("count", "buffer", ()), ("shift", "constant", (2,))]
    tensors = tuple(
        ProgramTensor(value=f"t{i}", name=name, kind=kind, dtype="int64" if name == "count" else "float32", shape=shape)  # type: ignore[arg-type]
        for i, (name, kind, shape) in enumerate(rows)
    )
    program = Program(inputs=(), outputs=(), tensors=tensors, graph=Graph(calls=(), outputs=()), torch_version="2.13.0")
    own = [Tensor(t.name, t.dtype, np.zeros(t.shape, t.dtype)) for t in tensors]
    checkpoint = Weights.select([Tensor("module.w", "float16", np.array([[1, 2], [3, 4]], np.float16))])

    filled = filled_weights(StoredProgram(program, Weights.select(own)), checkpoint)

    assert [(tensor.name, tensor.dtype) for tensor in filled] == [("w", "float32"), ("count", "int64")]
    assert filled["w"].data.tolist() == [[1, 2], [3, 4]]
    assert filled.compressible == ("w",)
