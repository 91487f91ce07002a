"""The format of ONNX models, as one of the checkpoint formats."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar, Literal

from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.onnx.reader import is_onnx, read_onnx
from cnet.formats.onnx.writer import write_onnx
from cnet.formats.parsing.contents import CheckpointContents
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.member_files import find_beside, member_names, open_archive, open_member
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
        """Whether a file begins as an ONNX model does, or is an archive with one, and the files of its values."""
        return is_onnx(file) or _model_of(member_names(file)) is not None

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The initializers of the main graph, in the order of the file."""
        archive = None if is_onnx(file) else open_archive(file, limits)
        model = _model_of(archive.names) if archive else None
        if archive is None or model is None:
            return read_onnx(file, limits)

        def open_external(name: str) -> MappedFile | None:
            found = find_beside(archive, model, name)
            return None if found is None else open_member(file, archive, found)

        return read_onnx(open_member(file, archive, model), limits, cache(open_external))

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write a model without a graph, or the template with the weights in place of its own."""
        write_onnx(path, tensors, template)


def _model_of(names: Sequence[str]) -> str | None:
    """The only ONNX model among the members of an archive; None where there is none, or more than one."""
    models = [name for name in names if name.endswith(".onnx")]
    return models[0] if len(models) == 1 else None
