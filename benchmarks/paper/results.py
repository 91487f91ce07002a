"""The results file: one JSON document a line, appended to as points are made and jobs end.

Every line has ``type`` (``point``, ``done`` or ``failed``), the job's ``job``, ``label``, ``group``, ``seed`` and
``epochs``, and the ``digest`` of what it depends on, so that lines of a study that has changed since do not count. A
last line that was cut off does not count either.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

Record = dict[str, Any]

_LONGEST = 2**20  # bytes of a line


class Results:
    """What is known of a study.

    Args:
        path: the file; need not exist.
        digests: the jobs' by name; lines of other jobs, or of the same ones when they were others, are left out.
    """

    def __init__(self, path: Path, digests: Mapping[str, str]) -> None:
        self._path = path
        self._digests = digests
        self._records: dict[tuple[str, str, int, str], Record] = {}
        for record in _read(path):
            self._take(record)

    def append(self, record: Record) -> None:
        """Keep a record and write it down."""
        whole = {**record, "digest": self._digests[record["job"]]}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(whole, sort_keys=True) + "\n"
        with self._path.open("ab+") as file:
            file.truncate(_whole(file))
            file.write(line.encode())
        self._take(whole)

    @property
    def points(self) -> list[Record]:
        """The points, of unfinished jobs too."""
        return self._of("point")

    @property
    def done(self) -> dict[str, Record]:
        """The finished jobs by name."""
        return {record["job"]: record for record in self._of("done")}

    @property
    def baselines(self) -> dict[tuple[int, str], Record]:
        """The baselines by seed and machine: each machine's own training gives another net."""
        records = [record for record in self._of("done") if record["job"].endswith("/base")]
        return {(record["seed"], record["machine"]): record["baseline"] for record in records}

    @property
    def failed(self) -> dict[str, Record]:
        """Jobs that failed and have not been finished since, by name."""
        done = self.done
        return {record["job"]: record for record in self._of("failed") if record["job"] not in done}

    def _of(self, kind: str) -> list[Record]:
        return [record for record in self._records.values() if record["type"] == kind]

    def _take(self, record: Record) -> None:
        """A later record of the same job and point takes the place of an earlier one."""
        if self._digests.get(record["job"]) == record["digest"]:
            index = record["point"]["index"] if record["type"] == "point" else 0
            machine = record["machine"] if record["type"] == "done" else ""
            self._records[record["type"], record["job"], index, machine] = record


def _whole(file: BinaryIO) -> int:
    """Length of the file without a last line that was cut off."""
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - _LONGEST))
    tail = file.read()
    return end - len(tail) + tail.rfind(b"\n") + 1


def _read(path: Path) -> Iterator[Record]:
    if not path.exists():
        return
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):
                yield json.loads(line)
