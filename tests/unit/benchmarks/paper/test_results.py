"""The results file survives being cut off, and forgets what has changed; rows are means of what it holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paper.results import Results
from benchmarks.paper.rows import base, rows
from tests.unit.benchmarks.paper.made import baseline, point

DIGESTS = {"0/base": "a", "1/base": "b", "0/quantized/L1": "c", "1/quantized/L1": "d"}


def test_records_round_trip(tmp_path: Path) -> None:
    """A later record of the same point takes the place of an earlier one."""
    path = tmp_path / "folder" / "results.jsonl"
    written = Results(path, DIGESTS)
    written.append(baseline(0, 90.0))
    written.append(point("0/quantized/L1", 80.0))
    written.append(point("0/quantized/L1", 81.0))
    again = Results(path, DIGESTS)
    assert again.points == written.points
    assert [record["point"]["accuracy"] for record in again.points] == [81.0]
    assert list(again.done) == ["0/base"]


def test_a_line_that_was_cut_off_does_not_count(tmp_path: Path) -> None:
    """The rest does, and what is appended then is not lost."""
    path = tmp_path / "results.jsonl"
    Results(path, DIGESTS).append(baseline(0, 90.0))
    with path.open("a") as file:
        file.write('{"type": "poi')
    Results(path, DIGESTS).append(baseline(1, 90.0))
    assert sorted(Results(path, DIGESTS).done) == ["0/base", "1/base"]


def test_records_of_another_study_do_not_count(tmp_path: Path) -> None:
    """A job whose digest is another is to be done again."""
    path = tmp_path / "results.jsonl"
    Results(path, DIGESTS).append(baseline(0, 90.0))
    assert not Results(path, {**DIGESTS, "0/base": "other"}).done
    assert not Results(path, {}).done


def test_a_failure_counts_until_the_job_is_done(tmp_path: Path) -> None:
    """Then it is forgotten."""
    results = Results(tmp_path / "results.jsonl", DIGESTS)
    results.append({"type": "failed", "job": "0/base", "error": "no memory", "machine": "a machine"})
    assert list(results.failed) == ["0/base"]
    results.append(baseline(0, 90.0))
    assert not results.failed


def test_rows_are_means_over_seeds(tmp_path: Path) -> None:
    """Sizes are held against the true baseline, not against the net that the job started from."""
    results = Results(tmp_path / "results.jsonl", DIGESTS)
    assert base(results) is None
    for seed, accuracy in ((0, 80.0), (1, 90.0)):
        results.append(baseline(seed, accuracy + 1))
        results.append(point(f"{seed}/quantized/L1", accuracy))
    (row,) = rows(results)
    assert (row.accuracy, row.seeds, row.bytes, row.entropy) == (85.0, 2, 200.0, 5.0)
    assert row.ratio == pytest.approx(2000 / 200)
    assert row.ratio_weights == pytest.approx(1500 / 100)
    known = base(results)
    assert known is not None
    assert known.accuracy == 86.0


def test_a_point_is_compared_with_the_baseline_of_its_machine(tmp_path: Path) -> None:
    """Two machines train two baselines; a machine without one uses the other's."""
    results = Results(tmp_path / "results.jsonl", DIGESTS)
    results.append(baseline(0, 90.0))
    results.append({**point("0/quantized/L1", 80.0), "machine": "another"})
    assert [row.drop for row in rows(results)] == [10.0]
    results.append({**baseline(0, 94.0), "machine": "another"})
    assert [row.drop for row in rows(results)] == [14.0]
    known = base(results)
    assert known is not None
    assert known.machines == {"a machine": 90.0, "another": 94.0}
