"""Help texts that list the parts and the file formats which are installed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

from app.commands.assignments import part_names


class CommandWithParts(TyperCommand):
    """A command whose help names the parts that its options take.

    They are looked up when the help is shown: every other call would wait for the import of all parts.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, each option that names a part with the names it takes."""
        from cnet.data import DATASET_FORMATS, DATASETS
        from cnet.formats import FORMATS
        from cnet.training.tasks import TASKS

        parts = {**dict(part_names()), "dataset": DATASETS.names()}
        for option in self.params:
            if isinstance(option, TyperOption) and option.name in parts:
                option.help = f"{option.help} Installed: {', '.join(parts.pop(option.name))}."
        slots = "; ".join(f"{slot}.name: {', '.join(names)}" for slot, names in parts.items())
        formats = f"checkpoints: {', '.join(FORMATS.names())}; data sets: {', '.join(DATASET_FORMATS.names())}"
        tasks = f"Tasks of a program, architecture.task: {', '.join(TASKS.names())}"
        self.epilog = f"Parts that --set names: {slots}. {tasks}. File formats of {formats}."
        super().format_help(ctx, formatter)


class CommandWithWrittenFormats(TyperCommand):
    """A command whose help lists the file formats that ``--out`` can have, looked up when the help is shown."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, the option ``--out`` with the suffixes of all formats that can be written."""
        from cnet.formats import FORMATS, writable_formats

        suffixes = sorted(suffix for name in writable_formats() for suffix in FORMATS.get(name).suffixes)
        for option in self.params:
            if isinstance(option, TyperOption) and option.name == "out":
                option.help = f"{option.help} One of: {' '.join(suffixes)}."
        super().format_help(ctx, formatter)
