"""A script beside a clone gets the installed package, not the folder of the clone, which has the same name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.repository import ROOT


def test_a_script_beside_the_clone_imports_the_installed_package(tmp_path: Path) -> None:
    """The folder of the script comes first on the search path, and holds a folder ``cnet`` that is no package."""
    (tmp_path / "cnet").symlink_to(ROOT)
    script = tmp_path / "script.py"
    script.write_text("import cnet\nprint(cnet.open_bundle.__module__)\n")

    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.stdout.startswith("cnet.bundle"), f"{done.stderr} Run `make install` again: the installation is old."
