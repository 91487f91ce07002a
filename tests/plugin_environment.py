"""A virtual environment for tests that install packages: it sees the project's environment, which stays as it is."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from tests.repository import ROOT


@dataclass(frozen=True)
class PluginEnvironment:
    """A virtual environment on top of the one that runs the tests.

    Attributes:
        folder: where it is.
    """

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> PluginEnvironment:
        """Make it. Everything that this process can import can be imported there too."""
        venv.create(folder, with_pip=False)
        [packages] = folder.glob("lib/python*/site-packages")
        paths = [str(ROOT), *(path for path in sys.path if path.endswith("-packages"))]
        (packages / "project.pth").write_text("\n".join(paths) + "\n")
        return cls(folder)

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    def install(self, project: Path) -> None:
        """Install the package whose ``pyproject.toml`` is in ``project``; nothing is downloaded."""
        command = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"]
        options = ["--no-deps", "--no-build-isolation", str(project)]
        subprocess.run([*command, *options], cwd=self.folder, check=True, capture_output=True, text=True)
