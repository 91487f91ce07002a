"""The format of ONNX models, as one of the checkpoint formats."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.onnx.reader import is_onnx, read_onnx
from cnet.formats.onnx.writer import write_onnx
from cnet.formats.parsing.contents import CheckpointContents
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.writing import TensorsToWrite


@FORMATS.register("onnx")
class Onnx(CheckpointFormat):
    """ONNX models. The weights are the initializers of the main graph."""

    summary: ClassVar[str] = "ONNX models: the initializers of the main graph."
    source: ClassVar[str] = "https://github.com/onnx/onnx/blob/main/onnx/onnx.proto"
    suffixes: ClassVar[tuple[str, ...]] = (".onnx",)
    writable: ClassVar[bool] = True
    takes_template: ClassVar[bool] = True

    name: Literal["onnx"] = "onnx"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether a file begins as an ONNX model does."""
        return is_onnx(file)

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The initializers of the main graph, in the order of the file."""
        return read_onnx(file, limits)

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write a model without a graph, or the template with the weights in place of its own."""
        write_onnx(path, tensors, template)
