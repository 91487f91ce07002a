"""A file format is one class in one file: it is found by the bytes of a file, and by the suffix of a name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cnet.errors import CnetError
from cnet.formats import FORMATS, format_by_suffix, writable_formats, write_checkpoint
from cnet.weights import Tensor, Weights
from tests.unit.cnet.parts.test_plugins import install, python

FORMAT = """
from typing import ClassVar, Literal

from cnet.formats import FORMATS, CheckpointContents, CheckpointFormat, Limits, MappedFile, StoredArray


@FORMATS.register("mine")
class Mine(CheckpointFormat):
    summary: ClassVar[str] = "Four bytes, then one vector."
    source: ClassVar[str] = "a test"
    name: Literal["mine"] = "mine"

    def recognizes(self, file: MappedFile) -> bool:
        return file.head(4) == b"{M}\\n"

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        values = file.array(4, file.size - 4).view("<f4").reshape(1, -1)
        return CheckpointContents({"weight": StoredArray.of("weight", values)})
"""

READ = """
from pathlib import Path
from cnet.formats import read_checkpoint
checkpoint = read_checkpoint(PATH)
print(checkpoint.format, checkpoint.weights["weight"].data.tolist(), checkpoint.weights.compressible)
"""


def test_a_plug_in_adds_a_format(tmp_path: Path) -> None:
    """Its files are recognized before any file is refused: this one begins as JSON does."""
    install(tmp_path, "mine", FORMAT)
    file = tmp_path / "weights.mine"
    file.write_bytes(b"{M}\n" + np.array([1, 2], "<f4").tobytes())

    printed = python(tmp_path, READ.replace("PATH", repr(str(file))))

    assert printed == "mine [[1.0, 2.0]] ('weight',)\n"


def test_the_formats_that_can_be_written() -> None:
    """All four, also where PyTorch is not installed."""
    assert writable_formats() == ("npz", "onnx", "safetensors", "torch")
    assert writable_formats(without="torch") == ("npz", "onnx", "safetensors", "torch")


def test_each_suffix_stands_for_one_format() -> None:
    """Otherwise the format to write would depend on the order of the registry."""
    suffixes = [suffix for name in FORMATS.names() for suffix in FORMATS.get(name).suffixes]

    assert len(suffixes) == len(set(suffixes))
    assert {format_by_suffix(Path(f"a{suffix}")) for suffix in suffixes} == set(writable_formats())


def test_only_some_formats_take_a_template(tmp_path: Path) -> None:
    """A graph can be copied to an ONNX file; nothing is written to others."""
    weights = Weights.select([Tensor("a", "float32", np.zeros((2, 2), np.float32))])

    with pytest.raises(CnetError, match="Write onnx") as caught:
        write_checkpoint(weights, tmp_path / "a.npz", "npz", tmp_path / "graph.onnx")

    assert caught.value.code == "unknown_format"
    assert not list(tmp_path.iterdir())
