"""Plug-ins: installed packages that add parts of their own.

A package is a plug-in when its metadata has an entry point in the group ``cnet.plugins`` whose value names a module::

    [project.entry-points."cnet.plugins"]
    my-package = "my_package.parts"

Importing that module must register the package's parts, by the decorators of the registries (``cnet.parts.registry``).
A package with several modules of parts imports them all in the named one.

All plug-ins are imported once a process, in the order of their names, when a registry is read for the first time:
``import cnet`` imports none. A plug-in may import anything of ``cnet``; it should import PyTorch inside functions only,
since the API, the command line and the readers of files import every plug-in and never need PyTorch. A plug-in is
code that runs with all rights of the process: install only what you trust.
"""

from __future__ import annotations

import threading
from importlib.metadata import EntryPoint, entry_points

from cnet.errors import PluginError

GROUP = "cnet.plugins"


class _Loader:
    """Imports the plug-ins at most once, and repeats the error of a broken one each time."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a plug-in may read a registry while it is being imported
        self._started = False
        self._error: PluginError | None = None

    def load(self) -> None:
        with self._lock:
            if self._error is not None:
                raise PluginError(self._error.detail) from self._error
            if self._started:
                return
            self._started = True
            try:
                for entry_point in sorted(entry_points(group=GROUP), key=lambda found: (found.name, found.value)):
                    _import(entry_point)
            except PluginError as error:
                self._error = error
                raise


def _import(entry_point: EntryPoint) -> None:
    try:
        entry_point.load()
    except Exception as error:
        package = entry_point.dist.name if entry_point.dist else entry_point.name
        release = f"{package} {entry_point.dist.version}" if entry_point.dist else package
        raise PluginError(
            f"plug-in {release}: importing {entry_point.value!r} failed with {type(error).__name__}: {error}. "
            f"Install a release that works with this version of cnet, or remove it: pip uninstall {package}."
        ) from error


_loader = _Loader()


def load_plugins() -> None:
    """Import every installed plug-in, unless this process has done so.

    Raises:
        PluginError: a plug-in cannot be imported, or it registers a name that is taken. The message names the package.
            Every later call raises the same error.
    """
    _loader.load()
