"""The results file: one JSON document per line, appended when a point is made or a job ends.

Every line has ``type`` (``point``, ``done`` or ``failed``), the job's ``job``, ``label``, ``group``, ``seed`` and
``epochs``, and the ``digest`` of all that it depends on. Lines with another digest belong to an earlier form of the
study and are ignored, and so is an incomplete last line.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

Record = dict[str, Any]

_LONGEST = 2**20  # bytes per line


class Results:
    """The results of a study so far.

    Args:
        path: the file, which need not exist.
        digests: digest of each job, by name; lines of other jobs or with other digests are ignored.
    """

    def __init__(self, path: Path, digests: Mapping[str, str]) -> None:
        self._path = path
        self._digests = digests
        self._records: dict[tuple[str, str, int, str], Record] = {}
        for record in _read(path):
            self._take(record)

    def append(self, record: Record) -> None:
        """Add a record, and append it to the file."""
        whole = {**record, "digest": self._digests[record["job"]]}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(whole, sort_keys=True) + "\n"
        with self._path.open("ab+") as file:
            file.truncate(_complete_length(file))
            file.write(line.encode())
        self._take(whole)

    @property
    def points(self) -> list[Record]:
        """The points, also those of unfinished jobs."""
        return self._of("point")

    @property
    def done(self) -> dict[str, Record]:
        """The finished jobs by name."""
        return {record["job"]: record for record in self._of("done")}

    @property
    def baselines(self) -> dict[tuple[int, str], Record]:
        """The baselines by seed and machine: the training on another machine gives another network."""
        records = [record for record in self._of("done") if record["job"].endswith("/base")]
        return {(record["seed"], record["machine"]): record["baseline"] for record in records}

    @property
    def failed(self) -> dict[str, Record]:
        """The jobs that failed and were not finished later, by name."""
        done = self.done
        return {record["job"]: record for record in self._of("failed") if record["job"] not in done}

    def _of(self, kind: str) -> list[Record]:
        return [record for record in self._records.values() if record["type"] == kind]

    def _take(self, record: Record) -> None:
        """Add a record; it replaces an earlier one of the same job and point."""
        if self._digests.get(record["job"]) == record["digest"]:
            index = record["point"]["index"] if record["type"] == "point" else 0
            machine = record["machine"] if record["type"] == "done" else ""
            self._records[record["type"], record["job"], index, machine] = record


def _complete_length(file: BinaryIO) -> int:
    """Length of the file without an incomplete last line."""
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
