"""The manifest of a program: JSON beside its canonical file, so that the graph need not be read again."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from cnet.documents import StrictDocument
from cnet.errors import CnetError, ProgramError
from cnet.formats.parsing.contents import Notice
from cnet.formats.upload_manifest import UploadManifest, WarningRow
from cnet.models.programs.document import ProgramInput, ProgramOutput, Size
from cnet.models.programs.embedding_ids import embedding_rows
from cnet.models.programs.reader import ProgramArchive


class ProgramTensorRow(StrictDocument):
    """One tensor of the user's ``state_dict``.

    Attributes:
        name, shape, dtype: of the tensor.
        compressible: whether it is a weight that a job compresses unless its spec says otherwise.
        finite: whether all its values are finite.
        tied_to: the first of the tensors that share its values; None for that one.
    """

    name: str
    shape: tuple[Size, ...] = Field(strict=False)
    dtype: str
    compressible: bool
    finite: bool
    tied_to: str | None


class ProgramManifest(UploadManifest):
    """The description of a program that the API shows and that jobs are checked against, without that of the upload.

    Attributes:
        inputs, outputs: as in ``Program``.
        ranges: smallest and largest size of each symbol of their shapes.
        tensors: parameters and persistent buffers.
        parameters: number of elements of all of them; tied tensors count once.
        untrainable: why the program cannot be trained; None where it can.
        train_graph: whether the archive carries the graph of training mode too.
        tied: groups of names that share one tensor.
        operators: what the graphs call.
        torch_version: the version that wrote the archive.
        embedding_rows: how many ids, from 0, an input takes, by its name; inputs of which it is not known are left
            out, and so are all in manifests of earlier releases.
        warnings: what the user should know.
    """

    kind: ClassVar[str] = "program"
    error: ClassVar[type[CnetError]] = ProgramError

    inputs: tuple[ProgramInput, ...] = Field(strict=False)
    outputs: tuple[ProgramOutput, ...] = Field(strict=False)
    ranges: dict[str, tuple[int, int | None]] = Field(strict=False)
    tensors: tuple[ProgramTensorRow, ...] = Field(strict=False)
    parameters: int
    untrainable: str | None
    train_graph: bool
    tied: tuple[tuple[str, ...], ...] = Field(strict=False)
    operators: tuple[str, ...] = Field(strict=False)
    torch_version: str
    embedding_rows: dict[str, int] = Field(default_factory=dict)

    @classmethod
    def of(cls, archive: ProgramArchive) -> ProgramManifest:
        """The manifest of a program."""
        program, weights = archive.program, archive.state_dict
        compressible = set(weights.compressible)
        rows = [
            ProgramTensorRow(
                name=tensor.name,
                shape=tensor.shape,
                dtype=tensor.dtype,
                compressible=tensor.name in compressible,
                finite=tensor.statistics.min is not None,
                tied_to=weights.copies.get(tensor.name),
            )
            for tensor in weights
        ]
        return cls(
            inputs=program.inputs,
            outputs=program.outputs,
            ranges=program.ranges,
            tensors=tuple(rows),
            parameters=weights.parameters,
            untrainable=program.untrainable,
            train_graph=program.train_graph is not None,
            tied=weights.tied,
            operators=program.operators,
            torch_version=program.torch_version,
            embedding_rows=embedding_rows(program),
            warnings=tuple(WarningRow.of(notice) for notice in _notices(archive)),
        )


def _notices(archive: ProgramArchive) -> list[Notice]:
    """What to know about a program: the notices of its reader, and what keeps it from being trained or batched."""
    notices = list(archive.warnings)
    if archive.program.untrainable is not None:
        notices.append(
            Notice("not_trainable", f"{archive.program.untrainable}. Export the module again with cnet.export_program.")
        )
    if any(one.shape and one.shape[0] == 1 for one in archive.program.inputs):
        notices.append(
            Notice(
                "batch_of_one",
                "the program takes one sample at a time, so that it cannot be used with a data set. Export it with two "
                "or more example samples, as cnet.export_program does.",
            )
        )
    return notices
