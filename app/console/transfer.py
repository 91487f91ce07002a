"""Progress of uploads and downloads: a bar on a terminal, nothing where the output goes to a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn


@contextmanager
def transfer_bar(title: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how many bytes of how many are done.

    Args:
        title: shown before the bar.
        quiet: show nothing.
    """
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        disable=quiet or not sys.stderr.isatty(),
        transient=True,
    )
    with progress:
        task = progress.add_task(title, total=None)
        yield lambda done, size: progress.update(task, completed=done, total=size)
