"""The format of ``torch.save``, as one of the checkpoint formats."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

from cnet.formats.checkpoint_format import FORMATS, CheckpointFormat
from cnet.formats.parsing.contents import CheckpointContents
from cnet.formats.parsing.mapped_file import Limits, MappedFile
from cnet.formats.parsing.zip_archive import ZipArchive, is_zip
from cnet.formats.torch.legacy_file import read_torch_legacy
from cnet.formats.torch.writer import write_torch
from cnet.formats.torch.zip_file import read_torch_zip
from cnet.formats.writing import TensorsToWrite


@FORMATS.register("torch")
class Torch(CheckpointFormat):
    """PyTorch's own format, of all releases since 0.2. Neither reading nor writing needs PyTorch."""

    summary: ClassVar[str] = "PyTorch's torch.save: a state dict, alone or within the dict of a training script."
    source: ClassVar[str] = "https://docs.pytorch.org/docs/stable/notes/serialization.html"
    suffixes: ClassVar[tuple[str, ...]] = (".pt", ".pth")
    writable: ClassVar[bool] = True

    name: Literal["torch"] = "torch"

    def recognizes(self, file: MappedFile) -> bool:
        """Whether a file begins as a zip archive or a pickle does. The reader tells what else it may be."""
        return is_zip(file) or file.head(1) == b"\x80"

    def read(self, file: MappedFile, limits: Limits) -> CheckpointContents:
        """The object that ``torch.save`` wrote. A file that is not a torch file is refused."""
        if is_zip(file):
            return read_torch_zip(ZipArchive(file, limits), limits)
        return read_torch_legacy(file, limits)

    def write(self, path: Path, tensors: TensorsToWrite, template: Path | None = None) -> None:
        """Write a state dict that ``torch.load(weights_only=True)`` reads."""
        del template
        write_torch(path, tensors)
