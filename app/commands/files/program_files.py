"""Files of programs: recognized, described, and shown as text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.commands.paths import check_readable

if TYPE_CHECKING:
    from cnet.weights import Weights


def program_or_checkpoint(checkpoint: str | None, program: str | None) -> tuple[str | None, str | None]:
    """The checkpoint and the program of a job, where a program's file was given as the file to compress."""
    from cnet.models.programs import is_program

    if checkpoint is not None and program is None and Path(checkpoint).is_file() and is_program(Path(checkpoint)):
        return None, checkpoint
    return checkpoint, program


def weights_and_program(file: Path | None, program: str | None) -> tuple[Path | None, str | None]:
    """The checkpoint and the program of a command; a program given in place of a checkpoint is taken as one."""
    from cnet.models.programs import is_program

    for path in filter(None, (file, Path(program) if program else None)):
        check_readable(path)
    if file is not None and program is None and is_program(file):
        return None, str(file)
    return file, program


def describe_program(file: Path) -> dict[str, Any]:
    """What a torch.export archive holds, as a JSON object; nothing of it is executed. Raises ProgramError, OSError."""
    from cnet.models.programs import ProgramManifest, StoredProgram, read_program

    archive = read_program(file)
    manifest = ProgramManifest.of(archive)
    shown = ("parameters", "train_graph", "tied", "operators", "torch_version")
    return {
        "kind": "program",
        "inputs": [_tensor(one.name, one.shape, one.dtype) for one in manifest.inputs],
        "outputs": [_tensor(one.name, one.shape, one.dtype) for one in manifest.outputs],
        "trainable": manifest.untrainable is None,
        **{name: getattr(manifest, name) for name in shown},
        "warnings": [warning.model_dump() for warning in manifest.warnings],
        "tensors": describe_tensors(StoredProgram(archive.program, archive.weights).state_dict),
    }


def describe_tensors(weights: Weights) -> list[dict[str, Any]]:
    """A JSON object for each tensor: name, shape, element type, and statistics of its values."""
    from cnet.formats.checkpoint_manifest import tensor_rows

    return [row.model_dump(mode="json") for row in tensor_rows(weights)]


def heading_of(fact: str) -> str:
    """The name of a fact for people: the elements that JSON calls ``parameters`` are those of buffers too."""
    return "parameters and buffers" if fact == "parameters" else fact


def facts_table(program: dict[str, Any]) -> list[tuple[str, str]]:
    """The facts of a program, a row for each, as text."""
    return [(heading_of(name), _cell(name, value)) for name, value in program.items()]


def _cell(name: str, value: Any) -> str:
    if name in ("inputs", "outputs"):
        return tensors_text(value)
    if name == "warnings":
        return "; ".join(f"{row['code']}: {row['detail']}" for row in value) or "-"
    if name == "tied":
        return "; ".join(" = ".join(group) for group in value) or "-"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


def _tensor(name: str, shape: tuple[int | str | None, ...], dtype: str) -> dict[str, Any]:
    return {"name": name, "shape": [size if isinstance(size, int) else None for size in shape], "dtype": dtype}


def tensors_text(rows: list[dict[str, Any]]) -> str:
    """Name, type and shape of each tensor; ``any`` stands for a size of any number."""
    return ", ".join(
        f"{row['name']} {row['dtype']} ({', '.join('any' if size is None else str(size) for size in row['shape'])})"
        for row in rows
    )
