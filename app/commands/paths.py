"""Checks of the paths that commands are given, before any work is done."""

from __future__ import annotations

from pathlib import Path

import typer


def check_readable(path: Path) -> None:
    """Raise typer.BadParameter where ``path`` is not a file that can be read more than once."""
    if path.is_dir():
        raise typer.BadParameter(f"{path} is a folder{_contents(path)}. Name a file.")
    if not path.exists():
        raise typer.BadParameter(f"there is no file {path}. Check the path.")
    if not path.is_file():
        raise typer.BadParameter(
            f"{path} is a pipe or a device, and a file is needed: it is read more than once. "
            "Write the data to a file and name that."
        )


def _contents(folder: Path) -> str:
    """What a folder holds that can be made a file, and how; empty where it holds nothing known."""
    if any(folder.glob("*.distcp")):
        converter = "python -m torch.distributed.checkpoint.format_utils dcp_to_torch"
        return f" with a distributed checkpoint, of which `{converter} {folder} model.pt` makes one file"
    if any(folder.glob("*.index.json")):
        return " with the shards of a checkpoint, which belong into one zip or tar together with their index"
    return ""


def check_output(path: Path, *inputs: Path | None) -> None:
    """Raise typer.BadParameter where no file can be written at ``path``, or it is one of the files that are read.

    Args:
        path: where a command writes.
        inputs: what it reads; a link to the same file, symbolic or hard, counts as the same file.
    """
    from cnet.files import can_hold_a_file

    if not can_hold_a_file(path):
        raise typer.BadParameter(
            f"cannot write {path}: it is a folder, or its folder does not exist. Name a file in an existing folder."
        )
    for source in inputs:
        if source is not None and source.exists() and path.exists() and path.samefile(source):
            raise typer.BadParameter(
                f"{path} is the same file as the input {source}, which would be lost. Name another file to write."
            )
