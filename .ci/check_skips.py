"""Fail where tests were skipped that this machine could have run: ``check_skips.py REPORT.xml``."""

from __future__ import annotations

import os
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

#: What a machine may lack, as the tests say it.
ALLOWED = ("no CUDA", "CUDA", "docker")


def main(report: Path) -> int:
    """The exit code."""
    allowed = [*ALLOWED]
    if "CNET_TEST_FILES" not in os.environ:  # noqa: TID251 - not a part of the service
        allowed.append("is not at hand")
    if os.getuid() != 0:
        allowed += ["PostgreSQL is not installed", "Chromium is not installed"]
    forbidden = [line for line in _skipped(report) if not any(reason in line for reason in allowed)]
    for line in forbidden:
        sys.stderr.write(f"skipped, but must run here: {line}\n")
    return 1 if forbidden else 0


def _skipped(report: Path) -> list[str]:
    cases = ET.parse(report).iter("testcase")  # noqa: S314 - pytest wrote it just now
    found = [(case, case.find("skipped")) for case in cases]
    return [
        f"{case.get('classname')}::{case.get('name')}: {skip.get('message')}"
        for case, skip in found
        if skip is not None
    ]


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
